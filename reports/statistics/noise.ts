/**
 * How far an interval may be trusted, in words.
 *
 * @module
 */

import type { Estimate } from "./bootstrap.ts";
import { studentQuantile } from "./student.ts";

/** Samples from which on nothing is said about their number. */
export const ENOUGH_SAMPLES = 10;

/**
 * What a reader must know about the noise, or undefined when there is nothing to say.
 *
 * @param counts Samples of every case.
 */
export function noiseStatement(counts: readonly number[]): string | undefined {
  if (counts.length === 0) return undefined;
  const fewest = Math.min(...counts);
  const most = Math.max(...counts);
  if (fewest >= ENOUGH_SAMPLES) return undefined;
  if (most === 1) return "One sample a case: no interval can be given, and differences may be noise. Run at least 3.";
  const span = fewest === most ? `${fewest}` : `${fewest} to ${most}`;
  const ending = fewest === 1
    ? "cases with one sample have no interval."
    : "intervals are widened for that (Student's t) and assume that noise between processes is roughly normal.";
  return `Few samples (${span} a case): ${ending} ${ENOUGH_SAMPLES} or more make them narrower.`;
}

/**
 * Noise floor of a run: the smallest relative difference to a baseline that its noise would not show by itself. The
 * noise is what an additive model of cases and rounds leaves of the log rates, pooled over all cases, since the few
 * samples of two cases may agree by luck; the difference of a mean of n rounds and one of k processes in each of n rounds has
 * the variance (1 + 1/k) s²/n; and with m comparisons each is held to 0.05/m (Bonferroni), so that one false alarm is
 * expected in 20 runs, not in 20 comparisons.
 *
 * @param rates For every case, a repeated one included, its rate in each round, above 0; the same rounds in the same order.
 * @param comparisons How many ratios are held against the floor.
 * @param processes Processes of the baseline in a round: 2 where it is repeated and both count.
 * @returns A factor above 1: ratios between 1/factor and factor are noise. Undefined if there are fewer than two cases or
 * two rounds, or if the cases differ in their number of rounds.
 */
export function noiseFloor(
  rates: readonly (readonly number[])[],
  comparisons: number = rates.length - 1,
  processes = 1,
): number | undefined {
  const cases = rates.length;
  const rounds = rates[0]?.length ?? 0;
  if (cases < 2 || rounds < 2 || rates.some((of) => of.length !== rounds)) return undefined;
  const logs = rates.map((of) => of.map(Math.log));
  const average = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
  const ofCase = logs.map(average);
  const ofRound = Array.from({ length: rounds }, (_, r) => average(logs.map((of) => of[r] as number)));
  const all = average(ofCase);
  const left = logs.flatMap((of, c) => of.map((log, r) => log - (ofCase[c] as number) - (ofRound[r] as number) + all));
  const freedom = (cases - 1) * (rounds - 1);
  const deviation = Math.sqrt(left.reduce((sum, value) => sum + value * value, 0) / freedom);
  return Math.exp(
    studentQuantile(1 - 0.025 / comparisons, freedom) * deviation * Math.sqrt((1 + 1 / processes) / rounds),
  );
}

/** Share of false alarms that is allowed among the differences that a report calls real. */
export const FALSE_ALARMS = 0.05;

/**
 * What keeps a ratio whose interval leaves 1 out from being called a difference: it is nearer to 1 than the run's noise
 * floor, or, among all verdicts of the report, too many like it are expected by chance.
 */
export function heldBack({ value, test }: Estimate): "floor" | "chance" | undefined {
  if (test === undefined) return undefined;
  if (Math.abs(Math.log(value)) < Math.log(test.floor ?? 1)) return "floor";
  return test.q !== undefined && test.q >= FALSE_ALARMS ? "chance" : undefined;
}

/**
 * Whether a ratio to the baseline is told apart from 1.
 *
 * @returns `unknown` without an interval; `none` when the interval holds 1, and when something holds it back, see
 * {@linkcode heldBack}.
 */
export function difference(ratio: Estimate): "above" | "below" | "none" | "unknown" {
  if (ratio.low === undefined || ratio.high === undefined) return "unknown";
  if (heldBack(ratio) !== undefined) return "none";
  if (ratio.low > 1) return "above";
  if (ratio.high < 1) return "below";
  return "none";
}
