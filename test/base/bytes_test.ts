import fc from "fast-check";
import { formatBytes, parseBytes } from "../../base/bytes.ts";
import { assert, assertEquals, assertThrows } from "../assert.ts";

Deno.test("parseBytes() reads binary and decimal units, spaces and fractions", () => {
  assertEquals(parseBytes("24 MiB"), 25_165_824);
  assertEquals(parseBytes("1GiB"), 2 ** 30);
  assertEquals(parseBytes("500 GB"), 5e11);
  assertEquals(parseBytes(" 1.5 KiB "), 1536);
  assertEquals(parseBytes("512"), 512);
  assertEquals(parseBytes("2 TiB"), 2 ** 41);
  assertEquals(parseBytes("3 kB"), 3000);
  assertEquals(parseBytes(0), 0);
});

Deno.test("parseBytes() says what it found and what it expects", () => {
  assertThrows(() => parseBytes("many"), SyntaxError, 'Cannot read the size "many": expected a number and a unit');
  assertThrows(() => parseBytes("24 mib"), SyntaxError, 'unknown unit "mib", expected "MiB"');
  assertThrows(() => parseBytes("24 MiBs"), SyntaxError, 'unknown unit "MiBs", expected one of B, KiB');
  assertThrows(() => parseBytes("-1 MiB"), SyntaxError);
  assertThrows(() => parseBytes(""), SyntaxError);
  assertThrows(() => parseBytes(-1), RangeError, "Cannot read the size -1");
  assertThrows(() => parseBytes(1.5), RangeError);
  assertThrows(() => parseBytes("9000000 TiB"), RangeError, "beyond 2^53");
});

Deno.test("formatBytes() writes three significant digits in the largest fitting unit", () => {
  assertEquals(formatBytes(25_165_824), "24 MiB");
  assertEquals(formatBytes(1536), "1.5 KiB");
  assertEquals(formatBytes(0), "0 B");
  assertEquals(formatBytes(1023), "1023 B");
  assertEquals(formatBytes(5e11), "466 GiB");
});

Deno.test("parseBytes() reads what formatBytes() wrote, to half a per cent", () => {
  fc.assert(fc.property(fc.integer({ min: 0, max: 2 ** 43 }), (bytes) => {
    assert(Math.abs(parseBytes(formatBytes(bytes)) - bytes) <= bytes * 0.00501 + 0.5);
  }));
});
