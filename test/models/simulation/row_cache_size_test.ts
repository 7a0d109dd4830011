// Set-associative caches, key by key, against a plain reading of what they do; sizes found for a share of hits, against replays.

import "../../native_library.ts";
import fc from "fast-check";
import { randomNumbers } from "../../../base/random.ts";
import { replayCache } from "../../../ffi/replay.ts";
import { hashKeys, replayRowCache } from "../../../models/simulation/row_cache_replay.ts";
import { replayLfuRowCache } from "../../../models/simulation/row_cache_replay_lfu.ts";
import { numberKeys } from "../../../base/number_keys.ts";
import { rowCacheHits, rowCacheSize } from "../../../models/simulation/row_cache_size.ts";
import { assert, assertEquals, assertThrows } from "../../assert.ts";
import { runCommand } from "../../cli/command.ts";

/** MurmurHash3's finalizer, in whole numbers of 64 bits. */
function hashOf(key: bigint): bigint {
  let h = BigInt.asUintN(64, key);
  for (const by of [0xff51afd7ed558ccdn, 0xc4ceb9fe1a85ec53n]) h = BigInt.asUintN(64, (h ^ h >> 33n) * by);
  return h ^ h >> 33n;
}

/** The same cache as sets of places, each with its key and the batch that used it last; the first of the oldest leaves. */
function plainly(keys: readonly bigint[], sets: number, ways: number, batch: number): [hits: number, lookups: number] {
  const places = Array.from({ length: sets }, () => Array<{ key?: bigint; batch: number }>(ways).fill({ batch: -1 }));
  const setOf = (key: bigint) => places[Number(hashOf(key) % BigInt(sets))] ?? [];
  let [hits, lookups] = [0, 0];
  for (let start = 0, now = 0; start < keys.length; start += batch, now++) {
    const rows = [...new Set(keys.slice(start, start + batch))];
    const found = rows.filter((key) => setOf(key).some((place) => place.key === key));
    [hits, lookups] = [hits + found.length, lookups + rows.length];
    for (const key of found) setOf(key)[setOf(key).findIndex((place) => place.key === key)] = { key, batch: now };
    for (const key of rows) {
      if (found.includes(key)) continue;
      const set = setOf(key), oldest = Math.min(...set.map((place) => place.batch));
      if (oldest < now) set[set.findIndex((place) => place.batch === oldest)] = { key, batch: now };
    }
  }
  return [hits, lookups];
}

/** The same with lfu: every row's lookups are counted anew for each batch; see `lfu_cache_insert_kernel`. */
function plainlyLfu(
  keys: readonly bigint[],
  sets: number,
  ways: number,
  batch: number,
): [hits: number, lookups: number] {
  const cache = Array.from({ length: sets }, () => Array<bigint | undefined>(ways).fill(undefined));
  let [hits, lookups] = [0, 0];
  for (let start = 0; start < keys.length; start += batch) {
    const past = keys.slice(0, start + batch), rows = [...new Set(keys.slice(start, start + batch))];
    const count = (key: bigint | undefined) => key === undefined ? -1 : past.filter((one) => one === key).length;
    const missed = rows.filter((key) => !cache.some((set) => set.includes(key)));
    [hits, lookups] = [hits + rows.length - missed.length, lookups + rows.length];
    cache.forEach((set, at) => {
      const newcomers = missed.filter((key) => Number(hashOf(key) % BigInt(sets)) === at)
        .toSorted((a, b) => count(b) - count(a));
      const ways = [...set.keys()].toSorted((a, b) => count(set[a]) - count(set[b]));
      const pairs = ways.slice(0, newcomers.length).map((way, i) => [way, newcomers[i]] as const);
      const places = pairs.filter(([way, key]) => count(set[way]) <= count(key));
      for (const [way, key] of places) set[way] = key;
    });
  }
  return [hits, lookups];
}

