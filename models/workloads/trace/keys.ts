/**
 * A trace as one stream of keys, for caches that all tables share, or of one table.
 *
 * @module
 */

import { KeySample, type KeySampleOptions } from "../../../ffi/key_sample.ts";
import { TraceError } from "./batch.ts";
import { readTrace, type TraceOptions } from "./read.ts";
import { hashOf } from "./word_hash.ts";

/** Names that an error tells. */
const TOLD = 20;

/** A trace that was read. */
export interface TraceKeys {
  /** One key a lookup, in order; keys of different tables differ. */
  readonly keys: BigInt64Array;
  /** Names of the tables, as they came. */
  readonly tables: readonly string[];
}

/** A trace of which a sample was read. */
export interface TraceSample {
  /** One key a lookup, in order; keys of different tables differ. Whoever asked for it disposes of it. */
  readonly keys: KeySample;
  /** Names of the tables, as they came. */
  readonly tables: readonly string[];
}

/** How a trace is read, and of which table. */
export type TraceKeysOptions = TraceOptions & {
  /** The keys of this table alone. Default: those of all tables, as different rows of one cache. */
  readonly table?: string;
};

/** The keys of a trace, and what those of a table are mixed with. @returns Names of the tables. */
async function eachKeys(
  path: string,
  { table, ...options }: TraceKeysOptions,
  add: (keys: BigInt64Array, mix: bigint) => void,
): Promise<string[]> {
  const tables = new Map<string, bigint>(), others = new Set<string>();
  for await (const batch of readTrace(path, { ...options, inOrder: table === undefined, reuse: true })) {
    if (table !== undefined && batch.table !== table) {
      others.add(batch.table);
      continue;
    }
    // The first table's keys stay as they are.
    const mix = tables.get(batch.table) ?? (tables.size === 0 ? 0n : mixOf(batch.table));
    tables.set(batch.table, mix);
    add(batch.keys, mix);
  }
  if (table !== undefined && tables.size === 0) {
    const names = [...others].slice(0, TOLD).join(", "),
      more = others.size > TOLD ? ` and ${others.size - TOLD} more` : "";
    throw new TraceError(`Cannot read the trace "${path}": it has no table "${table}"; it has ${names}${more}`);
  }
  return [...tables.keys()];
}

/**
 * Reads a whole trace into memory, 8 bytes a key. With several tables, keys are mixed with the table's name: equal keys of two
 * tables are two rows.
 *
 * @param path As {@linkcode readTrace} takes it, and so are the options.
 * @param options `table`: keys of this table alone; those of the others take no memory.
 * @throws {TraceError} Naming file and line, or the tables there are.
 */
export async function readTraceKeys(path: string, options: TraceKeysOptions = {}): Promise<TraceKeys> {
  let keys = new BigInt64Array(1 << 16), count = 0;
  const tables = await eachKeys(path, options, (batch, mix) => {
    if (count + batch.length > keys.length) {
      const larger = new BigInt64Array(Math.max(2 * keys.length, count + batch.length));
      larger.set(keys.subarray(0, count));
      keys = larger;
    }
    if (mix === 0n) keys.set(batch, count);
    else batch.forEach((key, i) => keys[count + i] = BigInt.asIntN(64, key ^ mix));
    count += batch.length;
  });
  return { keys: keys.slice(0, count), tables };
}

/**
 * Reads a trace of any length in bounded memory: all its keys while they fit, then a sample of its rows. Keys of tables are mixed as
 * {@linkcode readTraceKeys} does it.
 *
 * @param path As {@linkcode readTrace} takes it, and so are the options.
 * @param options `table`: keys of this table alone. The rest says what may be kept, as {@linkcode KeySample} takes it.
 * @throws {TraceError} Naming file and line, or the tables there are.
 */
export async function sampleTrace(
  path: string,
  { batch, bytes, rows, ...options }: TraceKeysOptions & KeySampleOptions = {},
): Promise<TraceSample> {
  const given = { batch, bytes, rows };
  const keys = new KeySample(Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)));
  try {
    return { keys, tables: await eachKeys(path, options, (block, mix) => keys.add(block, mix)) };
  } catch (error) {
    keys[Symbol.dispose]();
    throw error;
  }
}

/** The hash of a name, with its halves mixed. */
function mixOf(name: string): bigint {
  const hash = hashOf(name);
  return BigInt.asUintN(64, (hash ^ hash >> 32n) * 0x9e3779b97f4a7c15n);
}
