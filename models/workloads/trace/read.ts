/**
 * Traces of keys, whatever their form: recognised by content, read once, a block at a time.
 *
 * @module
 */

import { type ArrayHead, arrayLayout, readArray } from "./array.ts";
import { type TraceBatch, TraceError } from "./batch.ts";
import { readOracleGeneral, readRaw } from "./binary.ts";
import { TraceBytes } from "./bytes.ts";
import type { Layout, TraceColumns } from "./columns.ts";
import { npyHead } from "./npy.ts";
import { HEAD, recognise, TRACE_FORMATS, type TraceFormat } from "./recognise.ts";
import { npzTables, readNpz } from "./npz.ts";
import { parquetLayout, readParquet } from "./parquet.ts";
import { readRequests, tensorHead, tensorLayout } from "./requests.ts";
import { openTensor } from "./tensors.ts";
import { readText, textLayout } from "./text.ts";

/** How a trace is to be read, where it does not say so itself. */
export interface TraceOptions {
  /** Which columns are what. */
  readonly columns?: TraceColumns;
  /** What stands between fields of a text; `"tab"` and `" "` (blanks) have names. */
  readonly separator?: string;
  /** Its form; absent: what its first bytes say. */
  readonly format?: TraceFormat;
}

/** How batches are given out. */
export interface ReadOptions extends TraceOptions {
  /**
   * Batches come in the order of the trace, however its tables alternate. Without, each table's keys are in their order, and batches
   * are long.
   */
  readonly inOrder?: boolean;
  /** Keys of a batch are good until the next is asked for, whose keys lie in the same memory: faster. */
  readonly reuse?: boolean;
}

/** Keys, tables and lookups of a file. */
export interface TraceFacts {
  /** Its form. */
  readonly format: TraceFormat;
  /** How it is packed, if it is. */
  readonly packing?: "gzip" | "zstd";
  /** Bytes on the disk. */
  readonly bytes: number;
  /** Which columns are read as what; empty where there are none. */
  readonly columns: string;
  /** Its tables, in the order in which they came. */
  readonly tables: readonly {
    /** Name. */
    readonly name: string;
    /** Keys, each time they come. */
    readonly lookups: number;
    /** Distinct keys; about so many (within some 2 %) where there are more than 4,096. */
    readonly keys: number;
    /** Samples, where the trace tells them apart. */
    readonly samples?: number;
  }[];
}

function formatOf(head: Uint8Array, path: string, asked: TraceFormat | undefined): TraceFormat {
  if (asked !== undefined) {
    if (TRACE_FORMATS.includes(asked)) return asked;
    throw new TraceError(
      `Cannot read the trace "${path}": there is no form "${asked}"; known: ${TRACE_FORMATS.join(", ")}`,
    );
  }
  const found = recognise(head, path);
  if ("format" in found) return found.format;
  throw new TraceError(
    `Cannot read the trace "${path}": it looks like ${found.looksLike}${
      found.help === undefined ? "; no keys can be read from that" : `: ${found.help}`
    }`,
  );
}

/** Forms that have columns. */
const COLUMNED: readonly TraceFormat[] = ["text", "npy", "npz", "torch", "parquet"];

async function* readFormat(
  bytes: TraceBytes,
  format: TraceFormat,
  options: ReadOptions,
): AsyncGenerator<TraceBatch> {
  if (options.columns !== undefined && !COLUMNED.includes(format)) {
    throw new TraceError(`Cannot read the trace "${bytes.path}": columns were chosen, and ${format} has none`);
  }
  if (format === "text") return yield* readText(bytes, options);
  if (format === "npy") {
    const head = await npyHead(bytes);
    return yield* readArray(bytes, head, options);
  }
  if (format === "npz") return yield* readNpz(bytes.path, options);
  if (format === "parquet") return yield* readParquet(bytes, options);
  if (format === "torch") return yield* readTorch(bytes.path, options);
  yield* format === "oracleGeneral"
    ? readOracleGeneral(bytes, options.reuse)
    : readRaw(bytes, format === "i64" ? 8 : 4, options.reuse);
}

async function* readTorch(
  path: string,
  options: ReadOptions,
): AsyncGenerator<TraceBatch> {
  const layout = await tensorLayout(path);
  if (layout.kind === "requests") {
    if (options.columns !== undefined) {
      throw new TraceError(`Cannot read the trace "${path}": columns were chosen, and indices with offsets have none`);
    }
    return yield* readRequests(path, layout);
  }
  const head = tensorHead(path, layout);
  using bytes = await openTensor(layout.tensor);
  yield* readArray(bytes, head, options);
}

/**
 * Reads a trace: text (a key a line, `table,key[,sample]`, columns, Criteo rows), libCacheSim's oracleGeneral, NumPy arrays of
 * whole numbers (alone or an archive of them), tensors of torch.save() (keys, or FBGEMM's indices, offsets and lengths), columns of Parquet files, or raw keys;
 * plain or packed with gzip or zstd.
 *
 * @param path Its file.
 * @param options How batches are given out, and how to read what can be read in several ways.
 * @throws {TraceError} Naming file and line, or what the file looks like instead.
 */
export async function* readTrace(
  path: string,
  options: ReadOptions = {},
): AsyncGenerator<TraceBatch> {
  using bytes = await TraceBytes.open(path, options.reuse);
  yield* readFormat(bytes, formatOf(await bytes.peek(HEAD), path, options.format), options);
}

