/**
 * The policies of our store, by name: here, so that what only speaks of them does not open the library.
 *
 * @module
 */

/** Every {@linkcode EvictionPolicy}. */
export const EVICTION_POLICIES = ["lru", "lfu", "clock", "s3fifo", "sieve", "tinylfu"] as const;
/** What decides which rows leave a full tier for the one below. */
export type EvictionPolicy = typeof EVICTION_POLICIES[number];
