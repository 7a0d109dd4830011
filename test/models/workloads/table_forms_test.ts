// Tables of a document are a list or by name, in simulations and in plans: the same tables, whichever is written.

import "../../native_library.ts";
import { assert, assertEquals, assertRejects, assertThrows } from "../../assert.ts";
import { ScenarioError } from "../../../base/diagnostics.ts";
import { listedTables, namedTables, tableKeys } from "../../../models/workloads/table_forms.ts";
import { parsePlan } from "../../../models/planning/load.ts";
import { parseSimulation } from "../../../models/simulation/load.ts";
import { runSimulation } from "../../../mod.ts";
import { schemaJson } from "../../../scenarios/emit_schema.ts";

const IDS = { rows: 1e6, dim: 64, profile: { s: 1.05 }, count: 2 };
const ADS = { rows: 2e5, dim: 32, dtype: "f32", optimizer: "adam", lookups: 3, profile: "oe-retail" };
const BY_NAME = { "ids": IDS, "ads.new": ADS };
const LISTED = [{ name: "ids", ...IDS }, { name: "ads.new", ...ADS }];
const PLACE = { file: "x.jsonc", directory: Deno.cwd() };

const simulation = (tables: unknown, more: object = {}, key: string | number = 1): string =>
  JSON.stringify({
    kind: "simulation",
    name: "x",
    steps: 4,
    workload: { batch: 64, tables },
    compute: { dense: "1 ms", source: "an example" },
    configurations: { dram: { mode: "dram", tiers: [{ media: "ddr4-2666-6ch" }] } },
    studies: [{ name: "rows", vary: { [`workload.tables.${key}.rows`]: [1e5, 4e5] } }],
    explain: [{ from: "dram", to: "dram", at: { [`workload.tables.${key}.dim`]: 16 } }],
    ...more,
  });
const plan = (tables: unknown): string =>
  JSON.stringify({ kind: "plan", name: "x", tables, target: { samplesPerSecond: 1 } });

Deno.test("listedTables(), namedTables() and tableKeys() turn one form into the other and keep what is in it already", () => {
  assertEquals(listedTables<object>(BY_NAME), LISTED);
  assertEquals<unknown>(namedTables<object>(LISTED), BY_NAME);
  assert(listedTables<object>(LISTED) === LISTED && namedTables<object>(BY_NAME) === BY_NAME);
  assertEquals([tableKeys(BY_NAME), tableKeys(LISTED)], [["ids", "ads.new"], [0, 1]]);
});

Deno.test("a simulation and a plan are the same with either form, tables of one put into the other", async () => {
  const listed = await parseSimulation(simulation(LISTED), PLACE);
  assertEquals(await parseSimulation(simulation(BY_NAME, {}, "ads.new"), PLACE), listed);
  assertEquals(listed.workload.tables.map(({ name, lookups }) => [name, lookups]), [["ids", 1], ["ads.new", 3]]);
  assertEquals(listed.studies[0]?.vary, { "workload.tables.1.rows": [1e5, 4e5] });
  assertEquals(listed.explain[0]?.at, { "workload.tables.1.dim": 16 });
  const named = parsePlan(plan(BY_NAME), PLACE);
  assertEquals(parsePlan(plan(LISTED), PLACE), named);
  assertEquals(named.tables["ads.new"]?.dtype, "fp32");
});

Deno.test("--set and studies address a table as the file writes it", async () => {
  const dotted = JSON.parse(simulation({ ids: IDS, ads: ADS }, {}, "ads"));
  const { cases } = await runSimulation(dotted);
  assertEquals(cases.map(({ point }) => point), [
    { "workload.tables.1.rows": 1e5 },
    { "workload.tables.1.rows": 4e5 },
  ]);
  assert(cases[0]?.rows.all !== cases[1]?.rows.all, "the table's rows changed");
  const one = await parseSimulation(simulation({ ids: IDS, ads: ADS }, {}, "ads"), {
    ...PLACE,
    set: { "workload.tables.ids.rows": 7 },
  });
  assertEquals(one.workload.tables[0]?.rows, 7);
});

Deno.test("what is wrong with a table is told where the file writes it", async () => {
  const wrong = async (tables: unknown, message: string) => {
    const plain = simulation(tables, { studies: [], explain: [] });
    const error = await assertRejects(() => parseSimulation(plain, PLACE), ScenarioError);
    assert(error.message.includes(message), error.message);
  };
  await wrong({ ids: { ...IDS, rows: 0 } }, "workload.tables.ids.rows");
  await wrong({ ids: { ...IDS, law: { s: 1 } } }, 'workload.tables.ids: expected a field "law" or a field "profile"');
  await wrong({ ids: { ...IDS, profile: "nobody" } }, "workload.tables.ids.profile");
  await wrong([{ name: "ids", ...IDS, profile: "nobody" }], "workload.tables[0].profile");
  await wrong({ ids: { ...IDS, name: "b" } }, 'unknown field "name"');
  await wrong({}, "expected at least one table");
  await wrong([], "expected at least one table");
  await wrong(Object.fromEntries(Array.from({ length: 65 }, (_, i) => [`t${i}`, IDS])), "at most 64 tables");
  await wrong(7, "workload.tables");
  for (const more of [{}, { studies: [], published: [] }]) {
    const text = simulation({ ids: IDS }, more, "ads");
    const error = await assertRejects(() => parseSimulation(text, PLACE), ScenarioError);
    assert(error.message.includes("at workload.tables.ads."), error.message);
  }
  for (
    const [tables, message] of [
      [[IDS], 'expected a field "name"'],
      [[LISTED[0], LISTED[0]], "a name of its own for each table"],
      [[{ ...LISTED[0], slots: 2 }], 'tables[0].slots: unknown field "slots"'],
      [{ ids: { ...IDS, name: "b" } }, 'unknown field "name"'],
      [[], "expected at least one table"],
    ] as const
  ) {
    const error = assertThrows(() => parsePlan(plan(tables), PLACE), ScenarioError);
    assert(error.message.includes(message), error.message);
  }
});

Deno.test("editors know both forms", async () => {
  for (const [document, path] of [["plan", ["tables"]], ["simulation", ["workload", "tables"]]] as const) {
    // deno-lint-ignore no-explicit-any
    let at: any = JSON.parse(await schemaJson(document));
    for (const key of path) at = at.properties[key];
    const kinds = at.anyOf.map(({ type }: { type: string }) => type).sort();
    assertEquals(kinds, ["array", "object"]);
  }
});
