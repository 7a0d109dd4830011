/** Profiles and traces in simulations: the law of a table from a file, and hits from a user's own keys. */

import "../../native_library.ts";
import { join } from "node:path";
import {
  generateKeys,
  loadProfile,
  missRatioCurve,
  profileLaw,
  resolveSimulation,
  runSimulation,
  ScenarioError,
  type SimulatedTable,
  type Simulation,
  summariseSimulation,
} from "../../../mod.ts";
import { rowsOf, scaledLaw } from "../../../models/workloads/scaled_law.ts";
import { assert, assertAlmostEquals, assertEquals, assertRejects } from "../../assert.ts";

const TIERS = (megabytes: number) => [
  { media: "ddr4-2666-6ch", size: `${megabytes} MB` },
  { media: "optane-100-6x256" },
];

function simulation(table: Partial<SimulatedTable>, more: Partial<Simulation> = {}): Simulation {
  return {
    kind: "simulation",
    name: "profiles",
    steps: 4,
    warmup: 1,
    workload: { batch: 1000, tables: [{ name: "ids", rows: 2.1e9, dim: 16, slots: 1, lookups: 10, ...table }] },
    compute: { dense: "1 ms", source: "a test" },
    configurations: { fsdax: { mode: "fsdax", tiers: TIERS(2000) } },
    ...more,
  };
}

const missesOf = async (one: Simulation) => (await runSimulation(one)).cases.map(({ misses }) => misses.ofRows);

Deno.test("a table's profile gives what its law gives", async () => {
  const [named = NaN] = await missesOf(simulation({ profile: "oe-retail" }));
  const [written = NaN] = await missesOf(simulation({ law: { s: 1.346, q: 4300 } }));
  assert(named > 0.05 && named < 0.5);
  assertAlmostEquals(named, written, 1e-3);
});

Deno.test("a profile is scaled to the table's rows and keeps its shape, also where a study varies them", async () => {
  // A tenth of the rows, of the lookups and of the cache: the same misses.
  const tenth = simulation({ profile: "oe-retail", rows: 2.1e8, lookups: 1 }, {
    configurations: { fsdax: { mode: "fsdax", tiers: TIERS(200) } },
  });
  const [whole = NaN] = await missesOf(simulation({ profile: "oe-retail" }));
  const [part = NaN] = await missesOf(tenth);
  assertAlmostEquals(part, whole, 1e-3);
  const varied = await missesOf({
    ...simulation({ profile: "oe-retail", rows: 1e6 }),
    studies: [{ name: "rows", vary: { "workload.tables.0.rows": [2.1e8, 2.1e9] } }],
  });
  assertAlmostEquals(varied[1] ?? NaN, whole, 1e-12);
  assert((varied[0] ?? 1) < whole);
});

Deno.test("scaledLaw() keeps rows and lookups whole for any number of rows", async () => {
  const law = profileLaw(await loadProfile("meta-2021"), undefined);
  const lookups = ({ rows, weights }: typeof law) =>
    weights.reduce((sum, weight, i) => sum + weight * Number(rows[i]), 0);
  for (const rows of [1, 7, 1000, 12_345_678, 10 ** 12]) {
    const scaled = scaledLaw(law, rows);
    assertEquals(rowsOf(scaled), rows);
    assertAlmostEquals(lookups(scaled), lookups(law), 1e-9);
  }
});

Deno.test("a study varies profiles; what a profile has beside its law is told", async () => {
  const profiles = ["oe-retail-x0.5", "oe-retail", "oe-retail-x2"];
  const misses = await missesOf({
    ...simulation({ profile: "oe-retail" }),
    studies: [{ name: "skew", vary: { "workload.tables.0.profile": profiles } }],
  });
  assertEquals(misses.length, 3);
  assertEquals(new Set(misses).size, 3);
  const result = await runSimulation(simulation({ profile: "oe-retail" }));
  const told = summariseSimulation(result).cautions.filter((text) => text.includes('profile "oe-retail"'));
  assertEquals(told, ['Rows of ids are as popular as those of "retail" in the profile "oe-retail"']);
});

