/**
 * Checkpoints: what a store, and a trainer on it, is at one moment, written to files while training goes on.
 *
 * @module
 */

import { checkFields, type FieldsOf } from "../base/fields.ts";
import { encodeText, message, type MessageBuffer, readText } from "./errors.ts";
import { numberOf, parseLines } from "./facts.ts";
import { checkMaker, handleOf, MAKER, NativeHandle, own } from "./handle.ts";
import { native } from "./library.ts";
import { createConfig, nativeOptions, withConfig } from "./options.ts";
import { runLong, type RunOptions } from "./run.ts";

/** What {@linkcode EmbeddingStore.checkpoint} and {@linkcode WdlTrainer.checkpoint} take. */
export interface CheckpointOptions {
  /** The folder of a chain of checkpoints; created if it is not there, and its parent is. */
  readonly path: string;
  /**
   * `"full"` keeps every row, `"delta"` the rows that changed or went since the checkpoint before, in a store opened with
   * `trackChanges`; `"auto"` is a delta where there can be one, while the deltas on the last full one have fewer bytes together
   * than that one, so that a restore reads at most about two full ones; else a full one.
   *
   * @default {"auto"}
   */
  readonly kind?: "full" | "delta" | "auto";
}

/** What {@linkcode EmbeddingStore.restore} and {@linkcode WdlTrainer.restore} take. */
export interface RestoreOptions {
  /** The folder of the chain. */
  readonly path: string;
  /** The number of the checkpoint; the newest if absent. */
  readonly number?: number;
}

const CHECKPOINT_FIELDS: FieldsOf<CheckpointOptions> = { path: true, kind: true };
const RESTORE_FIELDS: FieldsOf<RestoreOptions> = { path: true, number: true };

/**
 * A checkpoint whose cut is made: what {@linkcode PendingCheckpoint.write} brings to the files is the state at that moment,
 * whatever is trained meanwhile.
 *
 * @example Training goes on while a checkpoint is written
 * ```ts ignore
 * import { EmbeddingStore, WdlTrainer } from "../mod.ts";
 *
 * using store = EmbeddingStore.open({ storage: "DRAM" });
 * using trainer = WdlTrainer.open(store, { data: "train.bin" });
 * const checkpoint = trainer.checkpoint({ path: "checkpoints" });
 * await Promise.all([checkpoint.write(), trainer.train(100)]);
 * ```
 */
export class PendingCheckpoint implements Disposable {
  readonly #path: string;
  readonly #ofRanks: boolean;

  /** Made by `checkpoint()` of a store or a trainer. */
  constructor(maker: symbol, path: string, store: NativeHandle, address: bigint, ofRanks: boolean) {
    checkMaker(maker, "PendingCheckpoint", "checkpoint() of a store or a trainer");
    this.#path = path;
    this.#ofRanks = ofRanks;
    own(this, new NativeHandle("checkpoint", address, (it) => native().ts_checkpoint_close(it), store, true));
  }

  /** The folder of its chain. */
  get path(): string {
    return this.#path;
  }