Deno.test("hashKeys() is MurmurHash3's finalizer", () => {
  fc.assert(fc.property(fc.array(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), { minLength: 1 }), (keys) => {
    const { low, high } = hashKeys(BigInt64Array.from(keys));
    assertEquals([...low].map((l, i) => BigInt(high[i] ?? 0) << 32n | BigInt(l)), keys.map(hashOf));
  }));
});

/** Keys, sets, places of each, and lookups of a batch. */
const CASES = [
  fc.array(fc.oneof(fc.integer({ min: 0, max: 12 }), fc.integer({ min: -40, max: 40 })).map(BigInt), {
    maxLength: 120,
  }),
  fc.integer({ min: 1, max: 5 }),
  fc.integer({ min: 1, max: 4 }),
  fc.oneof(fc.constant(1), fc.integer({ min: 2, max: 20 })),
] as const;

Deno.test("replayRowCache() finds what sets of places find that are kept plainly", () => {
  fc.assert(
    fc.property(
      ...CASES,
      (keys, sets, ways, batch) => {
        const { hits, lookups } = replayRowCache(hashKeys(BigInt64Array.from(keys)), { sets, ways }, batch);
        assertEquals([hits, lookups], plainly(keys, sets, ways, batch));
      },
    ),
    { numRuns: 400 },
  );
  // One set is LRU over all places.
  const next = randomNumbers(5), keys = BigInt64Array.from({ length: 20_000 }, () => BigInt(Math.floor(300 ** next())));
  const { hits } = replayRowCache(hashKeys(keys), { sets: 1, ways: 50 }, 1);
  assertEquals(hits, replayCache("lru", 50, keys));
  // A batch whose rows fill a set leaves the rest out: 4 of 9 rows are there when they come again.
  const rows = BigInt64Array.from({ length: 18 }, (_, i) => BigInt(i % 9));
  assertEquals(replayRowCache(hashKeys(rows), { sets: 1, ways: 4 }, 9), { hits: 4, lookups: 18 });
  for (const wrong of [{ sets: 0, ways: 4 }, { sets: 1.5, ways: 4 }, { sets: 1, ways: 0 }]) {
    assertThrows(() => replayRowCache(hashKeys(keys), wrong, 1), RangeError, "expected a whole number, 1 or more");
  }
});

Deno.test("replayLfuRowCache() finds what sets of places find that are kept plainly", () => {
  const lfu = (keys: readonly bigint[], sets: number, ways: number, batch: number) => {
    const all = BigInt64Array.from(keys);
    return replayLfuRowCache(hashKeys(all), numberKeys(all), { sets, ways }, batch);
  };
  fc.assert(
    fc.property(
      ...CASES,
      (keys, sets, ways, batch) => {
        const { hits, lookups } = lfu(keys, sets, ways, batch);
        assertEquals([hits, lookups], plainlyLfu(keys, sets, ways, batch));
      },
    ),
    { numRuns: 400 },
  );
  // FBGEMM's 32 ways, more rows than places.
  const next = randomNumbers(5), keys = Array.from({ length: 1500 }, () => BigInt(Math.floor(300 ** next())));
  for (const batch of [1, 100]) {
    const { hits, lookups } = lfu(keys, 3, 32, batch);
    assertEquals([hits, lookups], plainlyLfu(keys, 3, 32, batch));
  }
  // A row that was used twice stays while others come once each; one that comes as often takes its place.
  assertEquals(lfu([1n, 1n, 2n, 3n, 1n], 1, 1, 1), { hits: 2, lookups: 5 });
  assertEquals(lfu([1n, 2n, 1n], 1, 1, 1), { hits: 0, lookups: 3 });
  assertThrows(() => lfu([1n], 0, 4, 1), RangeError, "expected a whole number, 1 or more");
  assertThrows(
    () => rowCacheSize({ law: { rows: 9 }, hits: 0.5, policy: "lfu" }),
    RangeError,
    "found a law, expected keys",
  );
});

