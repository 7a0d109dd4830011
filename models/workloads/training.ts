/**
 * The types of what a scenario says about training: model, widths, optimizers of the parts, optimisations. As people
 * write them and as they run. What every field does is in `training_schema.ts`.
 *
 * @module
 */

import type { Combiner } from "../../ffi/bags.ts";
import type { StageWhat, TrainerBf16, TrainerExecutor, TrainerModel } from "../../ffi/trainer_options.ts";
import type { Admission, Expiry, Recorded, ResolvedRowFilter } from "./row_filter.ts";

/** Models: Wide & Deep; DLRM, whose dense part sees the embeddings' dot products; DeepFM, an FM beside an MLP. */
export type Model = TrainerModel;
/** All of them. */
export const MODELS: readonly Model[] = ["wdl", "dlrm", "deepfm"];

/** The categorical columns of Criteo's format, C1 to C26, each with an embedding table of its own. */
export const COLUMNS: readonly string[] = Array.from({ length: 26 }, (_, i) => `C${i + 1}`);

/** How the rows of a bag's ids become one vector. */
export const COMBINERS: readonly Combiner[] = ["sum", "mean", "sqrtn"];

/** An embedding table as written. */
export interface WrittenTable {
  /** Columns whose ids are its keys. Default: the one that it is called after. */
  columns?: string[];
  /** Weights of a row. Default: the workload's "dim". */
  dim?: number;
  /** Makes the ids of a sample a bag with one vector. Default: each column has a vector of its own. */
  combiner?: Combiner;
  /** Which keys get a row in this table. Default: as the workload says. */
  admission?: Admission;
  /** Which rows of this table are removed for good. Default: as the workload says. */
  expiry?: Expiry;
  /** What rows of this table record. Default: as the workload says. */
  record?: Recorded[];
}

/** An embedding table, every default filled in but the width that a matrix may vary. */
export interface ResolvedTable extends ResolvedRowFilter {
  /** Columns whose ids are its keys. */
  readonly columns: readonly string[];
  /** Weights of a row; absent: the workload's. */
  readonly dim?: number;
  /** Absent: each column has a vector of its own. */
  readonly combiner?: Combiner;
}

/** Parameters of FTRL-proximal. */
export interface FtrlParameters {
  /** Learning rate. */
  learningRate?: number;
  /** First value of the sum of squared gradients, above 0. Default 0.1. */
  initialAccumulator?: number;
  /** Strength of the L1 penalty. Default 0. */
  l1?: number;
  /** Strength of the L2 penalty. Default 0. */
  l2?: number;
}

/** Parameters of gradient descent. */
export interface SgdParameters {
  /** Learning rate. */
  learningRate?: number;
}

/** Parameters of Adagrad. */
export interface AdagradParameters extends SgdParameters {
  /** First value of the sum of squared gradients, above 0. Default 0.1. */
  initialAccumulator?: number;
}

/** Parameters of DeepRec's Adagrad with decay. */
export interface AdagradDecayParameters extends AdagradParameters {
  /** Steps between two decays of the sums of squares. Default 100,000. */
  decayStep?: number;
  /** What a decay leaves of a sum of squares. Default 0.9. */
  decayRate?: number;
  /** What a decay does not go below. Default: the initial accumulator. */
  decayBaseline?: number;
}

/** Parameters of Adam, and of DeepRec's AdamAsync. */
export interface AdamParameters extends SgdParameters {
  /** What the mean of gradients keeps a step. Default 0.9. */
  beta1?: number;
  /** What the mean of squared gradients keeps a step. Default 0.999. */
  beta2?: number;
  /** Added to the root of the mean of squared gradients, above 0. Default 1e-8. */
  epsilon?: number;
}

/** Parameters of Adam with decoupled weight decay. */
export interface AdamWParameters extends AdamParameters {
  /** Share of a weight that each step takes off. Default 1e-4. */
  weightDecay?: number;
}

/** Optimizers of embeddings and dense layers with their parameters, as tables name them. */
export interface PartOptimizers {
  /** Plain gradient descent. Default learning rate 0.01. */
  sgd: SgdParameters;
  /** Adagrad. Default learning rate 0.01. */
  adagrad: AdagradParameters;
  /** DeepRec's Adagrad whose sums of squares decay. Default learning rate 0.01. */
  adagradDecay: AdagradDecayParameters;
  /** Adam. Default learning rate 0.01. */
  adam: AdamParameters;
  /** DeepRec's AdamAsync. Default learning rate 0.01. */
  adamAsync: AdamParameters;
  /** Adam with decoupled weight decay. Default learning rate 0.01. */
  adamW: AdamWParameters;
}

/** Name of an optimizer of embeddings or dense layers. */
export type PartOptimizerName = keyof PartOptimizers;

/** Names of {@linkcode PartOptimizers}. */
export const PART_OPTIMIZERS = ["sgd", "adagrad", "adagradDecay", "adam", "adamAsync", "adamW"] as const;

