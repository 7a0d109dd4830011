/**
 * Quantiles of step times and of resampled statistics.
 *
 * @module
 */

/**
 * Quantile by linear interpolation between order statistics (type 7 of Hyndman and Fan, The American Statistician
 * 50(4), 1996; the default of R and NumPy).
 *
 * @param sorted Finite numbers, ascending, at least one.
 * @param p Between 0 and 1.
 */
export function quantileOfSorted(sorted: ArrayLike<number>, p: number): number {
  if (sorted.length === 0) throw new RangeError("Cannot take a quantile: there are no values");
  if (!(p >= 0 && p <= 1)) throw new RangeError(`Cannot take a quantile: probability is ${p}, 0 to 1 is needed`);
  const position = p * (sorted.length - 1);
  const below = Math.floor(position);
  const low = sorted[below] as number;
  const high = sorted[Math.min(below + 1, sorted.length - 1)] as number;
  return low + (high - low) * (position - below);
}

/** Quantile of values in any order; see {@linkcode quantileOfSorted}. */
export function quantile(values: ArrayLike<number>, p: number): number {
  return quantileOfSorted(Float64Array.from(values).sort(), p);
}

/** Arithmetic mean of at least one value. */
export function mean(values: readonly number[]): number {
  if (values.length === 0) throw new RangeError("Cannot take a mean: there are no values");
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** Unbiased sample variance (n − 1 in the denominator) of at least two values. */
export function variance(values: readonly number[]): number {
  if (values.length < 2) throw new RangeError(`Cannot take a variance: found ${values.length} values, 2 are needed`);
  const centre = mean(values);
  return values.reduce((sum, value) => sum + (value - centre) ** 2, 0) / (values.length - 1);
}
