/**
 * Trains Wide & Deep on a store.
 *
 * @module
 */

import { encodeText, message, statusName } from "./errors.ts";
import { digestText } from "./facts.ts";
import { handleOf, NativeHandle, own } from "./handle.ts";
import { native } from "./library.ts";
import { type InitializerOptions, initializerOptions, nativeOptions, seedText, withConfig } from "./options.ts";
import { runLong, type RunOptions } from "./run.ts";
import type { EmbeddingStore } from "./store.ts";

export type { RunOptions } from "./run.ts";

/** The phases of a training step, in the order of `TS_PHASE_*` in `tierstore.h`. */
export const PHASES = ["input", "lookup", "dense", "update", "eviction"] as const;
/** One of `PHASES`. */
export type Phase = "input" | "lookup" | "dense" | "update" | "eviction";

/** Options of {@linkcode WdlTrainer.open}. What is absent is left to the library's default, given in brackets. */
export interface TrainerOptions {
  /** Path of the train cache file. */
  readonly data: string;
  /** Samples a step (2048). */
  readonly batch?: number;
  /** Weights an embedding row (16). */
  readonly dim?: number;
  /** Widths of the hidden layers (1024, 512, 256). */
  readonly hidden?: readonly number[];
  /** Compute threads (1). */
  readonly threads?: number;
  /** Seed of the dense initial values and the order of batches, an unsigned 64-bit number (0). */
  readonly seed?: number | bigint;
  /** Optimizer of embeddings and dense layers (`"adagrad"`). */
  readonly deepOptimizer?: "sgd" | "adagrad";
  /** Its learning rate (0.01). */
  readonly deepLearningRate?: number;
  /** First value of Adagrad's sums of squared gradients, above 0 (0.1). */
  readonly deepInitialAccumulator?: number;
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
  /** Area under the ROC curve, exact; ties count half. */
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

  private constructor(store: EmbeddingStore, address: bigint) {
    this.#store = store;
    const close = (trainer: bigint): number => native().ts_trainer_close(trainer);
    own(this, new NativeHandle("trainer", address, close, handleOf(store)));
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
    const address = handleOf(store).exclusive("open a trainer");
    withConfig(trainerOptions(options), (config) => {
      const status = native().ts_trainer_open(address, config, out, message.bytes, message.capacity);
      message.check(status, "open the trainer");
    });
    return new WdlTrainer(store, out[0] ?? 0n);
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
    await runLong("fill the tables", handleOf(this), run, (control, { bytes, capacity }, trainer) => {
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
    await runLong("train", handleOf(this), run, (control, { bytes, capacity }, trainer) => {
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
    await runLong("evaluate", handleOf(this), run, (control, { bytes, capacity }, trainer) => {
      return native().ts_trainer_evaluate(trainer, file, BigInt(maxRows), result, control, bytes, capacity);
    });
    const [logloss = NaN, auc = NaN, rows = NaN, unseenShare = NaN] = result;
    return { logloss, auc, rows, unseenShare };
  }

  /** A digest of all dense parameters and of the store's rows: 16 hexadecimal digits. */
  async digest(): Promise<string> {
    const out = new BigUint64Array(1);
    await runLong("compute the digest", handleOf(this), {}, (_control, { bytes, capacity }, trainer) => {
      return native().ts_trainer_digest(trainer, out, bytes, capacity);
    });
    return digestText(out[0] ?? 0n);
  }

  /**
   * Dense parameters by name, without padding: `mlp.<l>.w` (inputs × outputs, row by row; the inputs of layer 0 are the 13
   * numerics, then the weights of C1, of C2 and so on), `mlp.<l>.b`, `output.w`, `output.b`, `wide.numeric` and `wide.C1`
   * to `wide.C26`.
   *
   * @param name Which.
   * @throws {TierstoreError} `TS_EINVAL` if the model has none of this name.
   */
  parameters(name: string): Float32Array<ArrayBuffer> {
    const address = handleOf(this).exclusive("read parameters");
    const needed = new BigUint64Array(1);
    const text = encodeText(name);
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
    const address = handleOf(this).exclusive("set parameters");
    const count = BigInt(values.length);
    const { bytes, capacity } = message;
    const status = native().ts_trainer_set_parameters(address, encodeText(name), values, count, bytes, capacity);
    message.check(status, "set parameters");
  }

  /** Whether the trainer or its store was closed. */
  get closed(): boolean {
    return handleOf(this).closed;
  }

  /**
   * Closes the trainer; its tables stay in the store. A call under way is asked to stop and rejects; the memory is freed
   * when it ends. Later calls do nothing.
   */
  close(): void {
    handleOf(this).close();
  }

  /** As {@linkcode WdlTrainer.close}. */
  [Symbol.dispose](): void {
    this.close();
  }
}

/** The words of `ts_trainer_open`. */
function trainerOptions(options: TrainerOptions): Record<string, string> {
  return {
    ...nativeOptions({
      data: options.data,
      batch: options.batch,
      dim: options.dim,
      hidden: options.hidden?.join(","),
      threads: options.threads,
      seed: seedText(options.seed),
      deep_optimizer: options.deepOptimizer,
      deep_learning_rate: options.deepLearningRate,
      deep_initial_accumulator: options.deepInitialAccumulator,
      wide_learning_rate: options.wideLearningRate,
      wide_initial_accumulator: options.wideInitialAccumulator,
      wide_l1: options.wideL1,
      wide_l2: options.wideL2,
      wide_buckets: options.wideBuckets,
    }),
    ...initializerOptions(options.initializer),
  };
}

function checkCount(what: string, count: number): void {
  if (Number.isSafeInteger(count) && count >= 0) return;
  throw new RangeError(`Cannot use ${what} = ${count}: expected a whole number, 0 or more`);
}
