/**
 * Embedding tables over tiers of memory.
 *
 * @module
 */

import { checkFields } from "../base/fields.ts";
import {
  beginCheckpoint,
  type CheckpointInfo,
  type CheckpointOptions,
  infosOf,
  type PendingCheckpoint,
  type RestoreOptions,
  runRestore,
} from "./checkpoint.ts";
import { encodeText, message, readText, TierstoreError } from "./errors.ts";
import { digestText, numberOf, parsePairs } from "./facts.ts";
import { type GaugesOptions, readGauges, type StoreGauges } from "./store_gauges.ts";
import { checkMaker, handleOf, MAKER, NativeHandle, own } from "./handle.ts";
import { native } from "./library.ts";
import {
  createConfig,
  nativeOptions,
  type StoreOptions,
  storeOptions,
  type TableOptions,
  tableOptions,
  withConfig,
} from "./options.ts";
import { type PersistOptions, runPersist, untilDurable } from "./points.ts";
import { runLong, type RunOptions } from "./run.ts";
import { readStatistics } from "./statistics.ts";
import { Table } from "./table.ts";

export type {
  AdamOptions,
  AdmissionOptions,
  DistributionOptions,
  EvictionPolicy,
  ExpireOptions,
  InitializerOptions,
  LeveldbOptions,
  OptimizerOptions,
  SsdhashOptions,
  StoreOptions,
  TableOptions,
} from "./options.ts";
export type { GaugesOptions, HitsOfSize, HitsOfStep, StoreGauges } from "./store_gauges.ts";
export type { Keys, Offsets } from "./keys.ts";
export type { BagOptions, Combiner, LookupBagsOptions } from "./bags.ts";
export type { FoundRows, RowMetadata, TableRows, WaitingKeys } from "./rows.ts";
export { Table } from "./table.ts";

/** Whether a storage type can be opened on this machine, and if not, why. */
export type Availability = { readonly available: true } | { readonly available: false; readonly reason: string };

/** The bytes of one tier. */
export interface TierMemory {
  /** Position, fastest first. */
  readonly tier: number;
  /** The limit it was given. */
  readonly limitBytes: number;
  /** What counts against the limit now. */
  readonly usedBytes: number;
  /** Bytes held by purpose: rows, index, policy, buffers, slack (reserved without rows). */
  readonly purposes: Readonly<Record<string, number>>;
  /** Bytes held by what they are in: `DRAM`, `PMEM`, `SSD`. */
  readonly places: Readonly<Record<string, number>>;
}

/** Every byte that a store holds. */
export interface StoreMemory {
  /** One entry a tier, fastest first. */
  readonly tiers: readonly TierMemory[];
}

/** How a tier is really held. */
export interface TierDescription {
  /** Position, fastest first. */
  readonly tier: number;
  /** `DRAM`, `PMEM_LIBPMEM`, `PMEM_MEMKIND`, `PMEM_MBIND`, `SSDHASH`, `LEVELDB` or `NULL`. */
  readonly type: string;
  /** What holds the bytes, e.g. `DRAM` or `tmpfs file`. */
  readonly medium: string;
  /** Everything else the library says: path, file system, is_pmem, forced, node, huge pages, emulation. */
  readonly facts: Readonly<Record<string, string>>;
}

/**
 * A set of embedding tables over tiers of memory.
 *
 * @example Two tiers
 * ```ts
 * import { EmbeddingStore } from "../mod.ts";
 *
 * using store = EmbeddingStore.open({ storage: "DRAM", size: ["64 MiB"], seed: 1 });
 * const table = store.table({ name: "user_id", dim: 16, optimizer: { adagrad: { learningRate: 0.1 } } });
 * const keys = new BigInt64Array([1n, -7n, 1n]);
 * const rows = new Float32Array(keys.length * table.dim); // 3 × 16, for every batch of three keys
 * table.lookupInto(keys, rows); // the first and the last row are the same
 * table.update(keys, rows);
 * console.log(table.rows()); // [ 2 ]
 * ```
 */
export class EmbeddingStore implements Disposable {
  /** Whether it was opened with `gauges`. */
  readonly hasGauges: boolean;

