/**
 * What a trainer is opened with, and the same in the words of the native library.
 *
 * @module
 */

import type { Combiner } from "./bags.ts";
import { checkFields, type FieldsOf, listOption } from "../base/fields.ts";
import {
  type AdmissionOptions,
  admissionOptions,
  type ExpireOptions,
  expireOptions,
  type InitializerOptions,
  initializerOptions,
  type NativeOptions,
  nativeOptions,
  seedText,
} from "./options.ts";

/** What the embeddings go into: see {@linkcode TrainerOptions.model}. */
export type TrainerModel = "wdl" | "dlrm" | "deepfm";
/** Update rules of embeddings and dense layers, by DeepRec's names. */
export type DeepOptimizer = "sgd" | "adagrad" | "adagrad-decay" | "adam" | "adam-async" | "adamw";
/** Update rules of embeddings: those, FTRL, and Adagrad with one state a row. */
export type EmbeddingOptimizer = DeepOptimizer | "ftrl" | "rowwise-adagrad";
/** What is done ahead of a step: see {@linkcode TrainerOptions.stageWhat}. */
export type StageWhat = "input" | "lookup" | "auto";
/** How a step's tasks are run: see {@linkcode TrainerOptions.executor}. */
export type TrainerExecutor = "inline" | "pool" | "cost-model";
/** What is kept or computed in BF16: see {@linkcode TrainerOptions.bf16}. */
export type TrainerBf16 = "off" | "dense" | "rows" | "all";

/** An embedding table of a trainer: see {@linkcode TrainerOptions.tables}. */
export interface TrainerTable {
  /** Unique; up to 63 bytes without colons and semicolons. */
  readonly name: string;
  /** Weights a row, 1 to 1024. */
  readonly dim: number;
  /** The columns whose ids are its keys, of `"C1"` to `"C26"`; each in one table at most. */
  readonly columns: readonly string[];
  /**
   * How the rows of a sample's ids become one vector. Absent: they do not, each column has a vector of its own. Ids that
   * are missing in the text are in no bag.
   */
  readonly combiner?: Combiner;
  /** Which keys get a row in this table (as {@linkcode TrainerOptions.admission} says); `"none"`: all. */
  readonly admission?: AdmissionOptions | "none";
  /** Which rows of this table are removed (as {@linkcode TrainerOptions.expire} says); `"none"`: none. */
  readonly expire?: ExpireOptions | "none";
  /** Whether rows of this table keep how often they were looked up (as {@linkcode TrainerOptions.recordFrequency}). */
  readonly recordFrequency?: boolean;
  /** Whether rows of this table keep the step of their last update (as {@linkcode TrainerOptions.recordVersion}). */
  readonly recordVersion?: boolean;
}

/**
 * Options of {@linkcode WdlTrainer.open}. What is absent is as given in brackets: the native library's default, but for
 * `deepInitialAccumulator`, `wideInitialAccumulator` and `wideLearningRate`. Those that say so leave results as they are, bit
 * for bit; so do the number of threads and the storage type.
 */
