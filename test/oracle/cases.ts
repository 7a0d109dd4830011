/**
 * What is compared with PyTorch: models, optimizers and sizes. Small, for a test; but every part of a step matters in
 * them: keys come several times in a batch, the file is passed over twice, buckets collide.
 *
 * @module
 */

import type { TrainerOptions } from "../../ffi/trainer.ts";

/** Settings of one case, as `case.json` has them. */
export interface OracleCase {
  readonly name: string;
  readonly model: "wdl";
  readonly batch: number;
  readonly dim: number;
  readonly hidden: readonly number[];
  readonly steps: number;
  readonly seed: number;
  readonly optimizer: "sgd" | "adagrad";
  readonly learningRate: number;
  readonly initialAccumulator: number;
  readonly wideRate: number;
  readonly wideL1: number;
  readonly wideL2: number;
  readonly wideAccumulator: number;
  readonly wideBuckets: number;
}

/** Rows of the train file: a hundred batches, and some left over, so that each pass has an offset. */
export const TRAIN_ROWS = 25_700;
/** Rows of the test file. */
export const TEST_ROWS = 8_192;

const BASE = {
  model: "wdl",
  batch: 256,
  dim: 16,
  hidden: [64, 32],
  steps: 200,
  seed: 11,
  initialAccumulator: 0.1,
  wideRate: 0.2,
  wideL1: 0,
  wideL2: 0,
  wideAccumulator: 0.1,
  wideBuckets: 1000,
} as const;

/** All cases. Learning rates are such that loss falls clearly within the steps. */
export const CASES: readonly OracleCase[] = [
  { ...BASE, name: "wdl-sgd", optimizer: "sgd", learningRate: 0.1 },
  { ...BASE, name: "wdl-adagrad", optimizer: "adagrad", learningRate: 0.05 },
  {
    ...BASE,
    name: "wdl-adagrad-regularised",
    optimizer: "adagrad",
    learningRate: 0.05,
    wideL1: 0.005,
    wideL2: 0.1,
    steps: 60,
  },
  {
    ...BASE,
    name: "wdl-adagrad-deeprec-layers",
    optimizer: "adagrad",
    learningRate: 0.01,
    hidden: [1024, 512, 256],
    wideBuckets: 10_000,
    steps: 20,
  },
];

/** The trainer's options for a case. */
export function optionsOf(settings: OracleCase, data: string): TrainerOptions {
  return {
    data,
    batch: settings.batch,
    dim: settings.dim,
    hidden: settings.hidden,
    seed: settings.seed,
    deepOptimizer: settings.optimizer,
    deepLearningRate: settings.learningRate,
    deepInitialAccumulator: settings.initialAccumulator,
    wideLearningRate: settings.wideRate,
    wideL1: settings.wideL1,
    wideL2: settings.wideL2,
    wideInitialAccumulator: settings.wideAccumulator,
    wideBuckets: settings.wideBuckets,
  };
}

/** Names of the dense parameters of a case's model. */
export function parameterNames(settings: OracleCase): string[] {
  const layers = settings.hidden.flatMap((_, l) => [`mlp.${l}.w`, `mlp.${l}.b`]);
  const wide = Array.from({ length: 26 }, (_, c) => `wide.C${c + 1}`);
  return [...layers, "output.w", "output.b", "wide.numeric", ...wide];
}