  private constructor(maker: symbol, address: bigint, hasGauges: boolean) {
    checkMaker(maker, "EmbeddingStore", "EmbeddingStore.open()");
    this.hasGauges = hasGauges;
    own(this, new NativeHandle("store", address, (store) => native().ts_store_close(store)));
  }

  /**
   * Opens an empty store.
   *
   * @param options Storage type and sizes.
   * @throws {TierstoreError} `TS_EINVAL` for options that do not fit, `TS_EUNAVAILABLE` if a library or a memory node is
   * missing, `TS_EIO` for a path, `TS_ENOMEM`.
   * @throws {TypeError} If there is an option that does not exist.
   * @throws {NativeLibraryError} If the native library cannot be opened.
   */
  static open(options: StoreOptions): EmbeddingStore {
    const out = new BigUint64Array(1);
    withConfig(storeOptions(options), (config) => {
      message.check(native().ts_store_open(config, out, message.bytes, message.capacity), "open the store");
    });
    return new EmbeddingStore(MAKER, out[0] ?? 0n, (options.gauges ?? false) !== false);
  }

  /**
   * Whether {@linkcode EmbeddingStore.open} would find what it needs on this machine. Allocates nothing that lasts.
   *
   * @param options As for open.
   */
  static probe(options: StoreOptions): Availability {
    try {
      withConfig(storeOptions(options), (config) => {
        message.check(native().ts_store_probe(config, message.bytes, message.capacity), "probe the storage type");
      });
      return { available: true };
    } catch (error) {
      if (!(error instanceof TierstoreError) || !UNAVAILABLE.includes(error.status)) throw error;
      return { available: false, reason: error.message };
    }
  }

  /**
   * Adds a table.
   *
   * @param options Name, dim, optimizer, initialiser, admission, expiry.
   * @throws {TierstoreError} `TS_EINVAL` for options that do not fit, `TS_EFULL` if the first tier cannot hold the
   * table's fixed part.
   * @throws {TypeError} If there is an option that does not exist.
   */
  table(options: TableOptions): Table {
    const number = new Uint32Array(1);
    const words = tableOptions(options);
    const name = words["name"] ?? "";
    withConfig(words, (config) => {
      const store = handleOf(this, "store").exclusive("add a table");
      const status = native().ts_table_create(store, config, number, message.bytes, message.capacity);
      message.check(status, `add the table "${name}"`);
    });
    return new Table(MAKER, this, number[0] ?? 0, name);
  }

  /** Counters since the store was opened or {@linkcode EmbeddingStore.resetStatistics}, by name. Also while a call is under way. */
  statistics(): Record<string, number> {
    const store = handleOf(this, "store").shared("read statistics");
    return readStatistics((out, n, needed) =>
      native().ts_store_statistics(store, out, n, needed, message.bytes, message.capacity)
    );
  }

  /**
   * Which share of lookups each tier answered, what the first tier would answer at other sizes under LRU, and what one GiB more
   * or less of it gives, with 95 % intervals: from a sample of the lookups, which {@linkcode StoreOptions.gauges} has to ask for.
   * Also while a call is under way, so of a store that a trainer trains on.
   *
   * @example
   * ```ts
   * import { EmbeddingStore } from "../mod.ts";
   *
   * using store = EmbeddingStore.open({ storage: "DRAM", size: ["64 MiB"], gauges: true });
   * const table = store.table({ name: "item_id", dim: 16 });
   * const keys = BigInt64Array.from({ length: 100_000 }, (_, i) => BigInt(i));
   * for (let round = 0; round < 10; round++) table.lookup(keys); // 100,000 rows of 64 bytes, one round after the other
   * const [small, large] = store.gauges({ sizes: ["2 MiB", "16 MiB"] }).curve;
   * console.log(small!.hits < 0.1, large!.hits > 0.8); // true true
   * ```
   *
   * @param options From which reading on, of which sizes, and by how much more or less.
   * @throws {TierstoreError} `TS_EINVAL` if the store was opened without `gauges`.
   * @throws {RangeError} If `since` is of another store, or older than a reset; for a size below 0.
   */
  gauges(options: GaugesOptions = {}): StoreGauges {
    const store = handleOf(this, "store").shared("read gauges");
    return readGauges(this, options, (out, n, needed) => {
      return native().ts_store_gauges(store, out, n, needed, message.bytes, message.capacity);
    });
  }