export interface TrainerOptions {
  /** Path of the train cache file. */
  readonly data: string;
  /**
   * The model (`"wdl"`). `"wdl"`: an MLP over embeddings and numerics, plus a linear model of numerics and hashed ids.
   * `"deepfm"`: the same plus the pairwise products of a factorization machine. `"dlrm"`: a bottom MLP over the
   * numerics, dot products of all pairs of its output and the embeddings, and a top MLP over those.
   */
  readonly model?: TrainerModel;
  /** Samples a step (2048). */
  readonly batch?: number;
  /** Weights an embedding row (16). */
  readonly dim?: number;
  /** The same column by column, 26 widths; `"dlrm"` and `"deepfm"` need equal ones (`dim` for each). */
  readonly dims?: readonly number[];
  /**
   * All embedding tables, in the order of their vectors (one for each column, called as it is). Columns in none of them
   * have no embedding; the wide part has all columns. Not beside `dims`; `"dlrm"` and `"deepfm"` need equal widths.
   */
  readonly tables?: readonly TrainerTable[];
  /** Widths of the hidden layers (1024, 512, 256). */
  readonly hidden?: readonly number[];
  /** Model `"dlrm"`: widths of the bottom MLP's layers before the last, which is as wide as an embedding (512, 256). */
  readonly bottom?: readonly number[];
  /** Compute threads (1). */
  readonly threads?: number;
  /** Seed of the dense initial values and the order of batches, an unsigned 64-bit number (0). */
  readonly seed?: number | bigint;
  /** Optimizer of dense layers and, unless they have their own, of embeddings (`"adagrad"`). */
  readonly deepOptimizer?: DeepOptimizer;
  /** Its learning rate (0.01). */
  readonly deepLearningRate?: number;
  /**
   * First value of Adagrad's sums of squared gradients, above 0 (1e-7). DeepRec's is 0.1, which hides the small gradients of
   * rare ids in runs of under ten thousand steps.
   */
  readonly deepInitialAccumulator?: number;
  /** Adam and its kin: decay of the mean of gradients (0.9). */
  readonly deepBeta1?: number;
  /** Adam and its kin: decay of the mean of squared gradients (0.999). */
  readonly deepBeta2?: number;
  /** Adam and its kin: what is added to the root, above 0 (1e-8). */
  readonly deepEpsilon?: number;
  /** `"adamw"`: share of a weight that each step takes off (1e-4). */
  readonly deepWeightDecay?: number;
  /** `"adagrad-decay"`: factor on the sums once a period (0.9). */
  readonly deepDecayRate?: number;
  /** `"adagrad-decay"`: steps a period (100000). */
  readonly deepDecayStep?: number;
  /** `"adagrad-decay"`: what the sums do not decay below (their first value). */
  readonly deepDecayBaseline?: number;
  /** Optimizer of the embeddings, with the numbers given for the deep one (`deepOptimizer`). */
  readonly embeddingOptimizer?: EmbeddingOptimizer;
  /** Its learning rate (`deepLearningRate`). */
  readonly embeddingLearningRate?: number;
  /** `embeddingOptimizer` `"ftrl"`: L1 strength (0). */
  readonly embeddingL1?: number;
  /** The same: L2 strength (0). */
  readonly embeddingL2?: number;
  /** The same: strength of the L2 shrinkage of FTRL-V2 (0). */
  readonly embeddingL2Shrinkage?: number;
  /** `embeddingOptimizer` `"rowwise-adagrad"`: first value of a row's sum of means of squared gradients, 0 or more (0). */
  readonly embeddingInitialAccumulator?: number;
  /** The same: what is added to the sum's root, above 0 (1e-8). */
  readonly embeddingEpsilon?: number;
  /** Optimizer of the linear part (`"ftrl"`, the only one). */
  readonly wideOptimizer?: "ftrl";
  /** Learning rate of the wide part's FTRL (0.02, for sums that begin near 0; DeepRec's is 0.2). */
  readonly wideLearningRate?: number;
  /** First value of FTRL's sums of squared gradients, above 0 (1e-7; DeepRec's is 0.1). */
  readonly wideInitialAccumulator?: number;
  /** L1 strength of the wide part (0). */
  readonly wideL1?: number;
  /** L2 strength of the wide part (0). */
  readonly wideL2?: number;
  /** Wide weights a column (10000). */
  readonly wideBuckets?: number;
  /** How rows of the embedding tables begin (a truncated normal). */
  readonly initializer?: InitializerOptions;
  /**
   * Which keys of the embedding tables get a row: those that were looked up more often than its `frequency` (all). Until then
   * a key counts as its `defaultValue`, also when rows are scored, and learns nothing. {@linkcode WdlTrainer.fill} leaves such
   * tables empty.
   */
  readonly admission?: AdmissionOptions;
  /** Which rows of the embedding tables are removed for good, by the trainer's steps (none). */
  readonly expire?: ExpireOptions;
  /** Whether rows keep how often they were looked up: see {@linkcode Table.metadata} (false). */
  readonly recordFrequency?: boolean;
  /** Whether rows keep the step of their last update (false, but with `expire.steps`). */
  readonly recordVersion?: boolean;
  /** Batches prepared ahead by threads of their own, 0 to 8 (1). Keeps results. */
  readonly stage?: number;
  /**
   * What is done ahead (`"input"`). `"input"`: the batch is read. `"lookup"`: its rows are brought into the first tier
   * as well; their values are read in the step itself. `"auto"`: none, `"input"` and `"lookup"` are timed in the first
   * 48 steps and the fastest is kept. Keeps results.
   */
  readonly stageWhat?: StageWhat;
  /** Threads that share the reading ahead, 1 to 16 (1). Keeps results. */
  readonly readers?: number;
  /**
   * Whether rows of a batch are read while the step before it computes, so that they miss that step's update (false).
   * Results change, but are the same on any number of threads; the first step of each {@linkcode WdlTrainer.train}
   * reads fresh rows.
   */
  readonly asyncEmbedding?: boolean;
  /** Parts of a batch whose gradients are summed for one update, 1 to 64 (1). Results change in their last bits. */
  readonly microBatch?: number;
  /**
   * Whether tables write rows straight into the network's input, instead of blocks that are copied (true). Keeps
   * results.
   */
  readonly embeddingFusion?: boolean;
  /**
   * Whether bias, ReLU and dropout are part of oneDNN's products; true needs version 2 (true where that is installed).
   */
  readonly graphFusion?: boolean;
  /**
   * How the first hidden layer of `"wdl"` multiplies the embeddings (`"auto"`). `"samples"`: the vectors of every sample.
   * `"distinct"`: each distinct row of a batch once, whose results the samples add up; the gradients of a row's samples are
   * added up first. `"auto"`: what costs less on the first two batches. Results change in their last bits.
   */
  readonly firstLayer?: "auto" | "samples" | "distinct";
  /** Share of hidden units set to zero in training, 0 to 0.9 (0). */
  readonly dropout?: number;
  /** Whether a step's memory is planned once, instead of allocated and freed in each (true). Keeps results. */
  readonly memoryReuse?: boolean;
  /**
   * How a step's tasks are run (`"pool"`). `"inline"`: on the calling thread alone. `"pool"`: phase after phase, spread
   * over the threads. `"cost-model"`: as one graph, the task with the longest measured way to go first. Keeps results.
   */
  readonly executor?: TrainerExecutor;
  /**
   * What is in BF16 (`"off"`). `"dense"`: operands of the products, with FP32 sums and weights; needs a CPU that
   * multiplies BF16. `"rows"`: rows of the tables.
   */
  readonly bf16?: TrainerBf16;
  /**
   * Whether results are the same for any number of threads; false cuts a batch into as many shards as threads (true).
   */
  readonly deterministic?: boolean;
  /**
   * Over ranks alone: keys, rows and gradients of all tables in one message each (`"fused"`, the default), or of each table in
   * its own; leaves results as they are.
   */
  readonly ranksMessages?: "fused" | "separate";
  /** Over ranks alone: each key of a rank's samples is sent once (`"distinct"`), or as often as it occurs; results are the same. */
  readonly ranksKeys?: "distinct" | "all";
  /** Over ranks alone: what rows are sent in (`"fp32"`). */
  readonly ranksRows?: "fp32" | "bf16";
  /**
   * Over ranks alone: what is sent for the next batch while a step computes (`"none"`). `"keys"`: its keys. `"rows"`: rows that
   * the step does not change as well; the others follow its update. Keeps results. {@linkcode TrainerOptions.asyncEmbedding}
   * sends all rows, so that they miss that update.
   */
  readonly ranksAhead?: "none" | "keys" | "rows";
  /**
   * Over ranks with servers alone: ranks train asynchronously (absent: in step). Each takes whole batches, the next one when it is
   * done with one, so a slow rank takes fewer of them; a step may miss the updates of so many steps before it, 0 to 1024. With 0
   * results are those of ranks in step; otherwise they are other ones in every run.
   */
  readonly ranksStaleness?: number;
}