  /**
   * Writes it and waits until it is durable, on a thread of its own: the store and its trainers may be used meanwhile.
   * Then, whatever came of it, the checkpoint is closed. Of one that fails or is cancelled nothing stays in the folder, and
   * the next delta has its changes. Progress counts bytes.
   *
   * Over several ranks it writes this rank's share, and stays open: {@linkcode WdlTrainer.commit} makes the shares a checkpoint,
   * or hears of those that failed.
   *
   * @param run Progress and cancellation.
   * @throws {TierstoreError} `TS_EIO`, `TS_EFULL` if the disk has no room, `TS_EFORMAT` if the chain is damaged.
   */
  async write(run: RunOptions = {}): Promise<void> {
    const handle = handleOf(this, "checkpoint");
    handle.exclusive("write the checkpoint");
    try {
      await runLong("write the checkpoint", handle, run, (control, { bytes, capacity }, checkpoint) => {
        return native().ts_checkpoint_write(checkpoint, control, bytes, capacity);
      });
    } finally {
      if (!this.#ofRanks) handle.close();
    }
  }

  /** Whether it was written or closed, or its store was closed. */
  get closed(): boolean {
    return handleOf(this, "checkpoint").closed;
  }

  /** Gives it up if it is not written. A write under way is asked to stop and rejects. Later calls do nothing. */
  close(): void {
    handleOf(this, "checkpoint").close();
  }

  /** As {@linkcode PendingCheckpoint.close}. */
  [Symbol.dispose](): void {
    this.close();
  }
}

/**
 * Makes the cut of a checkpoint.
 *
 * @param options What was asked.
 * @param store The store's handle.
 * @param begin Calls C.
 * @param ofRanks Whether it is a share, which is committed later.
 */
export function beginCheckpoint(
  options: CheckpointOptions,
  store: NativeHandle,
  begin: (config: bigint, out: BigUint64Array<ArrayBuffer>) => number,
  ofRanks = false,
): PendingCheckpoint {
  checkFields("checkpoint()", options, CHECKPOINT_FIELDS);
  const { path, kind } = options;
  const out = new BigUint64Array(1);
  withConfig(nativeOptions({ path, kind }), (config) => message.check(begin(config, out), "begin a checkpoint"));
  return new PendingCheckpoint(MAKER, path, store, out[0] ?? 0n, ofRanks);
}

/**
 * Restores a store or a trainer.
 *
 * @param options What was asked.
 * @param handle What is restored.
 * @param run Progress and cancellation.
 * @param restore Calls C.
 */
export async function runRestore(
  options: RestoreOptions,
  handle: NativeHandle,
  run: RunOptions,
  restore: (address: bigint, config: bigint, control: BigUint64Array, message: MessageBuffer) => Promise<number>,
): Promise<void> {
  checkFields("restore()", options, RESTORE_FIELDS);
  const { path, number } = options;
  const config = createConfig(nativeOptions({ path, number }));
  try {
    await runLong("restore from a checkpoint", handle, run, (control, message, address) => {
      return restore(address, config, control, message);
    });
  } finally {
    native().ts_config_free(config);
  }
}

/** A checkpoint of a folder, as its manifest tells. Where that is damaged, only number, state and problem are known. */
export interface CheckpointInfo {
  /** Its number in the folder; numbers rise. */
  readonly number: number;
  /**
   * `"whole"`: it and all it stands on are there, as far as manifests tell; `"abandoned"`: a store was restored from an earlier
   * one and went on from there; `"damaged"`.
   */
  readonly state: "whole" | "abandoned" | "damaged";
  /** What is wrong, where it is not whole. */
  readonly problem?: string;
  /** Every row, or what changed since its parent. */
  readonly kind?: "full" | "delta";
  /** The number of the checkpoint that a delta stands on. */
  readonly parent?: number;
  /** Bytes of its data. */
  readonly bytes?: number;
  /** Data files that it consists of, over ranks one of each. */
  readonly shares?: number;
  /** Data files that a restore reads: its own and those of what it stands on. */
  readonly links?: number;
  /** Steps that the trainer had trained; of a store without one the step that it was told, absent if it was told none. */
  readonly step?: number;
  /** Every line that the library tells, those of the manifest among them. */
  readonly facts: Readonly<Record<string, string>>;
}

const STATES = { whole: "whole", abandoned: "abandoned" } as const;

function infoOf(facts: Record<string, string>): CheckpointInfo {
  const { state = "", problem, kind } = facts;
  const number = (key: string): number | undefined => facts[key] === undefined ? undefined : numberOf(facts, key);
  const [parent, links] = ["parent", "links"].map(number);
  const shares = facts["bytes"] === undefined ? undefined : number("shares") ?? 1;
  const files = Array.from({ length: shares ?? 0 }, (_, i) => number(i === 0 ? "bytes" : `share.${i}.bytes`) ?? 0);
  const step = number("trainer_step") ?? (facts["step_set"] === "1" ? number("step") : undefined);
  return {
    number: numberOf(facts, "checkpoint"),
    state: STATES[state as keyof typeof STATES] ?? "damaged",
    ...(problem === undefined ? {} : { problem }),
    ...(kind === "full" || kind === "delta" ? { kind } : {}),
    ...(kind === "delta" && parent !== undefined ? { parent } : {}),
    ...(shares === undefined ? {} : { bytes: files.reduce((sum, bytes) => sum + bytes, 0), shares }),
    ...(links === undefined ? {} : { links }),
    ...(step === undefined ? {} : { step }),
    facts,
  };
}

/**
 * The checkpoints of a folder, by rising number.
 *
 * @param path The folder of a chain.
 * @throws {TierstoreError} `TS_EIO` if there is no such folder.
 */
export function inspectCheckpoints(path: string): CheckpointInfo[] {
  const folder = encodeText(path);
  const text = readText("inspect the checkpoints", (out, capacity, needed) => {
    return native().ts_checkpoint_describe(folder, out, capacity, needed, message.bytes, message.capacity);
  });
  return infosOf(text);
}

/** Reads what `ts_checkpoint_describe` and `ts_store_points` write. */
export function infosOf(text: string): CheckpointInfo[] {
  return text.split(/^(?=checkpoint=)/m).filter((one) => one !== "").map((one) => infoOf(parseLines(one)));
}

/**
 * Reads every byte of a chain and compares it with its checksums. Progress counts bytes.
 *
 * @param path The folder of the chain.
 * @param run Progress and cancellation.
 * @throws {TierstoreError} `TS_EFORMAT` naming file and place of what is missing or damaged, `TS_EIO`.
 */
export async function verifyCheckpoints(path: string, run: RunOptions = {}): Promise<void> {
  const folder = encodeText(path);
  await runLong("verify the checkpoints", undefined, run, (control, { bytes, capacity }) => {
    return native().ts_checkpoint_verify(folder, control, bytes, capacity);
  });
}

/**
 * Makes one full checkpoint of a chain's newest one and all that it stands on, in bounded memory, and removes what it
 * replaces. Progress counts bytes.
 *
 * @param path The folder of the chain.
 * @param run Progress and cancellation, which leaves the chain as it was.
 * @throws {TierstoreError} `TS_EFORMAT` if the chain is damaged, `TS_EIO`, `TS_EFULL` if the disk has no room for both.
 */
export async function compactCheckpoints(path: string, run: RunOptions = {}): Promise<void> {
  const folder = encodeText(path);
  await runLong("compact the checkpoints", undefined, run, (control, { bytes, capacity }) => {
    return native().ts_checkpoint_compact(folder, control, bytes, capacity);
  });
}
