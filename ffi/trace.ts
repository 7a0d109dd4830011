/**
 * Keys out of the bytes of traces, for the readers of `models/workloads/trace/`.
 *
 * @module
 */

import { native } from "./library.ts";

const INVALID = "Cannot read the bytes of a trace: the library refuses them";
const out = new BigUint64Array(2);

/** Which column of lines has keys. */
export interface KeyColumn {
  /** The byte between fields. */
  readonly separator: number;
  /** Fields of a line. */
  readonly fields: number;
  /** Number of the keys' field, from 0. */
  readonly column: number;
}

/**
 * Keys of lines that are decimal digits, up to 18, from the beginning of a block to the first line that is not so, or has no end in it.
 *
 * @param keys Room for them.
 * @param of Their column, of lines with several fields; the others are printable ASCII without blanks and quotes.
 * @returns How many there are, and the bytes of their lines.
 */
export function traceLines(
  block: Uint8Array<ArrayBuffer>,
  keys: BigInt64Array<ArrayBuffer>,
  of: KeyColumn,
): { readonly count: number; readonly bytes: number } {
  const bytes = BigInt(block.length), room = BigInt(keys.length), { separator, fields, column } = of;
  const status = fields === 1
    ? native().ts_trace_lines(block, bytes, keys, room, out)
    : native().ts_trace_column(block, bytes, separator, fields, column, keys, room, out);
  if (status !== 0) throw new TypeError(INVALID);
  return { count: Number(out[0]), bytes: Number(out[1]) };
}

/**
 * Keys of records of libCacheSim's oracleGeneral, 24 bytes each.
 *
 * @param first Number of the first of them in the file, from 0.
 * @param before Time of the record before.
 * @param keys Room for them.
 * @returns How many are good, up to the first whose time falls or whose next access lies behind.
 */
export function traceRecords(
  block: Uint8Array<ArrayBuffer>,
  first: number,
  before: number,
  keys: BigInt64Array<ArrayBuffer>,
): number {
  const status = native().ts_trace_records(block, BigInt(keys.length), BigInt(first), before, keys, out);
  if (status !== 0) throw new TypeError(INVALID);
  return Number(out[0]);
}

/**
 * Whole numbers as keys.
 *
 * @param block They, the lowest byte first.
 * @param width Bytes of each: 1, 2, 4 or 8.
 * @param signed They may be negative.
 * @param keys Room for as many as the block has.
 */
export function widenNumbers(
  block: Uint8Array<ArrayBuffer>,
  width: number,
  signed: boolean,
  keys: BigInt64Array<ArrayBuffer>,
): void {
  if (block.length < keys.length * width) throw new RangeError(INVALID);
  if (native().ts_trace_widen(block, BigInt(keys.length), width, signed ? 1 : 0, keys) !== 0) {
    throw new TypeError(INVALID);
  }
}
