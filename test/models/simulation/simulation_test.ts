/** Simulations: the same bytes for the same seed, monotone in media and caches, differences that add up, limits. */

import "../../native_library.ts";
import fc from "fast-check";
import { readJsonc } from "../../../base/jsonc.ts";
import { buildLibrary } from "../../../base/native_build.ts";
import { libraryVersion } from "../../../ffi/machine.ts";
import {
  loadSimulation,
  parseSimulation,
  type ResolvedSimulation,
  runSimulation,
  ScenarioError,
  type SimulatedConfiguration,
  type Simulation,
  summariseSimulation,
} from "../../../mod.ts";
import { mediaStores } from "../../../models/media/media.ts";
import { ResultFolder } from "../../../base/result_folder.ts";

import { resolveSimulation } from "../../../models/simulation/load.ts";
import { demandCache, simulateCase } from "../../../models/simulation/simulate_case.ts";
import { assert, assertEquals, assertRejects } from "../../assert.ts";

await buildLibrary();
libraryVersion(); // opens it: it is never closed

const DRAM = "ddr4-2666-6ch";
const PMEM = "optane-100-6x256";

function small(configurations: Record<string, SimulatedConfiguration>, more: Partial<Simulation> = {}): Simulation {
  return {
    kind: "simulation",
    name: "small",
    steps: 16,
    warmup: 4,
    workload: {
      batch: 1024,
      tables: [
        { name: "a", rows: 1e7, dim: 32, lookups: 4, law: { s: 1.05 } },
        { name: "b", count: 3, rows: 1e6, dim: 16, lookups: 1, law: { s: 0.8, q: 10 } },
      ],
    },
    compute: { dense: "200 us", source: "a test", perRow: "50 ns", perUpdate: "50 ns" },
    cluster: { cores: 8 },
    configurations,
    ...more,
  };
}

const tiers = (mode: "fsdax" | "kmem-dax" | "memory-mode", size: string): SimulatedConfiguration => ({
  mode,
  tiers: [{ media: DRAM, size }, { media: PMEM }],
});

/** Seconds a sample of the first configuration of a simulation. */
async function timeOf(simulation: Simulation | ResolvedSimulation, stretch: readonly number[] = []): Promise<number> {
  const resolved = await resolveSimulation(simulation);
  const [set] = Object.values(resolved.configurations);
  assert(set !== undefined);
  const factors = stretch.map((factor) => ({ read: factor, write: factor }));
  const outcome = await simulateCase(resolved, set, resolved.compute.dense as number, 1, demandCache(), factors);
  return 1 / outcome.samplesPerSecond;
}

/** The records without what tells when and on what they were made. */
async function linesOf(simulation: Simulation, threads: number): Promise<string[]> {
  const { cases, explanations } = await runSimulation(simulation, { threads });
  return [...cases, ...explanations].map((record) => JSON.stringify(record));
}

Deno.test("runSimulation() gives the same bytes twice, and with one thread and two; another seed gives others", async () => {
  const simulation = small({
    dram: { mode: "dram", tiers: [{ media: DRAM }] },
    fsdax: tiers("fsdax", "200 MB"),
    "memory-mode": tiers("memory-mode", "500 MB"),
  }, { explain: [{ from: "fsdax", to: "memory-mode" }] });
  const first = await linesOf(simulation, 1);
  assertEquals(await linesOf(simulation, 1), first);
  assertEquals(await linesOf(simulation, 2), first);
  assert((await linesOf({ ...simulation, seed: 7 }, 1))[0] !== first[0]);
});

Deno.test("a faster medium is never slower, more cache never misses more", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom("fsdax", "kmem-dax"),
      fc.record({
        ahead: fc.integer({ min: 0, max: 2 }),
        prefetch: fc.boolean(),
        async: fc.boolean(),
        microBatches: fc.integer({ min: 1, max: 3 }),
      }),
      fc.integer({ min: 0, max: 2 }),
      fc.constantFrom("cores", "accelerator"),
      fc.constantFrom(0, 3),
      fc.integer({ min: 20, max: 2000 }),
      fc.double({ min: 0.1, max: 0.99, noNaN: true }),
      fc.integer({ min: 0, max: 1 }),
      async (mode, overlap, backgroundThreads, on, servers, megabytes, faster, tier) => {
        const simulation = small({ one: tiers(mode as "fsdax", `${megabytes} MB`) }, {
          overlap,
          compute: { dense: "200 us", on: on as "cores", source: "a test", perRow: "50 ns" },
          cluster: {
            cores: 4,
            backgroundThreads,
            ...(servers === 0 ? {} : { servers, workers: 4, workersPerHost: 2, network: { bandwidth: "30 Gbit/s" } }),
          },
        });
        const time = await timeOf(simulation);
        assert(time > 0 && Number.isFinite(time));
        const quick = await timeOf(simulation, [tier === 0 ? faster : 1, tier === 1 ? faster : 1]);
        assert(quick <= time, `tier ${tier} ${faster} times as slow: ${quick} after ${time}`);
        const { cases } = await runSimulation(simulation);
        const more = await runSimulation({
          ...simulation,
          configurations: { one: tiers(mode as "fsdax", `${megabytes * 2} MB`) },
        });
        assert((more.cases[0]?.misses.ofRows ?? 1) <= (cases[0]?.misses.ofRows ?? 0) + 1e-12);
      },
    ),
    { numRuns: 40, seed: 1 },
  );
});

