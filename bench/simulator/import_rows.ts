/**
 * How fast traces are read, beside what no reader can leave out: the file's bytes into one buffer again and again, and their
 * unpacking where they are packed. Both in turns, on files that the operating system holds in memory.
 *
 * @module
 */

import { createReadStream } from "node:fs";
import type { Transform } from "node:stream";
import {
  crc32,
  createGunzip,
  createInflateRaw,
  createZstdDecompress,
  deflateRawSync,
  gzipSync,
  zstdCompressSync,
} from "node:zlib";
import { randomNumbers } from "../../base/random.ts";
import { readTrace, type TraceOptions } from "../../models/workloads/trace/read.ts";
import { type BenchRow, ratioRow } from "../rows.ts";

/** What a reader must have of reading alone. */
const BAR = 0.8;
const KEYS = 8_000_000, LINES = 2_000_000, ROUNDS = 7, BLOCK = 1 << 20;

/** A file of one form. */
interface Form {
  readonly name: string;
  readonly bytes: () => Uint8Array;
  readonly options?: TraceOptions;
  /** Where what is packed begins, and what unpacks it. */
  readonly packed?: { readonly from: number; readonly decoder: () => Transform };
  readonly keys: number;
}

/** NumPy's file of one array. */
function npy(array: BigInt64Array | Int32Array): Uint8Array {
  const width = array.BYTES_PER_ELEMENT;
  const head = `{'descr': '<i${width}', 'fortran_order': False, 'shape': (${array.length},), }`.padEnd(117) + "\n";
  const out = new Uint8Array(128 + array.byteLength);
  out.set([0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59, 1, 0, head.length, 0]);
  out.set(new TextEncoder().encode(head), 10);
  out.set(new Uint8Array(array.buffer), 128);
  return out;
}

/** A zip archive of one entry (APPNOTE 4.3). */
function zip(name: string, data: Uint8Array, deflated: boolean): { readonly bytes: Uint8Array; readonly from: number } {
  const text = new TextEncoder().encode(name), packed = deflated ? deflateRawSync(data, { level: 1 }) : data;
  const fields = (to: DataView, at: number) => {
    to.setUint16(at, 20, true);
    to.setUint16(at + 4, deflated ? 8 : 0, true);
    to.setUint32(at + 10, crc32(data), true);
    to.setUint32(at + 14, packed.length, true);
    to.setUint32(at + 18, data.length, true);
    to.setUint16(at + 22, text.length, true);
  };
  const from = 30 + text.length, central = from + packed.length, end = central + 46 + text.length;
  const bytes = new Uint8Array(end + 22), view = new DataView(bytes.buffer);
  view.setUint32(0, 0x04034b50, true);
  fields(view, 4);
  bytes.set(text, 30);
  bytes.set(packed, from);
  view.setUint32(central, 0x02014b50, true);
  fields(view, central + 6);
  bytes.set(text, central + 46);
  view.setUint32(end, 0x06054b50, true);
  view.setUint16(end + 8, 1, true);
  view.setUint16(end + 10, 1, true);
  view.setUint32(end + 12, end - central, true);
  view.setUint32(end + 16, central, true);
  return { bytes, from };
}

/** The forms, of the same keys. */
function forms(keys: BigInt64Array): Form[] {
  const numbers = Int32Array.from(keys, Number), few = [...numbers.subarray(0, LINES)];
  const oracle = () => {
    const bytes = new Uint8Array(24 * keys.length), view = new DataView(bytes.buffer);
    for (let i = 0; i < keys.length; i++) {
      view.setUint32(24 * i, i >> 8, true);
      view.setBigInt64(24 * i + 4, keys[i] as bigint, true);
      view.setBigInt64(24 * i + 16, -1n, true);
    }
    return bytes;
  };
  const lines = () => new TextEncoder().encode(`${few.join("\n")}\n`);
  const columns = () => new TextEncoder().encode(few.map((key, i) => `t${i & 3},${key},${i >> 2}\n`).join(""));
  const deflated = zip("keys.npy", npy(keys), true), count = keys.length;
  return [
    { name: "npy", bytes: () => npy(keys), keys: count },
    { name: "npy of 32 bits", bytes: () => npy(numbers), keys: count },
    { name: "npz", bytes: () => zip("keys.npy", npy(keys), false).bytes, keys: count },
    {
      name: "npz, deflated",
      bytes: () => deflated.bytes,
      packed: { from: deflated.from, decoder: () => createInflateRaw({ chunkSize: 1 << 18 }) },
      keys: count,
    },
    { name: "raw keys", bytes: () => new Uint8Array(keys.buffer), options: { format: "i64" }, keys: count },
    { name: "oracleGeneral", bytes: oracle, keys: count },
    {
      name: "oracleGeneral, gzip",
      bytes: () => gzipSync(oracle(), { level: 1 }),
      packed: { from: 0, decoder: () => createGunzip({ chunkSize: 1 << 18 }) },
      keys: count,
    },
    {
      name: "oracleGeneral, zstd",
      bytes: () => zstdCompressSync(oracle()),
      packed: { from: 0, decoder: () => createZstdDecompress({ chunkSize: 1 << 18 }) },
      keys: count,
    },
    { name: "text, a key a line", bytes: lines, keys: LINES },
    { name: "text, table, key, sample", bytes: columns, keys: LINES },
  ];
}

/** Seconds of reading and unpacking alone. */
async function alone(path: string, packed: Form["packed"]): Promise<number> {
  const started = performance.now();
  if (packed === undefined) {
    using file = await Deno.open(path);
    const block = new Uint8Array(BLOCK);
    while (file.readSync(block) !== null); // several times as fast as awaited reads, and what plain files are read with
  } else {
    const { size } = await Deno.stat(path), decoder = packed.decoder();
    const source = createReadStream(path, { start: packed.from, end: size - 1, highWaterMark: BLOCK });
    // What stands behind an archive's entry ends its stream.
    for await (const _ of source.pipe(decoder));
  }
  return (performance.now() - started) / 1e3;
}

/** Seconds of our reader, as the verbs use it. @throws {RangeError} If it gives out another number of keys. */
async function ours(path: string, { options = {}, keys, name }: Form): Promise<number> {
  const started = performance.now();
  let count = 0;
  for await (const batch of readTrace(path, { ...options, reuse: true })) count += batch.keys.length;
  if (count !== keys) throw new RangeError(`Cannot measure ${name}: ${count} keys were read, expected ${keys}`);
  return (performance.now() - started) / 1e3;
}

/** A row for each form: the time of reading and unpacking alone over ours, and in its note keys a second. */
export async function importRows(): Promise<BenchRow[]> {
  const next = randomNumbers(20261124), rows: BenchRow[] = [];
  // Skewed, so that they can be packed as keys of logs can.
  const keys = BigInt64Array.from({ length: KEYS }, () => BigInt(Math.floor(1e7 ** next())));
  const folder = await Deno.makeTempDir({ prefix: "tierbench-import-" });
  try {
    for (const form of forms(keys)) {
      const path = `${folder}/trace`, ratios: number[] = [];
      await Deno.writeFile(path, form.bytes());
      let fastest = Infinity;
      for (let round = 0; round <= ROUNDS; round++) {
        const floor = await alone(path, form.packed), own = await ours(path, form);
        if (round === 0) continue; // warms up
        ratios.push(floor / own);
        fastest = Math.min(fastest, own);
      }
      const note = `${(form.keys / fastest / 1e6).toFixed(0)} million keys/s in the fastest round`;
      rows.push({ ...ratioRow(`import/${form.name}`, ratios, note), atLeast: BAR });
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
  return rows;
}