/**
 * Whether the tables of a trace are words of a column that neither a header nor the user named: those may be anything, names of users
 * among it.
 *
 * @param path Its file.
 * @param options As {@linkcode readTrace} takes them.
 * @throws {TraceError} If it cannot be read.
 */
export async function guessesTables(path: string, options: TraceOptions = {}): Promise<boolean> {
  using bytes = await TraceBytes.open(path);
  if (options.columns !== undefined || formatOf(await bytes.peek(HEAD), path, options.format) !== "text") return false;
  const { table, header } = await textLayout(bytes, options);
  return table !== undefined && !header;
}

/** Distinct keys are counted exactly up to so many, then by the share of hashes below a bound (k minimum values). */
const COUNTED = 4096;

/** The finalizer of MurmurHash3 for 32 bits (Austin Appleby). */
function mixed(word: number): number {
  let h = Math.imul(word ^ word >>> 16, 0x85ebca6b);
  h = Math.imul(h ^ h >>> 13, 0xc2b2ae35);
  return (h ^ h >>> 16) >>> 0;
}

/** About how many keys were seen: the lowest hashes of them, and how far these reach. */
class Distinct {
  #hashes = new Set<number>();
  #bound = 1;

  add(keys: BigInt64Array): void {
    const halves = new Int32Array(keys.buffer, keys.byteOffset, 2 * keys.length);
    let below = this.#bound * 2 ** 32;
    for (let i = 0; i < halves.length; i += 2) {
      const low = halves[i] as number, high = halves[i + 1] as number, first = mixed(low ^ mixed(high ^ 0x9e3779b9));
      if (first >= below) continue;
      // A fraction of one, of 53 bits: the other 21 tell keys apart whose first 32 are the same.
      const hash = (first * 2 ** 21 + (mixed(high ^ mixed(low ^ 0x3c6ef372)) >>> 11)) / 2 ** 53;
      if (hash < this.#bound) this.#hashes.add(hash);
      if (this.#hashes.size < 2 * COUNTED) continue;
      const lowest = [...this.#hashes].sort((a, b) => a - b).slice(0, COUNTED + 1);
      this.#bound = lowest.pop() ?? 1;
      this.#hashes = new Set(lowest);
      below = this.#bound * 2 ** 32;
    }
  }

  get count(): number {
    return Math.round(this.#hashes.size / this.#bound);
  }
}

/** Columns in words. */
async function columnsText(bytes: TraceBytes, format: TraceFormat, options: TraceOptions): Promise<string> {
  if (!COLUMNED.includes(format)) return "";
  if (format === "npz") {
    const arrays = await npzTables(bytes.path, options.columns);
    return `arrays: ${arrays.map(({ table, head }) => `${table} (${head.columns} a line)`).join(", ")}`;
  }
  let head: ArrayHead | undefined;
  if (format === "torch") {
    const tensors = await tensorLayout(bytes.path);
    if (tensors.kind === "requests") {
      return `indices and offsets: ${tensors.tables} tables of ${tensors.samples} samples, table after table`;
    }
    head = tensorHead(bytes.path, tensors);
  } else if (format === "npy") head = await npyHead(bytes);
  const layout: Partial<Layout> & Pick<Layout, "keys"> = format === "parquet"
    ? await parquetLayout(bytes, options.columns)
    : head === undefined
    ? await textLayout(bytes, options)
    : arrayLayout(bytes.path, head, options.columns);
  const name = (index: number) => layout.names?.[index] ?? `column ${index + 1}`;
  if (layout.criteo === true) return "Criteo's label, 13 numbers and 26 categories, each a table";
  return [
    ...(layout.table === undefined ? [] : [`table: ${name(layout.table)}`]),
    `keys: ${layout.keys.map(({ index }) => name(index)).join(", ")}`,
    ...(layout.sample === undefined ? [] : [`sample: ${name(layout.sample)}`]),
    ...(layout.line === true ? ["a line is a sample"] : []),
    ...(layout.time === undefined ? [] : [`time: ${name(layout.time)}`]),
  ].join("; ");
}

/**
 * What a file is, and what is in it. Reads it whole, in bounded memory.
 *
 * @param path Its file.
 * @param options As {@linkcode readTrace} takes them.
 * @throws {TraceError} If it cannot be read.
 */
export async function inspectTrace(path: string, options: TraceOptions = {}): Promise<TraceFacts> {
  using bytes = await TraceBytes.open(path, true);
  const format = formatOf(await bytes.peek(HEAD), path, options.format);
  const columns = await columnsText(bytes, format, options);
  const tables = new Map<string, { lookups: number; samples: number; distinct: Distinct; bags: boolean }>();
  for await (const { table, keys, bags } of readFormat(bytes, format, { ...options, reuse: true })) {
    const found = tables.get(table) ?? { lookups: 0, samples: 0, distinct: new Distinct(), bags: bags !== undefined };
    tables.set(table, found);
    found.lookups += keys.length;
    found.samples += bags?.length ?? 0;
    found.distinct.add(keys);
  }
  return {
    format,
    ...(bytes.packing === undefined ? {} : { packing: bytes.packing }),
    bytes: bytes.size,
    columns,
    tables: [...tables].map(([name, { lookups, samples, distinct, bags }]) => ({
      name,
      lookups,
      keys: distinct.count,
      ...(bags ? { samples } : {}),
    })),
  };
}
