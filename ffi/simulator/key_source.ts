/**
 * Keys of tables, drawn from laws of popularity. What a profile says in JSON is said here in numbers.
 *
 * @module
 */

import type { PopularityLaw } from "../curve.ts";
import { message } from "../errors.ts";
import { handleOf, NativeHandle, own } from "../handle.ts";
import { native } from "../library.ts";
import { nativeOptions, withConfig } from "../options.ts";

/** Rows of equal popularity. */
export interface KeyStep {
  /** How many. */
  readonly rows: number;
  /** Their share of the table's accesses, together. */
  readonly share: number;
  /** Samples until each of them is replaced by a new row; 0: never. */
  readonly life: number;
}

/** The rows that the steps leave: rank r has weight (r + q)^-s; folded: draws without end, modulo the rows. */
interface KeyTail {
  /** Form of the law. */
  readonly law: "zipf" | "folded";
  /** Rows of it. */
  readonly rows: number;
  /** Exponent. */
  readonly s: number;
  /** Shift. */
  readonly q: number;
  /** Samples until a row is replaced; 0: never. */
  readonly life: number;
}

/** Rows that come each once a pass. */
export interface KeyWalk {
  /** How many. */
  readonly rows: number;
  /** Of every `turn` keys so many are the walk's. */
  readonly run: number;
  /** Keys of a turn. */
  readonly turn: number;
  /** Keys of the first turn that are gone at the beginning. */
  readonly start: number;
  /** The walk has the last keys of a turn, or they are spread evenly. */
  readonly spread: "turns" | "evenly";
  /** Rows that are shuffled among themselves in each pass: 1: passes are in one order; all of them: in any. */
  readonly block: number;
}

/** Times after which popularity changes all at once. */
export interface KeyEra {
  /** Samples of an era. */
  readonly samples: number;
  /** Of the first, those that are gone at the beginning. */
  readonly start: number;
  /** Rows that the ranks are dealt to. */
  readonly rows: number;
}

/** Order in which keys come again, beside laws. */
export interface KeyOrder {
  /** Rows of their own that come each once a pass: a share of the keys. */
  readonly walk?: KeyWalk;
  /** Samples that come again and again, and how many of them are shuffled among themselves each time (1: none). */
  readonly epoch?: { readonly samples: number; readonly block: number };
  /** Samples after which ranks without a life are dealt anew, those of the first era that are gone at the beginning, and to how many rows. */
  readonly era?: KeyEra;
}

/** What the keys of a table are drawn from. */
export interface KeyTableOptions extends KeyOrder {
  /** Rows in steps. */
  readonly steps: readonly KeyStep[];
  /** The other rows. */
  readonly tail?: KeyTail;
  /** Rows that replace others are drawn from so many, which come and go; absent: they are new. */
  readonly pool?: number;
  /** Share of keys that are the key some samples before, and the shares of classes of gaps: 1, 2, 3, then four an octave. */
  readonly repeats?: { readonly share: number; readonly gaps: readonly number[] };
  /** A table added before, and the share of samples whose rank is at the quantile of its rank. */
  readonly parent?: { readonly table: number; readonly share: number };
  /** Pairs of a number of keys a sample and its share. */
  readonly bags?: readonly (readonly [number, number])[];
  /** Keys spread over 64 bits, or row numbers from 0. */
  readonly keys?: "hashed" | "rows";
}

/** Keys of one table and where each sample's begin. */
interface SampledKeys {
  /** The keys, sample after sample. */
  readonly keys: BigInt64Array<ArrayBuffer>;
  /** Entry i is where sample i's keys begin; one more than samples. */
  readonly offsets: BigUint64Array<ArrayBuffer>;
}

/** Tables that keys are drawn for: a pure function of seed, table, sample and position. */
export class KeySource implements Disposable {
  /** @param seed An unsigned 64-bit number. */
  constructor(seed: bigint) {
    const out = new BigUint64Array(1);
    message.check(native().ts_keys_create(BigInt.asUintN(64, seed), out, message.bytes, message.capacity), "make keys");
    own(this, new NativeHandle("source of keys", out[0] ?? 0n, (keys) => native().ts_keys_close(keys)));
  }

