/**
 * The options of a case's trainer, as its worker opens it.
 *
 * @module
 */

import type { PreparedCase } from "./prepare.ts";
import type { DeepOptimizer } from "../../ffi/trainer.ts";
import type { PartOptimizerName, ResolvedWorkload } from "../scenario.ts";
import type { WorkerTrainer } from "./worker_protocol.ts";
import { deepRule, embeddingRule, tablesOf } from "../workloads/sizes.ts";

/** The trainer's names of optimizers. */
const NATIVE: Readonly<Record<PartOptimizerName, DeepOptimizer>> = {
  sgd: "sgd",
  adagrad: "adagrad",
  adagradDecay: "adagrad-decay",
  adam: "adam",
  adamAsync: "adam-async",
  adamW: "adamw",
};

/** What the worker of a case is told about training. */
export function trainerOf(one: PreparedCase): WorkerTrainer {
  const { workload, seed } = one.scenario;
  const { bottom } = workload;
  return {
    data: one.data.train,
    model: workload.model,
    batch: workload.batch,
    tables: tablesOf(workload),
    hidden: workload.hidden,
    ...(bottom === undefined ? {} : { bottom }),
    dropout: workload.dropout,
    threads: one.threads,
    seed,
    deterministic: workload.deterministic,
    ...optimizers(workload),
    ...optimisations(workload),
    initializer: workload.initializer,
  };
}

/** Optimizers of the parts. Parameters but the learning rate are one for dense layers and embeddings. */
function optimizers(workload: ResolvedWorkload) {
  const [deep, embedding] = [deepRule(workload), embeddingRule(workload)];
  const { learningRate, ...shared } = { ...embedding.parameters, ...deep.parameters };
  const words = Object.entries(shared).map(([name, value]) => [`deep${name[0]?.toUpperCase()}${name.slice(1)}`, value]);
  const wide = workload.optimizer.wide?.ftrl;
  return {
    deepOptimizer: NATIVE[deep.name],
    deepLearningRate: learningRate as number,
    embeddingOptimizer: NATIVE[embedding.name],
    embeddingLearningRate: embedding.parameters["learningRate"] as number,
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
