/**
 * Traces of numbers: raw keys, libCacheSim's oracleGeneral.
 *
 * @module
 */

import { ONLY_TABLE, type TraceBatch, TraceError } from "./batch.ts";
import type { TraceBytes } from "./bytes.ts";
import { traceRecords } from "../../../ffi/trace.ts";
import { NumberRoom, numbersOf } from "./numbers.ts";
import { ORACLE_BYTES } from "./recognise.ts";

/**
 * Reads raw little-endian keys.
 *
 * @param bytes The file.
 * @param width Bytes of each: 4 (signed) or 8.
 * @param reuse Keys are good until the next ones are asked for.
 * @throws {TraceError} If bytes are left over.
 */
export async function* readRaw(bytes: TraceBytes, width: 4 | 8, reuse: boolean = false): AsyncGenerator<TraceBatch> {
  const room = reuse ? new NumberRoom() : undefined;
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
    yield { table: ONLY_TABLE, keys: numbersOf(block, { width, signed: true, little: true }, room) };
  }
}

/**
 * Reads records of libCacheSim's oracleGeneral: time u32, id u64, size u32, next access i64, little-endian. The ids are the keys;
 * sizes are left out.
 *
 * @param bytes The file.
 * @param reuse Keys are good until the next ones are asked for.
 * @throws {TraceError} Naming the record: bytes left over, a time that falls, a next access that lies behind.
 */
export async function* readOracleGeneral(bytes: TraceBytes, reuse: boolean = false): AsyncGenerator<TraceBatch> {
  const room = new NumberRoom();
  let record = 0, before = 0;
  bytes.align(ORACLE_BYTES);
  for (;;) {
    const block = await bytes.take(ORACLE_BYTES);
    if (block.length === 0) return;
    const refuse = (what: string): never => {
      throw new TraceError(`Cannot read the trace "${bytes.path}", record ${record + 1} of oracleGeneral: ${what}`);
    };
    if (block.length % ORACLE_BYTES !== 0) refuse(`${block.length} bytes are left over; a record has ${ORACLE_BYTES}`);
    const n = block.length / ORACLE_BYTES, keys = reuse ? room.of(n) : new BigInt64Array(n);
    const good = traceRecords(block, record, before, keys), view = new DataView(block.buffer, block.byteOffset);
    const timeOf = (i: number) => view.getUint32(i * ORACLE_BYTES, true);
    record += good;
    if (good > 0) before = timeOf(good - 1);
    if (good < n) {
      const time = timeOf(good);
      if (time < before) refuse(`the time goes back from ${before} to ${time}`);
      refuse(`the next access is ${view.getBigInt64(good * ORACLE_BYTES + 16, true)}, which lies behind`);
    }
    yield { table: ONLY_TABLE, keys };
  }
}
