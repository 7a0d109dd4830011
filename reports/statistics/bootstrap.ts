/**
 * 95 % bootstrap intervals over samples. A sample is one process: the level at which benchmark noise lives
 * (Kalibera and Jones, ISMM 2013), so processes are resampled, never single steps, whose times are correlated.
 *
 * The plain percentile interval is too narrow for few samples: its spread lacks the factor √(n/(n−1)) and it uses
 * normal where Student quantiles belong (Hesterberg, The American Statistician 69(4), 2015, "narrowness bias"). The
 * resampled deviations are therefore stretched by √(n/(n−1)) · t(0.975, n−1) / z(0.975). With many samples the factor
 * tends to 1 and the plain percentile interval remains. A test checks the coverage by simulation.
 *
 * @module
 */

import { mean, quantileOfSorted, variance } from "../../base/statistics.ts";
import { seededRandom } from "./random.ts";
import { NORMAL_975, studentCdf, studentQuantile } from "./student.ts";

/** A value with its 95 % interval. Without an interval (`low` and `high` undefined) only one sample exists. */
export interface Estimate {
  /** Best estimate, in the unit of the values. */
  readonly value: number;
  /** Lower end of the 95 % interval; undefined with fewer than two samples. */
  readonly low: number | undefined;
  /** Upper end of the 95 % interval; undefined with fewer than two samples. */
  readonly high: number | undefined;
  /** Samples (processes) behind the value; for a ratio those of the side with fewer. */
  readonly samples: number;
  /** Of a ratio of two cases: what tells it from no difference. Absent of other figures, and without an interval. */
  readonly test?: RatioTest;
}

/** What tells a ratio from no difference. */
export interface RatioTest {
  /** Standard error of the ratio's logarithm. */
  readonly error: number;
  /** Degrees of freedom of that error. */
  readonly freedom: number;
  /** Two-sided p-value: how often noise alone would show a ratio at least so far from no difference. */
  readonly p: number;
  /** The same adjusted for all verdicts of the report (Benjamini and Hochberg); absent before they are known. */
  readonly q?: number;
  /** The run's noise floor, a factor above 1: a ratio that is nearer to 1 is not called a difference. Absent without one. */
  readonly floor?: number;
}

/**
 * The test of a ratio against another one, in logarithms, by Student's t.
 *
 * @param log Logarithm of the ratio over that it is tested against.
 */
export function ratioTest(log: number, error: number, freedom: number): RatioTest {
  const p = error === 0 ? (log === 0 ? 1 : 0) : 2 * (1 - studentCdf(Math.abs(log) / error, freedom));
  return { error, freedom, p };
}

/** Resamples drawn for an interval. */
export const RESAMPLES = 4000;

/** How to turn values into the scale in which they are averaged. */
type Scale = "linear" | "rate" | "positive";

/**
 * Estimate of the mean over processes.
 *
 * - `linear`: arithmetic mean (shares, hit ratios).
 * - `positive`: arithmetic mean, interval on the logarithm so that it stays above 0 (times).
 * - `rate`: harmonic mean, interval on the logarithm (samples per second). The harmonic mean of rates is total work over
 *   total time when every process does equal work (Hoefler and Belli, SC 2015, rule 3).
 *
 * @param values One value a process, finite; above 0 unless `linear`.
 * @param scale See above.
 * @param seed Text that seeds the resampling.
 */
export function estimate(values: readonly number[], scale: Scale, seed: string): Estimate {
  check(values, scale);
  const value = average(values, scale);
  const n = values.length;
  if (n < 2) return { value, low: undefined, high: undefined, samples: n };
  const centre = scale === "linear" ? value : Math.log(value);
  const stretch = widening(n) * studentQuantile(0.975, n - 1) / NORMAL_975;
  const deviations = resample(values, scale, seededRandom(seed)).map((replicate) => stretch * (replicate - centre))
    .sort();
  const back = (v: number): number => scale === "linear" ? v : Math.exp(v);
  return {
    value,
    low: back(centre + quantileOfSorted(deviations, 0.025)),
    high: back(centre + quantileOfSorted(deviations, 0.975)),
    samples: n,
  };
}

/**
 * Estimate of numerator ÷ denominator of two independent groups of processes: bootstrap of the log ratio, both groups
 * resampled, degrees of freedom after Welch and Satterthwaite.
 *
 * @param numerator One value a process, above 0.
 * @param denominator One value a process, above 0.
 * @param scale How each group is averaged; see {@linkcode estimate}.
 * @param seed Text that seeds the resampling.
 */
