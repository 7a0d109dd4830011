/** Row caches of sets of 32 places, as FBGEMM's: their law against a replay of such a cache, key by key. */

import "../../native_library.ts";
import { missRatioCurve } from "../../../ffi/curve.ts";
import { randomNumbers } from "../../../base/random.ts";
import { ROW_CACHE_WAYS, rowCacheMisses, rowCacheSizes } from "../../../models/simulation/row_cache.ts";
import { parseSimulation, runSimulation, ScenarioError, type Simulation } from "../../../mod.ts";
import { assert, assertAlmostEquals, assertEquals, assertRejects } from "../../assert.ts";

/** The set of a key: any function that mixes well; FBGEMM's is a hash of the row's number, too. */
function setOf(key: bigint, sets: number): number {
  let x = BigInt.asUintN(64, key * 0x9e3779b97f4a7c15n);
  x = BigInt.asUintN(64, (x ^ (x >> 29n)) * 0xbf58476d1ce4e5b9n);
  return Number((x >> 20n) % BigInt(sets));
}

/**
 * The cache itself. The rows of a batch, each once, are looked up; then those that were missed take, in their set, free places or
 * those of the rows that were used longest ago, none of which this batch used. Rows without a place are not kept.
 */
function replay(
  keys: BigInt64Array,
  { rows, batch, uncounted, ways = ROW_CACHE_WAYS }: { rows: number; batch: number; uncounted: number; ways?: number },
): number {
  const sets: Map<bigint, number>[] = Array.from({ length: rows / ways }, () => new Map());
  let [looked, missed] = [0, 0];
  for (let first = 0; first < keys.length; first += batch) {
    const absent: bigint[] = [];
    for (const key of new Set(keys.subarray(first, first + batch))) {
      const set = sets[setOf(key, sets.length)];
      if (first >= uncounted) looked++;
      if (set?.delete(key) === true) set.set(key, first);
      else absent.push(key);
    }
    if (first >= uncounted) missed += absent.length;
    for (const key of absent) {
      const set = sets[setOf(key, sets.length)] ?? new Map();
      // A Map keeps the order in which keys were set: the first was used longest ago.
      const [oldest] = set.size < ways ? [] : set;
      if (oldest !== undefined && oldest[1] === first) continue;
      if (oldest !== undefined) set.delete(oldest[0]);
      set.set(key, first);
    }
  }
  return missed / looked;
}

/** Draws of a Zipf law of exponent s, independent of each other. */
function zipf(rows: number, s: number, count: number, seed: number): BigInt64Array<ArrayBuffer> {
  const sums = new Float64Array(rows), random = randomNumbers(seed);
  for (let r = 0, sum = 0; r < rows; r++) sums[r] = sum += (r + 1) ** -s;
  return BigInt64Array.from({ length: count }, () => {
    const at = random() * (sums.at(-1) ?? 1);
    let [low, high] = [0, rows - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((sums[middle] ?? 0) < at) low = middle + 1;
      else high = middle;
    }
    return BigInt(low);
  });
}

Deno.test("a row cache of sets misses what a replay of one does: traces and laws, keys one by one and in batches", () => {
  const law = (s: number) => ({ rows: 40_000, s });
  for (const s of [0, 0.8, 1.1]) {
    const keys = zipf(40_000, s, 600_000, 7 + s);
    for (const [rows, batch] of [[4096, 1], [12_288, 1], [8192, 500], [4096, 1000]] as const) {
      const uncounted = 300_000;
      const exact = replay(keys, { rows, batch, uncounted });
      const trace = rowCacheMisses({ keys, method: "exact", batch, uncounted }, rows).missRatio;
      const formula = rowCacheMisses({ law: law(s), method: "analytic", batch }, rows).missRatio;
      const where = `s ${s}, ${rows} rows, batches of ${batch}: replay ${exact}, trace ${trace}, law ${formula}`;
      assert(Math.abs(trace - exact) < 0.004, where);
      assert(Math.abs(formula - exact) < 0.008, where);
    }
  }
});

Deno.test("rows that would all fit miss in full sets, which a cache without sets does not", () => {
  const keys = zipf(8192, 0, 400_000, 3), uncounted = 200_000;
  const exact = replay(keys, { rows: 8192, batch: 1, uncounted });
  const found = rowCacheMisses({ keys, method: "exact", uncounted }, 8192).missRatio;
  const [none = NaN] = missRatioCurve({ keys, uncounted, sizes: [8192] }).missRatios;
  assert(none === 0 && exact > 0.05, `${none}, ${exact}`);
  assertAlmostEquals(found, exact, 0.01);
  // One set is a cache of 32 rows; less than a set is none.
  const one = zipf(64, 1, 50_000, 5);
  assertAlmostEquals(
    rowCacheMisses({ keys: one }, 32).missRatio,
    replay(one, { rows: 32, batch: 1, uncounted: 0 }),
    1e-9,
  );
  assertEquals(rowCacheMisses({ keys: one }, 31).missRatio, 1);
});

