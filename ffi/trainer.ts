/**
 * Trains Wide & Deep on a store.
 *
 * @module
 */

import { type Phase, PHASES } from "../base/phases.ts";
import {
  beginCheckpoint,
  type CheckpointOptions,
  type PendingCheckpoint,
  type RestoreOptions,
  runRestore,
} from "./checkpoint.ts";
import { type PersistOptions, runPersist } from "./points.ts";
import { lengthOf } from "./arrays.ts";
import { encodeText, message, readText, statusName } from "./errors.ts";
import { digestText, parseLines } from "./facts.ts";
import { checkMaker, handleOf, MAKER, NativeHandle, own } from "./handle.ts";
import { native } from "./library.ts";
import { withConfig } from "./options.ts";
import { type Pauses, pausing } from "./pauses.ts";
import { doneOf, runLong, type RunOptions } from "./run.ts";
import type { Ranks } from "./ranks.ts";
import type { EmbeddingStore } from "./store.ts";
import type { Table } from "./table.ts";
import { type TrainerOptions, trainerOptions } from "./trainer_options.ts";

export type { RunOptions } from "./run.ts";
export type {
  DeepOptimizer,
  EmbeddingOptimizer,
  StageWhat,
  TrainerBf16,
  TrainerExecutor,
  TrainerModel,
  TrainerOptions,
  TrainerTable,
} from "./trainer_options.ts";