Deno.test("a profile from a file starts at the simulation's folder; its drift is told as left out", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const profile = await loadProfile("oe-retail");
    const own = { ...profile, name: "own", tables: profile.tables.map((table) => ({ ...table, life: 1e6 })) };
    await Deno.writeTextFile(join(folder, "own.json"), JSON.stringify(own));
    const resolved = await resolveSimulation(simulation({ profile: "own.json" }), folder);
    const [table] = resolved.workload.tables;
    assert(table !== undefined && "buckets" in table.law);
    assertEquals(table.law.of, { profile: "own", table: "retail", leftOut: ["drift"] });
    const { cautions } = summariseSimulation(await runSimulation(resolved));
    assert(cautions.some((text) => text.includes("what it says of drift is not simulated")), cautions.join("\n"));
    assert(!cautions.some((text) => text.includes("is bad")), cautions.join("\n"));
    // A score beyond the bars is told, too.
    const score = { lookups: 10_000, rowsKept: 1, errors: { sieve: { mean: 0.05, largest: 0.2 } } };
    const bad = { ...own, tables: own.tables.map((each) => ({ ...each, score })) };
    await Deno.writeTextFile(join(folder, "own.json"), JSON.stringify(bad));
    const told = summariseSimulation(
      await runSimulation(await resolveSimulation(simulation({ profile: "own.json" }), folder)),
    );
    assert(told.cautions.some((text) => text.includes("That profile is bad: ") && text.includes("sieve by 0.050")));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("a table needs a law or a profile that is there, of one table; exact hits need a trace", async () => {
  const wrong: readonly (readonly [Simulation, string])[] = [
    [simulation({}), 'expected a field "law" or a field "profile", found neither'],
    [simulation({ profile: "oe-retail", law: { s: 1 } }), "found both"],
    [simulation({ profile: "oe-retial" }), 'did you mean "oe-retail"?'],
    [simulation({ profile: "criteo-kaggle" }), "for one table: it has 26"],
    [simulation({ profile: { name: "oe-retail", table: "ids" } }), 'Known: "retail"'],
    [
      simulation({ law: { s: 1 } }, {
        configurations: { fsdax: { mode: "fsdax", tiers: TIERS(1), hits: "exact" } },
      }),
      'expected a field "trace"',
    ],
  ];
  for (const [one, message] of wrong) await assertRejects(() => resolveSimulation(one), ScenarioError, message);
});

Deno.test("exact, sampled and analytic hits of a generated trace agree within 0.01", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const profile = await loadProfile("torchrec-zipf-1.2");
    const rows = 100_000;
    const own = { ...profile, name: "small", tables: [{ ...profile.tables[0], name: "t", rows, bags: [[1, 1]] }] };
    await Deno.writeTextFile(join(folder, "small.json"), JSON.stringify(own));
    const small = await loadProfile(join(folder, "small.json"));
    const path = join(folder, "keys.i64");
    const [batch] = [...generateKeys(small, { samples: 2_000_000, batch: 2_000_000, seed: 3 })];
    assert(batch !== undefined);
    const { keys } = batch;
    await Deno.writeFile(path, new Uint8Array(keys.buffer, keys.byteOffset, keys.byteLength));
    // Rows of 144 bytes: 8,000 of them.
    const tiers = [{ media: "ddr4-2666-6ch", size: 144 * 8000 }, { media: "optane-100-6x256" }];
    const one = simulation({ profile: join(folder, "small.json"), rows, lookups: 1 }, {
      configurations: Object.fromEntries(
        (["analytic", "sampled", "exact"] as const).map((hits) => [hits, { mode: "fsdax", tiers, hits }]),
      ),
    });
    const run = { ...one, workload: { ...one.workload, trace: path } };
    const { cases } = await runSimulation(run);
    const [analytic, sampled, exact] = cases.map(({ misses }) => misses.ofRows) as [number, number, number];
    assert(analytic > 0.1 && analytic < 0.9, `${analytic}`);
    assertAlmostEquals(sampled, exact, 0.01);
    assertAlmostEquals(analytic, exact, 0.01);
    // The record's share is the replay's, and says what was replayed.
    const { missRatios: [replayed] } = missRatioCurve({ keys, batch: 1000, uncounted: 1e6, sizes: [8000] });
    assertAlmostEquals(exact, replayed ?? NaN, 1e-12);
    const last = cases[2]?.hits;
    assertEquals([last?.method, last?.trace?.keys, last?.trace?.uncounted], ["exact", 2e6, 1e6]);
    assert(/^[0-9a-f]{64}$/.test(last?.trace?.sha256 ?? ""));
    assertEquals(cases.map(({ hits }) => hits?.method), ["analytic", "sampled", "exact"]);
    // Distinct rows are those of the law, which the trace has, too.
    assertAlmostEquals((last?.trace?.rows ?? NaN) / (cases[2]?.rows.all ?? NaN), 1, 0.01);
    await assertRejects(
      () => runSimulation({ ...run, workload: { ...run.workload, batch: 1_500_000 } }),
      RangeError,
      "give a trace of two steps or more",
    );
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
