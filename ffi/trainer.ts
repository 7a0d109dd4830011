/**
 * Trains Wide & Deep on a store.
 *
 * @module
 */

import { lengthOf } from "./arrays.ts";
import type { Combiner } from "./bags.ts";
import { encodeText, message, readText, statusName } from "./errors.ts";
import { digestText, parseLines } from "./facts.ts";
import { checkMaker, handleOf, MAKER, NativeHandle, own } from "./handle.ts";
import { native } from "./library.ts";
import { type InitializerOptions, initializerOptions, nativeOptions, seedText, withConfig } from "./options.ts";
import { runLong, type RunOptions } from "./run.ts";
import type { EmbeddingStore } from "./store.ts";
import { Table } from "./table.ts";

export type { RunOptions } from "./run.ts";

/** The phases of a training step, in the order of `TS_PHASE_*` in `tierstore.h`. */
export const PHASES = ["input", "lookup", "dense", "update", "eviction"] as const;
/** One of `PHASES`. */
export type Phase = "input" | "lookup" | "dense" | "update" | "eviction";

/** What the embeddings go into: see {@linkcode TrainerOptions.model}. */
export type TrainerModel = "wdl" | "dlrm" | "deepfm";
/** Update rules of embeddings and dense layers, by DeepRec's names. */
export type DeepOptimizer = "sgd" | "adagrad" | "adagrad-decay" | "adam" | "adam-async" | "adamw";
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
}

/**
 * Options of {@linkcode WdlTrainer.open}. What is absent is left to the library's default, given in brackets. Those
 * that say so leave results as they are, bit for bit; so do the number of threads and the storage type.
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
  /** First value of Adagrad's sums of squared gradients, above 0 (0.1). */
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
  readonly embeddingOptimizer?: DeepOptimizer;
  /** Its learning rate (`deepLearningRate`). */
  readonly embeddingLearningRate?: number;
  /** Optimizer of the linear part (`"ftrl"`, the only one). */
  readonly wideOptimizer?: "ftrl";
  /** Learning rate of the wide part's FTRL (0.2). */
  readonly wideLearningRate?: number;
  /** First value of FTRL's sums of squared gradients, above 0 (0.1). */
  readonly wideInitialAccumulator?: number;
  /** L1 strength of the wide part (0). */
  readonly wideL1?: number;
  /** L2 strength of the wide part (0). */
  readonly wideL2?: number;
  /** Wide weights a column (10000). */
  readonly wideBuckets?: number;
  /** How rows of the embedding tables begin (a truncated normal). */
  readonly initializer?: InitializerOptions;
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
}

/** What {@linkcode WdlTrainer.train} returns. */
export interface TrainResult {
  /** Steps trained. */
  readonly steps: number;
  /** Wall time of each step, nanoseconds. */
  readonly stepNs: number[];
  /** Nanoseconds by phase, summed over the steps. */
  readonly phaseNs: Record<Phase, number>;
  /** Mean logloss over the samples trained, each scored before it was learned. */
  readonly loss: number;
}

/** What {@linkcode WdlTrainer.evaluate} returns. */
export interface Evaluation {
  /** Mean logloss. */
  readonly logloss: number;
  /** Area under the ROC curve, exact; ties count half. NaN, undefined, if the labels are all of one class. */
  readonly auc: number;
  /** Rows scored. */
  readonly rows: number;
  /** Share of (row, column) pairs whose key has no row. */
  readonly unseenShare: number;
}

/**
 * A Wide & Deep model for Criteo's columns whose embeddings live in a store. One call at a time works on a trainer and
 * its store; lookups and updates of other tables may go on meanwhile.
 *
 * @example Train and score
 * ```ts ignore
 * import { EmbeddingStore, generateData, WdlTrainer } from "../mod.ts";
 *
 * await generateData({ out: "train.bin", rows: 200_000, scale: 0.01 });
 * await generateData({ out: "test.bin", rows: 20_000, scale: 0.01, split: "test" });
 * using store = EmbeddingStore.open({ storage: "DRAM" });
 * using trainer = WdlTrainer.open(store, { data: "train.bin", threads: 2 });
 * const { loss } = await trainer.train(50);
 * const { auc } = await trainer.evaluate("test.bin");
 * console.log(loss, auc);
 * ```
 */
export class WdlTrainer implements Disposable {
  readonly #store: EmbeddingStore;

  private constructor(maker: symbol, store: EmbeddingStore, address: bigint) {
    checkMaker(maker, "WdlTrainer", "WdlTrainer.open()");
    this.#store = store;
    const close = (trainer: bigint): number => native().ts_trainer_close(trainer);
    own(this, new NativeHandle("trainer", address, close, handleOf(store, "store")));
  }

