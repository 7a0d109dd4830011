import "../native_library.ts";
import { TierstoreError } from "../../ffi/errors.ts";
import { replayCache, type ReplayPolicy } from "../../ffi/replay.ts";
import { assert, assertEquals, assertThrows } from "../assert.ts";

const POLICIES: readonly ReplayPolicy[] = ["lru", "lfu", "clock", "s3fifo", "sieve", "tinylfu", "opt"];

/**
 * Hits of the best possible cache that takes every key in, the slow way: the one that is needed latest leaves (Belady
 * 1966).
 */
function best(capacity: number, keys: readonly number[]): number {
  const cache = new Set<number>();
  let hits = 0;
  for (const [i, key] of keys.entries()) {
    if (cache.has(key)) {
      hits++;
      continue;
    }
    const next = (other: number) => (keys.indexOf(other, i + 1) + keys.length + 1) % (keys.length + 1);
    if (cache.size === capacity) {
      // One that never comes again has index -1, which is the largest after the modulo.
      cache.delete([...cache].reduce((a, b) => next(b) > next(a) ? b : a));
    }
    cache.add(key);
  }
  return hits;
}

/** A stream with a skew, the same every time. */
const STREAM = Array.from({ length: 400 }, (_, i) => Math.floor(((i * 7919 % 1009) / 1009) ** 3 * 60));

Deno.test("replayCache() with opt is Belady's optimum", () => {
  for (const capacity of [1, 2, 5, 20]) assertEquals(replayCache("opt", capacity, STREAM), best(capacity, STREAM));
});

Deno.test.each(POLICIES)(
  "replayCache() with %s: no more hits than the optimum, all repeats if everything fits",
  (policy) => {
    const distinct = new Set(STREAM).size;
    assertEquals(replayCache(policy, distinct, STREAM), STREAM.length - distinct);
    for (const capacity of [5, 20]) assert(replayCache(policy, capacity, STREAM) <= best(capacity, STREAM));
    assertEquals(replayCache(policy, 3, []), 0);
    assertEquals(replayCache(policy, 1, new BigInt64Array([-1n, -1n, -1n])), 2);
  },
);

Deno.test("replayCache() with lru knows recency", () => {
  assertEquals(replayCache("lru", 2, [1, 2, 1, 3, 1, 2]), 2); // 1 twice; 2 left for 3
});

Deno.test("replayCache() refuses what it cannot replay", () => {
  assertEquals(assertThrows(() => replayCache("lru", 0, [1]), TierstoreError).status, "TS_EINVAL");
  const wrong = assertThrows(() => replayCache("lur" as ReplayPolicy, 1, [1]), TierstoreError, "lur");
  assertEquals(wrong.status, "TS_EINVAL");
  for (const capacity of [-1, 0.5, NaN]) assertThrows(() => replayCache("lru", capacity, [1]), RangeError);
});
