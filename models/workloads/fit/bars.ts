/**
 * What an error of a miss-ratio curve is, and how large one may be.
 *
 * @module
 */

/** Largest errors of miss ratios with which a profile may stand for its trace: the mean over sizes of caches, and at one size. */
export const SCORE_BARS = { mean: 0.01, largest: 0.03 } as const;

/**
 * Lookups of a table below which nothing is said of its profile: the miss ratios of two draws of one law, n lookups each,
 * differ by √(1 ÷ 2n) at a size (the standard deviation at a ratio of a half), which is the bar of the mean at 5,000.
 */
export const SCORE_LEAST = 5000;

/** The error of a miss-ratio curve: keys made from a profile against the trace. */
export interface CurveError {
  /** Mean over the sizes. */
  readonly mean: number;
  /** At the worst size. */
  readonly largest: number;
}
