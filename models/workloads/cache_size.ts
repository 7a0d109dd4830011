/**
 * The smallest cache that hits often enough: of a stream of keys, or of a popularity law, under each policy.
 *
 * @module
 */

import { type CurveOptions, type MissRatioCurve, missRatioCurve } from "../../ffi/curve.ts";
import type { EvictionPolicy } from "../../base/policies.ts";

/** What a cache is asked to do. */
export interface CacheSizeOptions extends Pick<CurveOptions, "keys" | "law" | "batch" | "method"> {
  /** Share of the lookups that is to be answered by the cache, above 0 and below 1. */
  readonly hits: number;
  /** Which row leaves a full cache. Default `"lru"`. */
  readonly policy?: EvictionPolicy;
}

/** A cache that hits often enough. */
export interface CacheSize {
  /** As asked. */
  readonly policy: EvictionPolicy;
  /** How its misses were found. */
  readonly method: MissRatioCurve["method"];
  /** Rows it holds; undefined where no cache hits so often: rows that come for the first time are misses of every size. */
  readonly rows: number | undefined;
  /** Share of the lookups that it answers; without one, of a cache of all rows. */
  readonly hits: number;
  /** Distinct rows there are. */
  readonly distinct: number;
}

/** Sizes that are asked about at once: a pass over a stream gives as many of them for `lru`, and each is a pass with other policies. */
const AT_ONCE = 32;
/** A size is found to one part in so many. */
const FINE = 512;

/** So many sizes between two, rising, both ends among them. */
function between(low: number, high: number, count: number): number[] {
  const step = (high - low) / (count - 1);
  return [...new Set(Array.from({ length: count }, (_, i) => Math.round(low + i * step)))];
}

/**
 * The smallest cache with that share of hits, to one part in 512 of its rows, and never smaller than what hits so often.
 *
 * A larger cache may hit less often under policies that are no stack algorithms; then the found one is the first of those that were
 * looked at.
 *
 * @throws {RangeError} If the share is not above 0 and below 1. Otherwise as {@linkcode missRatioCurve}.
 */
export function cacheSize({ hits, policy = "lru", method: asked, ...of }: CacheSizeOptions): CacheSize {
  if (!(hits > 0 && hits < 1)) {
    throw new RangeError(`Cannot size a cache: found a share of hits of ${hits}, expected one above 0 and below 1`);
  }
  // A law has a formula for lru alone.
  const method = asked ?? (of.law !== undefined && policy !== "lru" ? "sampled" : undefined);
  const hitsOf = (sizes: readonly number[]): { readonly curve: MissRatioCurve; readonly found: readonly number[] } => {
    const curve = missRatioCurve({ ...of, ...(method === undefined ? {} : { method }), policy, sizes });
    return { curve, found: curve.missRatios.map((ratio) => 1 - ratio) };
  };
  const { distinct } = missRatioCurve({ ...of, policy: "lru", sizes: [] });
  const all = Math.max(1, Math.ceil(distinct)), whole = hitsOf([all]);
  const told = { policy, method: whole.curve.method, distinct };
  const most = whole.found[0] ?? 0;
  if (most < hits) return { ...told, rows: undefined, hits: most };
  // From a row up by factors of two, then between the last that is too small and the first that is not.
  const count = policy === "lru" ? AT_ONCE : 3;
  let [low, high, there] = [0, all, most];
  for (let size = 1; size < all; size *= 2) {
    const { found: [now = 0] } = hitsOf([size]);
    if (now < hits) {
      low = size;
      continue;
    }
    [high, there] = [size, now];
    break;
  }
  while (high - low > Math.max(1, high / FINE)) {
    const sizes = between(low, high, count).slice(1, -1);
    const { found } = hitsOf(sizes);
    const first = found.findIndex((now) => now >= hits);
    if (first < 0) low = sizes.at(-1) ?? low;
    else {
      [high, there] = [sizes[first] ?? high, found[first] ?? there];
      low = sizes[first - 1] ?? low;
    }
  }
  return { ...told, rows: high, hits: there };
}
