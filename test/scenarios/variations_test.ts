import "../native_library.ts";
import { scenarioFor } from "../../scenarios/run/run.ts";
import { ScenarioError } from "../../base/diagnostics.ts";
import { nearest } from "../../base/nearest.ts";
import { resolveScenario } from "../../scenarios/load.ts";
import type { Configuration, Scenario } from "../../scenarios/scenario.ts";
import { durationInSeconds } from "../../base/units.ts";
import { quickScenario, withData } from "../../scenarios/variations.ts";
import { assert, assertEquals, assertRejects, assertThrows } from "../assert.ts";
import { FOUR } from "./fakes.ts";

Deno.test("quickScenario() is smaller, valid, and has another name", async () => {
  const scenario = await resolveScenario({ ...FOUR, workload: {}, quality: {}, repetitions: 9 });
  const quick = quickScenario(scenario);
  assertEquals(await resolveScenario(quick), quick);
  assertEquals([quick.name, quick.repetitions], ["four-quick", 3]);
  assert(quick.budget < 30);
  assert("rows" in quick.workload.data && quick.workload.data.rows < 200_000);
  assertEquals(quick.configurations, scenario.configurations);
});

Deno.test("withData() trains on a file, from the working directory, with the DRAM that is fair for its tables", async () => {
  const { workload, dram } = withData(await resolveScenario({ ...FOUR, dram: "24 MiB" }), "my.tsv");
  assertEquals(dram, "auto");
  assertEquals(workload.data, {
    criteo: `${Deno.cwd()}/my.tsv`,
    format: "auto",
    testEvery: 10,
    maxRows: 0,
    onError: "error",
    numerics: "log",
  });
});

Deno.test("withData() fits the DRAM budget to the tables of the file, unless a configuration gives its sizes", async () => {
  const written = await resolveScenario({ ...FOUR, dram: "24 MiB" });
  assertEquals(withData(written, "my.tsv").dram, "auto");
  const fsdax: Configuration = { storage: "DRAM_PMEM", pmem: "libpmem", size: ["24 MiB"] };
  const sized = await resolveScenario({ ...FOUR, dram: "24 MiB", configurations: { fsdax } });
  assertEquals(withData(sized, "my.tsv").dram, 24 * 2 ** 20);
});

Deno.test("quickScenario() leaves the quality run to the budget, and fits DRAM to a file's tables", async () => {
  const scenario = await resolveScenario({ ...FOUR, workload: {}, quality: {}, dram: "1 MiB" });
  assertEquals(quickScenario(withData(scenario, "my.tsv")).quality.samples, "auto");
  assertEquals(quickScenario(scenario).quality.samples, "auto");
  const own = { ...withData(scenario, "my.tsv"), dram: 2 ** 20 };
  assertEquals([quickScenario(own).dram, quickScenario(scenario).dram], ["auto", 2 ** 20]);
});

Deno.test("nearest() forgives slips and nothing else", () => {
  assertEquals(nearest("bacth", ["batch", "dim"]), "batch");
  assertEquals(nearest("DRAM_PMEN", ["DRAM", "DRAM_PMEM"]), "DRAM_PMEM");
  assertEquals(nearest("BATCH", ["batch"]), "batch");
  assertEquals(nearest("optimizer", ["batch", "dim"]), undefined);
});

Deno.test("durationInSeconds() reads units", () => {
  assertEquals(["150 s", "2 min", "1h", "500 ms", 7].map(durationInSeconds), [150, 120, 3600, 0.5, 7]);
  assertThrows(() => durationInSeconds("7"), SyntaxError);
});

Deno.test("withFields() sets fields last, and what is set no longer varies", async () => {
  const scenario: Scenario = {
    name: "x",
    configurations: { dram: { storage: "DRAM" } },
    matrix: { "workload.dim": [8, 16], "workload.batch": [64, 128] },
  };
  const set = { "workload.dim": 32, "workload.hidden": [4], "cost.priceFor": "1 GB" };
  const resolved = await scenarioFor(scenario, { set });
  assertEquals([resolved.workload.dim, resolved.workload.hidden], [32, [4]]);
  assertEquals(resolved.matrix, { "workload.batch": [64, 128] });
  assertEquals((await scenarioFor(scenario, { set: { matrix: {} } })).matrix, {});
  assertEquals(
    (await scenarioFor(scenario, { quick: true, set: { "workload.batch": 1000, matrix: {} } })).workload.batch,
    1000,
  );
  await assertRejects(() => scenarioFor(scenario, { set: { "workload.dim": "wide" } }), ScenarioError, "workload.dim");
});
