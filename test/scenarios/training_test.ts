import "../native_library.ts";
import { loadScenario, parseScenario } from "../../scenarios/load.ts";
import { ScenarioError } from "../../base/diagnostics.ts";
import { planCases } from "../../scenarios/plan.ts";
import { fillDefaults } from "../../scenarios/resolve.ts";
import { trainerOf } from "../../scenarios/run/trainer_options.ts";
import type { PreparedCase } from "../../scenarios/run/prepare.ts";
import type { Workload } from "../../scenarios/scenario.ts";
import { DEFAULT_OPTIMISATIONS, PART_OPTIMIZERS } from "../../models/workloads/training.ts";
import { tableBytes, tablesOf } from "../../models/workloads/sizes.ts";
import { assert, assertEquals, assertRejects, assertStringIncludes } from "../assert.ts";
import { FOUR } from "./fakes.ts";

const shipped = (name: string) => loadScenario(new URL(`../../scenarios/${name}.jsonc`, import.meta.url));
const resolved = (workload: Workload) => fillDefaults({ ...FOUR, workload }, "/");

async function problems(workload: string, more = ""): Promise<string> {
  const text = `{"name":"x","configurations":{"dram":{"storage":"DRAM"}},"workload":${workload}${more}}`;
  const parse = () => parseScenario(text, { file: "mine.jsonc", directory: "/" });
  return (await assertRejects(parse, ScenarioError)).message;
}

/** What a worker of the workload's first case is told. */
function told(workload: Workload): ReturnType<typeof trainerOf> {
  const [one] = planCases(resolved(workload));
  return trainerOf({ ...one, data: { train: "t" }, threads: 2 } as unknown as PreparedCase);
}

Deno.test("wdl-deeprec.jsonc is DeepRec's reference configuration", async () => {
  const { workload } = await shipped("wdl-deeprec");
  const dims = tablesOf(workload).map(({ dim }) => dim);
  assertEquals(dims.reduce((a, b) => a + b), 2176);
  assertEquals(dims.flatMap((dim, i) => dim === 128 ? [`C${i + 1}`] : []).join(), "C3,C4,C10,C12,C16,C21,C24,C26");
  assert(dims.every((dim) => dim === 64 || dim === 128));
  const layers = [2176 + 13, ...workload.hidden, 1];
  const dense = layers.slice(1).reduce((sum, out, i) => sum + (layers[i] ?? 0) * out + out, 0);
  assertEquals(dense, 2_898_945);
  assertEquals(workload.batch, 2048);
  assertEquals(workload.optimizer.wide?.ftrl, { learningRate: 0.2, initialAccumulator: 0.1, l1: 0, l2: 0 });
  assertEquals(workload.optimizer.deep, { adagrad: { learningRate: 0.01, initialAccumulator: 0.1 } });
});

Deno.test("shipped scenarios of the other models and the ablation plan what they say", async () => {
  assertEquals((await shipped("dlrm")).workload.model, "dlrm");
  assertEquals((await shipped("deepfm")).workload.optimizer.embedding, {
    adagrad: { learningRate: 0.01, initialAccumulator: 0.1 },
  });
  const cases = planCases(await shipped("wdl-ablation"));
  assertEquals(cases.length, 2 * (2 + 2 * 11));
  assert(cases.every(({ scenario }) => scenario.workload.steps === 60));
});

Deno.test("resolving fills in what belongs to a model, and is stable", () => {
  for (const model of ["wdl", "dlrm", "deepfm"] as const) {
    const scenario = resolved({ model });
    assertEquals(fillDefaults(scenario, "/"), scenario);
    assertEquals(scenario.workload.bottom, model === "dlrm" ? [512, 256] : undefined);
    assertEquals(scenario.workload.optimizer.wide === undefined, model === "dlrm");
    assertEquals(scenario.workload.optimisations, DEFAULT_OPTIMISATIONS);
  }
  const list = Array.from({ length: 26 }, (_, i) => i + 1);
  assertEquals(tablesOf(resolved({ dims: list }).workload).map(({ dim }) => dim), list);
  const [c1, c2] = tablesOf(resolved({ dim: 8, dims: { C2: 4 } }).workload);
  assertEquals([c1, c2], [{ name: "C1", columns: ["C1"], dim: 8 }, { name: "C2", columns: ["C2"], dim: 4 }]);
});

