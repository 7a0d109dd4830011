/**
 * A first tier that is a set-associative row cache, as FBGEMM's in a GPU's memory: a row may lie in the 32 places of its set
 * only (`DEFAULT_ASSOC` of `split_table_batched_embeddings_ops_training.py` on CUDA), where the least recently used leaves.
 *
 * How much it misses follows from LRU over all places. A row is found again if fewer than 32 of the distinct rows since its
 * last use fell into its set; each does with probability 1 / sets, since keys are hashed to sets (Smith, IEEE TSE 4(2), 1978;
 * Hill and Smith, IEEE TC 38(12), 1989). So the number of distinct rows that push it out is the wait for the 32nd success:
 * a negative binomial of mean `places`, of many sets a Gamma distribution of shape 32. The cache misses what LRU caches of so
 * many rows miss on average. No parameter is fitted.
 *
 * @module
 */

import { type CurveOptions, missRatioCurve } from "../../ffi/curve.ts";

/** Places of a set. */
export const ROW_CACHE_WAYS = 32;

/**
 * A Gamma distribution of shape 32 and mean 1 in sixteen parts of equal probability: the mean of each. From its definition:
 * 16 (G(x[i + 1]) - G(x[i])), G the Gamma distribution function of shape 33 and x the sixteenths of that of shape 32.
 */
export const ROW_CACHE_SIZES: readonly number[] = [
  ...[0.684301, 0.774683, 0.822208, 0.85919, 0.891202, 0.920545, 0.948488, 0.975897],
  ...[1.00348, 1.031936, 1.062087, 1.095064, 1.132687, 1.178465, 1.241346, 1.37842],
];

/** What a cache misses. */
export interface TierMisses {
  /** Share of `lookups`. */
  readonly missRatio: number;
  /** Rows looked up, each once a batch; of a law: of one batch. */
  readonly lookups: number;
}

/**
 * The miss ratio of a row cache, on average over all ways to hash keys to sets. A batch that alone brings more than 32 new rows
 * to a set finds no places for the rest, which LRU over all places does not know: below a few batches' rows it is optimistic.
 *
 * @param curve A trace or a law, and how its LRU curve is made.
 * @param rows Places; those that fill no set are not used.
 */
export function rowCacheMisses(
  curve: Omit<CurveOptions, "sizes" | "policy">,
  rows: number,
): TierMisses {
  const sets = Math.floor(rows / ROW_CACHE_WAYS), places = sets * ROW_CACHE_WAYS;
  // Of few sets the distribution is narrower, of one it is a number: its variance is (1 - 1 / sets) times the Gamma's.
  const spread = sets === 0 ? 0 : Math.sqrt(1 - 1 / sets);
  const wanted = ROW_CACHE_SIZES.map((size) => Math.round(places * (1 + (size - 1) * spread)));
  const sizes = [...new Set(wanted)];
  const { missRatios, lookups } = missRatioCurve({ ...curve, policy: "lru", sizes });
  const sum = wanted.reduce((sum, size) => sum + (missRatios[sizes.indexOf(size)] ?? 1), 0);
  return { missRatio: sum / wanted.length, lookups };
}
