/**
 * Whether two groups of processes differ, and how many of the differences in a table are expected to be false alarms.
 *
 * @module
 */

import { ratioTest, welch } from "./bootstrap.ts";
import { mean, variance } from "../../base/statistics.ts";
import { studentQuantile } from "./student.ts";

/**
 * Two-sided p-value of Welch's t test on logarithms: the probability that groups of one mean differ at least so much.
 *
 * @param a One value a process, above 0; at least two.
 * @param b The same of the other group.
 */
export function welchTest(a: readonly number[], b: readonly number[]): number {
  const [x, y] = [a.map(Math.log), b.map(Math.log)];
  const error = Math.sqrt(variance(x) / x.length + variance(y) / y.length);
  return ratioTest(mean(y) - mean(x), error, welch(x, y)).p;
}

/**
 * Benjamini and Hochberg's adjusted p-values (Journal of the Royal Statistical Society B 57(1), 1995): of the rows whose
 * value is below 0.05, at most 5 % are expected to be false alarms.
 *
 * @param values p-values in any order.
 * @returns Adjusted values in the same order.
 */
export function benjaminiHochberg(values: readonly number[]): number[] {
  const n = values.length;
  const order = values.map((value, i) => ({ value, i })).sort((a, b) => b.value - a.value);
  const adjusted = new Array<number>(n);
  let least = 1;
  order.forEach(({ value, i }, k) => {
    least = Math.min(least, value * n / (n - k));
    adjusted[i] = least;
  });
  return adjusted;
}

/**
 * Noise floor between two runs: the smallest factor between two means that their noise would not show by itself. The
 * noise is what the samples differ within their cases, pooled over all cases of both runs, since the few samples of one
 * case may agree by luck. Slow changes of the machine between the runs are not in it.
 *
 * @param groups Rates of every case of both runs, above 0.
 * @param counts Samples of the two means that are compared.
 * @returns A factor above 1, or 1 where nothing varies; undefined if no case has two samples.
 */
export function floorBetween(
  groups: readonly (readonly number[])[],
  counts: readonly [number, number],
): number | undefined {
  const varied = groups.filter((rates) => rates.length > 1).map((rates) => rates.map(Math.log));
  const freedom = varied.reduce((sum, rates) => sum + rates.length - 1, 0);
  if (freedom === 0) return undefined;
  const squares = varied.reduce((sum, rates) => sum + variance(rates) * (rates.length - 1), 0);
  const error = Math.sqrt(squares / freedom * (1 / counts[0] + 1 / counts[1]));
  return Math.exp(studentQuantile(0.975, freedom) * error);
}
