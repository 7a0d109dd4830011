// Tables and targets are said in one vocabulary, whether they are planned or simulated.

import "../../native_library.ts";
import { assert, assertEquals, assertMatch, assertRejects } from "../../assert.ts";
import { parsePlan } from "../../../models/planning/load.ts";
import { planTables } from "../../../models/planning/sizes.ts";
import { resolveSimulation } from "../../../models/simulation/load.ts";
import { rowBytes } from "../../../models/simulation/native_options.ts";
import { runSimulation } from "../../../models/simulation/run.ts";
import type { SimulatedTable, Simulation } from "../../../models/simulation/simulation.ts";
import { TABLE_OPTIMIZERS, type TableOptimizer } from "../../../models/workloads/row_bytes.ts";
import { summariseSimulation } from "../../../reports/simulation/summary.ts";

const TABLE = { rows: 1_000_000, dim: 64, dtype: "fp32", profile: { s: 1.05, q: 3 }, lookups: 8, count: 2 } as const;

function simulationOf(table: Partial<SimulatedTable>, more: Partial<Simulation> = {}): Simulation {
  return {
    kind: "simulation",
    name: "t",
    steps: 4,
    warmup: 2,
    workload: { batch: 256, tables: [{ name: "ids", ...TABLE, ...table }] },
    compute: { dense: "1 ms", on: "accelerator", source: "a test" },
    configurations: {
      dram: { mode: "dram", tiers: [{ media: "ddr5-4800-8ch" }] },
      ssd: { mode: "ssd", tiers: [{ media: "ddr5-4800-8ch", size: "1 MB" }, { media: "nvme-tlc" }] },
    },
    ...more,
  };
}

Deno.test("a plan's table is a simulation's: the same words, the same bytes, for every optimizer", async () => {
  for (const optimizer of TABLE_OPTIMIZERS) {
    const plan = parsePlan(
      JSON.stringify({
        kind: "plan",
        name: "t",
        target: { samplesPerSecond: 1 },
        tables: { ids: { ...TABLE, optimizer } },
      }),
      { file: "t.jsonc", directory: "." },
    );
    const { workload: { tables: [table] } } = await resolveSimulation(simulationOf({ optimizer }));
    const [planned] = planTables(plan);
    assert(table !== undefined && planned !== undefined);
    assertEquals([rowBytes(table), table.rows, table.count], [planned.rowBytes, planned.rows, planned.count]);
    assertEquals([table.law, table.dtype], [TABLE.profile, "f32"]);
  }
});

Deno.test("a study varies the optimizer, which wins over slots; others than those of plans are refused", async () => {
  const bytes = async (optimizer: TableOptimizer): Promise<number> => {
    const vary = { "workload.tables.0.optimizer": [optimizer] };
    const studies = [{ name: "one", configurations: ["dram"], vary }];
    const { cases: [one] } = await runSimulation(await resolveSimulation(simulationOf({ slots: 5 }, { studies })));
    return one?.tiers[0]?.writeBytes ?? NaN;
  };
  const [sgd, adam] = [await bytes("sgd"), await bytes("adam")];
  assert(Math.abs(adam / sgd - 3) < 0.01, `${sgd}, ${adam}`);
  await assertRejects(() => resolveSimulation(simulationOf({ optimizer: "adamax" as never })), Error, "optimizer");
});

Deno.test("a simulation's target is a plan's: sentences say who meets it, and what costs least of those", async () => {
  const run = async (target: Simulation["target"], more: Partial<Simulation> = {}) =>
    summariseSimulation(
      await runSimulation(
        await resolveSimulation(simulationOf({}, { ...(target === undefined ? {} : { target }), ...more })),
      ),
    );
  const plain = await run(undefined);
  const speed = (name: string) =>
    plain.studies[0]?.cases.find(({ configuration }) => configuration === name)?.samplesPerSecond ?? NaN;
  assert(speed("dram") > 1.1 * speed("ssd"), `${speed("dram")} ${speed("ssd")}`);
  assert(!plain.sentences.some((text) => text.includes("target")));
  const middle = { samplesPerSecond: Math.sqrt(speed("dram") * speed("ssd")) };
  const told = await run(middle);
  assertMatch(
    told.sentences[0] ?? "",
    /^all: dram meets the target; missed by ssd \([\d.]+ k of [\d.]+ k samples\/s\)$/,
  );
  assertEquals(told.studies[0]?.cases.map(({ missesTarget }) => missesTarget === undefined), [true, false]);
  assertMatch(
    (await run({ p99Ms: 1e-3 })).sentences[0] ?? "",
    /^all: nothing meets the target; missed by dram \(a p99 step/,
  );
  await assertRejects(() => run({}), Error, "samplesPerSecond, p99Ms or dollarsPerHour");
  // The cheaper one is too slow: what costs least is said of those that meet the target.
  const { configurations } = simulationOf({});
  const priced = (prices: readonly [number, number]): Partial<Simulation> => ({
    configurations: Object.fromEntries(
      Object.entries(configurations).map(([name, one], i) => [
        name,
        { ...one, machine: { pricePerHour: prices[i] as number, date: "2026-10" } },
      ]),
    ),
    cost: { prices: "2026-11" },
  });
  const free = await run(undefined, priced([9, 0.001]));
  assertMatch(free.sentences[0] ?? "", /^all: ssd costs least, /);
  const bound = await run(middle, priced([9, 0.001]));
  assertMatch(bound.sentences[0] ?? "", /^all: dram meets the target and costs, .*; ssd misses the target: /);
  const budget = await run({ dollarsPerHour: 5 }, priced([9, 0.001]));
  assertMatch(
    budget.sentences[0] ?? "",
    /^all: ssd meets the target and costs, .*; dram misses the target: servers of 9/,
  );
});
