/**
 * The rules between what a scenario says about training: which fields a model has, what optimisations need.
 *
 * @module
 */

import { neededBy, offValue, type SwitchName } from "./ablation.ts";
import { foundText, type Problem } from "../base/diagnostics.ts";
import { partOf, resolveDims } from "./resolve_training.ts";
import type { Optimisations, Scenario, Workload } from "./scenario.ts";
import { COLUMNS } from "../models/workloads/training.ts";
import { trialSteps } from "./trial_steps.ts";

const WORKLOAD = ["workload"] as const;

/**
 * What is wrong between the fields of a workload.
 *
 * @param varied Fields that a matrix varies: what belongs to one model only may then stand beside the others.
 */
export function checkWorkload(scenario: Scenario, varied: ReadonlySet<string> = new Set()): Problem[] {
  const { workload = {} } = scenario;
  const anyModel = varied.has("workload.model");
  return [
    ...checkWidths(workload),
    ...checkTables(workload),
    ...checkWarmup(scenario),
    ...(anyModel ? [] : checkParts(workload)),
    ...checkEmbeddingOptimizer(workload),
    ...checkOptimisations(workload.optimisations ?? {}, workload.batch ?? 2048),
  ];
}

function checkWidths({ model = "wdl", dim = 16, dims }: Workload): Problem[] {
  if (model === "wdl" || dims === undefined) return [];
  const widths = resolveDims(dims);
  const all = COLUMNS.map((column) => widths[column] ?? dim);
  const other = all.findIndex((width) => width !== all[0]);
  if (other < 0) return [];
  return [{
    path: [...WORKLOAD, "dims"],
    message: `expected equal widths for the model "${model}", which multiplies embeddings with one another, found ` +
      `C1 with ${all[0]} and ${COLUMNS[other]} with ${all[other]}`,
    hint: 'write one "dim", or the model "wdl"',
  }];
}

function checkTables({ model = "wdl", dim = 16, dims, tables }: Workload): Problem[] {
  if (tables === undefined) return [];
  const problems: Problem[] = [];
  const at = (name: string, field?: string) => [...WORKLOAD, "tables", name, ...(field === undefined ? [] : [field])];
  if (dims !== undefined && Object.keys(dims).length > 0) {
    problems.push({
      path: [...WORKLOAD, "dims"],
      message: 'expected no such field beside "tables", which say how wide their rows are',
      hint: `"tables": { "C3": { "dim": 128 } }`,
    });
  }
  const owners = new Map<string, string>();
  for (const [name, { columns }] of Object.entries(tables)) {
    if (columns === undefined && !COLUMNS.includes(name)) {
      problems.push({ path: at(name), message: `expected "columns", since "${name}" is no column, found none` });
    }
    for (const column of columns ?? [name]) {
      const owner = owners.get(column);
      if (owner !== undefined) {
        problems.push({
          path: columns === undefined ? at(name) : at(name, "columns"),
          message: `expected a column in one table, found "${column}" in "${owner}" and "${name}"`,
        });
      }
      owners.set(column, name);
    }
  }
  const [first, ...others] = Object.entries(tables).map(([name, table]) => ({ name, dim: table.dim ?? dim }));
  const other = others.find((table) => table.dim !== first?.dim);
  if (model !== "wdl" && first !== undefined && other !== undefined) {
    problems.push({
      path: at(other.name),
      message: `expected equal widths for the model "${model}", which multiplies embeddings with one another, found ` +
        `"${first.name}" with ${first.dim} and "${other.name}" with ${other.dim}`,
      hint: 'write one "dim", or the model "wdl"',
    });
  }
  return problems;
}

function checkWarmup(scenario: Scenario): Problem[] {
  const warmup = scenario.workload?.warmup;
  const least = trialSteps(scenario);
  if (warmup === undefined || warmup >= least) return [];
  return [{
    path: [...WORKLOAD, "warmup"],
    message: `expected at least ${least} steps, in which "smartStage" tries what to prepare ahead and which are not ` +
      `counted, found ${warmup}`,
    hint: `leave "warmup" out: it is ${least} then`,
  }];
}

