/**
 * A trace as one stream of keys, for caches that all tables share, or of one table.
 *
 * @module
 */

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

/**
 * Reads a whole trace into memory, 8 bytes a key. With several tables, keys are mixed with the table's name: equal keys of two
 * tables are two rows.
 *
 * @param path As {@linkcode readTrace} takes it, and so are the options.
 * @param options `table`: keys of this table alone; those of the others take no memory.
 * @throws {TraceError} Naming file and line, or the tables there are.
 */
export async function readTraceKeys(
  path: string,
  { table, ...options }: TraceOptions & { readonly table?: string } = {},
): Promise<TraceKeys> {
  const tables = new Map<string, bigint>(), others = new Set<string>();
  let keys = new BigInt64Array(1 << 16), count = 0;
  for await (const batch of readTrace(path, { ...options, inOrder: table === undefined })) {
    if (table !== undefined && batch.table !== table) {
      others.add(batch.table);
      continue;
    }
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
  if (table !== undefined && tables.size === 0) {
    const names = [...others].slice(0, TOLD).join(", "),
      more = others.size > TOLD ? ` and ${others.size - TOLD} more` : "";
    throw new TraceError(`Cannot read the trace "${path}": it has no table "${table}"; it has ${names}${more}`);
  }
  return { keys: keys.slice(0, count), tables: [...tables.keys()] };
}

/** The hash of a name, with its halves mixed. */
function mixOf(name: string): bigint {
  const hash = hashOf(name);
  return BigInt.asUintN(64, (hash ^ hash >> 32n) * 0x9e3779b97f4a7c15n);
}
