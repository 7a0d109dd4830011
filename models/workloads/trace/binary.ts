/**
 * Traces of numbers: raw keys, libCacheSim's oracleGeneral, NumPy arrays.
 *
 * @module
 */

import { Batches, ONLY_TABLE, type TraceBatch, TraceError } from "./batch.ts";
import type { TraceBytes } from "./bytes.ts";
import { chosenLayout, type Layout, type TraceColumns } from "./columns.ts";
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

/** What the head of a NumPy file says. */
export interface NpyHead {
  /** Bytes of a number. */
  readonly width: 1 | 2 | 4 | 8;
  /** Numbers may be negative. */
  readonly signed: boolean;
  /** The lowest byte comes first. */
  readonly little: boolean;
  /** Lines. */
  readonly rows: number;
  /** Columns: 1 for arrays of one dimension. */
  readonly columns: number;
  /** Bytes before the first number. */
  readonly start: number;
}

const LONGEST_HEADER = 1 << 16;

/** The head of a NumPy file (format versions 1 to 3). @throws {TraceError} If it has no whole numbers in one or two dimensions. */
export async function npyHead(bytes: TraceBytes): Promise<NpyHead> {
  const refuse = (what: string): never => {
    throw new TraceError(`Cannot read the NumPy array "${bytes.path}": ${what}`);
  };
  const begin = await bytes.peek(12), view = new DataView(begin.buffer, begin.byteOffset, begin.length);
  if (begin.length < 12) refuse("it ends in its header");
  const version = begin[6] ?? 0;
  if (version < 1 || version > 3) refuse(`its format has version ${version}, expected 1, 2 or 3`);
  const long = version > 1, start = long ? 12 + view.getUint32(8, true) : 10 + view.getUint16(8, true);
  if (start > LONGEST_HEADER) refuse(`its header has ${start} bytes, expected at most ${LONGEST_HEADER}`);
  const head = await bytes.peek(start);
  if (head.length < start) refuse("it ends in its header");
  const text = new TextDecoder().decode(head.subarray(long ? 12 : 10));
  const type = /'descr':\s*'([<>|=]?)([a-zA-Z]+)(\d+)'/.exec(text);
  if (type === null) refuse(`its elements are no plain numbers: ${text.trim().slice(0, 80)}`);
  const [, order = "", kind = "", size = ""] = type ?? [], width = Number(size);
  if (!/^[iu]$/.test(kind) || (width !== 1 && width !== 2 && width !== 4 && width !== 8)) {
    return refuse(`its elements are ${order}${kind}${size}, expected whole numbers of 8 to 64 bits`);
  }
  const shape = /'shape':\s*\(([\d, ]*)\)/.exec(text)?.[1]?.split(",").map((part) => part.trim()).filter((part) =>
    part !== ""
  );
  if (shape === undefined || shape.length < 1 || shape.length > 2) {
    return refuse(`its shape is (${shape?.join(", ") ?? "missing"}), expected one or two dimensions`);
  }
  const [rows = 0, columns = 1] = shape.map(Number);
  if (![rows, columns, rows * columns * width].every(Number.isSafeInteger)) {
    refuse(`its shape is (${shape.join(", ")})`);
  }
  if (columns > 4096) refuse(`it has ${columns} columns, expected at most 4,096`);
  if (columns > 1 && /'fortran_order':\s*True/.test(text)) {
    refuse("its columns are stored one after the other; save numpy.ascontiguousarray(it)");
  }
  return { width, signed: kind === "i", little: order !== ">", rows, columns, start };
}

function numberAt(view: DataView, at: number, { width, signed, little }: NpyHead): bigint {
  if (width === 8) return view.getBigInt64(at, little);
  if (width === 4) return BigInt(signed ? view.getInt32(at, little) : view.getUint32(at, little));
  if (width === 2) return BigInt(signed ? view.getInt16(at, little) : view.getUint16(at, little));
  return BigInt(signed ? view.getInt8(at) : view.getUint8(at));
}

/** Which columns of a NumPy array are what. @throws {TraceError} If it has several and none was chosen. */
export function npyLayout(
  bytes: TraceBytes,
  { columns: count }: NpyHead,
  columns?: TraceColumns,
): Pick<Layout, "table" | "keys" | "sample" | "time"> {
  const refuse = (what: string): never => {
    throw new TraceError(`Cannot read the NumPy array "${bytes.path}": ${what}`);
  };
  if (columns !== undefined) return chosenLayout(columns, undefined, count, refuse);
  if (count > 1) {
    refuse(
      `it has ${count} columns, which can be read in several ways; say which columns are what: --columns key=1,key=2 if ` +
        "each has keys of a table of its own, --columns table=1,key=2 if one names tables; sample=… names samples",
    );
  }
  return { keys: [{ index: 0, table: ONLY_TABLE }] };
}

/** Reads a NumPy array of whole numbers: a key a line, or chosen columns. @throws {TraceError} If it is cut short or too long. */
export async function* readNpy(
  bytes: TraceBytes,
  options: { readonly inOrder?: boolean; readonly columns?: TraceColumns },
): AsyncGenerator<TraceBatch> {
  const head = await npyHead(bytes), { table, keys, sample, time } = npyLayout(bytes, head, options.columns);
  bytes.skip(head.start);
  const line = head.width * head.columns, batches = new Batches(options.inOrder === true);
  let row = 0, before: bigint | undefined;
  for (;;) {
    const block = await bytes.take(line), n = Math.floor(block.length / line);
    if (block.length === 0) break;
    const refuse = (what: string): never => {
      throw new TraceError(`Cannot read the NumPy array "${bytes.path}", line ${row + 1}: ${what}`);
    };
    if (n === 0) refuse(`it ends within a line of ${line} bytes`);
    if (row + n > head.rows) {
      row = head.rows;
      refuse(`bytes are left over behind the ${head.rows} lines that its shape says`);
    }
    const view = new DataView(block.buffer);
    for (let i = 0; i < n; i++, row++) {
      const field = (column: number) => numberAt(view, i * line + column * head.width, head);
      if (time !== undefined) {
        const now = field(time);
        if (before !== undefined && now < before) refuse(`the time goes back from ${before} to ${now}`);
        before = now;
      }
      const where = `"${bytes.path}", line ${row + 1}`;
      for (const each of keys) {
        batches.add(
          table === undefined ? each.table : String(field(table)),
          field(each.index),
          sample === undefined ? undefined : String(field(sample)),
          where,
        );
      }
      if (batches.ready.length > 0) yield* batches.take();
    }
  }
  if (row < head.rows) {
    throw new TraceError(
      `Cannot read the NumPy array "${bytes.path}": it ends after ${row} of ${head.rows} lines`,
    );
  }
  yield* batches.end();
}
