/**
 * A table of a store: rows by key.
 *
 * @module
 */

import { BAG_FIELDS, type BagOptions, LOOKUP_BAGS_FIELDS, type LookupBagsOptions, toBags } from "./bags.ts";
import { message, readText } from "./errors.ts";
import { numberOf, parseLines } from "./facts.ts";
import { checkFields } from "../base/fields.ts";
import { checkMaker, handleOf, type NativeHandle } from "./handle.ts";
import { apartFrom, checkRows, countKeys, type Keys, type Offsets, toKeys } from "./keys.ts";
import { native } from "./library.ts";
import { checkPiece, type FoundRows, type RowMetadata, type TableRows, type WaitingKeys } from "./rows.ts";
import { readStatistics } from "./statistics.ts";

const { bytes: text, capacity: room } = message;

/**
 * A table: 64-bit key to row of `dim` weights. Made by {@linkcode EmbeddingStore.table}; it lives as long as its
 * store is open. Typed arrays are handed to the native library without copies; work in batches of a thousand keys and
 * more, since every call costs about a microsecond.
 *
 * Methods throw an `Error` once the store is closed, and a {@linkcode TierstoreError} if the library refuses.
 */
export class Table {
  readonly #store: object;
  readonly #table: number;
  readonly #name: string;
  readonly #dim: number;
  readonly #rowBytes: number;
  readonly #tiers: number;

  /**
   * Made by {@linkcode EmbeddingStore.table} only.
   *
   * @param maker What proves that.
   * @param store The store it is in.
   * @param table Its number there. Its sizes are the library's.
   * @param name Its name.
   */
  constructor(maker: symbol, store: object, table: number, name: string) {
    checkMaker(maker, "Table", "EmbeddingStore.table()");
    const handle = handleOf(store, "store").exclusive("describe a table");
    const facts = parseLines(readText("describe a table", (...buffer) => {
      return native().ts_table_describe(handle, table, ...buffer, text, room);
    }));
    this.#store = store;
    this.#table = table;
    this.#name = name;
    this.#dim = numberOf(facts, "dim");
    this.#rowBytes = numberOf(facts, "row_bytes");
    this.#tiers = numberOf(facts, "tiers");
  }

  get #handle(): NativeHandle {
    return handleOf(this.#store, "store");
  }

  /** Its name in the store. */
  get name(): string {
    return this.#name;
  }

  /** Weights a row. */
  get dim(): number {
    return this.#dim;
  }

  /** Bytes of one row: weights and slots, each padded to 16 bytes, then frequency and version where recorded. */
  get rowBytes(): number {
    return this.#rowBytes;
  }

