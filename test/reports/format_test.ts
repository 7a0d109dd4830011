import fc from "fast-check";
import {
  bytesText,
  changeText,
  countText,
  decimalBytesText,
  estimateText,
  intervalText,
  listText,
  percentText,
  prefixed,
  rateText,
  significant,
} from "../../reports/format.ts";
import { assert, assertEquals, assertThrows } from "../assert.ts";

Deno.test("significant() prints three digits without exponent", () => {
  const cases: readonly (readonly [number, string])[] = [
    [0, "0"],
    [52.94, "52.9"],
    [0.013149, "0.0131"],
    [999.6, "1,000"],
    [1_689_999, "1,690,000"],
    [-3.14159, "−3.14"],
    [1e-7, "0.000000100"],
    [5, "5.00"],
  ];
  for (const [value, text] of cases) assertEquals(significant(value), text);
  assertThrows(() => significant(NaN), RangeError, "found NaN");
});

Deno.test("significant() is within half a unit of the third digit", () => {
  fc.assert(fc.property(fc.double({ min: 1e-6, max: 1e12, noNaN: true }), (value) => {
    const back = Number(significant(value).replaceAll(",", ""));
    assert(Math.abs(back - value) <= value * 0.005000001);
  }));
});

Deno.test("units: prefixes, bytes, percent, counts", () => {
  assertEquals(prefixed(52_910), "52.9 k");
  assertEquals(prefixed(999.7), "1.00 k");
  assertEquals(prefixed(12), "12.0");
  assertEquals(bytesText(24 * 2 ** 20), "24.0 MiB");
  assertEquals(bytesText(1023.9 * 1024), "1.00 MiB");
  assertEquals(bytesText(512), "512 B");
  assertEquals(decimalBytesText(5e11), "500 GB");
  assertEquals(decimalBytesText(90_177_536), "90.2 MB");
  assertEquals(percentText(0.9321), "93.2 %");
  assertEquals([changeText(-0.251), changeText(0.03), changeText(0.001)], ["−25 %", "+3 %", "±0 %"]);
  assertEquals([countText(1, "sample"), countText(12_000, "sample")], ["1 sample", "12,000 samples"]);
  assertEquals([listText([]), listText(["a"]), listText(["a", "b", "c"])], ["", "a", "a, b and c"]);
});

Deno.test("intervals share the decimals of their largest number", () => {
  const of = { value: 13.62, low: 11.91, high: 15.24, samples: 3 };
  assertEquals(intervalText(of), "11.9 to 15.2");
  assertEquals(estimateText(of), "13.6 (11.9 to 15.2)");
  assertEquals(rateText({ value: 52_900, low: 51_960, high: 53_800, samples: 3 }), "52.9 k (52.0 to 53.8)");
  assertEquals(estimateText({ value: 2, low: undefined, high: undefined, samples: 1 }), "2.00 (one sample)");
  assertEquals(intervalText({ value: -0.46, low: -0.979, high: 0.056, samples: 3 }), "−0.979 to 0.056");
});
