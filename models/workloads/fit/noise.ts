/**
 * Noise on what is said of single rows, so that no exact count of one stands in a profile.
 *
 * @module
 */

/** Scale of the noise of a count: so many accesses, and such a share of the count. */
export const NOISE = { accesses: 1, share: 0.01 } as const;
/** Steps of fewer rows have noise: what more rows have together tells no row's count. */
export const FEW_ROWS = 16;
/** Significant digits of numbers of accesses, which would tell counts from shares. */
const DIGITS = 2;

/** A number in [0, 1) of 53 bits that nobody can make again: noise from a known seed could be taken off. */
export function secretNumber(): number {
  const [high = 0, low = 0] = crypto.getRandomValues(new Uint32Array(2));
  return ((high >>> 5) * 2 ** 26 + (low >>> 6)) / 2 ** 53;
}

/**
 * A count of accesses with noise of the law of Laplace, whose scale is {@linkcode NOISE}.
 *
 * @param count Accesses of one row.
 * @param random Numbers in [0, 1).
 * @returns At least half an access.
 */
export function noised(count: number, random: () => number): number {
  const u = random() - 0.5, scale = NOISE.accesses + NOISE.share * count;
  const noise = -Math.sign(u) * Math.log(Math.max(Number.MIN_VALUE, 1 - 2 * Math.abs(u)));
  return Math.max(0.5, count + scale * noise);
}

/** About so many. */
export function roundly(count: number): number {
  return Number(count.toPrecision(DIGITS));
}
