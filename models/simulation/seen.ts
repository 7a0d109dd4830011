/**
 * Distinct rows after so many steps, as points with lines between them.
 *
 * @module
 */

/** Numbers of steps at which distinct rows are asked for: powers of two, lines between them. */
export const SEEN: readonly number[] = Array.from({ length: 40 }, (_, i) => 2 ** i);

/** Value of rising points at x, with straight lines between them; from 0 at 0. */
export function between(xs: readonly number[], ys: readonly number[], x: number): number {
  let [x0, y0] = [0, 0];
  for (const [i, x1] of xs.entries()) {
    const y1 = ys[i] ?? y0;
    if (x <= x1) return x1 === x0 ? y1 : y0 + (y1 - y0) * (x - x0) / (x1 - x0);
    [x0, y0] = [x1, y1];
  }
  return y0;
}
