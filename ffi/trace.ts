/**
 * Keys out of the bytes of traces, for the readers of `models/workloads/trace/`.
 *
 * @module
 */

import { native } from "./library.ts";

const INVALID = "Cannot read the bytes of a trace: the library refuses them";
const out = new BigUint64Array(2);

/**
 * Keys of lines that are decimal digits, up to 18, and nothing else, from the beginning of a block to the first line that is not so, or
 * has no end in it.
 *
 * @param keys Room for them.
 * @returns How many there are, and the bytes of their lines.
 */
export function traceLines(
  block: Uint8Array<ArrayBuffer>,
  keys: BigInt64Array<ArrayBuffer>,
): { readonly count: number; readonly bytes: number } {
  const status = native().ts_trace_lines(block, BigInt(block.length), keys, BigInt(keys.length), out);
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