/** What trains to a sensible AUC within hundreds of steps. The native library's defaults are DeepRec's. */
const DEFAULTS = { initialAccumulator: 1e-7, wideLearningRate: 0.02 } as const;

const TABLE_FIELDS: FieldsOf<TrainerTable> = {
  name: true,
  dim: true,
  columns: true,
  combiner: true,
  admission: true,
  expire: true,
  recordFrequency: true,
  recordVersion: true,
};

/** A list of the trainer's, or nothing. */
const list = <T>(field: string, value: readonly T[] | undefined) => listOption("the trainer", field, value);

/** Every option: true where the library takes it under the same name in `snake_case`, else the words that it becomes. */
const FIELDS: { readonly [Name in keyof Required<TrainerOptions>]: true | Words<TrainerOptions[Name]> } = {
  data: true,
  model: true,
  batch: true,
  dim: true,
  dims: (dims) => nativeOptions({ dims: list("dims", dims)?.join(",") }),
  tables: (tables) => ({
    ...nativeOptions({ tables: list("tables", tables)?.map(tableText).join(";") }),
    ...Object.assign({}, ...(tables ?? []).map(ownOptions)),
  }),
  hidden: (hidden) => nativeOptions({ hidden: list("hidden", hidden)?.join(",") }),
  bottom: (bottom) => nativeOptions({ bottom: list("bottom", bottom)?.join(",") }),
  threads: true,
  seed: (seed) => nativeOptions({ seed: seedText(seed) }),
  deepOptimizer: (name) => nativeOptions({ deep_optimizer: name?.replaceAll("-", "_") }),
  deepLearningRate: true,
  deepInitialAccumulator: (first = DEFAULTS.initialAccumulator) => nativeOptions({ deep_initial_accumulator: first }),
  deepBeta1: true,
  deepBeta2: true,
  deepEpsilon: true,
  deepWeightDecay: true,
  deepDecayRate: true,
  deepDecayStep: true,
  deepDecayBaseline: true,
  embeddingOptimizer: (name) => nativeOptions({ embedding_optimizer: name?.replaceAll("-", "_") }),
  embeddingLearningRate: true,
  embeddingL1: true,
  embeddingL2: true,
  embeddingL2Shrinkage: true,
  embeddingInitialAccumulator: true,
  embeddingEpsilon: true,
  wideOptimizer: true,
  wideLearningRate: (rate = DEFAULTS.wideLearningRate) => nativeOptions({ wide_learning_rate: rate }),
  wideInitialAccumulator: (first = DEFAULTS.initialAccumulator) => nativeOptions({ wide_initial_accumulator: first }),
  wideL1: true,
  wideL2: true,
  wideBuckets: true,
  initializer: initializerOptions,
  admission: admissionOptions,
  expire: expireOptions,
  recordFrequency: true,
  recordVersion: true,
  stage: true,
  stageWhat: true,
  readers: true,
  asyncEmbedding: true,
  microBatch: true,
  embeddingFusion: true,
  graphFusion: true,
  firstLayer: true,
  dropout: true,
  memoryReuse: true,
  executor: (name) => nativeOptions({ executor: name?.replaceAll("-", "_") }),
  bf16: true,
  deterministic: true,
  ranksMessages: true,
  ranksKeys: true,
  ranksRows: true,
  ranksAhead: true,
  ranksStaleness: true,
};