  /** Sets all counters to 0. */
  resetStatistics(): void {
    const store = handleOf(this, "store").exclusive("reset statistics");
    const status = native().ts_store_reset_statistics(store, message.bytes, message.capacity);
    message.check(status, "reset statistics");
  }

  /**
   * Says which training step it is: later updates stamp rows with it (`recordVersion`), and rows expire by it
   * (`expire.steps`). It is 0 at first.
   *
   * @example
   * ```ts
   * import { EmbeddingStore } from "../mod.ts";
   *
   * using store = EmbeddingStore.open({ storage: "DRAM" });
   * const table = store.table({ name: "user_id", dim: 1, recordVersion: true });
   * store.setStep(41);
   * table.update([7], new Float32Array([0.5]));
   * console.log(table.metadata([7]).versions); // BigInt64Array(1) [ 41n ]
   * ```
   *
   * @param step A whole number from 0 to 2^53 - 1, or to 2^63 - 1 as a bigint.
   * @throws {RangeError} If it is none.
   */
  setStep(step: number | bigint): void {
    const whole = typeof step === "bigint" ? BigInt.asIntN(64, step) === step : Number.isSafeInteger(step);
    if (!whole || step < 0) {
      throw new RangeError(
        `Cannot use the step ${step}: expected a whole number from 0 to 2^53 - 1, or to 2^63 - 1 as a bigint`,
      );
    }
    const store = handleOf(this, "store").shared("set the step");
    message.check(native().ts_store_set_step(store, BigInt(step), message.bytes, message.capacity), "set the step");
  }

  /**
   * Waits until background threads have no row left to move, and writes what SSD tiers gathered in memory. For figures
   * that should not depend on what is under way, such as {@linkcode EmbeddingStore.memory}.
   *
   * @example
   * ```ts
   * import { EmbeddingStore } from "../mod.ts";
   *
   * using store = EmbeddingStore.open({ storage: "DRAM", size: ["64 MiB"] });
   * store.table({ name: "user_id", dim: 16 }).lookup([1, 2, 3]);
   * store.settle();
   * console.log(store.memory().tiers[0]?.purposes["rows"]); // 192
   * ```
   *
   * @throws {TierstoreError} `TS_EIO` if a file cannot be written.
   */
  settle(): void {
    const store = handleOf(this, "store").exclusive("settle the store");
    message.check(native().ts_store_settle(store, message.bytes, message.capacity), "settle the store");
  }

  /** Every byte the store holds, by tier, by purpose, and by what holds it. Also while a call is under way. */
  memory(): StoreMemory {
    const store = handleOf(this, "store").shared("read memory use");
    const text = readText("read memory use", (...buffer) => native().ts_store_memory(store, ...buffer));
    return parseMemory(text);
  }

  /** How each tier is really held, fastest first. Also while a call is under way. */
  describe(): TierDescription[] {
    const store = handleOf(this, "store").shared("describe tiers");
    const text = readText("describe tiers", (...buffer) => native().ts_store_describe(store, ...buffer));
    return parseDescription(text);
  }

  /** A digest of every row of every table, independent of tiers and order: 16 hexadecimal digits. */
  digest(): string {
    const out = new BigUint64Array(1);
    const store = handleOf(this, "store").exclusive("compute the digest");
    message.check(native().ts_store_digest(store, out, message.bytes, message.capacity), "compute the digest");
    return digestText(out[0] ?? 0n);
  }

  /**
   * Holds the store's state of this moment for a checkpoint, which {@linkcode PendingCheckpoint.write} writes while the store goes
   * on. A trainer's store is better checkpointed through {@linkcode WdlTrainer.checkpoint}, which has the dense weights, too.
   *
   * @example
   * ```ts
   * import { EmbeddingStore } from "../mod.ts";
   *
   * const path = Deno.makeTempDirSync() + "/chain";
   * using store = EmbeddingStore.open({ storage: "DRAM" });
   * store.table({ name: "user_id", dim: 4 }).update([7], new Float32Array([1, 2, 3, 4]));
   * await store.checkpoint({ path }).write();
   * using other = EmbeddingStore.open({ storage: "DRAM", shards: 4 });
   * await other.restore({ path });
   * console.log(other.digest() === store.digest()); // true
   * ```
   *
   * @param options Where to, and which kind.
   * @throws {TierstoreError} `TS_EINVAL` for a delta that has nothing to be one to, `TS_EUNAVAILABLE` if another checkpoint of
   * the store, or another writer of the folder, is not done yet, `TS_EIO`, `TS_EFORMAT` for a folder whose newest checkpoint is
   * damaged, `TS_ENOMEM`.
   */
  checkpoint(options: CheckpointOptions): PendingCheckpoint {
    const handle = handleOf(this, "store");
    return beginCheckpoint(options, handle, (config, out) => {
      const store = handle.exclusive("begin a checkpoint");
      return native().ts_checkpoint_begin(store, config, out, message.bytes, message.capacity);
    });
  }