Deno.test("the sizes of a row cache's caches are those of the Gamma distribution that the module names", () => {
  // Sixteenths of Gamma distributions of shapes 32 and 128 by numerical integration of their densities.
  for (const ways of [ROW_CACHE_WAYS, 128]) {
    const sizes = rowCacheSizes(ways), steps = 400_000, end = 3;
    let log = 0; // of (ways - 1)!
    for (let k = 2; k < ways; k++) log += Math.log(k);
    const parts = sizes.map(() => ({ mass: 0, mean: 0 }));
    let mass = 0;
    for (let n = 0; n < steps; n++) {
      const x = (n + 0.5) / steps * end;
      const density = Math.exp(ways * Math.log(ways) + (ways - 1) * Math.log(x) - ways * x - log) * end / steps;
      const part = parts[Math.min(15, Math.floor((mass + density / 2) * 16))];
      assert(part !== undefined);
      part.mass += density;
      part.mean += density * x;
      mass += density;
    }
    sizes.forEach((size, i) => {
      const part = parts[i] ?? { mass: NaN, mean: NaN };
      assertAlmostEquals(size, part.mean / part.mass, 2e-4, `${ways} ways, part ${i}`);
    });
    assertAlmostEquals(sizes.reduce((sum, size) => sum + size, 0), 16, 1e-4);
  }
});

Deno.test("batches that come again: what a cache of sets misses, as large as their rows and smaller, is what a replay misses", () => {
  const batch = 1500, cycle = 40, rounds = 4, ways = 128, rows = 60_000, s = 0.9;
  const round = zipf(rows, s, batch * cycle, 11);
  const keys = BigInt64Array.from({ length: round.length * rounds }, (_, i) => round[i % round.length] ?? 0n);
  const footprint = new Set(round).size, uncounted = round.length;
  let [before, cliff] = [0, 0];
  for (const share of [1.3, 1, 0.8]) {
    const places = Math.floor(footprint * share / ways) * ways;
    const exact = replay(keys, { rows: places, batch, uncounted, ways });
    const law = { law: { rows, s }, method: "analytic", batch } as const;
    const found = rowCacheMisses(law, places, ways, footprint).missRatio;
    const where = `${share} of ${footprint} rows: replay ${exact}, law ${found}`;
    assert(Math.abs(found - exact) < 0.02, where);
    if (share === 1.3) assert(exact < 0.01, where);
    if (share === 0.8) cliff = exact / before;
    before = exact;
    // Of batches that never repeat, even a cache that large misses new rows.
    if (share >= 1) assert(rowCacheMisses(law, places, ways).missRatio > found + 0.05, where);
  }
  assert(cliff > 1.7, `${cliff}`);
});

function simulation(policies: readonly string[], more: Partial<Simulation["configurations"][string]> = {}): Simulation {
  const configurations = policies.map((policy) => [policy, {
    mode: "hbm",
    policy,
    tiers: [{ media: "hbm2e-xeon-max", size: "100 MB" }, { media: "ddr5-4800-8ch", size: "100 GB" }],
    ...more,
  }]);
  return {
    kind: "simulation",
    name: "row-caches",
    workload: { batch: 4096, tables: [{ name: "ids", rows: 1e7, dim: 64, slots: 0, lookups: 4, law: { s: 0.9 } }] },
    compute: { dense: 0, source: "a test" },
    cluster: { cores: 8 },
    configurations: Object.fromEntries(configurations),
  } as Simulation;
}

Deno.test("a simulation's first tier can be a row cache: it misses a little more than LRU, less the larger it is", async () => {
  const misses = async (size: string, policy: string, hits?: "sampled") => {
    const tiers = [{ media: "hbm2e-xeon-max", size }, { media: "ddr5-4800-8ch", size: "100 GB" }];
    const { cases: [one] } = await runSimulation(
      simulation([policy], { tiers, ...(hits === undefined ? {} : { hits }) }),
    );
    assertEquals(one?.hits?.method, hits ?? "analytic");
    return one?.misses.ofRows ?? NaN;
  };
  const [lru, sets, sampled] = [
    await misses("100 MB", "lru"),
    await misses("100 MB", "set-associative"),
    await misses("100 MB", "set-associative", "sampled"),
  ];
  assert(sets > lru * 1.0005 && sets < lru * 1.02, `${lru} of LRU, ${sets} of sets`);
  assert(Math.abs(sampled - sets) < 0.01, `${sampled} sampled, ${sets}`);
  assert(await misses("200 MB", "set-associative") < sets);
  const tiers = [{ media: "ddr5-4800-8ch", size: "10 GB" }];
  await assertRejects(
    () => runSimulation(simulation(["set-associative"], { mode: "dram", tiers })),
    ScenarioError,
    "expected two tiers whose rows the store places where the first is a row cache, found 1",
  );
  await assertRejects(
    () => parseSimulation(JSON.stringify(simulation(["set-assoc"])), { file: "x.jsonc", directory: "." }),
    ScenarioError,
    '"set-assoc"',
  );
});
