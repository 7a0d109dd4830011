/**
 * Traces of numbers: raw keys, libCacheSim's oracleGeneral.
 *
 * @module
 */

import { ONLY_TABLE, type TraceBatch, TraceError } from "./batch.ts";
import type { TraceBytes } from "./bytes.ts";
import { ORACLE_BYTES } from "./recognise.ts";

/** Reads raw little-endian keys. @param width Bytes of each: 4 (signed) or 8. @throws {TraceError} If bytes are left over. */
export async function* readRaw(bytes: TraceBytes, width: 4 | 8): AsyncGenerator<TraceBatch> {
  for (let offset = 0;;) {
    const block = await bytes.take(width);
    if (block.length === 0) return;
    if (block.length % width !== 0) {
      throw new TraceError(
        `Cannot read the trace "${bytes.path}", byte ${offset}: ${block.length} bytes are left over; a raw key has ${width}`,
      );
    }
    offset += block.length;
    const keys = width === 8
      ? new BigInt64Array(block.buffer)
      : BigInt64Array.from(new Int32Array(block.buffer), (key) => BigInt(key));
    yield { table: ONLY_TABLE, keys };
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
  for (;;) {
    const block = await bytes.take(ORACLE_BYTES);
    if (block.length === 0) return;
    const refuse = (what: string): never => {
      throw new TraceError(`Cannot read the trace "${bytes.path}", record ${record + 1} of oracleGeneral: ${what}`);
    };
    if (block.length % ORACLE_BYTES !== 0) refuse(`${block.length} bytes are left over; a record has ${ORACLE_BYTES}`);
    const view = new DataView(block.buffer), n = block.length / ORACLE_BYTES, keys = new BigInt64Array(n);
    for (let i = 0; i < n; i++, record++) {
      const time = view.getUint32(i * ORACLE_BYTES, true), next = view.getBigInt64(i * ORACLE_BYTES + 16, true);
      if (time < before) refuse(`the time goes back from ${before} to ${time}`);
      if (next !== -1n && next <= record) refuse(`the next access is ${next}, which lies behind`);
      before = time;
      keys[i] = view.getBigInt64(i * ORACLE_BYTES + 4, true);
    }
    yield { table: ONLY_TABLE, keys };
  }
}