  /**
   * The weights of keys; absent keys get rows first. The array is a new one: of 53,248 keys × 16 weights it is 3.4 MB that
   * the engine takes and clears, as long as the look-up itself. Where batches come one after the other,
   * {@linkcode Table.lookupInto} does without.
   *
   * @param keys Any keys, in any order, also several times.
   * @returns keys × dim weights, in the order of the keys.
   * @throws {TierstoreError} `TS_EFULL` if no tier has room for a new row; rows created before it stay.
   */
  lookup(keys: Keys): Float32Array<ArrayBuffer> {
    const batch = toKeys(keys);
    const rows = new Float32Array(countKeys(batch) * this.#dim);
    this.#lookup(batch, rows);
    return rows;
  }

  /**
   * As {@linkcode Table.lookup}, into an array of the caller's: as fast as the call in C.
   *
   * @example Batches of one size
   * ```ts
   * import { EmbeddingStore } from "../mod.ts";
   *
   * using store = EmbeddingStore.open({ storage: "DRAM" });
   * const table = store.table({ name: "item_id", dim: 16 });
   * const rows = new Float32Array(2 * table.dim);
   * for (const keys of [[1, 2], [2, 3]]) table.update(keys, table.lookupInto(keys, rows));
   * ```
   *
   * @param keys Any keys.
   * @param out Receives keys × dim weights.
   * @returns `out`.
   */
  lookupInto<Out extends Float32Array>(keys: Keys, out: Out): Out {
    const batch = toKeys(keys);
    checkRows("out", out, countKeys(batch), this.#dim);
    this.#lookup(apartFrom(batch, out), out);
    return out;
  }

  #lookup(batch: BigInt64Array, out: Float32Array): void {
    const store = this.#handle.shared("look up");
    const n = BigInt(countKeys(batch));
    const status = native().ts_table_lookup(store, this.#table, batch, n, out, text, room);
    message.check(status, `look up in "${this.#name}"`);
  }

  /**
   * Reads rows that exist; never inserts, moves or counts.
   *
   * @param keys Any keys.
   * @param options `slot` 0 (default) reads weights, 1 and more the optimizer's slots: Adagrad has its
   * accumulator, FTRL n and then z, row-wise Adagrad its one sum in each place.
   * @returns The rows, and which keys have one.
   */
  find(keys: Keys, options: { readonly slot?: number } = {}): FoundRows {
    const slot = options.slot ?? 0;
    if (!Number.isInteger(slot) || slot < 0 || slot >= 2 ** 32) {
      throw new RangeError(`Cannot read the slot ${String(slot)}: expected a whole number, 0 (weights) or more`);
    }
    const batch = toKeys(keys);
    const count = countKeys(batch);
    const rows = new Float32Array(count * this.#dim);
    const found = new Uint8Array(count);
    const store = this.#handle.exclusive("find rows");
    const n = BigInt(count);
    const status = native().ts_table_find(store, this.#table, batch, n, slot, rows, found, text, room);
    message.check(status, `find rows in "${this.#name}"`);
    return { rows, found };
  }

  /**
   * Applies one step of the table's optimizer. Gradients of a key that comes several times are summed first, in the order
   * of the batch. Absent keys get rows first.
   *
   * @param keys Any keys.
   * @param gradients keys × dim numbers.
   * @throws {TierstoreError} `TS_EFULL` if no tier has room for a new row; no row has stepped then (the message
   * names the one exception, a disk tier that fails half-way).
   */
  update(keys: Keys, gradients: Float32Array): void {
    const batch = toKeys(keys);
    checkRows("gradients", gradients, countKeys(batch), this.#dim);
    const store = this.#handle.shared("update");
    const n = BigInt(countKeys(batch));
    const status = native().ts_table_update(store, this.#table, batch, n, gradients, text, room);
    message.check(status, `update "${this.#name}"`);
  }

  /**
   * The rows of ragged bags of keys, each bag combined to one row, without the rows in between. Absent keys get rows
   * first. An empty bag gives zeros.
   *
   * @example Two bags, the second with a key twice
   * ```ts
   * import { EmbeddingStore } from "../mod.ts";
   *
   * using store = EmbeddingStore.open({ storage: "DRAM" });
   * const table = store.table({ name: "tags", dim: 2, initializer: 3 });
   * const bags = table.lookupBags([7, 8, 9, 9], [0, 1, 4], { combiner: "sum" });
   * console.log(bags); // Float32Array(4) [ 3, 3, 9, 9 ]
   * ```
   *
   * @param keys The keys of all bags, one bag after the other.
   * @param offsets Where each bag begins among the keys, and at last the number of keys: one entry more than bags.
   * @param options Weights, combiner, limit of the norm.
   * @returns bags × dim numbers.
   * @throws {TierstoreError} `TS_EFULL` if no tier has room for the new rows, `TS_EINVAL` if offsets fall.
   * @throws {RangeError} If offsets, weights or the limit do not fit.
   */
  lookupBags(keys: Keys, offsets: Offsets, options: LookupBagsOptions = {}): Float32Array<ArrayBuffer> {
    checkFields("lookupBags", options, LOOKUP_BAGS_FIELDS);
    const { maxNorm = 0 } = options;
    if (!Number.isFinite(maxNorm) || maxNorm < 0) {
      throw new RangeError(`Cannot use the maxNorm ${maxNorm}: expected a number, 0 (no limit) or more`);
    }
    const { batch, ends, bags, weights, combiner } = toBags(keys, offsets, options);
    const out = new Float32Array(bags * this.#dim);
    const store = this.#handle.shared("look up bags");
    const n = BigInt(bags);
    const status = native().ts_table_lookup_bags(
      store,
      this.#table,
      batch,
      ends,
      n,
      weights,
      combiner,
      maxNorm,
      out,
      text,
      room,
    );
    message.check(status, `look up bags in "${this.#name}"`);
    return out;
  }

  /**
   * Applies one step of the table's optimizer from gradients of such bags: each is spread to the keys of its bag with the
   * combiner's factors. Absent keys get rows first.
   *
   * @example
   * ```ts
   * import { EmbeddingStore } from "../mod.ts";
   *
   * using store = EmbeddingStore.open({ storage: "DRAM" });
   * const table = store.table({ name: "tags", dim: 1, initializer: 0, optimizer: { sgd: { learningRate: 1 } } });
   * table.updateBags([7, 8], [0, 2], new Float32Array([1]), { combiner: "mean" });
   * console.log(table.find([7, 8]).rows); // Float32Array(2) [ -0.5, -0.5 ]
   * ```
   *
   * @param keys The keys of all bags, one bag after the other.
   * @param offsets As for {@linkcode Table.lookupBags}.
   * @param gradients bags × dim numbers: the derivative of the loss by what the lookup of the bags gave.
   * @param options Weights and combiner, the same as in the lookup. What `maxNorm` did there is not differentiated.
   * @throws {TierstoreError} `TS_EFULL` if no tier has room for a new row; as for {@linkcode Table.update}.
   * @throws {RangeError} If offsets, gradients or weights do not fit.
   */
  updateBags(keys: Keys, offsets: Offsets, gradients: Float32Array, options: BagOptions = {}): void {
    checkFields("updateBags", options, BAG_FIELDS);
    const { batch, ends, bags, weights, combiner } = toBags(keys, offsets, options);
    checkRows("gradients", gradients, bags, this.#dim, "bags");
    const store = this.#handle.shared("update bags");
    const n = BigInt(bags);
    const status = native().ts_table_update_bags(
      store,
      this.#table,
      batch,
      ends,
      n,
      weights,
      combiner,
      gradients,
      text,
      room,
    );
    message.check(status, `update bags of "${this.#name}"`);
  }

  /**
   * Removes keys for good, from every tier. What comes back under such a key later is a new row.
   *
   * @example
   * ```ts
   * import { EmbeddingStore } from "../mod.ts";
   *
   * using store = EmbeddingStore.open({ storage: "DRAM" });
   * const table = store.table({ name: "user_id", dim: 16 });
   * table.lookup([1, 2, 3]);
   * console.log(table.remove([2, 99]), table.rows()); // 1 [ 2 ]
   * ```
   *
   * @param keys Any keys; absent ones are no error.
   * @returns Rows that were removed.
   */
  remove(keys: Keys): number {
    const batch = toKeys(keys);
    const removed = new BigUint64Array(1);
    const store = this.#handle.shared("remove keys");
    const n = BigInt(countKeys(batch));
    const status = native().ts_table_remove(store, this.#table, batch, n, removed, text, room);
    message.check(status, `remove keys of "${this.#name}"`);
    return Number(removed[0]);
  }

  /**
   * Takes away the bytes of rows that have expired by the table's `expire` options; to every other call they are absent
   * already. Updates do pieces of this by themselves; a call does one more, or all of it, and then judges weights (`l2`)
   * as they are now.
   *
   * @example Rows that were not updated for a hundred steps
   * ```ts
   * import { EmbeddingStore } from "../mod.ts";
   *
   * using store = EmbeddingStore.open({ storage: "DRAM" });
   * const table = store.table({ name: "user_id", dim: 4, expire: { steps: 100 } });
   * table.update([1, 2], new Float32Array(8));
   * store.setStep(60);
   * table.update([2], new Float32Array(4));
   * store.setStep(101);
   * console.log(table.expire(), table.keys()); // 1 BigInt64Array(1) [ 2n ]
   * ```
   *
   * @param maxRows Rows of all tiers to look at, going on where the last call stopped; 0 looks at all.
   * @returns Rows whose bytes were taken away.
   * @throws {TierstoreError} `TS_EINVAL` if the table has no `expire` options.
   * @throws {RangeError} If `maxRows` is no whole number, 0 or more.
   */
  expire(maxRows: number = 0): number {
    if (!Number.isSafeInteger(maxRows) || maxRows < 0) {
      throw new RangeError(`Cannot look at ${maxRows} rows: expected a whole number, 0 (all) or more`);
    }
    const removed = new BigUint64Array(1);
    const store = this.#handle.shared("expire rows");
    const status = native().ts_table_expire(store, this.#table, BigInt(maxRows), removed, text, room);
    message.check(status, `expire rows of "${this.#name}"`);
    return Number(removed[0]);
  }

  /**
   * How often rows were looked up, and when they were last updated. Counts nothing itself.
   *
   * @example
   * ```ts
   * import { EmbeddingStore } from "../mod.ts";
   *
   * using store = EmbeddingStore.open({ storage: "DRAM" });
   * const table = store.table({ name: "user_id", dim: 4, recordFrequency: true, recordVersion: true });
   * table.lookup([7, 8]);
   * table.lookup([7]);
   * store.setStep(12);
   * table.update([7], new Float32Array(4));
   * const { frequencies, versions } = table.metadata([7, 8, 9]);
   * console.log(frequencies, versions); // BigUint64Array(3) [ 2n, 1n, 0n ] BigInt64Array(3) [ 12n, -1n, -1n ]
   * ```
   *
   * @param keys Any keys.
   * @returns One entry a key, in the order of the keys.
   */
  metadata(keys: Keys): RowMetadata {
    const batch = toKeys(keys);
    const count = countKeys(batch);
    const frequencies = new BigUint64Array(count);
    const versions = new BigInt64Array(count);
    const store = this.#handle.shared("read metadata");
    const n = BigInt(countKeys(batch));
    const status = native().ts_table_metadata(store, this.#table, batch, n, frequencies, versions, text, room);
    message.check(status, `read metadata of "${this.#name}"`);
    return { frequencies, versions };
  }

  /**
   * Counters of this table since the store was opened or {@linkcode EmbeddingStore.resetStatistics}, by name. Those of
   * the store are their sums.
   *
   * @example
   * ```ts
   * import { EmbeddingStore } from "../mod.ts";
   *
   * using store = EmbeddingStore.open({ storage: "DRAM" });
   * const [a, b] = [store.table({ name: "a" }), store.table({ name: "b" })];
   * a.lookup([1, 2]);
   * console.log(a.statistics()["created"], b.statistics()["created"]); // 2 0
   * ```
   */
  statistics(): Record<string, number> {
    const handle = this.#handle.exclusive("read statistics");
    return readStatistics((out, n, needed) =>
      native().ts_table_statistics(handle, this.#table, out, n, needed, text, room)
    );
  }

  /**
   * Where rows are.
   *
   * @param keys Any keys.
   * @returns The tier of each key's row counting from 0, or -1 if it has none.
   *
   * @example
   * ```ts
   * import { EmbeddingStore } from "../mod.ts";
   *
   * using store = EmbeddingStore.open({ storage: "DRAM" });
   * const table = store.table({ name: "user_id", dim: 16 });
   * table.lookup([1]);
   * console.log(table.lookupTier([1, 2])); // Int32Array(2) [ 0, -1 ]
   * ```
   */
  lookupTier(keys: Keys): Int32Array<ArrayBuffer> {
    const batch = toKeys(keys);
    const tiers = new Int32Array(countKeys(batch));
    const store = this.#handle.exclusive("look up tiers");
    const n = BigInt(countKeys(batch));
    const status = native().ts_table_lookup_tier(store, this.#table, batch, n, tiers, text, room);
    message.check(status, `look up tiers in "${this.#name}"`);
    return tiers;
  }

  /** Rows in each tier, fastest first. A row counts once. */
  rows(): number[] {
    const counts = new BigUint64Array(this.#tiers);
    const handle = this.#handle.exclusive("count rows");
    const status = native().ts_table_rows(handle, this.#table, counts, this.#tiers, text, room);
    message.check(status, `count the rows of "${this.#name}"`);
    return Array.from(counts, Number);
  }

  /** All keys that have a row, in no particular order. */
  keys(): BigInt64Array<ArrayBuffer> {
    const handle = this.#handle.exclusive("list keys");
    const n = new BigUint64Array(1);
    const list = (keys: BigInt64Array<ArrayBuffer>): void => {
      const status = native().ts_table_keys(handle, this.#table, keys, BigInt(keys.length), n, text, room);
      message.check(status, `list the keys of "${this.#name}"`);
    };
    list(new BigInt64Array(0));
    const keys = new BigInt64Array(Number(n[0]));
    list(keys);
    return keys;
  }

  /**
   * All keys and their weights, some at a time: in the memory of a few thousand rows, however large the table is. Reading
   * inserts, moves and counts nothing. Rows that are created, removed or moved to another tier before the end may be missed
   * or come twice.
   *
   * @example
   * ```ts
   * import { EmbeddingStore } from "../mod.ts";
   *
   * using store = EmbeddingStore.open({ storage: "DRAM" });
   * const table = store.table({ name: "user_id", dim: 2, initializer: 1 });
   * table.lookup([7, 8, 9]);
   * let sum = 0;
   * for (const { rows } of table.entries()) sum += rows.reduce((a, b) => a + b, 0);
   * console.log(sum); // 6
   * ```
   *
   * @param most Rows at a time; 16384 if absent.
   * @throws {RangeError} If `most` is no whole number from 1 to 2^26.
   */
  *entries(most: number = 16384): Generator<TableRows, void, undefined> {
    checkPiece(most);
    const cursor = new BigUint64Array(4), n = new BigUint64Array(1);
    for (;;) {
      const keys = new BigInt64Array(most);
      const handle = this.#handle.exclusive("walk the keys");
      const status = native().ts_table_walk(handle, this.#table, cursor, keys, BigInt(most), n, text, room);
      message.check(status, `walk the keys of "${this.#name}"`);
      const count = Number(n[0]);
      if (count === 0) return;
      const found = count === most ? keys : keys.slice(0, count);
      yield { keys: found, rows: this.find(found).rows };
    }
  }

  /**
   * Keys that were looked up and are not admitted yet, some at a time, with the lookups that were counted and, where rows
   * record versions, the step of the last one; -1n where it is not kept: without `recordVersion`, or beyond step 2^26 at
   * `frequency` 3 (a bit less for each doubling). Without `admission` there are none.
   *
   * @example
   * ```ts
   * import { EmbeddingStore } from "../mod.ts";
   *
   * using store = EmbeddingStore.open({ storage: "DRAM" });
   * const table = store.table({ name: "user_id", dim: 1, admission: { counter: { frequency: 2 } } });
   * for (const key of [7, 7, 7, 8]) table.lookup([key]);
   * for (const { keys, frequencies } of table.waiting()) console.log(keys, frequencies); // [ 8n ] [ 1n ]
   * console.log(table.rows()); // [ 1 ]
   * ```
   *
   * @param most Keys at a time; 16384 if absent.
   * @throws {TierstoreError} `TS_EUNSUPPORTED` with `admission: { bloom }`: the filter keeps counts, not keys.
   */
  *waiting(most: number = 16384): Generator<WaitingKeys, void, undefined> {
    checkPiece(most);
    const cursor = new BigUint64Array(4), n = new BigUint64Array(1);
    for (;;) {
      const keys = new BigInt64Array(most), frequencies = new BigUint64Array(most), versions = new BigInt64Array(most);
      const handle = this.#handle.exclusive("list waiting keys");
      const out = [cursor, keys, frequencies, versions, BigInt(most), n, text, room] as const;
      message.check(native().ts_table_waiting(handle, this.#table, ...out), `list waiting keys of "${this.#name}"`);
      const count = Number(n[0]);
      if (count === 0) return;
      const some = <T extends { slice(from: number, to: number): T }>(all: T): T => all.slice(0, count);
      yield { keys: some(keys), frequencies: some(frequencies), versions: some(versions) };
    }
  }

  /**
   * Changes the learning rate of later updates.
   *
   * @param learningRate The new rate.
   */
  setLearningRate(learningRate: number): void {
    if (typeof learningRate !== "number") {
      throw new TypeError(`Cannot use the learning rate ${String(learningRate)}: expected a number`);
    }
    const store = this.#handle.exclusive("set the learning rate");
    const status = native().ts_table_set_learning_rate(store, this.#table, learningRate, text, room);
    message.check(status, `set the learning rate of "${this.#name}"`);
  }
}
