/**
 * What is compared with PyTorch: models, optimizers and sizes. Small, for a test; but every part of a step matters in
 * them: keys come several times in a batch, the file is passed over twice, buckets collide.
 *
 * @module
 */

import type { TrainerOptions, TrainerTable } from "../../ffi/trainer.ts";

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
  readonly optimizer: "sgd" | "adagrad" | "adagrad-decay" | "adam" | "adam-async" | "adamw";
  readonly learningRate: number;
  readonly initialAccumulator: number;
  readonly wideRate: number;
  readonly wideL1: number;
  readonly wideL2: number;
  readonly wideAccumulator: number;
  readonly wideBuckets: number;
  /** Of `"adagrad-decay"`. */
  readonly decay?: { readonly step: number; readonly rate: number; readonly baseline: number };
  /** Of `"adamw"`. */
  readonly weightDecay?: number;
  /** Instead of one for each column, as wide as `dims`. */
  readonly tables?: readonly TrainerTable[];
  /** The data is a text, with ids that are missing and that columns have in common, and its numbers become these. */
  readonly text?: "log" | "min-max";
}

/** Rows of the train file: a hundred batches, and some left over, so that each pass has an offset. */
export const TRAIN_ROWS = 25_700;
/** Rows of the text; each tenth is held out. */
export const TEXT_ROWS = 9_600;
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

const DECAY = { step: 20, rate: 0.6, baseline: 0.05 } as const;

/** Every combiner and none, one column and several, widths that differ; C20 to C26 have no embedding. */
const TABLES: readonly TrainerTable[] = [
  { name: "C1", dim: 8, columns: ["C1"] },
  { name: "shared", dim: 5, columns: ["C2", "C9", "C3"] },
  { name: "sum", dim: 16, columns: ["C4", "C5", "C6"], combiner: "sum" },
  { name: "mean", dim: 12, columns: ["C10", "C8", "C7", "C11"], combiner: "mean" },
  { name: "sqrtn", dim: 7, columns: ["C12", "C13", "C14", "C15", "C16"], combiner: "sqrtn" },
  { name: "one", dim: 4, columns: ["C17"], combiner: "mean" },
  { name: "last", dim: 9, columns: ["C18", "C19"] },
];

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
  // Ten decays, in the dense layers and in rows, which decay when they are in a batch; the baseline ends some of them.
  { ...BASE, name: "wdl-adagrad-decay", optimizer: "adagrad-decay", learningRate: 0.02, decay: DECAY },
  { ...BASE, name: "wdl-adam-async", optimizer: "adam-async", learningRate: 0.001 },
  { ...BASE, name: "wdl-adamw", optimizer: "adamw", learningRate: 0.001, weightDecay: 0.002 },
  { ...ADAGRAD, name: "wdl-text-log", tables: TABLES, text: "log" },
  {
    ...ADAGRAD,
    name: "deepfm-text-min-max",
    model: "deepfm",
    tables: TABLES.map((table) => ({ ...table, dim: 6 })),
    text: "min-max",
  },
];

/** The trainer's options for a case. */
export function optionsOf(settings: OracleCase, data: string): TrainerOptions {
  return {
    data,
    model: settings.model,
    batch: settings.batch,
    ...(settings.tables === undefined ? { dims: settings.dims } : { tables: settings.tables }),
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
    ...(settings.decay && {
      deepDecayStep: settings.decay.step,
      deepDecayRate: settings.decay.rate,
      deepDecayBaseline: settings.decay.baseline,
    }),
    ...(settings.weightDecay !== undefined && { deepWeightDecay: settings.weightDecay }),
  };
}

/** The embedding tables of a case. */
export function tablesOf({ dims, tables }: OracleCase): readonly TrainerTable[] {
  return tables ?? dims.map((dim, c) => ({ name: `C${c + 1}`, dim, columns: [`C${c + 1}`] }));
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
