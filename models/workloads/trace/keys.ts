/**
 * A trace as one stream of keys, for caches that all tables share.
 *
 * @module
 */

import { readTrace, type TraceOptions } from "./read.ts";
import { hashOf } from "./word_hash.ts";

/** A trace that was read. */
export interface TraceKeys {
  /** One key a lookup, in order; keys of different tables differ. */
  readonly keys: BigInt64Array;
  /** Names of the tables, as they came. */
  readonly tables: readonly string[];
}

/**
 * Reads a whole trace into memory, 8 bytes a key. With several tables, keys are mixed with the table's name: equal keys of two
 * tables are two rows.
 *
 * @param path As {@linkcode readTrace} takes it, and so are the options.
 * @throws {TraceError} Naming file and line.
 */
export async function readTraceKeys(path: string, options: TraceOptions = {}): Promise<TraceKeys> {
  const tables = new Map<string, bigint>();
  let keys = new BigInt64Array(1 << 16), count = 0;
  for await (const batch of readTrace(path, { ...options, inOrder: true })) {
    // The first table's keys stay as they are.
    const mix = tables.get(batch.table) ?? (tables.size === 0 ? 0n : mixOf(batch.table));
    tables.set(batch.table, mix);
    if (count + batch.keys.length > keys.length) {
      const larger = new BigInt64Array(Math.max(2 * keys.length, count + batch.keys.length));
      larger.set(keys.subarray(0, count));
      keys = larger;
    }
    if (mix === 0n) keys.set(batch.keys, count);
    else batch.keys.forEach((key, i) => keys[count + i] = BigInt.asIntN(64, key ^ mix));
    count += batch.keys.length;
  }
  return { keys: keys.slice(0, count), tables: [...tables.keys()] };
}

/** The hash of a name, with its halves mixed. */
function mixOf(name: string): bigint {
  const hash = hashOf(name);
  return BigInt.asUintN(64, (hash ^ hash >> 32n) * 0x9e3779b97f4a7c15n);
}
