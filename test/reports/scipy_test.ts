/**
 * Statistics agree with SciPy and NumPy: `test/fixtures/statistics/expected.json` has their answers,
 * `make_expected.py` beside it made them.
 */

import { mean, quantile, shareInterval, variance } from "../../base/statistics.ts";
import { estimate, estimatePairedRatio, estimateRatio, widening } from "../../reports/statistics/bootstrap.ts";
import { benjaminiHochberg, welchTest } from "../../reports/statistics/tests.ts";
import { NORMAL_975, studentQuantile } from "../../reports/statistics/student.ts";
import { assertAlmostEquals, assertEquals } from "../assert.ts";

interface Expected {
  readonly welch: readonly { a: number[]; b: number[]; p: number; freedom: number }[];
  readonly paired: readonly { a: number[]; b: number[]; p: number }[];
  readonly adjusted: readonly { p: number[]; q: number[] }[];
  readonly quantiles: readonly { values: number[]; at: readonly (readonly [number, number])[] }[];
  readonly means: readonly { values: number[]; arithmetic: number; harmonic: number; variance: number }[];
  readonly student: readonly (readonly [p: number, freedom: number, t: number])[];
  readonly shares: readonly (readonly [yes: number, of: number, low: number, high: number])[];
  readonly bootstraps: readonly { values: number[]; low: number; high: number }[];
}

const expected: Expected = JSON.parse(
  Deno.readTextFileSync(new URL("../fixtures/statistics/expected.json", import.meta.url)),
);

/** Equal to so many parts of the value. */
function near(actual: number | undefined, wanted: number, part = 1e-9): void {
  assertAlmostEquals(actual ?? NaN, wanted, Math.max(1e-12, Math.abs(wanted) * part));
}

Deno.test("SciPy: Welch's test and its degrees of freedom, and the paired test, on logarithms", () => {
  for (const { a, b, p, freedom } of expected.welch) {
    near(welchTest(a, b), p, 1e-8);
    const { test } = estimateRatio(b, a, "rate", "scipy");
    near(test?.p, p, 1e-8);
    near(test?.freedom, freedom);
  }
  for (const { a, b, p } of expected.paired) near(estimatePairedRatio(a, b, "scipy").test?.p, p, 1e-8);
});

Deno.test("SciPy: adjusted p-values after Benjamini and Hochberg", () => {
  for (const { p, q } of expected.adjusted) {
    const found = benjaminiHochberg(p);
    assertEquals(found.length, q.length);
    found.forEach((value, i) => near(value, q[i] as number));
  }
});

Deno.test("NumPy and SciPy: quantiles, arithmetic and harmonic means, variance", () => {
  for (const { values, at } of expected.quantiles) for (const [p, value] of at) near(quantile(values, p), value);
  for (const { values, arithmetic, harmonic, variance: spread } of expected.means) {
    near(mean(values), arithmetic);
    near(estimate(values, "positive", "s").value, arithmetic);
    near(estimate(values, "rate", "s").value, harmonic);
    near(variance(values), spread);
  }
});

Deno.test("SciPy: Student's t and Wilson's interval of a share", () => {
  for (const [p, freedom, t] of expected.student) near(studentQuantile(p, freedom), t, 1e-7);
  for (const [yes, of, low, high] of expected.shares) {
    const found = shareInterval(yes, of);
    assertAlmostEquals(found[0], low, 1e-9);
    assertAlmostEquals(found[1], high, 1e-9);
  }
});

Deno.test("SciPy: the percentile bootstrap of a mean, but for the stretch that few samples need", () => {
  for (const { values, low, high } of expected.bootstraps) {
    const n = values.length;
    const stretch = widening(n) * studentQuantile(0.975, n - 1) / NORMAL_975;
    const found = estimate(values, "linear", "scipy");
    const back = (end: number | undefined): number => found.value + ((end ?? NaN) - found.value) / stretch;
    // Ours draws 4,000 times: its ends have an error of a few hundredths of the width.
    assertAlmostEquals(back(found.low), low, 0.04 * (high - low));
    assertAlmostEquals(back(found.high), high, 0.04 * (high - low));
  }
});
