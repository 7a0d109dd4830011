import fc from "fast-check";
import { median, quantile, shareInterval, variance } from "../../base/statistics.ts";
import { assert, assertAlmostEquals, assertEquals, assertThrows } from "../assert.ts";

const positives = fc.array(fc.double({ min: 1e-3, max: 1e9, noNaN: true }), { minLength: 2, maxLength: 12 });

Deno.test("quantile() interpolates like type 7", () => {
  assertEquals(quantile([4, 1, 3, 2], 0.5), 2.5);
  assertEquals(quantile([1, 2, 3, 4, 5], 0.25), 2);
  assertAlmostEquals(quantile([10, 20, 30], 0.95), 29, 1e-12);
  assertEquals(quantile([7], 0.99), 7);
  assertEquals([median([3, 1, 2]), median([4, 1, 2, 3])], [2, 2.5]);
  assertThrows(() => quantile([], 0.5), RangeError, "no values");
  assertThrows(() => quantile([1], 1.5), RangeError, "probability is 1.5");
});

Deno.test("quantile() stays inside the values and grows with the probability", () => {
  fc.assert(
    fc.property(positives, fc.double({ min: 0, max: 1, noNaN: true }), fc.double({ min: 0, max: 1, noNaN: true }), (
      values,
      p,
      q,
    ) => {
      const [low, high] = [quantile(values, Math.min(p, q)), quantile(values, Math.max(p, q))];
      assert(low <= high && low >= Math.min(...values) && high <= Math.max(...values));
    }),
  );
});

Deno.test("variance() divides by n - 1", () => {
  assertEquals(variance([2, 4, 6]), 4);
});

Deno.test("shareInterval() is Wilson's score interval, in 0 to 1 and never without width", () => {
  // Newcombe, Statistics in Medicine 17 (1998), Table I, method 3.
  const tabled: readonly (readonly [number, number, number, number])[] = [
    [81, 263, 0.2553, 0.3662],
    [15, 148, 0.0624, 0.1605],
    [0, 20, 0, 0.1611],
    [1, 29, 0.0061, 0.1718],
  ];
  for (const [yes, of, low, high] of tabled) {
    assertEquals(shareInterval(yes, of).map((end) => Number(end.toFixed(4))), [low, high]);
  }
  const [low, high] = shareInterval(13, 13);
  assert(low > 0.7 && low < 0.8 && high === 1);
  assertThrows(() => shareInterval(3, 2), RangeError, "found 3 of 2");
  assertThrows(() => shareInterval(0, 0), RangeError, "found 0 of 0");
});