Deno.test("every optimizer resolves by name and with parameters, and embeddings share what deep has", () => {
  for (const name of PART_OPTIMIZERS) {
    const [byName] = Object.entries(resolved({ optimizer: { deep: name } }).workload.optimizer.deep);
    assertEquals(byName?.[0], name);
    assertEquals(byName?.[1].learningRate, 0.01);
  }
  const { optimizer } = resolved({
    optimizer: { deep: { adagrad: { initialAccumulator: 1e-8 } }, embedding: "adagradDecay" },
  }).workload;
  assertEquals(optimizer.embedding, {
    adagradDecay: {
      learningRate: 0.01,
      initialAccumulator: 1e-8,
      decayStep: 100_000,
      decayRate: 0.9,
      decayBaseline: 1e-8,
    },
  });
});

Deno.test("one state a row is the embeddings' alone, and so are its numbers", () => {
  const optimizer = {
    deep: { adam: { epsilon: 1e-6 } },
    embedding: { rowwiseAdagrad: { learningRate: 0.3 } },
  } as const;
  assertEquals(resolved({ optimizer }).workload.optimizer.embedding, {
    rowwiseAdagrad: { learningRate: 0.3, initialAccumulator: 0, epsilon: 1e-8 },
  });
  const { deepEpsilon, deepInitialAccumulator, ...trainer } = told({ optimizer });
  assertEquals([deepEpsilon, deepInitialAccumulator], [1e-6, undefined]);
  assertEquals([trainer.embeddingOptimizer, trainer.embeddingLearningRate], ["rowwise-adagrad", 0.3]);
  assertEquals([trainer.embeddingInitialAccumulator, trainer.embeddingEpsilon], [0, 1e-8]);
});

Deno.test("a worker is told everything, in the trainer's words", () => {
  const trainer = told({
    model: "dlrm",
    dim: 8,
    dropout: 0.1,
    deterministic: false,
    optimizer: { deep: { adamW: { weightDecay: 0.5 } }, embedding: { adagradDecay: { learningRate: 0.3 } } },
    optimisations: { stage: 3, smartStage: true, executor: "cost-model", bf16: "rows", workQueue: 4 },
  });
  const { deepOptimizer, embeddingOptimizer, deepWeightDecay, embeddingLearningRate, deepDecayStep } = trainer;
  assertEquals([deepOptimizer, embeddingOptimizer, deepWeightDecay, embeddingLearningRate, deepDecayStep], [
    "adamw",
    "adagrad-decay",
    0.5,
    0.3,
    100_000,
  ]);
  const { stage, stageWhat, executor, bf16, readers, dropout, deterministic, bottom, wideL1 } = trainer;
  assertEquals([stage, stageWhat, executor, bf16, readers, dropout, deterministic, bottom, wideL1], [
    3,
    "auto",
    "cost-model",
    "rows",
    4,
    0.1,
    false,
    [512, 256],
    undefined,
  ]);
  assertEquals(told({ optimisations: { stageWhat: "lookup" } }).stageWhat, "lookup");
  assert(!("graphFusion" in trainer), "the library knows whether oneDNN has it");
  assertEquals(told({ optimisations: { graphFusion: true } }).graphFusion, true);
  assert(!("smartStage" in trainer) && !("workQueue" in trainer));
});

Deno.test("tableBytes() counts each column's width, the embeddings' optimizer and bf16 rows", () => {
  const bytes = (workload: Workload) => tableBytes([10, 0, 1], resolved(workload).workload);
  assertEquals(bytes({ dim: 16, dims: { C3: 64 } }), 10 * 128 + 512);
  assertEquals(bytes({ dim: 16, optimizer: { embedding: "adam" } }), 11 * 192);
  assertEquals(bytes({ dim: 16, optimizer: { deep: "adagradDecay" } }), 11 * (128 + 4));
  assertEquals(bytes({ dim: 16, optimizer: { embedding: "rowwiseAdagrad" } }), 11 * (64 + 4));
  assertEquals(bytes({ dim: 16, optimisations: { bf16: "rows" } }), 11 * (32 + 64));
  assertEquals(bytes({ dim: 16, optimisations: { bf16: "dense" } }), 11 * 128);
});

Deno.test("tables say what feeds them, in the order in which they are written, and as wide as a matrix makes them", () => {
  const workload: Workload = {
    dim: 8,
    tables: { C9: {}, visited: { columns: ["C3", "C1"], combiner: "mean" }, both: { columns: ["C2", "C4"], dim: 4 } },
  };
  const scenario = resolved(workload);
  assertEquals(fillDefaults(scenario, "/"), scenario);
  assertEquals(told(workload).tables, [
    { name: "C9", dim: 8, columns: ["C9"] },
    { name: "visited", dim: 8, columns: ["C3", "C1"], combiner: "mean" },
    { name: "both", dim: 4, columns: ["C2", "C4"] },
  ]);
  const cases = planCases({ ...scenario, matrix: { "workload.dim": [8, 32] } });
  const widths = cases.map((one) => tablesOf(one.scenario.workload).map(({ dim }) => dim).join());
  assertEquals([...new Set(widths)].sort(), ["32,32,4", "8,8,4"]);
  // C1 and C3 of 8 weights with Adagrad, C2 and C4 of 4; C9 has no keys here, C5 no table.
  assertEquals(tableBytes([10, 1, 2, 1, 5], scenario.workload), 12 * 64 + 2 * 32);
});