  /**
   * Opens a trainer; it creates the tables it needs in the store.
   *
   * @param store The store, which must stay open as long as the trainer.
   * @param options Data and model.
   * @throws {TierstoreError} `TS_EINVAL`, `TS_EUNAVAILABLE` (oneDNN is missing), `TS_EIO`, `TS_EFORMAT` (no cache file),
   * `TS_ENOMEM`, `TS_EFULL`.
   */
  static open(store: EmbeddingStore, options: TrainerOptions): WdlTrainer {
    const out = new BigUint64Array(1);
    withConfig(trainerOptions(options), (config) => {
      const address = handleOf(store, "store").exclusive("open a trainer");
      const status = native().ts_trainer_open(address, config, out, message.bytes, message.capacity);
      message.check(status, "open the trainer");
    });
    return new WdlTrainer(MAKER, store, out[0] ?? 0n);
  }

  /** Names of its embedding tables, in the order of their vectors. */
  get tables(): readonly string[] {
    return (this.describe()["tables"] ?? "").split(";").map((table) => table.slice(0, table.indexOf(":")));
  }

  /**
   * One of its embedding tables, to read rows, their slots and what is known of them. The rows are those that training
   * goes on with: `find` and `metadata` leave them as they are, `lookup` and `update` change them. The table lives as long as
   * the store is open, also when the trainer is closed before.
   *
   * @param name Its name: `"C1"` to `"C26"`, or as {@linkcode TrainerOptions.tables} has it.
   * @throws {TypeError} If the trainer has none of this name.
   */
  table(name: string): Table {
    const names = this.tables;
    if (!names.includes(name)) {
      throw new TypeError(`Cannot find the table "${String(name)}" of the trainer: it has ${names.join(", ")}`);
    }
    const number = new Uint32Array(1);
    const text = encodeText(name);
    const store = handleOf(this.#store, "store").exclusive("find a table");
    const status = native().ts_table_named(store, text, number, message.bytes, message.capacity);
    message.check(status, `find the table "${name}"`);
    return new Table(MAKER, this.#store, number[0] ?? 0, name);
  }

  /** The store it trains on. */
  get store(): EmbeddingStore {
    return this.#store;
  }

  /**
   * Creates the rows of all keys of the training data, so that tables have their full size before the first step.
   * Progress counts rows.
   *
   * @param run Progress and cancellation.
   */
  async fill(run: RunOptions = {}): Promise<void> {
    await runLong("fill the tables", handleOf(this, "trainer"), run, (control, { bytes, capacity }, trainer) => {
      return native().ts_trainer_fill(trainer, control, bytes, capacity);
    });
  }

  /**
   * Trains, going on where the last call stopped and around the data at its end. Progress counts steps.
   *
   * @param steps Batches to train. On cancellation the steps done so far hold.
   * @param run Progress and cancellation.
   * @throws {TierstoreError} `TS_EFULL` if no tier has room for new rows, `TS_EIO`.
   */
  async train(steps: number, run: RunOptions = {}): Promise<TrainResult> {
    checkCount("steps", steps);
    const stepNs = new BigUint64Array(steps);
    const phaseNs = new BigUint64Array(PHASES.length);
    const loss = new Float64Array(1);
    await runLong("train", handleOf(this, "trainer"), run, (control, { bytes, capacity }, trainer) => {
      const functions = native();
      return functions.ts_trainer_train(trainer, BigInt(steps), stepNs, phaseNs, loss, control, bytes, capacity);
    });
    const phases = PHASES.map((phase, i) => [phase, Number(phaseNs[i])] as const);
    return {
      steps,
      stepNs: Array.from(stepNs, Number),
      phaseNs: Object.fromEntries(phases) as Record<Phase, number>,
      loss: loss[0] ?? NaN,
    };
  }

  /**
   * Scores a cache file by read-only lookups. Progress counts rows.
   *
   * @param path The cache file.
   * @param run `maxRows` scores only the first so many rows (0, the default: all); progress and cancellation.
   */
  async evaluate(path: string, run: { readonly maxRows?: number } & RunOptions = {}): Promise<Evaluation> {
    const maxRows = run.maxRows ?? 0;
    checkCount("maxRows", maxRows);
    const result = new Float64Array(4);
    const file = encodeText(path);
    await runLong("evaluate", handleOf(this, "trainer"), run, (control, { bytes, capacity }, trainer) => {
      return native().ts_trainer_evaluate(trainer, file, BigInt(maxRows), result, control, bytes, capacity);
    });
    const [logloss = NaN, auc = NaN, rows = NaN, unseenShare = NaN] = result;
    return { logloss, auc, rows, unseenShare };
  }

  /** A digest of all dense parameters and of the store's rows: 16 hexadecimal digits. */
  async digest(): Promise<string> {
    const out = new BigUint64Array(1);
    await runLong("compute the digest", handleOf(this, "trainer"), {}, (_control, { bytes, capacity }, trainer) => {
      return native().ts_trainer_digest(trainer, out, bytes, capacity);
    });
    return digestText(out[0] ?? 0n);
  }

  /**
   * What the trainer is and how its steps went: model, number of parameters, oneDNN's kernels, the schedule, what was
   * done ahead and what of that overlapped, page faults, the share of stale rows. Names and values as in
   * `ts_trainer_describe`.
   */
  describe(): Record<string, string> {
    const address = handleOf(this, "trainer").exclusive("describe the trainer");
    const text = readText("describe the trainer", (out, capacity, needed) => {
      return native().ts_trainer_describe(address, out, capacity, needed);
    });
    return parseLines(text);
  }

  /**
   * Dense parameters by name, without padding: `mlp.<l>.w` (inputs × outputs, row by row; the inputs of layer 0 are the
   * 13 numerics, then the vectors of the tables), `mlp.<l>.b`, `output.w`, `output.b`, `wide.numeric` and
   * `wide.C1` to `wide.C26`; model `"dlrm"` has `bottom.<l>.w` and `bottom.<l>.b` instead of the wide part, and the
   * inputs of its layer 0 are the bottom's output, then the dot products.
   *
   * @param name Which.
   * @throws {TierstoreError} `TS_EINVAL` if the model has none of this name.
   */
  parameters(name: string): Float32Array<ArrayBuffer> {
    const needed = new BigUint64Array(1);
    const text = encodeText(name);
    const address = handleOf(this, "trainer").exclusive("read parameters");
    const read = (out: Float32Array<ArrayBuffer>): number =>
      native().ts_trainer_parameters(
        address,
        text,
        out,
        BigInt(out.length),
        needed,
        message.bytes,
        message.capacity,
      );
    const status = read(new Float32Array(0));
    if (statusName(status) !== "TS_ERANGE") message.check(status, "read parameters");
    const out = new Float32Array(Number(needed[0]));
    message.check(read(out), "read parameters");
    return out;
  }

  /**
   * Writes dense parameters; the optimizer's state stays.
   *
   * @param name Which, as in {@linkcode WdlTrainer.parameters}.
   * @param values All of them.
   * @throws {TierstoreError} `TS_EINVAL` if the model has none of this name, or another number of values.
   */
  setParameters(name: string, values: Float32Array<ArrayBuffer>): void {
    const text = encodeText(name);
    const count = BigInt(lengthOf("values", "Float32Array", values));
    const address = handleOf(this, "trainer").exclusive("set parameters");
    const status = native().ts_trainer_set_parameters(address, text, values, count, message.bytes, message.capacity);
    message.check(status, "set parameters");
  }

  /** Whether the trainer or its store was closed. */
  get closed(): boolean {
    return handleOf(this, "trainer").closed;
  }

  /**
   * Closes the trainer; its tables stay in the store. A call under way is asked to stop and rejects; the memory is
   * freed when it ends. Later calls do nothing.
   */
  close(): void {
    handleOf(this, "trainer").close();
  }

  /** As {@linkcode WdlTrainer.close}. */
  [Symbol.dispose](): void {
    this.close();
  }
}

/** A table in the words of the option `tables`. */
function tableText({ name, dim, columns, combiner }: TrainerTable): string {
  if (/[:;]/.test(name)) throw new TypeError(`Cannot call a table "${name}": expected a name without ":" and ";"`);
  return [name, dim, combiner ?? "none", columns.join(",")].join(":");
}

/** The words of `ts_trainer_open`. */
function trainerOptions(options: TrainerOptions): Record<string, string> {
  return {
    ...nativeOptions({
      data: options.data,
      model: options.model,
      batch: options.batch,
      dim: options.dim,
      dims: options.dims?.join(","),
      tables: options.tables?.map(tableText).join(";"),
      hidden: options.hidden?.join(","),
      bottom: options.bottom?.join(","),
      threads: options.threads,
      seed: seedText(options.seed),
      deep_optimizer: options.deepOptimizer?.replaceAll("-", "_"),
      deep_learning_rate: options.deepLearningRate,
      deep_initial_accumulator: options.deepInitialAccumulator,
      deep_beta1: options.deepBeta1,
      deep_beta2: options.deepBeta2,
      deep_epsilon: options.deepEpsilon,
      deep_weight_decay: options.deepWeightDecay,
      deep_decay_rate: options.deepDecayRate,
      deep_decay_step: options.deepDecayStep,
      deep_decay_baseline: options.deepDecayBaseline,
      embedding_optimizer: options.embeddingOptimizer?.replaceAll("-", "_"),
      embedding_learning_rate: options.embeddingLearningRate,
      wide_optimizer: options.wideOptimizer,
      wide_learning_rate: options.wideLearningRate,
      wide_initial_accumulator: options.wideInitialAccumulator,
      wide_l1: options.wideL1,
      wide_l2: options.wideL2,
      wide_buckets: options.wideBuckets,
      stage: options.stage,
      stage_what: options.stageWhat,
      readers: options.readers,
      async_embedding: options.asyncEmbedding,
      micro_batch: options.microBatch,
      embedding_fusion: options.embeddingFusion,
      graph_fusion: options.graphFusion,
      dropout: options.dropout,
      memory_reuse: options.memoryReuse,
      executor: options.executor?.replaceAll("-", "_"),
      bf16: options.bf16,
      deterministic: options.deterministic,
    }),
    ...initializerOptions(options.initializer),
  };
}

function checkCount(what: string, count: number): void {
  if (Number.isSafeInteger(count) && count >= 0) return;
  throw new RangeError(`Cannot use ${what} = ${count}: expected a whole number, 0 or more`);
}