  /**
   * Fills the empty store from a checkpoint, of whatever storage type, number of tiers and shards it was made. Tables that the
   * store does not have are made; {@linkcode EmbeddingStore.existing} gives them. Progress counts bytes.
   *
   * @param options Which.
   * @param run Progress and cancellation; after a restore that did not end, close the store.
   * @throws {TierstoreError} `TS_EINVAL` if the store has rows, another seed, or a table of other options, `TS_EFULL` if the
   * rows do not fit, `TS_EFORMAT` naming what of the chain is missing or damaged, `TS_EIO`.
   */
  async restore(options: RestoreOptions, run: RunOptions = {}): Promise<void> {
    await runRestore(options, handleOf(this, "store"), run, (store, config, control, { bytes, capacity }) => {
      return native().ts_store_restore(store, config, control, bytes, capacity);
    });
  }

  /**
   * Takes up a restore point of the store's folder: right after {@linkcode EmbeddingStore.open} with `persistent`, before tables
   * are added. The tables of the point are there then, with their rows; {@linkcode EmbeddingStore.table} with the same options
   * gives them, and a trainer goes on from what {@linkcode WdlTrainer.persist} left. Shards, sizes, policy, and the tiers above
   * the last may be others than before. What came after the point is gone for good; later points are,
   * too, once all of an older one that is asked for has been read and is whole. Progress counts bytes.
   *
   * @param options Which point.
   * @param options.number Its number; the newest if absent.
   * @param run Progress and cancellation.
   * @returns The number of the point; 0 if the folder has none, and the store is a new one.
   * @throws {TierstoreError} `TS_EINVAL` if there is no such point, or the seed is another, `TS_EFORMAT` naming what is damaged
   * or missing, `TS_EFULL`, `TS_EIO`.
   */
  async resume(options: { readonly number?: number } = {}, run: RunOptions = {}): Promise<number> {
    checkFields("resume()", options, { number: true });
    const taken = new BigUint64Array(1);
    const config = createConfig(nativeOptions({ number: options.number }));
    try {
      await runLong("take up a restore point", handleOf(this, "store"), run, (control, { bytes, capacity }, store) => {
        return native().ts_store_resume(store, config, control, taken, bytes, capacity);
      });
    } finally {
      native().ts_config_free(config);
    }
    return Number(taken[0]);
  }

  /**
   * Makes a restore point: the state of this moment stays in the last tier, whatever becomes of its rows, until the point is
   * dropped. Nothing of that tier is copied; rows of the tiers above that changed since they were last put down are, by a thread
   * of the store's, while it goes on. A trainer's store is better persisted through {@linkcode WdlTrainer.persist}.
   *
   * @example
   * ```ts
   * import { EmbeddingStore } from "../mod.ts";
   *
   * const options = { storage: "DRAM_SSDHASH", path: Deno.makeTempDirSync(), persistent: true } as const;
   * const store = EmbeddingStore.open(options);
   * store.table({ name: "user_id", dim: 4 }).update([7], new Float32Array([1, 2, 3, 4]));
   * const digest = store.digest();
   * console.log(await store.persist({ wait: true })); // 1
   * store.close();
   * using again = EmbeddingStore.open(options);
   * console.log(await again.resume(), again.digest() === digest); // 1 true
   * ```
   *
   * @param options How many points stay, and whether to wait.
   * @param run Progress and cancellation with `wait`, as of {@linkcode EmbeddingStore.persisted}.
   * @returns The point's number; numbers rise.
   * @throws {TierstoreError} `TS_EINVAL` if the store is not `persistent`, `TS_EFULL`, `TS_EIO`; also what the point before met
   * after its call had ended.
   */
  async persist(options: PersistOptions = {}, run: RunOptions = {}): Promise<number> {
    const store = handleOf(this, "store");
    return await runPersist(options, store, store, run, (address, config, number, { bytes, capacity }) => {
      return native().ts_store_persist(address, config, number, bytes, capacity);
    });
  }

