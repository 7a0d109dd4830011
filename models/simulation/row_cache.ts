/**
 * A first tier that is a set-associative row cache in a GPU's memory: a row may lie in the places of its set only, where the
 * least recently used leaves. FBGEMM's sets have 32 (`DEFAULT_ASSOC` of `split_table_batched_embeddings_ops_training.py` on
 * CUDA), HierarchicalKV's buckets 128 (`max_bucket_size` of its `HashTableOptions`).
 *
 * How much it misses follows from LRU over all places. A row is found again if fewer than `ways` of the distinct rows since its
 * last use fell into its set; each does with probability 1 / sets, since keys are hashed to sets (Smith, IEEE TSE 4(2), 1978;
 * Hill and Smith, IEEE TC 38(12), 1989). So the number of distinct rows that push it out is the wait for that many successes:
 * a negative binomial of mean `places`, of many sets a Gamma distribution of shape `ways`. The cache misses what LRU caches of
 * so many rows miss on average. No parameter is fitted.
 *
 * @module
 */

import { type CurveOptions, missRatioCurve } from "../../ffi/curve.ts";

/** Places of a set of FBGEMM's row cache. */
export const ROW_CACHE_WAYS = 32;

/** Parts of equal probability that a distribution of sizes is cut into. */
const PARTS = 16;

/** A Gamma distribution function of whole shape: 1 - exp(-x) (1 + x + x^2 / 2! + ...), summed from logarithms, so that none overflows. */
function gammaBelow(shape: number, x: number): number {
  let log = -x, sum = Math.exp(log);
  for (let k = 1; k < shape; k++) sum += Math.exp(log += Math.log(x / k));
  return 1 - sum;
}

/**
 * A Gamma distribution of shape `ways` and mean 1 in sixteen parts of equal probability: the mean of each, to six digits. From
 * its definition: 16 (G(x[i + 1]) - G(x[i])), G the Gamma distribution function of shape `ways` + 1 and x the sixteenths of
 * that of shape `ways`.
 */
export function rowCacheSizes(ways: number): number[] {
  const sixteenth = (i: number): number => {
    let [low, high] = [0, 2 * ways + 200];
    for (let n = 0; n < 80; n++) {
      const middle = (low + high) / 2;
      if (gammaBelow(ways, middle) < i / PARTS) low = middle;
      else high = middle;
    }
    return high;
  };
  const below = Array.from(
    { length: PARTS + 1 },
    (_, i) => i === 0 ? 0 : i === PARTS ? 1 : gammaBelow(ways + 1, sixteenth(i)),
  );
  return below.slice(1).map((end, i) => Math.round(PARTS * (end - (below[i] ?? 0)) * 1e6) / 1e6);
}

/** What a cache misses. */
export interface TierMisses {
  /** Share of `lookups`. */
  readonly missRatio: number;
  /** Rows looked up, each once a batch; of a law: of one batch. */
  readonly lookups: number;
}

/**
 * The miss ratio of a row cache, on average over all ways to hash keys to sets. A batch that alone brings more new rows to a set
 * than it has places finds none for the rest, which LRU over all places does not know: below a few batches' rows it is
 * optimistic.
 *
 * @param curve A trace or a law, and how its LRU curve is made.
 * @param rows Places; those that fill no set are not used.
 * @param ways Places of a set.
 * @param footprint Rows that are ever asked for, where batches repeat: LRU caches of so many miss nothing.
 */
export function rowCacheMisses(
  curve: Omit<CurveOptions, "sizes" | "policy">,
  rows: number,
  ways: number = ROW_CACHE_WAYS,
  footprint: number = Infinity,
): TierMisses {
  const sets = Math.floor(rows / ways), places = sets * ways;
  // Of few sets the distribution is narrower, of one it is a number: its variance is (1 - 1 / sets) times the Gamma's.
  const spread = sets === 0 ? 0 : Math.sqrt(1 - 1 / sets);
  const wanted = rowCacheSizes(ways).map((size) => Math.round(places * (1 + (size - 1) * spread)));
  const sizes = [...new Set(wanted)];
  const { missRatios, lookups } = missRatioCurve({ ...curve, policy: "lru", sizes });
  const sum = wanted.reduce(
    (sum, size) => sum + (size >= footprint ? 0 : missRatios[sizes.indexOf(size)] ?? 1),
    0,
  );
  return { missRatio: sum / wanted.length, lookups };
}
