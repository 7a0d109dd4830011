/**
 * Keys and times that are written as words.
 *
 * @module
 */

import { TraceError } from "./batch.ts";
import { hashOf } from "./word_hash.ts";

/**
 * The key that a word is: the number, or of other words a hash.
 *
 * @param written The word.
 * @param where Its place, for errors.
 * @throws {TraceError} If it is empty, a fraction, or more than 64 bits.
 */
export function keyOf(written: string, where: string): bigint {
  if (written === "") throw new TraceError(`Cannot read the trace ${where}: the key is empty`);
  const word = /^[+-]?\d+\.0+$/.test(written) ? written.slice(0, written.indexOf(".")) : written;
  if (/^[+-]?(\d+\.\d*|\.\d+)([eE][+-]?\d+)?$/.test(word)) {
    throw new TraceError(
      `Cannot read the trace ${where}: the key ${word} is a fraction; a key is a whole number or a word: ` +
        "choose its column with --columns key=…",
    );
  }
  if (!/^[+-]?\d+$/.test(word)) return BigInt.asIntN(64, hashOf(word));
  const key = BigInt(word.startsWith("+") ? word.slice(1) : word);
  if (BigInt.asIntN(64, key) === key || BigInt.asUintN(64, key) === key) return BigInt.asIntN(64, key);
  throw new TraceError(`Cannot read the trace ${where}: the key ${word} does not fit 64 bits`);
}

/** The time that a word is: a number, or of a date milliseconds since 1970. @throws {TraceError} If it is neither. */
export function timeOf(word: string, where: string): number {
  const time = word === "" ? NaN : Number.isNaN(Number(word)) ? Date.parse(word) : Number(word);
  if (!Number.isNaN(time)) return time;
  throw new TraceError(
    `Cannot read the trace ${where}: the time is "${word}", expected a number or a date; without it: --columns key=…`,
  );
}
