/**
 * How well a cache policy would do on a stream of keys, without a store.
 *
 * @module
 */

import { encodeText, message } from "./errors.ts";
import { countKeys, type Keys, toKeys } from "./keys.ts";
import { native } from "./library.ts";
import type { EvictionPolicy } from "./options.ts";

/** A policy of a store, or `opt`: the best there can be, since it knows the keys to come (Belady 1966). */
export type ReplayPolicy = EvictionPolicy | "opt";

/**
 * Hits that a cache has on a stream of keys. It is empty at first; a key counts each time it comes.
 *
 * @example How far a policy is from the best possible
 * ```ts
 * import { replayCache } from "../mod.ts";
 *
 * const keys = [1, 2, 3, 1, 2, 3, 1, 2, 3]; // a loop that is longer than the cache: the worst case of LRU
 * console.log(replayCache("lru", 2, keys), replayCache("opt", 2, keys)); // 0 3
 * ```
 *
 * @param policy What decides which row leaves: the store's own code, or `opt`.
 * @param capacity Rows that the cache holds, 1 or more.
 * @param keys The stream.
 * @returns How many of the keys were in the cache when they came.
 * @throws {TierstoreError} `TS_EINVAL` for an unknown policy or a capacity of 0, `TS_ENOMEM`.
 * @throws {RangeError} If the capacity is no whole number, or a key does not fit 64 bits.
 */
export function replayCache(policy: ReplayPolicy, capacity: number, keys: Keys): number {
  if (!Number.isSafeInteger(capacity) || capacity < 0) {
    throw new RangeError(`Cannot replay a cache of ${capacity} rows: expected a whole number, 1 or more`);
  }
  const name = encodeText(policy);
  const batch = toKeys(keys);
  const hits = new BigUint64Array(1);
  const status = native().ts_cache_replay(
    name,
    BigInt(capacity),
    batch,
    BigInt(countKeys(batch)),
    hits,
    message.bytes,
    message.capacity,
  );
  message.check(status, `replay a cache with the policy "${policy}"`);
  return Number(hits[0]);
}
