/**
 * The options of a case's trainer, as its worker opens it.
 *
 * @module
 */

import type { PreparedCase } from "./prepare.ts";
import type { DeepOptimizer, TrainerTable } from "../../ffi/trainer.ts";
import { RULES } from "../../models/workloads/row_bytes.ts";
import { rowFilterOf } from "../../models/workloads/row_filter.ts";
import type { ResolvedWorkload } from "../scenario.ts";
import type { WorkerTrainer } from "./worker_protocol.ts";
import { deepRule, embeddingRule, type NamedTable, tablesOf } from "../../models/workloads/sizes.ts";

/** What the worker of a case is told about training. */
export function trainerOf(one: PreparedCase): WorkerTrainer {
  const { workload, seed, cluster } = one.scenario;
  const { bottom } = workload;
  return {
    data: one.data.train,
    model: workload.model,
    batch: workload.batch,
    tables: tablesOf(workload).map((table) => trainerTable(workload, table)),
    hidden: workload.hidden,
    ...(bottom === undefined ? {} : { bottom }),
    dropout: workload.dropout,
    threads: one.threads,
    seed,
    deterministic: workload.deterministic,
    ...optimizers(workload),
    ...optimisations(workload),
    ...(cluster?.staleness === undefined ? {} : { ranksStaleness: cluster.staleness }),
    initializer: workload.initializer,
  };
}

/** A table as the trainer takes it, with what holds for it. */
function trainerTable(workload: ResolvedWorkload, table: NamedTable): TrainerTable {
  const { name, dim, columns, combiner } = table;
  const { admission, expiry, record = [] } = rowFilterOf(workload, table);
  return {
    name,
    dim,
    columns,
    ...(combiner === undefined ? {} : { combiner }),
    ...(admission === undefined ? {} : { admission }),
    ...(expiry === undefined ? {} : { expire: expiry }),
    ...(record.includes("frequency") ? { recordFrequency: true } : {}),
    ...(record.includes("version") ? { recordVersion: true } : {}),
  };
}

/** Optimizers of the parts. Parameters but the learning rate are one for dense layers and embeddings, unless rows have one state. */
function optimizers(workload: ResolvedWorkload) {
  const [deep, embedding] = [deepRule(workload), embeddingRule(workload)];
  const rowwise = embedding.name === "rowwiseAdagrad" ? embedding.parameters : undefined;
  const { learningRate, l1, l2, ...shared }: Record<string, number> = {
    ...(rowwise === undefined ? embedding.parameters : {}),
    ...deep.parameters,
  };
  const words = Object.entries(shared).map(([name, value]) => [`deep${name[0]?.toUpperCase()}${name.slice(1)}`, value]);
  const wide = workload.optimizer.wide?.ftrl;
  return {
    deepOptimizer: RULES[deep.name].trainer as DeepOptimizer,
    deepLearningRate: learningRate as number,
    embeddingOptimizer: RULES[embedding.name].trainer,
    embeddingLearningRate: embedding.parameters["learningRate"] as number,
    ...(l1 === undefined ? {} : { embeddingL1: l1 }),
    ...(l2 === undefined ? {} : { embeddingL2: l2 }),
    ...(rowwise === undefined ? {} : {
      embeddingInitialAccumulator: rowwise["initialAccumulator"] as number,
      embeddingEpsilon: rowwise["epsilon"] as number,
    }),
    ...Object.fromEntries(words) as Record<string, number>,
    ...(wide === undefined ? {} : {
      wideLearningRate: wide.learningRate,
      wideInitialAccumulator: wide.initialAccumulator,
      wideL1: wide.l1,
      wideL2: wide.l2,
    }),
  };
}

function optimisations(
  { optimisations: { smartStage, stageWhat, workQueue, graphFusion, ...others } }: ResolvedWorkload,
) {
  const fusion = graphFusion === "auto" ? {} : { graphFusion };
  return { ...others, ...fusion, stageWhat: smartStage ? "auto" as const : stageWhat, readers: workQueue };
}