Deno.test("a step of DRAM alone takes its dense time and its rows' memory time, worked out by hand", async () => {
  // One core, one table of one row: a lookup of a row and its update, 64 B each, at idle latencies.
  const result = await runSimulation(small({ dram: { mode: "dram", tiers: [{ media: DRAM }] } }, {
    workload: { batch: 1, tables: [{ name: "one", rows: 1, dim: 16, slots: 0, lookups: 1, law: { s: 0 } }] },
    compute: { dense: "3 us", parse: "1 us", source: "a test" },
    cluster: { cores: 1 },
    overlap: { ahead: 0 },
  }));
  const [one] = result.cases;
  assert(one !== undefined);
  const time = (kind: string) =>
    one.parts.filter((part) => part.kind === kind).reduce((sum, { seconds }) => sum + seconds, 0);
  assertEquals(Math.round(time("parse") * 1e12), 1_000_000);
  assertEquals(Math.round(time("dense") * 1e12), 3_000_000);
  assert(time("lookup") > 50e-9 && time("lookup") < 200e-9, `${time("lookup")}`);
  const twice = time("update") / time("lookup");
  assert(twice > 0.5 && twice < 1.5, `a cached store reads the line that it writes, once: ${twice} times a lookup`);
  const sum = one.parts.reduce((total, { seconds }) => total + seconds, 0);
  assert(Math.abs(sum - one.step.mean) < 1e-12, "the parts are the step");
  assertEquals(one.evidence, "simulated");
});

Deno.test("reading ahead hides parsing, asynchronous lookups hide behind an accelerator", async () => {
  const base = small({ one: tiers("fsdax", "50 MB") }, {
    compute: { dense: "2 ms", on: "accelerator", parse: "1 ms", source: "a test", perRow: "50 ns" },
  });
  const inline = await timeOf({ ...base, overlap: { ahead: 0 } });
  const ahead = await timeOf({ ...base, overlap: { ahead: 1 } });
  const async = await timeOf({ ...base, overlap: { ahead: 1, async: true } });
  assert(inline * 1024 > 3e-3 && ahead * 1024 < inline * 1024 - 0.9e-3, `${inline} ${ahead}`);
  assert(async < ahead && async * 1024 > 1.99e-3, `${async} ${ahead}`);
});

Deno.test("the parts of a difference add up to it, and a part that changes nothing is nothing", async () => {
  const simulation = small({
    fsdax: { ...tiers("fsdax", "100 MB"), checkpoint: { kind: "version" } },
    "kmem-dax": { ...tiers("kmem-dax", "100 MB"), checkpoint: { kind: "incremental", every: "1 min" } },
  }, {
    explain: [{ from: "fsdax", to: "kmem-dax" }, { from: "fsdax", to: "fsdax" }],
    // Rows of 192 B take 256 B where they are rounded.
    workload: { batch: 8192, tables: [{ name: "a", rows: 1e8, dim: 24, lookups: 4, law: { s: 0.6 } }] },
  });
  const { explanations: [different, same] } = await runSimulation(simulation);
  assert(different !== undefined);
  const sum = different.parts.reduce((total, { seconds }) => total + seconds, 0);
  assert(Math.abs(sum - (different.toTime - different.fromTime)) < 1e-15);
  assertEquals(different.parts.map(({ part }) => part), ["stores", "row rounding", "checkpoint"]);
  assert((different.parts.find(({ part }) => part === "stores")?.seconds ?? 0) > 0, "cached stores cost more");
  assertEquals(same?.parts, []);
});

