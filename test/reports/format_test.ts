import fc from "fast-check";
import { bytesText, decimalBytesText } from "../../base/bytes.ts";
import { percentText, prefixed, significant } from "../../base/numbers.ts";
import {
  changeText,
  changeWords,
  countText,
  estimateText,
  intervalText,
  listText,
  rateText,
  roughPercentText,
} from "../../reports/text/format.ts";
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

Deno.test("changeWords() says each direction in a word, with the decimals that the interval is worth", () => {
  const words = (value: number, low?: number, high?: number): string => {
    const { amount, interval } = changeWords({ value, low, high, samples: 3 }, "faster", "slower");
    return `${amount} (${interval})`;
  };
  assertEquals(words(0.381, 0.339, 0.409), "38 % faster (95 %: 34 to 41)");
  assertEquals(words(-0.136, -0.152, -0.119), "13.6 % slower (95 %: 11.9 to 15.2)");
  assertEquals(words(0.012, -0.0764, 0.0957), "1 % faster (95 %: 8 % slower to 10 % faster)");
  assertEquals(words(-0.00123, -0.0014, -0.0011), "0.12 % slower (95 %: 0.11 to 0.14)");
  assertEquals(words(0.03, 0.001, 0.06), "3.0 % faster (95 %: 0.1 to 6.0)");
  assertEquals(words(-0.2), "20 % slower (one sample, no interval)");
  assertEquals([0.381, 0.0764, -0.0217, 0.99].map(roughPercentText), ["38 %", "7.6 %", "2.2 %", "99 %"]);
});
