/**
 * What a file is, by its first bytes and not by its name.
 *
 * @module
 */

import { oldTorchEnd } from "./old_tensors.ts";

/** Forms of a trace that can be read. */
export type TraceFormat = "text" | "i64" | "i32" | "oracleGeneral" | "npy" | "npz" | "torch" | "parquet";

/** Forms that may be asked for where the bytes do not say. */
export const TRACE_FORMATS: readonly TraceFormat[] = [
  "text",
  "i64",
  "i32",
  "oracleGeneral",
  "npy",
  "npz",
  "torch",
  "parquet",
];

/** Bytes that are looked at: many records, and lines enough to tell columns. */
export const HEAD: number = 1 << 16;

/** What a file is: a form that can be read, or what it looks like instead. */
export type Recognised =
  | { readonly format: TraceFormat }
  | { readonly looksLike: string; readonly help?: string };

const latin = (text: string): number[] => [...text].map((c) => c.charCodeAt(0));

/** First bytes of files of other kinds, with what to do about it. */
const MAGIC: readonly (readonly [bytes: readonly number[], name: string, help?: string])[] = [
  [latin("PARE"), "a Parquet file whose columns are encrypted", "write it without encryption"],
  [latin("ARROW1"), "an Arrow file", "write its columns as text or as a NumPy array"],
  [[0x89, ...latin("HDF\r\n")], "an HDF5 file", "write its columns as text or as a NumPy array"],
  [latin("SQLite format 3"), "an SQLite database", "export the table as CSV"],
  [latin("Obj\x01"), "an Avro file", "write its columns as text"],
  [[0xfd, ...latin("7zXZ")], "xz data", "unpack it first, or pack it with zstd or gzip"],
  [latin("BZh"), "bzip2 data", "unpack it first, or pack it with zstd or gzip"],
  [[0x04, 0x22, 0x4d, 0x18], "lz4 data", "unpack it first, or pack it with zstd or gzip"],
  [[0x1f, 0x8b], "gzip data inside packed data", "unpack it once"],
  [[0x28, 0xb5, 0x2f, 0xfd], "zstd data inside packed data", "unpack it once"],
  [[0x37, 0x7a, 0xbc, 0xaf], "a 7z archive", "unpack it first"],
  [[0x89, ...latin("PNG")], "a picture (PNG)"],
  [latin("%PDF"), "a PDF document"],
  [[0x7f, ...latin("ELF")], "a program (ELF)"],
  [[0xff, 0xfe], "text in UTF-16", "convert it: iconv -f UTF-16 -t UTF-8"],
  [[0xfe, 0xff], "text in UTF-16", "convert it: iconv -f UTF-16 -t UTF-8"],
];

const ZIP = [0x50, 0x4b, 3, 4];
const NPY = [0x93, ...latin("NUMPY")];

const startsWith = (head: Uint8Array, bytes: readonly number[]) => bytes.every((byte, i) => head[i] === byte);

/** Text is UTF-8 without control characters but tabs and line ends; the last character may be cut. */
function isText(head: Uint8Array): boolean {
  for (const byte of head) {
    if ((byte < 32 && byte !== 9 && byte !== 10 && byte !== 13 && byte !== 12) || byte === 127) return false;
  }
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(head, { stream: true });
    return true;
  } catch {
    return false;
  }
}

/** Bytes of a record of libCacheSim's oracleGeneral: time u32, id u64, size u32, next access i64. */
export const ORACLE_BYTES = 24;
/** No next access; both are found in the wild. */
const NEVER = [-1n, 2n ** 63n - 1n];

/**
 * Whether these bytes are records of libCacheSim's oracleGeneral: times that do not fall, and next accesses that lie ahead and,
 * where the head has them, at the same id. At least one next access must have been seen to be right.
 */
