/**
 * Reads a recorded miss-ratio curve.
 *
 * @module
 */

import type { CacheCurve } from "./summary_types.ts";

/** The miss ratio of a cache of a share of the rows: straight lines between the recorded sizes, on their logarithm. */
export function missesAt({ shares, misses }: Pick<CacheCurve, "shares" | "misses">, share: number): number {
  const above = shares.findIndex((one) => one >= share);
  if (above === 0) return misses[0] as number;
  if (above < 0) return misses.at(-1) as number;
  const [a, b] = [shares[above - 1] as number, shares[above] as number];
  const part = Math.log(share / a) / Math.log(b / a);
  return (misses[above - 1] as number) * (1 - part) + (misses[above] as number) * part;
}
