/**
 * A table of a store: rows by key.
 *
 * @module
 */

import { message } from "./errors.ts";
import { handleOf } from "./handle.ts";
import { checkRows, type Keys, toKeys } from "./keys.ts";
import { native } from "./library.ts";

/** What {@linkcode Table.find} returns. */
export interface FoundRows {
  /** keys × dim numbers; zeros where a key has no row. */
  readonly rows: Float32Array<ArrayBuffer>;
  /** 1 where the key has a row, else 0. */
  readonly found: Uint8Array<ArrayBuffer>;
}

/**
 * A table: 64-bit key to row of `dim` weights. Made by {@linkcode EmbeddingStore.table}; it lives as long as its
 * store is open. Typed arrays are handed to the native library without copies; work in batches of a thousand keys and
 * more, since every call costs some tens of nanoseconds.
 *
 * Methods throw an `Error` once the store is closed, and a {@linkcode TierstoreError} if the library refuses.
 */
export class Table {
  /** Its name in the store. */
  readonly name: string;
  /** Weights a row. */
  readonly dim: number;
  /** Bytes of one row: weights and optimizer slots, each padded to 16 bytes. */
  readonly rowBytes: number;
  readonly #store: object;
  readonly #table: number;
  readonly #tiers: number;

  /**
   * Made by {@linkcode EmbeddingStore.table} only.
   *
   * @param store The store it is in.
   * @param table Its number there.
   * @param name Its name.
   * @param dim Weights a row.
   * @param tiers Tiers of the store.
   */
  constructor(store: object, table: number, name: string, dim: number, tiers: number) {
    this.#store = store;
    this.#table = table;
    this.name = name;
    this.dim = dim;
    this.#tiers = tiers;
    const out = new BigUint64Array(1);
    const handle = handleOf(store).exclusive("add a table");
    message.check(native().ts_table_row_bytes(handle, table, out, message.bytes, message.capacity), "size a row");
    this.rowBytes = Number(out[0]);
  }

  /**
   * The weights of keys; absent keys get rows first.
   *
   * @param keys Any keys, in any order, also several times.
   * @returns keys × dim weights, in the order of the keys.
   * @throws {TierstoreError} `TS_EFULL` if no tier has room for the new rows; nothing is created then.
   */
  lookup(keys: Keys): Float32Array<ArrayBuffer> {
    const rows = new Float32Array(keys.length * this.dim);
    this.lookupInto(keys, rows);
    return rows;
  }

  /**
   * As {@linkcode Table.lookup}, into an array of the caller's.
   *
   * @param keys Any keys.
   * @param out Receives keys × dim weights.
   */
  lookupInto(keys: Keys, out: Float32Array): void {
    const batch = toKeys(keys);
    checkRows("out", out, batch.length, this.dim);
    const status = native().ts_table_lookup(
      handleOf(this.#store).shared("look up"),
      this.#table,
      batch,
      BigInt(batch.length),
      out,
      message.bytes,
      message.capacity,
    );
    message.check(status, `look up in "${this.name}"`);
  }

  /**
   * Reads rows that exist; never inserts, moves or counts.
   *
   * @param keys Any keys.
   * @param options `slot` 0 (default) reads weights, 1 and more the optimizer's slots: Adagrad has its
   * accumulator, FTRL n and then z.
   * @returns The rows, and which keys have one.
   */
  find(keys: Keys, options: { readonly slot?: number } = {}): FoundRows {
    const batch = toKeys(keys);
    const rows = new Float32Array(batch.length * this.dim);
    const found = new Uint8Array(batch.length);
    const status = native().ts_table_find(
      handleOf(this.#store).exclusive("find rows"),
      this.#table,
      batch,
      BigInt(batch.length),
      options.slot ?? 0,
      rows,
      found,
      message.bytes,
      message.capacity,
    );
    message.check(status, `find rows in "${this.name}"`);
    return { rows, found };
  }

  /**
   * Applies one step of the table's optimizer. Gradients of a key that comes several times are summed first, in the order
   * of the batch. Absent keys get rows first.
   *
   * @param keys Any keys.
   * @param gradients keys × dim numbers.
   * @throws {TierstoreError} `TS_EFULL` if no tier has room for the new rows; nothing is changed then.
   */
  update(keys: Keys, gradients: Float32Array): void {
    const batch = toKeys(keys);
    checkRows("gradients", gradients, batch.length, this.dim);
    const status = native().ts_table_update(
      handleOf(this.#store).shared("update"),
      this.#table,
      batch,
      BigInt(batch.length),
      gradients,
      message.bytes,
      message.capacity,
    );
    message.check(status, `update "${this.name}"`);
  }

  /**
   * Where rows are.
   *
   * @param keys Any keys.
   * @returns The tier of each key's row counting from 0, or -1 if it has none.
   */
  lookupTier(keys: Keys): Int32Array<ArrayBuffer> {
    const batch = toKeys(keys);
    const tiers = new Int32Array(batch.length);
    const status = native().ts_table_lookup_tier(
      handleOf(this.#store).exclusive("look up tiers"),
      this.#table,
      batch,
      BigInt(batch.length),
      tiers,
      message.bytes,
      message.capacity,
    );
    message.check(status, `look up tiers in "${this.name}"`);
    return tiers;
  }

  /** Rows in each tier, fastest first. A row counts once. */
  rows(): number[] {
    const counts = new BigUint64Array(this.#tiers);
    const handle = handleOf(this.#store).exclusive("count rows");
    const functions = native();
    const status = functions.ts_table_rows(handle, this.#table, counts, this.#tiers, message.bytes, message.capacity);
    message.check(status, `count the rows of "${this.name}"`);
    return Array.from(counts, Number);
  }

  /** All keys that have a row, in no particular order. */
  keys(): BigInt64Array<ArrayBuffer> {
    const handle = handleOf(this.#store).exclusive("list keys");
    const n = new BigUint64Array(1);
    const list = (keys: BigInt64Array<ArrayBuffer>): void => {
      const functions = native();
      const capacity = BigInt(keys.length);
      const { bytes } = message;
      const status = functions.ts_table_keys(handle, this.#table, keys, capacity, n, bytes, message.capacity);
      message.check(status, `list the keys of "${this.name}"`);
    };
    list(new BigInt64Array(0));
    const keys = new BigInt64Array(Number(n[0]));
    list(keys);
    return keys;
  }

  /**
   * Changes the learning rate of later updates.
   *
   * @param learningRate The new rate.
   */
  setLearningRate(learningRate: number): void {
    const status = native().ts_table_set_learning_rate(
      handleOf(this.#store).exclusive("set the learning rate"),
      this.#table,
      learningRate,
      message.bytes,
      message.capacity,
    );
    message.check(status, `set the learning rate of "${this.name}"`);
  }
}
