import "../../native_library.ts";
import { isReproduced, publishedDeviations } from "../../../models/simulation/deviations.ts";
import { loadSimulation, resolveSimulation } from "../../../models/simulation/load.ts";
import { simulatedCases } from "../../../models/simulation/cases.ts";
import { nullCases } from "../../../models/simulation/null_models.ts";
import { parseSimulationResult } from "../../../models/simulation/result.ts";
import { runSimulation } from "../../../models/simulation/run.ts";
import type { Published, Simulation } from "../../../models/simulation/simulation.ts";
import { summariseSimulation } from "../../../reports/simulation/summary.ts";
import { simulationJson } from "../../../reports/simulation/text.ts";
import { assert, assertEquals, assertRejects } from "../../assert.ts";

const PAPER = new URL("../../../scenarios/paper-openembedding.jsonc", import.meta.url);

/** Rows of PMEM behind a small cache, and all in DRAM; published is what these very models give. */
function withPublished(published: Published[]): Simulation {
  return {
    kind: "simulation",
    name: "nulls",
    workload: {
      batch: 4096,
      tables: [{ name: "ids", rows: 2e7, dim: 64, lookups: 26, law: { s: 1.2, q: 10 } }],
    },
    compute: { dense: "10 us", source: "a test" },
    steps: 8,
    warmup: 2,
    configurations: {
      dram: { mode: "dram", tiers: [{ media: "ddr4-2666-6ch" }] },
      pmem: { mode: "fsdax", tiers: [{ media: "ddr4-2666-6ch", size: "20 MB" }, { media: "optane-100-6x256" }] },
    },
    published,
  };
}

const figure = (of: Published["of"], value: number, more: Partial<Published> = {}): Published => ({
  figure: "a test",
  of,
  configuration: "pmem",
  value,
  source: "a test",
  tolerance: 0.005,
  ...more,
});

Deno.test("a figure that its own model gives is reproduced where no null model gives it, too", async () => {
  const { cases } = await runSimulation(withPublished([]));
  const [dram, pmem] = ["dram", "pmem"].map((name) => cases.find((one) => one.configuration === name));
  assert(dram !== undefined && pmem !== undefined);
  const result = await runSimulation(withPublished([
    figure("time", 1 / pmem.samplesPerSecond),
    figure("miss-rate", pmem.misses.ofKeys),
    figure("extra-time", dram.samplesPerSecond / pmem.samplesPerSecond - 1, { relativeTo: { configuration: "dram" } }),
    figure("time", 1 / dram.samplesPerSecond, { configuration: "dram" }),
    figure("time", 1 / pmem.samplesPerSecond, { tolerance: 10 }),
    figure("time", 1 / pmem.samplesPerSecond, { calibrates: "everything" }),
  ]));
  const found = publishedDeviations(result).map(([, one]) => one);
  assertEquals(found.map(({ within }) => within), [true, true, true, true, true, true]);
  assertEquals(found.map(isReproduced), [true, true, true, true, false, false]);
  // The medium is no matter of a miss rate, nor is a cache where there is none.
  const models = found.map(({ nulls }) => nulls?.map(({ model }): string => model));
  const all = ["dram", "small-cache", "uniform-keys"];
  assertEquals(models, [all, ["small-cache", "uniform-keys"], all, ["uniform-keys"], all, all]);
  assertEquals(found[4]?.nulls?.map(({ within }) => within), [true, true, true]);
});