Deno.test("limits: zero capacity, everything in the first tier, one key, uniform keys", async () => {
  for (const law of [{ s: 0 }, { s: 3 }, { buckets: [[1, 1]] as const }]) {
    for (const size of [0, "1 GB", "5 TB"]) {
      const rows = "buckets" in law ? 1 : 1e6;
      const { cases: [one] } = await runSimulation(small({ one: tiers("fsdax", size as string) }, {
        workload: { batch: 512, tables: [{ name: "a", rows, dim: 16, lookups: 2, law }] },
      }));
      assert(one !== undefined && Number.isFinite(one.samplesPerSecond) && one.samplesPerSecond > 0);
      assert(one.misses.ofRows >= 0 && one.misses.ofRows <= 1 + 1e-9);
      if (size === "5 TB") assertEquals(one.misses.ofRows, 0);
      if (size === 0) assert(one.misses.ofRows > 1 - 1e-9);
    }
  }
});

Deno.test("sampled hits agree with the formula under LRU, and policies differ", async () => {
  // A cache much larger than a batch; 24 MB hold 0.3 million rows of 80 B.
  const simulation = (set: Partial<SimulatedConfiguration>) =>
    small({ one: { ...tiers("fsdax", "24 MB"), ...set } }, {
      workload: { batch: 256, tables: [{ name: "a", rows: 1e7, dim: 8, lookups: 4, law: { s: 1.05 } }] },
    });
  const misses = async (set: Partial<SimulatedConfiguration>) =>
    (await runSimulation(simulation(set))).cases[0]?.misses.ofRows ?? NaN;
  const lru = await misses({});
  assert(Math.abs(await misses({ hits: "sampled" }) - lru) < 0.01);
  const [sieve, lfu] = [await misses({ policy: "sieve" }), await misses({ policy: "lfu" })];
  assert(lfu < sieve && sieve < lru, `${lfu} ${sieve} ${lru}`);
});

Deno.test("runSimulation() keeps a run's results that are in its folder, and waits for no other run", async () => {
  const out = await Deno.makeTempDir();
  try {
    const path = `${out}/result.jsonl`;
    await Deno.writeTextFile(path, '{"type":"run","format":1,"started":"2026-11-20T00:00:00Z"}\n');
    const simulation = small({ dram: { mode: "dram", tiers: [{ media: DRAM }] } });
    for (let n = 0; n < 2; n++) await runSimulation(simulation, { out });
    const names = Array.from(Deno.readDirSync(out), ({ name }) => name).filter((name) => name !== ".lock").sort();
    assertEquals(names, ["result-2026-11-20T000000Z.jsonl", "result.jsonl"]);
    using _ = await ResultFolder.take(path);
    await assertRejects(() => runSimulation(simulation, { out }), Error, "another run");
  } finally {
    await Deno.remove(out, { recursive: true });
  }
});

Deno.test("what cannot be simulated is one clear error with its place", async () => {
  const text = (change: string) =>
    `{ "kind": "simulation", "name": "x",
  "workload": { "batch": 8, "tables": [{ "name": "a", "rows": 10, "dim": 4, "lookups": 1, "law": { "s": 1 } }] },
  "compute": { "dense": "1 ms", "source": "a test" },
  "configurations": { "one": ${change} } }`;
  const wrong: readonly (readonly [string, RegExp])[] = [
    ['{ "mode": "dram", "tiers": [{ "media": "optan-100-6x256" }] }', /4:.*unknown media model.*\n.*did you mean/],
    [`{ "mode": "memory-mode", "tiers": [{ "media": "${DRAM}" }] }`, /expected two tiers in Memory Mode.*found 1/],
    [`{ "mode": "fsdax", "tiers": [{ "media": "${DRAM}" }, { "media": "${PMEM}" }] }`, /expected a field "size"/],
    ['{ "mode": "fsdx", "tiers": [] }', /mode.*"fsdx"/],
    ['{ "mode": "dram", "tier": [] }', /unknown field "tier"\n.*did you mean "tiers"/],
  ];
  for (const [change, message] of wrong) {
    const error = await assertRejects(
      () => parseSimulation(text(change), { file: "x.jsonc", directory: "." }),
      ScenarioError,
    );
    assert(message.test(error.message), error.message);
    assert(error.message.startsWith("x.jsonc:4:"), error.message);
  }
});

