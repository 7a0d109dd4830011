/**
 * Measures a stream of keys in one pass with bounded memory: what a profile is fitted to.
 *
 * @module
 */

import { lengthOf } from "../arrays.ts";
import { message } from "../errors.ts";
import { handleOf, NativeHandle, own } from "../handle.ts";
import { countKeys, type Keys, toKeys } from "../keys.ts";
import { native } from "../library.ts";

/** Sizes of a measured stream. */
interface StreamFacts {
  /** Accesses that were added. */
  readonly accesses: number;
  /** Of them, those that are kept. */
  readonly kept: number;
  /** Distinct keys that are kept. */
  readonly rows: number;
  /** The share of rows that is kept; below 1 the stream was larger than the memory it may use. */
  readonly rate: number;
}

/** One of the most used rows, there all the time. */
interface ApartRow {
  /** Whether its accesses are among the kept ones. */
  readonly kept: boolean;
  /** Accesses that are no repeats. */
  readonly count: number;
}

/** Groups of like rows: numbers of each group at the same index. */
export interface RowGroups {
  /** Rows. */
  readonly rows: Float64Array;
  /** Mean of their accesses that are no repeats. */
  readonly count: Float64Array;
  /** Mean of the number of the first of them. */
  readonly first: Float64Array;
  /** Mean of the number of the last. */
  readonly last: Float64Array;
}

const FIELDS = 4;
/** Rows that are counted on their own, and as many that are kept and in no group (`stream.h`). */
const MOST_APART = 64;

/** A stream of keys that is measured. */
export class KeyStream implements Disposable {
  /** @param most Accesses that are kept at most; beyond, a sample of rows. */
  constructor(most: number) {
    const out = new BigUint64Array(1);
    message.check(
      native().ts_stream_create(BigInt(most), out, message.bytes, message.capacity),
      "measure the stream",
    );
    own(this, new NativeHandle("stream", out[0] ?? 0n, (stream) => native().ts_stream_close(stream)));
  }

  #address(): bigint {
    return handleOf(this, "stream").exclusive("measure the stream");
  }

  /** Adds the next keys. */
  add(keys: Keys): void {
    const batch = toKeys(keys);
    const count = BigInt(countKeys(batch));
    const status = native().ts_stream_add(
      this.#address(),
      batch,
      count,
      message.bytes,
      message.capacity,
    );
    message.check(status, "measure the stream");
  }

  /** Keeps so many accesses from now on, which may be fewer than before: memory that streams share. */
  limit(most: number): void {
    const status = native().ts_stream_limit(this.#address(), BigInt(most), message.bytes, message.capacity);
    message.check(status, "measure the stream");
  }

  /** Its sizes. */
  facts(): StreamFacts {
    const out = new Float64Array(FIELDS);
    message.check(
      native().ts_stream_facts(this.#address(), out, message.bytes, message.capacity),
      "measure the stream",
    );
    const [accesses = 0, kept = 0, rows = 0, rate = 0] = out;
    return { accesses, kept, rows, rate };
  }

  /**
   * Sees lives in the rows from now on.
   *
   * @param apart False: each row is one, and no access a repeat. True: a row's time is cut where its rate changes.
   */
  lives(apart: boolean): void {
    const status = native().ts_stream_lives(this.#address(), apart ? 1 : 0, message.bytes, message.capacity);
    message.check(status, "tell lives");
  }

  /** The most used rows that are in none of the last {@linkcode KeyStream.groups}. */
  apart(): ApartRow[] {
    const most = 2 * MOST_APART, out = new Float64Array(2 * most), n = new BigUint64Array(1);
    const status = native().ts_stream_apart(this.#address(), out, BigInt(most), n, message.bytes, message.capacity);
    message.check(status, "measure the stream");
    return Array.from({ length: Number(n[0]) }, (_, i) => ({ kept: out[2 * i] === 1, count: out[2 * i + 1] ?? 0 }));
  }

  /** Kept rows in groups of like ones. */
  groups(): RowGroups {
    const n = new BigUint64Array(1);
    for (let room = 4096;; room = Number(n[0])) {
      const out = new Float64Array(FIELDS * room);
      const status = native().ts_stream_groups(
        this.#address(),
        out,
        BigInt(room),
        n,
        message.bytes,
        message.capacity,
      );
      const count = Number(n[0]);
      if (count > room) continue;
      message.check(status, "measure the stream");
      const field = (f: number) => Float64Array.from({ length: count }, (_, i) => out[FIELDS * i + f] ?? 0);
      return { rows: field(0), count: field(1), first: field(2), last: field(3) };
    }
  }

  /**
   * Tells causes from repeats, at random by their odds; what follows counts causes only.
   *
   * @param rates How often a row of each of the last {@linkcode KeyStream.groups} is asked for, per access.
   * @param kernel Density of repeats by class of gap (`native/simulator/gaps.h`), per access.
   * @returns Expected repeats by gap.
   */
  decluster(rates: Float64Array<ArrayBuffer>, kernel: Float64Array<ArrayBuffer>, seed: bigint): Float64Array {
    const groups = lengthOf("rates", "Float64Array", rates), bins = lengthOf("a kernel", "Float64Array", kernel);
    const out = new Float64Array(bins);
    const status = native().ts_stream_decluster(
      this.#address(),
      rates,
      BigInt(groups),
      kernel,
      BigInt(bins),
      BigInt.asUintN(64, seed),
      out,
      message.bytes,
      message.capacity,
    );
    message.check(status, "tell repeats");
    return out;
  }

  /** The kept keys in their order. */
  keys(): BigInt64Array<ArrayBuffer> {
    const out = new BigInt64Array(this.facts().kept), n = new BigUint64Array(1);
    const status = native().ts_stream_keys(
      this.#address(),
      out,
      BigInt(out.length),
      n,
      message.bytes,
      message.capacity,
    );
    message.check(status, "write the kept keys");
    return out;
  }

  /** Frees it. */
  [Symbol.dispose](): void {
    handleOf(this, "stream").close();
  }
}