  /**
   * Waits until the newest restore point is durable, beside other calls of the store; at once if none is under way. Progress
   * counts the rows above the last tier that were looked at.
   *
   * @example Training goes on, and a program knows when the point is durable
   * ```ts ignore
   * await trainer.persist();
   * const durable = store.persisted({ onProgress: (rows, all) => console.log(rows, all) });
   * await trainer.train(100);
   * await durable;
   * ```
   *
   * @param run Progress and cancellation: the point under way is given up, those that were durable stay, and the next one has
   * what changed.
   * @throws {TierstoreError} What the point met: `TS_EFULL`, `TS_EIO`.
   */
  async persisted(run: RunOptions = {}): Promise<void> {
    await untilDurable(handleOf(this, "store"), run);
  }

  /** The restore points of a `persistent` store, by rising number. */
  restorePoints(): CheckpointInfo[] {
    const store = handleOf(this, "store").shared("list restore points");
    return infosOf(readText("list restore points", (out, capacity, needed) => {
      return native().ts_store_points(store, out, capacity, needed, message.bytes, message.capacity);
    }));
  }

  /**
   * A table that the store has: one that a restore made, for instance.
   *
   * @param name Its name.
   * @throws {TierstoreError} `TS_EINVAL` if there is none of this name.
   */
  existing(name: string): Table {
    const number = new Uint32Array(1);
    const text = encodeText(name);
    const store = handleOf(this, "store").exclusive("find a table");
    const status = native().ts_table_named(store, text, number, message.bytes, message.capacity);
    message.check(status, `find the table "${name}"`);
    return new Table(MAKER, this, number[0] ?? 0, name);
  }

  /** Whether {@linkcode EmbeddingStore.close} was called. */
  get closed(): boolean {
    return handleOf(this, "store").closed;
  }

  /**
   * Closes the store and its trainers. If a trainer's call is under way, that call is asked to
   * stop and the memory is freed when it ends. Later calls do nothing.
   */
  close(): void {
    handleOf(this, "store").close();
  }

  /** As {@linkcode EmbeddingStore.close}. */
  [Symbol.dispose](): void {
    this.close();
  }
}

/** The statuses by which `ts_store_probe` says no. */
const UNAVAILABLE: readonly string[] = ["TS_EUNAVAILABLE", "TS_EINVAL", "TS_EIO"];

function contentLines(text: string): string[] {
  return text.split("\n").filter((line) => line !== "");
}

/** Reads what `ts_store_memory` writes. */
export function parseMemory(text: string): StoreMemory {
  const tiers = new Map<number, {
    tier: number;
    limitBytes: number;
    usedBytes: number;
    purposes: Record<string, number>;
    places: Record<string, number>;
  }>();
  for (const line of contentLines(text)) {
    const pairs = parsePairs(line);
    const tier = numberOf(pairs, "tier");
    const entry = tiers.get(tier) ?? { tier, limitBytes: 0, usedBytes: 0, purposes: {}, places: {} };
    tiers.set(tier, entry);
    if (pairs["purpose"] === undefined) {
      entry.limitBytes = numberOf(pairs, "limit");
      entry.usedBytes = numberOf(pairs, "used");
    } else {
      const bytes = numberOf(pairs, "bytes");
      const place = pairs["place"] ?? "DRAM";
      entry.purposes[pairs["purpose"]] = (entry.purposes[pairs["purpose"]] ?? 0) + bytes;
      entry.places[place] = (entry.places[place] ?? 0) + bytes;
    }
  }
  return { tiers: [...tiers.values()].sort((a, b) => a.tier - b.tier) };
}

/** Reads what `ts_store_describe` writes. */
export function parseDescription(text: string): TierDescription[] {
  return contentLines(text).map((line) => {
    const { tier: _, type = "", medium = "", ...facts } = parsePairs(line);
    return { tier: numberOf(parsePairs(line), "tier"), type, medium, facts };
  });
}