Deno.test("every medium can hold rows in some way, and where it has no figure of a tier's stores the error names both", async () => {
  for (const [media, stores] of await mediaStores()) {
    for (const store of ["cached", "nt", "flush"] as const) {
      const made = runSimulation(small({ one: { mode: "dram", tiers: [{ media, store, size: "10 GB" }] } }));
      if (stores.has(store)) assert((await made).cases.length === 1);
      else {await assertRejects(
          () => made,
          ScenarioError,
          `configurations.one.tiers[0].media: the media model "${media}" has no figure of`,
        );}
    }
  }
});

Deno.test("paper-openembedding: effects within their tolerance, order kept (targets O2, O4, O5)", async () => {
  const result = await runSimulation(new URL("../../../scenarios/paper-openembedding.jsonc", import.meta.url));
  const { deviations, accuracy } = summariseSimulation(result);
  assertEquals(deviations.length, result.run.scenario.published.length);
  const missed = deviations.filter(({ within }) => !within).map(({ figure }) => figure);
  assertEquals(missed, []);
  // A parameter is calibrated by one figure only, most figures by none, and none by what PMem-OE costs without checkpoints.
  const calibrated = deviations.flatMap(({ calibrates }) => calibrates === undefined ? [] : [calibrates]);
  assertEquals(calibrated.length, new Set(calibrated).size);
  assert(calibrated.length * 2 < deviations.length);
  const cost = deviations.filter(({ figure }) => figure.startsWith("Fig. 7, PMem-OE"));
  assertEquals(cost.length, 3);
  for (const { calibrates, deviation } of cost) assert(calibrates === undefined && Math.abs(deviation) < 0.03);
  // It is the software's, not the medium's: without its prices it is missed, with DRAM it is not.
  const nullOf = (model: string) => cost.at(-1)?.nulls?.find((one) => one.model === model)?.within;
  assertEquals([nullOf("free-software"), nullOf("dram")], [false, true]);
  const { pairs = 0, same = 0 } = accuracy?.order ?? {};
  assert(pairs > 30 && same >= 0.95 * pairs, `${same} of ${pairs} pairs in order`);
});

Deno.test("terabyte: a 10^12-row table takes no longer than a small one, misses rise with rows", async () => {
  const simulation = await loadSimulation(new URL("../../../scenarios/terabyte.jsonc", import.meta.url));
  const rows = [1e9, 1e10, 1e12];
  const held = { "cluster.servers": [64], "configurations.ssd.tiers.1.devices": [3] };
  const { cases } = await runSimulation({
    ...simulation,
    steps: 4,
    warmup: 2,
    explain: [],
    studies: [{ name: "rows", configurations: ["ssd"], vary: { ...held, "workload.tables.0.rows": rows } }],
  });
  const misses = cases.map((one) => one.misses.ofKeys);
  assertEquals(misses.length, 3);
  assertEquals([...misses].sort((a, b) => a - b), misses);
  for (const one of cases) assert("why" in one.band || one.band.low <= 1 && one.band.high >= 1);
});

Deno.test("MLPerf's models are simulated with the tables of their plans, each in every configuration", async () => {
  for (const name of ["mlperf-dlrmv2", "mlperf-dlrmv3", "mlperf-dlrmv4"]) {
    const simulation = await loadSimulation(`scenarios/${name}.jsonc`);
    const read = async (file: string) => JSON.parse(JSON.stringify(readJsonc(await Deno.readTextFile(file)).value));
    const { workload } = await read(`scenarios/${name}.jsonc`),
      { tables } = await read(`scenarios/plans/${name}.jsonc`);
    assertEquals(workload.tables, tables, name);
    const { cases } = await runSimulation({ ...simulation, steps: 2, warmup: 1, explain: [] });
    assertEquals(cases.map(({ misses }) => misses.ofKeys > 0), [false, true, true], name);
    assert(cases.every(({ samplesPerSecond }) => samplesPerSecond > 0));
  }
});

Deno.test("a page that NUMA balancing moves up is waited for by who touched it, on one machine and on servers", async () => {
  for (const servers of [0, 2]) {
    const cluster: Simulation["cluster"] = servers === 0
      ? { cores: 4 }
      : { cores: 4, servers, workers: 4, network: { bandwidth: "30 Gbit/s" } };
    const balancing = (perPage: string): SimulatedConfiguration => ({
      ...tiers("kmem-dax", "50 MB"),
      placement: "pages",
      migration: { scan: "256 MB/s", perPage },
    });
    const time = (perPage: string) => timeOf(small({ one: balancing(perPage) }, { cluster }));
    const [free, kernel] = [await time("0 us"), await time("100 us")];
    assert(kernel > free * 1.01, `servers ${servers}: ${free} s a sample without kernel time, ${kernel} s with`);
  }
});