/** An optimizer as written: its name, or its name with parameters. */
export type PartOptimizer =
  | PartOptimizerName
  | { [Name in PartOptimizerName]: { [Key in Name]: PartOptimizers[Name] } }[PartOptimizerName];

/** Parameters of Adagrad with one state a row. */
export interface RowwiseAdagradParameters extends SgdParameters {
  /** First value of a row's sum of the means of squared gradients, 0 or more. Default 0. */
  initialAccumulator?: number;
  /** Added to the root of that sum, above 0. Default 1e-8. */
  epsilon?: number;
}

/** Optimizers that embeddings alone have. */
export interface RowOptimizers {
  /** FTRL-proximal, per weight. Default learning rate 0.01. */
  ftrl: FtrlParameters;
  /** Adagrad with one state a row. Default learning rate 0.01. */
  rowwiseAdagrad: RowwiseAdagradParameters;
}

/** An optimizer of the embeddings as written: one of those of dense layers, or of rows alone. */
export type EmbeddingOptimizer =
  | PartOptimizer
  | keyof RowOptimizers
  | { [Name in keyof RowOptimizers]: { [Key in Name]: RowOptimizers[Name] } }[keyof RowOptimizers];

/** The same with every parameter filled in. */
export type ResolvedEmbeddingOptimizer =
  | ResolvedPartOptimizer
  | {
    [Name in keyof RowOptimizers]: { readonly [Key in Name]: Readonly<Required<RowOptimizers[Name]>> };
  }[keyof RowOptimizers];

/** An optimizer with every parameter filled in. */
export type ResolvedPartOptimizer = {
  [Name in PartOptimizerName]: { readonly [Key in Name]: Readonly<Required<PartOptimizers[Name]>> };
}[PartOptimizerName];

/** How weights are updated, as written. */
export interface Optimizers {
  /** Of the linear part of Wide & Deep and of DeepFM's first-order part. Default "ftrl". */
  wide?: "ftrl" | { ftrl: FtrlParameters };
  /** Of the dense layers, and of the embeddings if `embedding` is absent. Default "adagrad". */
  deep?: PartOptimizer;
  /** Of the embeddings. Default: as `deep`. */
  embedding?: EmbeddingOptimizer;
}

/** How weights are updated, every parameter filled in. */
export interface ResolvedOptimizers {
  /** Absent for DLRM, which has no linear part. */
  readonly wide?: { readonly ftrl: Readonly<Required<FtrlParameters>> };
  /** Of the dense layers, and of the embeddings if `embedding` is absent. */
  readonly deep: ResolvedPartOptimizer;
  /** Of the embeddings, where it is another. */
  readonly embedding?: ResolvedEmbeddingOptimizer;
}

/** What is done to make training faster, as written; `training_schema.ts` says of each what it does. */
export interface Optimisations {
  /** Batches prepared ahead by threads of their own. Default 1. */
  stage?: number;
  /** What is prepared ahead: input alone, or rows too. Default "input". */
  stageWhat?: Exclude<StageWhat, "auto">;
  /** What is prepared ahead is chosen by measuring, instead of by `stageWhat`. Default false. */
  smartStage?: boolean;
  /** Rows are read one step ahead, before the update of the step between. Default false. */
  asyncEmbedding?: boolean;
  /** Parts that a batch is cut into. Default 1. */
  microBatch?: number;
  /** All columns' rows are gathered in one pass. Default true. */
  embeddingFusion?: boolean;
  /** Bias, ReLU and dropout inside the matrix products; "auto": where oneDNN has that. Default "auto". */
  graphFusion?: boolean | "auto";
  /** All working memory is planned once. Default true. */
  memoryReuse?: boolean;
  /** How a step's work is spread over threads. Default "pool". */
  executor?: TrainerExecutor;
  /** What is computed or kept in BF16. Default "off". */
  bf16?: TrainerBf16;
  /** Threads of the stage that share the input as a queue. Default 1. */
  workQueue?: number;
}

/** What is done to make training faster, every default filled in. */
export type ResolvedOptimisations = Readonly<Required<Optimisations>>;

/** What runs where a scenario says nothing: what is faster and keeps results. */
export const DEFAULT_OPTIMISATIONS: ResolvedOptimisations = {
  stage: 1,
  stageWhat: "input",
  smartStage: false,
  asyncEmbedding: false,
  microBatch: 1,
  embeddingFusion: true,
  graphFusion: "auto",
  memoryReuse: true,
  executor: "pool",
  bf16: "off",
  workQueue: 1,
};

/** Every optimisation off: what an ablation compares with. The pool of threads stays, so that threads are the same. */
export const NO_OPTIMISATIONS: ResolvedOptimisations = {
  ...DEFAULT_OPTIMISATIONS,
  stage: 0,
  embeddingFusion: false,
  graphFusion: false,
  memoryReuse: false,
};
