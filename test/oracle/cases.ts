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
  readonly model: "wdl" | "deepfm" | "dlrm";
  readonly batch: number;
  /** Weights a row, by column. */
  readonly dims: readonly number[];
  readonly hidden: readonly number[];
  /** DLRM's tower over the numerics, without its last layer. */
  readonly bottom?: readonly number[];
  readonly steps: number;
  readonly seed: number;
  readonly optimizer: "sgd" | "adagrad" | "adam";
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

const COLUMNS = 26;

const BASE = {
  model: "wdl",
  batch: 256,
  dims: Array.from({ length: COLUMNS }, () => 16),
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

const ADAGRAD = { ...BASE, optimizer: "adagrad", learningRate: 0.02 } as const;

/** All cases. */
export const CASES: readonly OracleCase[] = [
  { ...BASE, name: "wdl-sgd", optimizer: "sgd", learningRate: 0.05 },
  { ...ADAGRAD, name: "wdl-adagrad" },
  { ...BASE, name: "wdl-adam", optimizer: "adam", learningRate: 0.001 },
  // Widths that are no multiples of a vector's lanes; weights of the wide part that L1 holds at zero for a while.
  {
    ...ADAGRAD,
    name: "wdl-widths-l1-l2",
    dims: Array.from({ length: COLUMNS }, (_, c) => 4 + (c * 7) % 23),
    hidden: [50, 21],
    wideL1: 0.005,
    wideL2: 0.1,
  },
  // DeepRec's layers.
  {
    ...ADAGRAD,
    name: "wdl-deeprec-layers",
    hidden: [1024, 512, 256],
    learningRate: 0.01,
    wideBuckets: 10_000,
    steps: 20,
  },
  { ...ADAGRAD, name: "deepfm-adagrad", model: "deepfm" },
  { ...ADAGRAD, name: "dlrm-adagrad", model: "dlrm", bottom: [64, 32] },
];

/** The trainer's options for a case. */
export function optionsOf(settings: OracleCase, data: string): TrainerOptions {
  return {
    data,
    model: settings.model,
    batch: settings.batch,
    dims: settings.dims,
    ...(settings.bottom && { bottom: settings.bottom }),
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
export function parameterNames({ model, hidden, bottom = [] }: OracleCase): string[] {
  const layers = (tower: string, count: number): string[] =>
    Array.from({ length: count }, (_, l) => [`${tower}.${l}.w`, `${tower}.${l}.b`]).flat();
  const others = model === "dlrm"
    ? layers("bottom", bottom.length + 1)
    : ["wide.numeric", ...Array.from({ length: COLUMNS }, (_, c) => `wide.C${c + 1}`)];
  return [...layers("mlp", hidden.length), "output.w", "output.b", ...others];
}