Deno.test("null models replace what they are called by, and run for cases of published figures alone", async () => {
  const simulation = await resolveSimulation(withPublished([figure("time", 1)]), ".");
  const nulls = nullCases(simulation, await simulatedCases(simulation));
  assertEquals(nulls.map(({ model, one }) => [model, one.configuration]), [
    ["dram", "pmem"],
    ["small-cache", "pmem"],
    ["uniform-keys", "pmem"],
  ]);
  const [dram, cache, uniform] = nulls.map(({ one }) => one);
  assertEquals(dram?.set.tiers.map(({ media, store }) => [media, store]), [
    ["ddr4-2666-6ch", "cached"],
    ["ddr4-2666-6ch", "cached"],
  ]);
  assertEquals(cache?.set.tiers.map(({ media, size }) => [media, size]), [
    ["ddr4-2666-6ch", 200_000],
    ["optane-100-6x256", 0],
  ]);
  assertEquals(uniform?.simulation.workload.tables.map(({ law }) => law), [{ s: 0, q: 0 }]);
});

Deno.test("uniform keys take nothing away where keys are uniform, however their law is written", async () => {
  const written = withPublished([figure("time", 1)]), [table] = written.workload.tables;
  assert(table !== undefined);
  for (const law of [{ s: 0 }, { s: 0, q: 3 }]) {
    const simulation = await resolveSimulation(
      { ...written, workload: { ...written.workload, tables: [{ ...table, law }] } },
      ".",
    );
    const models = nullCases(simulation, await simulatedCases(simulation)).map(({ model }): string => model);
    assertEquals(models, ["dram", "small-cache"], JSON.stringify(law));
  }
});

Deno.test("paper-hierarchicalkv: finds of uniform keys are reproduced, for all DRAM misses each of them", async () => {
  const found = publishedDeviations(
    await runSimulation(
      await loadSimulation(new URL("../../../scenarios/paper-hierarchicalkv.jsonc", import.meta.url)),
    ),
  ).map(([, one]) => one).filter(({ calibrates }) => calibrates === undefined);
  assertEquals(found.map(isReproduced), [true, true, true]);
  assertEquals(found.map(({ nulls }) => nulls?.map(({ model, within }) => [model, within])), [
    [["dram", false]],
    [["dram", false]],
    [["dram", false]],
  ]);
});

Deno.test("paper-openembedding: what DRAM or a hundredth of the cache meets, too, is not called reproduced", async () => {
  const result = await runSimulation(await loadSimulation(PAPER));
  const { deviations, accuracy, sentences } = summariseSimulation(result);
  const metBy = (model: string) =>
    deviations.filter(({ nulls }) => nulls?.some((one) => one.model === model && one.within));
  assert(metBy("dram").some(({ case: name }) => name.startsWith("pmem-oe")), "PMem-OE's times hold with DRAM, too");
  const { reproduced = -1 } = accuracy?.nulls ?? {};
  assertEquals(reproduced, deviations.filter(isReproduced).length);
  const { caught = -1 } = accuracy?.nulls ?? {};
  assertEquals(
    caught,
    deviations.filter((one) =>
      one.within && one.calibrates === undefined &&
      one.nulls?.some((nul) => !nul.within)
    ).length,
  );
  assert(reproduced >= 1 && reproduced < (accuracy?.within ?? 0));
  assert(sentences.some((one) => one.startsWith(`${reproduced} of these ${accuracy?.within} are reproduced`)));
  assert(simulationJson(summariseSimulation(result)).includes('"uniform-keys"'));
});

Deno.test("results without null models are read, and say nothing of them", async () => {
  const result = await runSimulation(withPublished([figure("time", 1)]));
  const lines = [result.run, ...result.cases].map((record) => JSON.stringify(record)).join("\n");
  const { deviations, accuracy, sentences } = summariseSimulation(parseSimulationResult(`${lines}\n`, "old"));
  assertEquals(deviations.map(isReproduced), [undefined]);
  assertEquals(accuracy?.nulls, undefined);
  assert(!sentences.some((one) => one.includes("reproduced")));
});

Deno.test("an extra time needs the case that it is extra to", async () => {
  await assertRejects(
    () => runSimulation(withPublished([figure("extra-time", 0.1)])),
    Error,
    'expected a field "relativeTo" of an extra time, found none',
  );
});