  /**
   * Adds a table.
   *
   * @returns Its number.
   * @throws {TierstoreError} `TS_EINVAL` for shares or rows that make no law.
   */
  add(options: KeyTableOptions): number {
    const { steps, tail, pool, repeats, parent, bags = [], keys, walk, epoch, era } = options;
    const words = nativeOptions({
      tail: tail?.law,
      rows: tail?.rows,
      s: tail?.s,
      q: tail?.q,
      life: tail?.life,
      pool,
      repeats: repeats?.share,
      parent: parent?.table,
      parent_share: parent?.share,
      walk_rows: walk?.rows,
      walk_run: walk?.run,
      walk_turn: walk?.turn,
      walk_start: walk?.start,
      walk_spread: walk?.spread,
      walk_block: walk?.block,
      epoch: epoch?.samples,
      epoch_block: epoch?.block,
      era: era?.samples,
      era_start: era?.start,
      era_rows: era?.rows,
      keys,
    });
    const numbers = Float64Array.from(steps.flatMap(({ rows, share, life }) => [rows, share, life]));
    const gaps = Float64Array.from(repeats?.gaps ?? []), lengths = Float64Array.from(bags.flat());
    const pairs = BigInt(lengths.length / 2), triples = BigInt(numbers.length / 3);
    const table = new Uint32Array(1), action = "add a table of keys";
    withConfig(words, (config) => {
      const address = handleOf(this, "source of keys").exclusive(action);
      const status = native().ts_keys_add_table(
        address,
        config,
        numbers,
        triples,
        gaps,
        BigInt(gaps.length),
        lengths,
        pairs,
        table,
        message.bytes,
        message.capacity,
      );
      message.check(status, action);
    });
    return table[0] ?? 0;
  }

  /**
   * Keys of some samples of a table.
   *
   * @param table Its number.
   * @param first The first sample.
   * @param samples How many.
   */
  keys(table: number, first: number, samples: number): SampledKeys {
    for (const [what, value] of Object.entries({ table, first, samples })) {
      if (Number.isSafeInteger(value) && value >= 0 && (what !== "table" || value < 2 ** 32)) continue;
      throw new RangeError(`Cannot make keys: ${what} is ${String(value)}; give a whole number, 0 or more`);
    }
    const offsets = new BigUint64Array(samples + 1), n = new BigUint64Array(1);
    for (let room = samples;; room = Number(n[0])) {
      const keys = new BigInt64Array(room);
      const status = native().ts_keys_fill(
        handleOf(this, "source of keys").shared("make keys"),
        table,
        BigInt(first),
        BigInt(samples),
        keys,
        BigInt(room),
        offsets,
        n,
        message.bytes,
        message.capacity,
      );
      const count = Number(n[0]);
      if (count > room) continue;
      message.check(status, "make keys");
      return { keys: count === room ? keys : keys.slice(0, count), offsets };
    }
  }

  /** The law of the rows of a table that are there at one time, heaviest first; weights are shares of the lookups. */
  law(table: number): PopularityLaw {
    const n = new BigUint64Array(1);
    for (let room = 1024;; room = Number(n[0])) {
      const rows = new BigUint64Array(room), weights = new Float64Array(room);
      const status = native().ts_keys_law(
        handleOf(this, "source of keys").shared("write the law"),
        table,
        rows,
        weights,
        BigInt(room),
        n,
        message.bytes,
        message.capacity,
      );
      const count = Number(n[0]);
      if (count > room) continue;
      message.check(status, "write the law");
      return { rows: rows.slice(0, count), weights: weights.slice(0, count) };
    }
  }

  /** Frees it. */
  [Symbol.dispose](): void {
    handleOf(this, "source of keys").close();
  }
}