export function looksOracleGeneral(head: Uint8Array): boolean {
  const n = Math.floor(head.length / ORACLE_BYTES), view = new DataView(head.buffer, head.byteOffset, head.length);
  if (n === 0 || (head.length < HEAD && head.length % ORACLE_BYTES !== 0)) return false;
  const id = (i: number) => view.getBigUint64(i * ORACLE_BYTES + 4, true);
  let right = 0;
  // Positions are counted from 0 or from 1.
  const agree = [true, true];
  for (let i = 0, before = 0; i < n; i++) {
    const time = view.getUint32(i * ORACLE_BYTES, true), next = view.getBigInt64(i * ORACLE_BYTES + 16, true);
    if (time < before) return false;
    before = time;
    if (NEVER.includes(next)) {
      right++;
      continue;
    }
    if (next <= BigInt(i)) return false;
    for (const base of [0, 1]) {
      const at = Number(next) - base;
      if (at < n && (at <= i || id(at) !== id(i))) agree[base] = false;
      else if (at < n) right++;
    }
    if (!agree[0] && !agree[1]) return false;
  }
  return right > 0;
}

/** Whether raw 64-bit keys could as well be 32-bit ones: both halves are small numbers, and the upper ones differ. */
function looksInt32(head: Uint8Array): boolean {
  const n = Math.floor(head.length / 8), view = new DataView(head.buffer, head.byteOffset, head.length);
  const upper = new Set<number>();
  for (let i = 0; i < n; i++) {
    const low = view.getInt32(8 * i, true), high = view.getInt32(8 * i + 4, true);
    if (low < 0 || high < 0) return false;
    upper.add(high);
  }
  return n >= 4 && upper.size > n / 4;
}

/** An archive, by its first file: torch.save() writes `data.pkl` first, in a folder, numpy.savez() arrays alone. */
function recogniseZip(head: Uint8Array): Recognised {
  const bytes = (head[26] ?? 0) + 256 * (head[27] ?? 0);
  const name = new TextDecoder().decode(head.subarray(30, 30 + bytes));
  if (/^[^/]+\/data\.pkl$/.test(name)) return { format: "torch" };
  if (name.endsWith(".npy")) return { format: "npz" };
  return { looksLike: "a zip archive", help: "unpack it first" };
}

const EITHER_I64 = "--format i64 reads 64-bit keys, --format i32 keys of 32 bits";

/**
 * What a file is.
 *
 * @param head Its first {@linkcode HEAD} bytes, unpacked; all, if it is shorter.
 * @param path Its path; only the ending `.i64` counts, and only for bytes that could be raw keys.
 */
export function recognise(head: Uint8Array, path: string): Recognised {
  if (startsWith(head, NPY)) return { format: "npy" };
  if (startsWith(head, latin("PAR1"))) return { format: "parquet" };
  if (startsWith(head, ZIP)) return recogniseZip(head);
  for (const [bytes, looksLike, help] of MAGIC) {
    if (startsWith(head, bytes)) return { looksLike, ...(help === undefined ? {} : { help }) };
  }
  if (startsWith(head.subarray(257), latin("ustar"))) {
    return { looksLike: "a tar archive", help: "unpack it first" };
  }
  if (isText(head)) {
    if (!/\.i64(\.gz|\.zst)?$/.test(path)) return { format: "text" };
    return {
      looksLike: "text, though its name ends with .i64",
      help: "rename it, or say --format i64 or --format text",
    };
  }
  if (oldTorchEnd(head) !== undefined) return { format: "torch" };
  if (head[0] === 0x80 && (head[1] ?? 0) >= 2 && (head[1] ?? 0) <= 5) {
    return { looksLike: "a Python pickle", help: "save the keys with numpy.save(): unpickling could run anything" };
  }
  if (looksOracleGeneral(head)) return { format: "oracleGeneral" };
  if (/\.i64(\.gz|\.zst)?$/.test(path)) {
    if (!looksInt32(head)) return { format: "i64" };
    return { looksLike: "keys of 32 bits, or of 64 bits that have small numbers in both halves", help: EITHER_I64 };
  }
  return {
    looksLike: "binary data that do not say what they are",
    help: `${EITHER_I64}, --format oracleGeneral records of libCacheSim`,
  };
}