export function estimateRatio(
  numerator: readonly number[],
  denominator: readonly number[],
  scale: "rate" | "positive",
  seed: string,
): Estimate {
  check(numerator, scale);
  check(denominator, scale);
  const centres = [Math.log(average(numerator, scale)), Math.log(average(denominator, scale))] as const;
  const value = Math.exp(centres[0] - centres[1]);
  const samples = Math.min(numerator.length, denominator.length);
  if (samples < 2) return { value, low: undefined, high: undefined, samples };
  const random = seededRandom(seed);
  const top = resample(numerator, scale, random);
  const bottom = resample(denominator, scale, random);
  const [x, y] = [numerator.map(Math.log), denominator.map(Math.log)];
  const freedom = welch(x, y);
  const student = studentQuantile(0.975, freedom) / NORMAL_975;
  const [widenTop, widenBottom] = [widening(numerator.length), widening(denominator.length)];
  const deviations = top.map((replicate, i) =>
    student * (widenTop * (replicate - centres[0]) - widenBottom * ((bottom[i] as number) - centres[1]))
  ).sort();
  return {
    value,
    low: value * Math.exp(quantileOfSorted(deviations, 0.025)),
    high: value * Math.exp(quantileOfSorted(deviations, 0.975)),
    samples,
    test: ratioTest(mean(x) - mean(y), Math.sqrt(variance(x) / x.length + variance(y) / y.length), freedom),
  };
}

/**
 * Estimate of numerator ÷ denominator of processes that ran in the same rounds: bootstrap of the log ratios of the
 * rounds. What slows a whole round down, such as heat or a neighbour, is in both sides and cancels. The value is the
 * geometric mean of the rounds' ratios, the one mean of ratios that does not depend on which side is the denominator
 * (Fleming and Wallace, CACM 29(3), 1986); stretched as in {@linkcode estimate}, with n − 1 degrees of freedom.
 *
 * @param numerator One value a round, above 0.
 * @param denominator The same rounds in the same order, above 0.
 * @param seed Text that seeds the resampling.
 */
export function estimatePairedRatio(
  numerator: readonly number[],
  denominator: readonly number[],
  seed: string,
): Estimate {
  if (numerator.length !== denominator.length) {
    throw new RangeError(
      `Cannot pair: found ${numerator.length} and ${denominator.length} values, the same number is needed`,
    );
  }
  check(numerator, "positive");
  check(denominator, "positive");
  const ratios = numerator.map((value, i) => Math.log(value) - Math.log(denominator[i] as number));
  const found = mapEstimate(estimate(ratios, "linear", seed), Math.exp);
  if (ratios.length < 2) return found;
  const error = Math.sqrt(variance(ratios) / ratios.length);
  return { ...found, test: ratioTest(mean(ratios), error, ratios.length - 1) };
}

/** Applies a monotonic function to value and ends, keeping `low` ≤ `high`. The test of a ratio is none of what is made of it. */
export function mapEstimate(of: Estimate, f: (value: number) => number): Estimate {
  const { low, high, samples } = of;
  if (low === undefined || high === undefined) return { value: f(of.value), low, high, samples };
  const [a, b] = [f(low), f(high)];
  return { value: f(of.value), low: Math.min(a, b), high: Math.max(a, b), samples };
}

/** Narrowness of the plain bootstrap: the resampled variance is (n − 1)/n of the unbiased one. */
export function widening(n: number): number {
  return Math.sqrt(n / (n - 1));
}

/** Welch–Satterthwaite degrees of freedom of the difference of two means. */
export function welch(a: readonly number[], b: readonly number[]): number {
  const [va, vb] = [variance(a) / a.length, variance(b) / b.length];
  if (va + vb === 0) return a.length + b.length - 2;
  return (va + vb) ** 2 / (va ** 2 / (a.length - 1) + vb ** 2 / (b.length - 1));
}

/** The mean in its own scale: plain for `linear` and `positive`, harmonic for `rate`. */
function average(values: readonly number[], scale: Scale): number {
  return scale === "rate" ? 1 / mean(values.map((v) => 1 / v)) : mean(values);
}

/** Means of {@linkcode RESAMPLES} draws with replacement: logarithms unless `linear`. */
function resample(values: readonly number[], scale: Scale, random: () => number): Float64Array {
  const n = values.length;
  const parts = Float64Array.from(values, (v) => scale === "rate" ? 1 / v : v);
  const replicates = new Float64Array(RESAMPLES);
  for (let r = 0; r < RESAMPLES; r++) {
    let sum = 0;
    for (let i = 0; i < n; i++) sum += parts[Math.floor(random() * n)] as number;
    const drawn = sum / n;
    replicates[r] = scale === "linear" ? drawn : scale === "rate" ? -Math.log(drawn) : Math.log(drawn);
  }
  return replicates;
}

function check(values: readonly number[], scale: Scale): void {
  if (values.length === 0) throw new RangeError("Cannot estimate: there are no samples, at least 1 is needed");
  for (const value of values) {
    if (!Number.isFinite(value) || (scale !== "linear" && value <= 0)) {
      throw new RangeError(
        `Cannot estimate: found the value ${value}, ${
          scale === "linear" ? "a finite one" : "a finite one above 0"
        } is needed`,
      );
    }
  }
}
