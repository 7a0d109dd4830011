/**
 * Quantiles, means and intervals of shares: of step times, errors of models, resampled statistics.
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

/** The middle of values in any order, of an even number the mean of the two in the middle; see {@linkcode quantileOfSorted}. */
export function median(values: ArrayLike<number>): number {
  return quantile(values, 0.5);
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

/** 97.5 % of a normal distribution lie below this many standard deviations. */
const Z = 1.959963984540054;

/**
 * 95 % interval of a share by its score (Wilson, Journal of the American Statistical Association 22, 1927), as if what was
 * counted were independent. Never without width, and within 0 and 1.
 *
 * @param yes How many there were, 0 to `of`.
 * @param of Among how many, at least one.
 */
export function shareInterval(yes: number, of: number): readonly [low: number, high: number] {
  if (!(of > 0 && yes >= 0 && yes <= of)) {
    throw new RangeError(`Cannot take the interval of a share: found ${yes} of ${of}`);
  }
  const share = yes / of, z2 = Z * Z / of;
  const centre = (share + z2 / 2) / (1 + z2);
  const half = Z / (1 + z2) * Math.sqrt(share * (1 - share) / of + z2 / (4 * of));
  return [yes === 0 ? 0 : centre - half, yes === of ? 1 : centre + half];
}
