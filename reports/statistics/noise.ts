/**
 * How far an interval may be trusted, in words.
 *
 * @module
 */

import type { Estimate } from "./bootstrap.ts";

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
 * Whether a ratio to the baseline is told apart from 1.
 *
 * @returns `unknown` without an interval, `none` when the interval holds 1.
 */
export function difference(ratio: Estimate): "above" | "below" | "none" | "unknown" {
  if (ratio.low === undefined || ratio.high === undefined) return "unknown";
  if (ratio.low > 1) return "above";
  if (ratio.high < 1) return "below";
  return "none";
}