function checkParts({ model = "wdl", bottom, optimizer }: Workload): Problem[] {
  const problems: Problem[] = [];
  if (bottom !== undefined && model !== "dlrm") {
    problems.push({
      path: [...WORKLOAD, "bottom"],
      message: `expected no such field with the model "${model}", found ${foundText(bottom)}`,
      hint: 'the bottom MLP belongs to "dlrm"',
    });
  }
  if (optimizer?.wide !== undefined && model === "dlrm") {
    problems.push({
      path: [...WORKLOAD, "optimizer", "wide"],
      message: `expected no such field with the model "dlrm", found ${foundText(optimizer.wide)}`,
      hint: 'DLRM has no linear part; "wdl" and "deepfm" have one',
    });
  }
  return problems;
}

/** Parameters that both optimizers have are one, but for the learning rate. */
function checkEmbeddingOptimizer({ optimizer: { deep = "adagrad", embedding } = {} }: Workload): Problem[] {
  if (embedding === undefined) return [];
  const [one, other] = [partOf(deep), partOf(embedding)];
  return Object.entries(other.parameters).flatMap(([field, value]) => {
    const shared = one.parameters[field];
    if (field === "learningRate" || shared === undefined || shared === value) return [];
    return [{
      path: [...WORKLOAD, "optimizer", "embedding", other.name, field],
      message:
        `expected the ${shared} of "deep", since parts share all parameters but the learning rate, found ${value}`,
    }];
  });
}

function checkOptimisations(given: Optimisations, batch: number): Problem[] {
  const at = (field: string) => [...WORKLOAD, "optimisations", field];
  const { stage = 1, smartStage = false, microBatch = 1, workQueue = 1 } = given;
  const problems: Problem[] = [];
  if (workQueue > 1 && stage < 1) {
    problems.push({
      path: at("workQueue"),
      message: `expected a "stage" of 1 or more beside ${workQueue} readers, found 0`,
      hint: "readers share the batches that a stage prepares ahead",
    });
  }
  if (smartStage && stage < 1) {
    problems.push({
      path: at("smartStage"),
      message: 'expected a "stage" of 1 or more beside it, found 0',
      hint: "it chooses what a stage prepares ahead; without a stage there is nothing to choose",
    });
  }
  if (microBatch > batch) {
    problems.push({
      path: at("microBatch"),
      message: `expected at most the ${batch} samples of a batch, found ${microBatch}`,
    });
  }
  return problems;
}

/** What is wrong with an ablation. */
export function checkAblation({ ablation, workload = {}, quality = {} }: Scenario): Problem[] {
  if (ablation === undefined) return [];
  const names = Object.keys(ablation.switches) as SwitchName[];
  const problems: Problem[] = names.flatMap((name): Problem[] => {
    const path = ["ablation", "switches", name];
    const value = ablation.switches[name];
    const needed = neededBy(name);
    if (value === offValue(name)) {
      return [{ path, message: `expected a value other than ${foundText(value)}, which is what off is` }];
    }
    if (needed !== undefined && !names.includes(needed)) {
      return [{
        path,
        message: `expected the switch "${needed}" beside it, which it needs, found ${names.join(", ")}`,
      }];
    }
    if (name === "microBatch" && Number(value) > (workload.batch ?? 2048)) {
      const most = `at most the ${workload.batch ?? 2048} samples of a batch`;
      return [{ path, message: `expected ${most}, found ${foundText(value)}` }];
    }
    return [];
  });
  const equal = "so that all cases train the same samples and their results can be compared";
  if (typeof workload.steps !== "number") {
    problems.push({
      path: workload.steps === undefined ? [...WORKLOAD] : [...WORKLOAD, "steps"],
      message: `expected a number of "steps" with an ablation, ${equal}, found ${foundText(workload.steps ?? "auto")}`,
      hint: '"steps": 40',
    });
  }
  if (typeof quality.samples !== "number") {
    problems.push({
      path: quality.samples === undefined ? [] : ["quality", "samples"],
      message: `expected a number of "quality.samples" with an ablation, ${equal}, found ` +
        foundText(quality.samples ?? "auto"),
      hint: '"quality": { "samples": 200000 }; 0 leaves the AUC out',
    });
  }
  return problems;
}
