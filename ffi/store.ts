/**
 * Embedding tables over tiers of memory.
 *
 * @module
 */

import { message, readText, TierstoreError } from "./errors.ts";
import { digestText, numberOf, parsePairs } from "./facts.ts";
import { handleOf, NativeHandle, own } from "./handle.ts";
import { native } from "./library.ts";
import { type StoreOptions, storeOptions, type TableOptions, tableOptions, withConfig } from "./options.ts";
import { Table } from "./table.ts";

export type {
  AdamOptions,
  DistributionOptions,
  InitializerOptions,
  OptimizerOptions,
  StorageType,
  StoreOptions,
  TableOptions,
} from "./options.ts";
export type { Keys } from "./keys.ts";
export { type FoundRows, Table } from "./table.ts";

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
  /** Bytes held by the memory they are in: `DRAM`, `PMEM`. */
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
  /** `DRAM`, `PMEM_LIBPMEM` or `PMEM_MEMKIND`. */
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
 * const rows = table.lookup(keys); // 3 × 16 weights; the first and the last row are the same
 * table.update(keys, rows);
 * console.log(table.rows()); // [ 2 ]
 * ```
 */
export class EmbeddingStore implements Disposable {
  private constructor(address: bigint) {
    own(this, new NativeHandle("store", address, (store) => native().ts_store_close(store)));
  }

  /**
   * Opens an empty store.
   *
   * @param options Storage type and sizes.
   * @throws {TierstoreError} `TS_EINVAL` for options that do not fit, `TS_EUNAVAILABLE` if a library or a memory node is
   * missing, `TS_EIO` for the path, `TS_ENOMEM`.
   * @throws {NativeLibraryError} If the native library cannot be opened.
   */
  static open(options: StoreOptions): EmbeddingStore {
    const out = new BigUint64Array(1);
    withConfig(storeOptions(options), (config) => {
      message.check(native().ts_store_open(config, out, message.bytes, message.capacity), "open the store");
    });
    return new EmbeddingStore(out[0] ?? 0n);
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
   * @param options Name, dim, optimizer, initialiser.
   * @throws {TierstoreError} `TS_EINVAL` for options that do not fit, `TS_EFULL` if the first tier cannot hold the
   * table's fixed part.
   */
  table(options: TableOptions): Table {
    const number = new Uint32Array(1);
    const store = handleOf(this).exclusive("add a table");
    withConfig(tableOptions(options), (config) => {
      const status = native().ts_table_create(store, config, number, message.bytes, message.capacity);
      message.check(status, `add the table "${options.name}"`);
    });
    return new Table(this, number[0] ?? 0, options.name, options.dim ?? 16, this.describe().length);
  }

  /** Counters since the store was opened or {@linkcode EmbeddingStore.resetStatistics}, by name. */
  statistics(): Record<string, number> {
    const store = handleOf(this).exclusive("read statistics");
    const functions = native();
    const names = readText("name the statistics", (...buffer) => functions.ts_statistics_names(...buffer))
      .trim().split("\n").map((line) => line.split(" ")[0] ?? "");
    const counts = new BigUint64Array(names.length);
    const needed = new Uint32Array(1);
    const status = functions.ts_store_statistics(
      store,
      counts,
      counts.length,
      needed,
      message.bytes,
      message.capacity,
    );
    message.check(status, "read statistics");
    return Object.fromEntries(names.map((name, i) => [name, Number(counts[i])]));
  }

  /** Sets all counters to 0. */
  resetStatistics(): void {
    const store = handleOf(this).exclusive("reset statistics");
    const status = native().ts_store_reset_statistics(store, message.bytes, message.capacity);
    message.check(status, "reset statistics");
  }

  /** Every byte the store holds, by tier and purpose. */
  memory(): StoreMemory {
    const store = handleOf(this).exclusive("read memory use");
    const text = readText("read memory use", (...buffer) => native().ts_store_memory(store, ...buffer));
    return parseMemory(text);
  }

  /** How each tier is really held, fastest first. */
  describe(): TierDescription[] {
    const store = handleOf(this).exclusive("describe tiers");
    const text = readText("describe tiers", (...buffer) => native().ts_store_describe(store, ...buffer));
    return parseDescription(text);
  }

  /** A digest of every row of every table, independent of tiers and order: 16 hexadecimal digits. */
  digest(): string {
    const out = new BigUint64Array(1);
    const store = handleOf(this).exclusive("compute the digest");
    message.check(native().ts_store_digest(store, out, message.bytes, message.capacity), "compute the digest");
    return digestText(out[0] ?? 0n);
  }

  /** Whether {@linkcode EmbeddingStore.close} was called. */
  get closed(): boolean {
    return handleOf(this).closed;
  }

  /**
   * Closes the store and its trainers. If a trainer's call is under way, that call is asked to
   * stop and the memory is freed when it ends. Later calls do nothing.
   */
  close(): void {
    handleOf(this).close();
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