Deno.test("rowCacheSize() finds sizes that hit as often as they say, and the formula of a law is near a stream's replay", () => {
  const rows = 6000, s = 1.05, next = randomNumbers(11), sums: number[] = [];
  for (let rank = 1; rank <= rows; rank++) sums.push((sums.at(-1) ?? 0) + rank ** -s);
  const keys = BigInt64Array.from({ length: 120_000 }, () => {
    const x = next() * (sums.at(-1) ?? 1);
    let [low, high] = [0, rows - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((sums[middle] ?? 0) < x) low = middle + 1;
      else high = middle;
    }
    return BigInt(low);
  });
  for (const ways of [4, 32]) {
    const found = rowCacheSize({ keys, hits: 0.7, ways }), { of } = rowCacheHits({ keys, ways });
    assert(found.rows !== undefined && found.rows % ways === 0 && found.hits >= 0.7);
    assertEquals(of(found.rows), found.hits);
    assert(of(found.rows - ways * Math.ceil(found.rows / ways / 256)) < 0.7, "a smaller one is enough");
    // The second half of the stream, which finds a cache that the first has filled.
    const law = rowCacheSize({ law: { rows, s }, hits: 0.75, ways });
    const half = keys.length / 2, cache = { sets: (law.rows ?? 0) / ways, ways };
    const [all, first] = [keys, keys.subarray(0, half)].map((part) => replayRowCache(hashKeys(part), cache, 1).hits);
    const streamed = ((all ?? 0) - (first ?? 0)) / half;
    assert(Math.abs(streamed - 0.75) < 0.01, `${ways} ways: ${streamed}`);
  }
  const [few, many] = [1, 32].map((ways) => rowCacheSize({ keys, hits: 0.7, ways }).rows ?? NaN);
  assert((few ?? 0) > (many ?? 0), "a cache without a choice of places must be larger");
  const once = BigInt64Array.from({ length: 1000 }, (_, i) => BigInt(i));
  assertEquals(rowCacheSize({ keys: once, hits: 0.1 }).rows, undefined);
  for (const [wrong, what] of [[{ hits: 1 }, "share of hits"], [{ hits: 0.5, ways: 0 }, "0 ways"]] as const) {
    assertThrows(() => rowCacheSize({ keys, ...wrong }), RangeError, what);
  }
});

Deno.test("tierbench cache --ways has a row of its own, and one GiB more", async () => {
  const { code, out } = await runCommand(
    ["cache", "--rows", "1e7", "--s", "1.05", "--hit", "80%", "--ways", "32", "--json"],
    120,
  );
  assertEquals(code, 0);
  const [lru, sets] = JSON.parse(out).sizes;
  assertEquals([lru.ways, sets.ways, sets.policy, sets.rows % 32], [undefined, 32, "lru", 0]);
  assert(sets.rows > lru.rows && sets.rows < 1.2 * lru.rows && sets.hitsOfOneGiBMore > 0.8, out);
  const told = await runCommand(["cache", "--rows", "1e6", "--hit", "80%", "--ways", "32"], 120);
  assert(/^lru, 32 ways +analytic +\d+ /m.test(told.out), told.out);
  assert(!/^lfu, 32 ways/m.test(told.out), told.out);
  const path = await Deno.makeTempFile({ suffix: ".csv" });
  try {
    const next = randomNumbers(3), keys = Array.from({ length: 20_000 }, () => Math.floor(2000 ** next()));
    await Deno.writeTextFile(path, `key\n${keys.join("\n")}\n`);
    const of = await runCommand(["cache", path, "--hit", "60%", "--ways", "32", "--json"], 120);
    const [, , lfu] = JSON.parse(of.out).sizes, all = BigInt64Array.from(keys, BigInt);
    assertEquals([lfu.policy, lfu.ways, lfu.method], ["lfu", 32, "exact"]);
    const { hits, lookups } = replayLfuRowCache(hashKeys(all), numberKeys(all), { sets: lfu.rows / 32, ways: 32 }, 1);
    assertEquals(lfu.hits, hits / lookups);
  } finally {
    await Deno.remove(path);
  }
  assertEquals((await runCommand(["cache", "--rows", "1e6", "--hit", "80%", "--ways", "0"], 120)).code, 2);
});
