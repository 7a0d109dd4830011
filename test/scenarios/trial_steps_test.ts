import "../native_library.ts";
import { generateData } from "../../ffi/data.ts";
import { EmbeddingStore } from "../../ffi/store.ts";
import { WdlTrainer } from "../../ffi/trainer.ts";
import { ScenarioError } from "../../base/diagnostics.ts";
import { parseScenario, resolveScenario } from "../../scenarios/load.ts";
import type { Scenario } from "../../scenarios/scenario.ts";
import { TRIAL_STEPS } from "../../scenarios/trial_steps.ts";
import { quickScenario } from "../../scenarios/variations.ts";
import { assert, assertEquals, assertRejects } from "../assert.ts";

const DRAM = { dram: { storage: "DRAM" } } as const;

Deno.test("SmartStage's trial ends with the warm-up that scenarios give it", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const data = `${folder}/train.tbc`;
    await generateData({ out: data, rows: 1024, scale: 0.001, seed: 1 });
    using store = EmbeddingStore.open({ storage: "DRAM" });
    using trainer = WdlTrainer.open(store, { data, batch: 16, dim: 1, hidden: [4], stageWhat: "auto" });
    assertEquals(trainer.describe()["stage_trial"], String(TRIAL_STEPS));
    await trainer.train(0, { warmup: TRIAL_STEPS - 1 });
    assertEquals(trainer.describe()["stage_choice"], "undecided");
    await trainer.train(0, { warmup: 1 });
    assert(trainer.describe()["stage_choice"] !== "undecided");
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("no step of a trial is counted: the warm-up holds it, wherever smartStage comes from", async () => {
  const scenarios: readonly Partial<Scenario>[] = [
    { workload: { optimisations: { smartStage: true } } },
    { matrix: { "workload.optimisations.smartStage": [false, true] } },
    { workload: { steps: 20 }, quality: { samples: 0 }, ablation: { switches: { stage: 2, smartStage: true } } },
  ];
  for (const fields of scenarios) {
    const scenario = await resolveScenario({ name: "x", configurations: DRAM, ...fields });
    assertEquals(scenario.workload.warmup, TRIAL_STEPS);
    assertEquals(quickScenario(scenario).workload.warmup, TRIAL_STEPS);
  }
  assertEquals((await resolveScenario({ name: "x", configurations: DRAM })).workload.warmup, 10);
});

Deno.test("a warm-up that is shorter than the trial is refused with the figure", async () => {
  const text = JSON.stringify({
    name: "x",
    configurations: DRAM,
    workload: { warmup: 10, optimisations: { smartStage: true } },
  });
  const error = await assertRejects(() => parseScenario(text, { file: "mine.jsonc", directory: "/" }), ScenarioError);
  assert(error.message.includes("workload.warmup: expected at least 48 steps"), error.message);
  assert(error.message.includes("found 10"), error.message);
});