/** The words of an option's value; of an absent one, those of its default here. */
type Words<Value> = (value: Value | undefined) => NativeOptions;

/** A table in the words of the option `tables`. */
function tableText({ name, dim, columns, combiner }: TrainerTable): string {
  if (/[:;]/.test(name)) throw new TypeError(`Cannot call a table "${name}": expected a name without ":" and ";"`);
  return [name, dim, combiner ?? "none", columns.join(",")].join(":");
}

/** What a table has for itself, in the words of `ts_trainer_open`. */
function ownOptions(table: TrainerTable): NativeOptions {
  checkFields(`the table "${table.name}" of a trainer`, table, TABLE_FIELDS);
  const { admission, expire, recordFrequency, recordVersion } = table;
  const words = {
    ...(admission === "none" ? { admission } : admissionOptions(admission)),
    ...(expire === "none" ? { expire } : expireOptions(expire)),
    ...nativeOptions({ record_frequency: recordFrequency, record_version: recordVersion }),
  };
  return Object.fromEntries(Object.entries(words).map(([word, value]) => [`table.${table.name}.${word}`, value]));
}

/**
 * The words of `ts_trainer_open`.
 *
 * @throws {TypeError} If there is a field that does not exist.
 */
export function trainerOptions(options: TrainerOptions): NativeOptions {
  checkFields("the trainer", options, FIELDS);
  return Object.assign(
    {},
    ...Object.entries(FIELDS).map(([name, words]) => {
      const value = options[name as keyof TrainerOptions];
      if (words !== true) return (words as Words<unknown>)(value);
      return nativeOptions({ [snakeCase(name)]: value as string | number | boolean | undefined });
    }),
  );
}

/** `deepBeta1` as `deep_beta1`. */
function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