export { type Phase, PHASES };

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
  readonly #isOneOfMany: boolean;
  /** The training under way: steps before it, and the words of its call. */
  #training: { readonly before: number; readonly control: BigUint64Array } | undefined;
  /** Steps trained when that was known last. */
  #steps: number;

  private constructor(maker: symbol, store: EmbeddingStore, address: bigint, ranks: Ranks | undefined) {
    checkMaker(maker, "WdlTrainer", "WdlTrainer.open()");
    this.#store = store;
    this.#isOneOfMany = ranks !== undefined && ranks.describe().size > 1;
    const close = (trainer: bigint): number => native().ts_trainer_close(trainer);
    const parents = [handleOf(store, "store"), ...(ranks === undefined ? [] : [handleOf(ranks, "group of ranks")])];
    own(this, new NativeHandle("trainer", address, close, parents));
    this.#steps = this.step;
  }

  /**
   * Opens a trainer; it creates the tables it needs in the store.
   *
   * @param store The store, which must stay open as long as the trainer.
   * @param options Data and model.
   * @param ranks Those that train the same model, each with a store of its own; then this call, {@linkcode WdlTrainer.fill},
   * {@linkcode WdlTrainer.train}, {@linkcode WdlTrainer.evaluate} and {@linkcode WdlTrainer.digest} are calls of all ranks, which
   * each makes in the same order. They must stay open as long as the trainer. Absent: this process alone.
   * @throws {TypeError} If there is an option that does not exist.
   * @throws {TierstoreError} `TS_EINVAL`, `TS_EUNAVAILABLE` (oneDNN is missing), `TS_EIO`, `TS_EFORMAT` (no cache file),
   * `TS_ENOMEM`, `TS_EFULL`.
   */
  static open(store: EmbeddingStore, options: TrainerOptions, ranks?: Ranks): WdlTrainer {
    const out = new BigUint64Array(1);
    withConfig(trainerOptions(options), (config) => {
      const address = handleOf(store, "store").exclusive("open a trainer");
      const { bytes, capacity } = message;
      const status = ranks === undefined
        ? native().ts_trainer_open(address, config, out, bytes, capacity)
        : native().ts_trainer_open_ranks(
          ...[address, handleOf(ranks, "group of ranks").exclusive("open a trainer")] as const,
          ...[config, out, bytes, capacity] as const,
        );
      message.check(status, "open the trainer");
    });
    return new WdlTrainer(MAKER, store, out[0] ?? 0n, ranks);
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
    return this.#store.existing(name);
  }

  /** Steps trained so far, those of the checkpoint included that it was restored from. */
  get step(): number {
    return Number(this.describe()["step"]);
  }

  /**
   * Steps trained, also while a call is under way: while it trains as far as that has come, during another call (filling,
   * scoring, restoring) what they were before it.
   */
  get stepsDone(): number {
    const { before = 0, control } = this.#training ?? {};
    if (control !== undefined) this.#steps = before + doneOf(control);
    else if (!handleOf(this, "trainer").busy) this.#steps = this.step;
    return this.#steps;
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
   * Trains, going on where the last call stopped and around the data at its end. Progress counts steps, those of the
   * warm-up too.
   *
   * @param steps Batches to train and count. On cancellation the steps done so far hold.
   * @param run `warmup` trains so many batches before them (0) that are not counted, in the same flow: what is prepared
   * ahead for the first counted step stays, the counters of the store begin at 0. `pauses`: before which counted steps it
   * waits, in no step's time; threads of the store in the background do not. Progress and cancellation.
   * @throws {TierstoreError} `TS_EFULL` if no tier has room for new rows, `TS_EIO`; `TS_EINVAL` for pauses of ranks that train
   * asynchronously.
   * @throws What `until` of the pauses threw; the steps before that pause hold.
   */
  async train(
    steps: number,
    run: { readonly warmup?: number; readonly pauses?: Pauses } & RunOptions = {},
  ): Promise<TrainResult> {
    const { warmup = 0, pauses } = run;
    checkCount("steps", steps);
    checkCount("warmup", warmup);
    if (pauses !== undefined) checkCount("pauses.every", pauses.every, 1);
    const stepNs = new BigUint64Array(steps);
    const phaseNs = new BigUint64Array(PHASES.length);
    const loss = new Float64Array(1);
    await runLong("train", handleOf(this, "trainer"), run, (control, { bytes, capacity }, trainer) => {
      this.#training = { before: Number(describe(trainer)["step"]), control };
      const functions = native();
      const counts = [BigInt(warmup), BigInt(steps)] as const;
      const call = () =>
        functions.ts_trainer_train(trainer, ...counts, stepNs, phaseNs, loss, control, bytes, capacity);
      return pauses === undefined ? call() : pausing(control, { before: warmup, all: warmup + steps }, pauses, call);
    }).finally(() => {
      if (this.#training !== undefined) this.#steps = this.stepsDone;
      this.#training = undefined;
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

  /**
   * Holds the state of this moment, between two calls of {@linkcode WdlTrainer.train}, for a checkpoint: rows of the store with
   * all that belongs to them, dense and wide weights, the state of their optimizers, the step, hence the place in the data.
   * {@linkcode PendingCheckpoint.write} writes it while training goes on.
   *
   * Over several ranks it is a call of all of them and of one folder that all of them reach; checkpoints are full, and
   * {@linkcode WdlTrainer.commit} makes them.
   *
   * @param options Where to, and which kind.
   * @throws {TierstoreError} As {@linkcode EmbeddingStore.checkpoint}; `TS_EUNSUPPORTED` for a delta over ranks.
   */
  checkpoint(options: CheckpointOptions): PendingCheckpoint {
    const store = handleOf(this.#store, "store");
    return beginCheckpoint(options, store, (config, out) => {
      const trainer = handleOf(this, "trainer").exclusive("begin a checkpoint");
      store.exclusive("begin a checkpoint");
      return native().ts_trainer_checkpoint_begin(trainer, config, out, message.bytes, message.capacity);
    }, this.#isOneOfMany);
  }

  /**
   * Makes a checkpoint of what the ranks have cut, when each has written its share; writes this rank's, if
   * {@linkcode PendingCheckpoint.write} did not. A call of all ranks, also of one whose write failed. Then the checkpoint is
   * closed. Until it succeeds, a restore finds the checkpoint before. Of a trainer without ranks it writes, if that was not done.
   *
   * @param checkpoint What {@linkcode WdlTrainer.checkpoint} made.
   * @throws {TierstoreError} On all ranks that of the lowest one that has one, with its number.
   */
  async commit(checkpoint: PendingCheckpoint): Promise<void> {
    if (!this.#isOneOfMany) return checkpoint.closed ? undefined : await checkpoint.write();
    const handle = handleOf(checkpoint, "checkpoint");
    const action = "commit the checkpoint";
    try {
      await handle.run(action, () => {}, async (address) => {
        await runLong(action, handleOf(this, "trainer"), {}, (_control, { bytes, capacity }, trainer) => {
          return native().ts_trainer_checkpoint_commit(trainer, address, bytes, capacity);
        });
      });
    } finally {
      handle.close();
    }
  }

  /**
   * Goes on where a checkpoint was made: a trainer that was just opened, on an empty store of any storage type, becomes the one
   * that was checkpointed, and what it trains from here on is the same to the bit. Its options and data must be those of the
   * checkpoint's trainer, but for threads, executor, stage, memory and fusion of embeddings. Over ranks it is a call of all of
   * them; how many there were, and who held which rows, may be different.
   *
   * @param options Which checkpoint.
   * @param run Progress and cancellation; after a restore that did not end, close the trainer and its store.
   * @throws {TierstoreError} As {@linkcode EmbeddingStore.restore}; `TS_EINVAL` naming an option that differs.
   */
  async restore(options: RestoreOptions, run: RunOptions = {}): Promise<void> {
    await runRestore(options, handleOf(this, "trainer"), run, (trainer, config, control, { bytes, capacity }) => {
      return native().ts_trainer_restore(trainer, config, control, bytes, capacity);
    });
  }

  /**
   * {@linkcode EmbeddingStore.persist} of its store, with what the trainer has beside it. A trainer that is opened, with the same
   * options and data, on a store that took such a point up ({@linkcode EmbeddingStore.resume}) goes on from it to the bit.
   *
   * @param options How many points stay, and whether to wait.
   * @param run Progress and cancellation with `wait`, as of {@linkcode EmbeddingStore.persisted}.
   * @returns The point's number.
   * @throws {TierstoreError} As {@linkcode EmbeddingStore.persist}.
   */
  async persist(options: PersistOptions = {}, run: RunOptions = {}): Promise<number> {
    const store = handleOf(this.#store, "store");
    return await runPersist(
      options,
      handleOf(this, "trainer"),
      store,
      run,
      (trainer, config, number, { bytes, capacity }) => {
        return native().ts_trainer_persist(trainer, config, number, bytes, capacity);
      },
    );
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
    return describe(handleOf(this, "trainer").exclusive("describe the trainer"));
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

function describe(trainer: bigint): Record<string, string> {
  const text = readText("describe the trainer", (out, capacity, needed) => {
    return native().ts_trainer_describe(trainer, out, capacity, needed);
  });
  return parseLines(text);
}

function checkCount(what: string, count: number, least = 0): void {
  if (Number.isSafeInteger(count) && count >= least) return;
  throw new RangeError(`Cannot use ${what} = ${count}: expected a whole number, ${least} or more`);
}
