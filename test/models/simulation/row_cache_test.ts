/** Row caches of sets of 32 places, as FBGEMM's: their law against a replay of such a cache, key by key. */

import "../../native_library.ts";
import { missRatioCurve } from "../../../ffi/curve.ts";
import { randomNumbers } from "../../../base/random.ts";
import { ROW_CACHE_SIZES, ROW_CACHE_WAYS, rowCacheMisses } from "../../../models/simulation/row_cache.ts";
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
  { rows, batch, uncounted }: { rows: number; batch: number; uncounted: number },
): number {
  const sets: Map<bigint, number>[] = Array.from({ length: rows / ROW_CACHE_WAYS }, () => new Map());
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
      const [oldest] = set.size < ROW_CACHE_WAYS ? [] : set;
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
  // Of whole shape, the Gamma distribution function is 1 - exp(-x) (1 + x + x^2 / 2! + ...).
  const gamma = (shape: number, x: number): number => {
    let [term, sum] = [1, 1];
    for (let k = 1; k < shape; k++) sum += term *= x / k;
    return 1 - Math.exp(-x) * sum;
  };
  const parts = ROW_CACHE_SIZES.length;
  const at = (share: number): number => {
    let [low, high] = [0, 200];
    for (let i = 0; i < 100; i++) {
      const middle = (low + high) / 2;
      if (gamma(ROW_CACHE_WAYS, middle) < share) low = middle;
      else high = middle;
    }
    return high;
  };
  const below = (i: number): number => i === 0 ? 0 : i === parts ? 1 : gamma(ROW_CACHE_WAYS + 1, at(i / parts));
  ROW_CACHE_SIZES.forEach((size, i) => assertAlmostEquals(size, parts * (below(i + 1) - below(i)), 1e-6));
  assertAlmostEquals(ROW_CACHE_SIZES.reduce((sum, size) => sum + size, 0), parts, 1e-5);
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
