/**
 * What every reader of traces gives out: keys of one table at a time, collected into batches of bounded memory.
 *
 * @module
 */

/** Keys of one table, in their order, and how many each sample has where the trace tells samples apart. */
export interface TraceBatch {
  /** Name of the table. */
  readonly table: string;
  /** Keys. */
  readonly keys: BigInt64Array;
  /** Keys of each of the batch's samples, where a form tells them also those without any; absent: each key is a sample. */
  readonly bags?: readonly number[];
}

/** A trace that cannot be read. */
export class TraceError extends Error {
  /** Name of the class. */
  override readonly name = "TraceError";
}

/** Table of a trace that names none. */
export const ONLY_TABLE = "keys";
/** Tables of a trace at most, as of a profile. */
export const MOST_TABLES = 4096;
/** Keys of one batch at most. */
const BATCH = 65_536;
/** Keys of one table that a sample has at most. */
export const MOST_BAG: number = BATCH / 2;
/** Keys that wait in all tables together at most: 16 MiB of them. */
const WAITING = 1 << 21;

/** Keys that wait for their batch to be full. */
class Pending {
  keys = new BigInt64Array(256);
  /** The same, in halves of 32 bits, the low ones first. */
  #halves = new Int32Array(this.keys.buffer);
  bags: number[] = [];
  count = 0;
  sample: string | undefined;

  add(key: bigint | number): void {
    if (this.count === this.keys.length) {
      const larger = new BigInt64Array(2 * this.count);
      larger.set(this.keys);
      this.keys = larger;
      this.#halves = new Int32Array(larger.buffer);
    }
    if (typeof key === "bigint") this.keys[this.count++] = key;
    else {
      const place = 2 * this.count++;
      this.#halves[place] = key | 0; // modulo 2^32
      this.#halves[place + 1] = Math.floor(key / 2 ** 32);
    }
  }
}

/** Batches in the making. What is full lies in `ready`, which whoever adds takes out and gives on. */
export class Batches {
  /** Batches that are whole. */
  readonly ready: TraceBatch[] = [];
  readonly #tables = new Map<string, Pending>();
  readonly #inOrder: boolean;
  #waiting = 0;
  #last: string | undefined;
  #lastPending: Pending | undefined;

  /** Without any key. @param inOrder Batches come in the order of the trace, however its tables alternate. */
  constructor(inOrder: boolean) {
    this.#inOrder = inOrder;
  }

  /**
   * Adds a key.
   *
   * @param table Name of its table.
   * @param key The key; a number: a whole one of 2^53 at most.
   * @param sample Word of its sample; keys of one sample and table stand together. Absent: each key is a sample.
   * @param where Tells the place in the trace, for errors.
   * @throws {TraceError} With too many tables, or too many keys of a sample.
   */
  add(table: string, key: bigint | number, sample: string | undefined, where: () => string): void {
    let pending = table === this.#last ? this.#lastPending : this.#tables.get(table);
    if (pending === undefined) {
      if (this.#tables.size === MOST_TABLES) {
        throw new TraceError(
          `Cannot read the trace ${where()}: it has more than ${MOST_TABLES} tables; if that column is none of tables, ` +
            `say which holds the keys: --columns key=2`,
        );
      }
      pending = new Pending();
      this.#tables.set(table, pending);
    }
    if (this.#inOrder && this.#last !== undefined && this.#last !== table) this.#flush(this.#last);
    this.#last = table;
    this.#lastPending = pending;
    if (this.#waiting >= WAITING) this.#flushOthers(sample);
    if (sample !== undefined) {
      if (sample !== pending.sample) {
        if (pending.count >= MOST_BAG) this.#flush(table);
        pending.sample = sample;
        pending.bags.push(0);
      } else if (pending.bags.length === 0) {
        pending.bags.push(0);
      }
      pending.bags[pending.bags.length - 1]! += 1;
      if (pending.count === BATCH) {
        throw new TraceError(
          `Cannot read the trace ${where()}: one sample has more than ${MOST_BAG} keys of a table`,
        );
      }
    }
    pending.add(key);
    this.#waiting++;
    if (sample === undefined && pending.count === BATCH) this.#flush(table);
  }

  /** The batches that are ready, and then none. */
  take(): TraceBatch[] {
    return this.ready.splice(0);
  }

  /** All that is left. */
  end(): TraceBatch[] {
    for (const table of this.#tables.keys()) this.#flush(table);
    return this.take();
  }

  #flush(table: string): void {
    const pending = this.#tables.get(table);
    if (pending === undefined || pending.count === 0) return;
    const bags = pending.bags.length === 0 ? {} : { bags: pending.bags };
    this.ready.push({ table, keys: pending.keys.slice(0, pending.count), ...bags });
    this.#waiting -= pending.count;
    pending.count = 0;
    pending.bags = [];
  }

  /** Tables that no sample in the making belongs to. */
  #flushOthers(sample: string | undefined): void {
    for (const [table, pending] of this.#tables) {
      if (sample === undefined || pending.sample !== sample) this.#flush(table);
    }
  }
}