for (
  const [workload, expected] of [
    ['{"model": "wld"}', 'unknown model "wld"\n    did you mean "wdl"?'],
    ['{"optimisations": {"stge": 1}}', 'workload.optimisations.stge: unknown field "stge"\n    did you mean "stage"?'],
    ['{"optimisations": {"executor": "costmodel"}}', 'unknown executor "costmodel"\n    did you mean "cost-model"?'],
    ['{"optimisations": {"bf16": true}}', 'expected one of "off", "dense", "rows", "all", found true'],
    ['{"optimisations": {"stage": 9}}', "expected a whole number from 0 to 8, found 9"],
    ['{"optimisations": {"stage": 0, "smartStage": true}}', 'expected a "stage" of 1 or more beside it, found 0'],
    ['{"optimisations": {"stage": 0, "workQueue": 2}}', 'expected a "stage" of 1 or more beside 2 readers'],
    ['{"batch": 8, "optimisations": {"microBatch": 16}}', "expected at most the 8 samples of a batch, found 16"],
    ['{"optimizer": {"deep": "adm"}}', 'unknown optimizer "adm"\n    did you mean "adam"?'],
    ['{"optimizer": {"deep": {"adam": {"beta3": 1}}}}', 'unknown field "beta3"\n    did you mean "beta1"?'],
    [
      '{"optimizer": {"deep": {"adam": {"beta1": 0.5}}, "embedding": {"adam": {"beta1": 0.6}}}}',
      'optimizer.embedding.adam.beta1: expected the 0.5 of "deep"',
    ],
    ['{"dims": {"C27": 4}}', 'workload.dims.C27: unknown field "C27"'],
    ['{"dims": [1, 2]}', "expected 26 widths, one for each of C1 to C26"],
    ['{"model": "deepfm", "dims": {"C3": 128}}', "expected equal widths for the model"],
    ['{"tables": {}}', "workload.tables: expected at least one table"],
    ['{"tables": {"a b": {"columns": ["C1"]}}}', "expected a name of up to 63 letters"],
    ['{"tables": {"seen": {}}}', 'workload.tables.seen: expected "columns", since "seen" is no column'],
    ['{"tables": {"seen": {"columns": []}}}', "workload.tables.seen.columns: expected at least one column"],
    ['{"tables": {"seen": {"columns": ["C27"]}}}', 'workload.tables.seen.columns[0]: expected one of "C1"'],
    ['{"tables": {"C1": {"combiner": "max"}}}', 'expected one of "sum", "mean", "sqrtn", found "max"'],
    ['{"tables": {"C1": {"dims": 8}}}', 'unknown field "dims"\n    did you mean "dim"?'],
    ['{"tables": {"C1": {}, "seen": {"columns": ["C2", "C1"]}}}', 'in one table, found "C1" in "C1" and "seen"'],
    ['{"tables": {"seen": {"columns": ["C2", "C2"]}}}', 'in one table, found "C2" in "seen" and "seen"'],
    ['{"dims": {"C1": 8}, "tables": {"C1": {}}}', 'workload.dims: expected no such field beside "tables"'],
    ['{"model": "dlrm", "tables": {"C1": {}, "C2": {"dim": 4}}}', '"C1" with 16 and "C2" with 4'],
    ['{"bottom": [8]}', 'expected no such field with the model "wdl"'],
    ['{"model": "dlrm", "optimizer": {"wide": "ftrl"}}', 'expected no such field with the model "dlrm"'],
  ] as const
) {
  Deno.test(`a workload is refused: ${workload}`, async () => {
    assertStringIncludes(await problems(workload), expected);
  });
}

Deno.test("a matrix over models may hold what only one of them has", async () => {
  const text = `{"name":"x","configurations":{"dram":{"storage":"DRAM"}},
    "workload":{"bottom":[8],"optimizer":{"wide":"ftrl"}},"matrix":{"workload.model":["wdl","dlrm","deepfm"]}}`;
  const scenario = await parseScenario(text, { file: "mine.jsonc", directory: "/" });
  assertEquals(planCases(scenario).map((one) => one.scenario.workload.model), ["wdl", "dlrm", "deepfm"]);
});
