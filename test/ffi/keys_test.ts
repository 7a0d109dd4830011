import fc from "fast-check";
import { checkRows, toKeys } from "../../ffi/keys.ts";
import { assertEquals, assertStrictEquals, assertThrows } from "../assert.ts";

Deno.test("toKeys() passes a BigInt64Array on without a copy", () => {
  const keys = new BigInt64Array([1n, -1n]);
  assertStrictEquals(toKeys(keys), keys);
});

Deno.test("toKeys() keeps every signed 64-bit key and every safe integer", () => {
  fc.assert(fc.property(fc.array(fc.oneof(fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n), fc.maxSafeInteger())), (keys) => {
    assertEquals([...toKeys(keys)], keys.map(BigInt));
  }));
});

Deno.test("toKeys() refuses what a 64-bit argument would cut silently", () => {
  for (const key of [2n ** 63n, -(2n ** 63n) - 1n, 1.5, NaN, Infinity, 2 ** 53]) {
    assertThrows(() => toKeys([0, key]), RangeError, `Cannot use keys[1] = ${key}`);
  }
});

Deno.test("checkRows() wants keys × dim numbers in a Float32Array", () => {
  checkRows("out", new Float32Array(6), 2, 3);
  assertThrows(
    () => checkRows("out", new Float32Array(5), 2, 3),
    RangeError,
    "of length 5: expected 6 (2 keys of dim 3)",
  );
  assertThrows(() => checkRows("out", new Float64Array(6) as unknown as Float32Array, 2, 3), TypeError, "Float32Array");
});
