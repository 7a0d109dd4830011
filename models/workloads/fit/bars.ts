/**
 * What an error of a miss-ratio curve is, and how large one may be.
 *
 * @module
 */

/** Largest errors of miss ratios with which a profile may stand for its trace: the mean over sizes of caches, and at one size. */
export const SCORE_BARS = { mean: 0.01, largest: 0.03 } as const;

/** The error of a miss-ratio curve: keys made from a profile against the trace. */
export interface CurveError {
  /** Mean over the sizes. */
  readonly mean: number;
  /** At the worst size. */
  readonly largest: number;
}
