/**
 * The smallest set-associative row cache that hits often enough: of a stream by replaying it, of a law by formula.
 *
 * @module
 */

import { missRatioCurve } from "../../ffi/curve.ts";
import { KeySample } from "../../ffi/key_sample.ts";
import { toKeys } from "../../ffi/keys.ts";
import type { CacheSize, CacheSizeOptions } from "../workloads/cache_size.ts";
import { ROW_CACHE_WAYS, rowCacheMisses } from "./row_cache.ts";
import { hashKeys, replayRowCache } from "./row_cache_replay.ts";
import { numberKeys } from "../../base/number_keys.ts";
import { replayLfuRowCache } from "./row_cache_replay_lfu.ts";

/** What a row cache is asked to do. */
export interface RowCacheSizeOptions extends Pick<CacheSizeOptions, "keys" | "law" | "batch" | "hits"> {
  /** Places of a set. Default 32, as FBGEMM has them. */
  readonly ways?: number;
  /** Which row of a full set leaves. Default `"lru"`; `"lfu"` is there for keys alone. */
  readonly policy?: RowCachePolicy;
}

/** Which row of a full set leaves, as FBGEMM has them: `lru`, or `lfu` with counts of all rows that never age. */
export type RowCachePolicy = "lru" | "lfu";

/** A row cache that hits often enough; its policy is that of every set. */
export interface RowCacheSize extends CacheSize {
  /** Places of a set; `rows` is a multiple of them. */
  readonly ways: number;
}

/** A size is found to one part in so many. */
const FINE = 512;
/** Caches beyond so many times the rows that there are get no conflicts out of their sets that others left. */
const MOST_TIMES = 4;

/** The keys of a sample that keeps all. */
function allOf(sample: KeySample): BigInt64Array {
  const { rate } = sample.facts();
  if (rate === 1) return sample.keys();
  throw new RangeError(
    `Cannot replay a set-associative cache: ${rate} of the rows of the stream were kept, and sets need all; give it more memory`,
  );
}

/**
 * How often a row cache of so many places hits, and how that was found.
 *
 * @throws {RangeError} If it is asked for `lfu` and a law, of which there is no formula.
 */
export function rowCacheHits(
  { keys, law, batch = 1, ways = ROW_CACHE_WAYS, policy = "lru" }: Omit<RowCacheSizeOptions, "hits">,
): { readonly method: CacheSize["method"]; readonly of: (rows: number) => number } {
  if (law !== undefined) {
    if (policy === "lfu") {
      throw new RangeError("Cannot tell the hits of a set-associative cache with lfu: found a law, expected keys");
    }
    return { method: "analytic", of: (rows) => 1 - rowCacheMisses({ law, batch }, rows, ways).missRatio };
  }
  const all = keys instanceof KeySample ? allOf(keys) : toKeys(keys ?? []), hashed = hashKeys(all);
  const numbered = policy === "lfu" ? numberKeys(all) : undefined;
  return {
    method: "exact",
    of: (rows) => {
      const sets = Math.floor(rows / ways);
      if (sets === 0) return 0;
      const { hits, lookups } = numbered === undefined
        ? replayRowCache(hashed, { sets, ways }, batch)
        : replayLfuRowCache(hashed, numbered, { sets, ways }, batch);
      return lookups === 0 ? 0 : hits / lookups;
    },
  };
}

/**
 * The smallest set-associative cache with that share of hits, to one part in 512 of its sets. A stream is replayed for every size
 * that is looked at, some twenty times.
 *
 * @throws {RangeError} If the share is not above 0 and below 1, the ways are no whole number, 1 or more, or `lfu` is asked of a law.
 */
export function rowCacheSize(
  { hits, ways = ROW_CACHE_WAYS, policy = "lru", ...of }: RowCacheSizeOptions,
): RowCacheSize {
  if (!(hits > 0 && hits < 1)) {
    throw new RangeError(`Cannot size a cache: found a share of hits of ${hits}, expected one above 0 and below 1`);
  }
  if (!Number.isSafeInteger(ways) || ways < 1) {
    throw new RangeError(`Cannot size a cache: found ${ways} ways, expected a whole number, 1 or more`);
  }
  const { distinct } = missRatioCurve({ ...of, policy: "lru", sizes: [] });
  const { method, of: hitsOf } = rowCacheHits({ ...of, ways, policy });
  const most = Math.ceil(MOST_TIMES * distinct / ways), there = hitsOf(most * ways);
  const told = { policy, method, distinct, ways };
  if (there < hits) return { ...told, rows: undefined, hits: there };
  let [low, high, found] = [0, most, there];
  for (let sets = 1; sets < most; sets *= 2) {
    const now = hitsOf(sets * ways);
    if (now < hits) {
      low = sets;
      continue;
    }
    [high, found] = [sets, now];
    break;
  }
  while (high - low > Math.max(1, high / FINE)) {
    const middle = Math.round((low + high) / 2), now = hitsOf(middle * ways);
    if (now < hits) low = middle;
    else [high, found] = [middle, now];
  }
  return { ...told, rows: high * ways, hits: found };
}
