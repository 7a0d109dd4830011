/**
 * Traces of numbers: raw keys, libCacheSim's oracleGeneral.
 *
 * @module
 */

import { ONLY_TABLE, type TraceBatch, TraceError } from "./batch.ts";
import type { TraceBytes } from "./bytes.ts";
import { numbersOf } from "./numbers.ts";
import { ORACLE_BYTES } from "./recognise.ts";

/** Words of 32 bits in a record. */
const WORDS = ORACLE_BYTES / 4;

/** Reads raw little-endian keys. @param width Bytes of each: 4 (signed) or 8. @throws {TraceError} If bytes are left over. */
export async function* readRaw(bytes: TraceBytes, width: 4 | 8): AsyncGenerator<TraceBatch> {
  bytes.align(width);
  for (let offset = 0;;) {
    const block = await bytes.take(width);
    if (block.length === 0) return;
    if (block.length % width !== 0) {
      throw new TraceError(
        `Cannot read the trace "${bytes.path}", byte ${offset}: ${block.length} bytes are left over; a raw key has ${width}`,
      );
    }
    offset += block.length;
    yield { table: ONLY_TABLE, keys: numbersOf(block, { width, signed: true, little: true }) };
  }
}

/**
 * Reads records of libCacheSim's oracleGeneral: time u32, id u64, size u32, next access i64, little-endian. The ids are the keys;
 * sizes are left out.
 *
 * @throws {TraceError} Naming the record: bytes left over, a time that falls, a next access that lies behind.
 */
export async function* readOracleGeneral(bytes: TraceBytes): AsyncGenerator<TraceBatch> {
  let record = 0, before = 0;
  bytes.align(ORACLE_BYTES);
  for (;;) {
    const block = await bytes.take(ORACLE_BYTES);
    if (block.length === 0) return;
    const refuse = (what: string): never => {
      throw new TraceError(`Cannot read the trace "${bytes.path}", record ${record + 1} of oracleGeneral: ${what}`);
    };
    if (block.length % ORACLE_BYTES !== 0) refuse(`${block.length} bytes are left over; a record has ${ORACLE_BYTES}`);
    // Records are six words of 32 bits, of which two and two make a number of 64; keys are copied as their halves.
    const own = block.byteOffset % 4 === 0 ? block : block.slice(), n = block.length / ORACLE_BYTES;
    const words = new Uint32Array(own.buffer, own.byteOffset, n * WORDS);
    const keys = new BigInt64Array(n), halves = new Uint32Array(keys.buffer);
    for (let i = 0, at = 0; i < n; i++, at += WORDS, record++) {
      const time = words[at] as number, low = words[at + 4] as number, high = words[at + 5] as number;
      if (time < before) refuse(`the time goes back from ${before} to ${time}`);
      // Two's complement; -1: there is none.
      const next = (high | 0) * 2 ** 32 + low;
      if (next <= record && next !== -1) refuse(`the next access is ${next}, which lies behind`);
      before = time;
      halves[2 * i] = words[at + 1] as number;
      halves[2 * i + 1] = words[at + 2] as number;
    }
    yield { table: ONLY_TABLE, keys };
  }
}
