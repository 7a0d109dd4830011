/**
 * Columns of Parquet files, one row group at a time. Of a group only the columns that are needed are read.
 *
 * @module
 */

import type { ColumnMetaData, DecodedArray, FileMetaData, RowGroup, SchemaTree } from "../../../base/hyparquet.ts";
import { Batches, MOST_BAG, ONLY_TABLE, type TraceBatch, TraceError } from "./batch.ts";
import type { TraceBytes } from "./bytes.ts";
import { chosenLayout, namedLayout, type Roles, sampleOf, type TraceColumns } from "./columns.ts";
import type { Levels } from "./parquet_pages.ts";
import { keyOf, timeOf } from "./words.ts";

/** A column that is read. */
interface Column {
  readonly name: string;
  readonly levels: Levels;
  /** A row has a list of values. */
  readonly list: boolean;
}

/** A file that is open. */
interface OpenParquet {
  readonly path: string;
  readonly bytes: TraceBytes;
  readonly metadata: FileMetaData;
  readonly root: SchemaTree;
  readonly refuse: (what: string) => never;
}

const MAGIC = 0x31524150, TAIL_BYTES = 8;
/** Bytes of what a file says of its columns, at most. */
const LONGEST_METADATA = 1 << 26;
/** Bytes of one column in one row group at most. */
const LARGEST_COLUMN = 1 << 30;
const KEYS = 65_536;
/** Converted types of the format that are whole numbers. */
const WHOLE = /^U?INT_(8|16|32|64)$/;

/** Whoever takes the file apart may stumble over what is damaged; its words are for those who wrote it. */
async function damaged<T>(refuse: (what: string) => never, use: () => T | Promise<T>): Promise<T> {
  try {
    return await use();
  } catch (error) {
    if (error instanceof TraceError) throw error;
    const { constructor, message } = error as Error;
    return refuse(
      `it is damaged, or of a kind that cannot be read here${
        constructor === Error ? `: ${message.slice(0, 200)}` : ""
      }`,
    );
  }
}

async function openParquet(bytes: TraceBytes): Promise<OpenParquet> {
  const { path } = bytes;
  const refuse = (what: string): never => {
    throw new TraceError(`Cannot read the Parquet file "${path}": ${what}`);
  };
  if (bytes.packing !== undefined) refuse(`it is packed with ${bytes.packing} as a whole; unpack it first`);
  const library = await import("../../../base/hyparquet.ts");
  if (bytes.size < 2 * TAIL_BYTES) refuse("it is cut short");
  const tail = new DataView(await bytes.range(bytes.size - TAIL_BYTES, bytes.size)), length = tail.getUint32(0, true);
  if (tail.getUint32(4, true) !== MAGIC) refuse("it is cut short: PAR1 is missing at its end");
  if (length > LONGEST_METADATA || length > bytes.size - TAIL_BYTES) {
    refuse(
      `its last part has ${length} bytes, expected at most ${Math.min(LONGEST_METADATA, bytes.size - TAIL_BYTES)}`,
    );
  }
  const end = await bytes.range(bytes.size - TAIL_BYTES - length, bytes.size);
  return await damaged(refuse, () => {
    const metadata = library.parquetMetadata(end, { geoparquet: false }), root = library.parquetSchema(metadata);
    return { path, bytes, metadata, root, refuse };
  });
}

/** A column of a file that may have this role. */
function columnOf({ root, refuse }: OpenParquet, index: number, role: "key" | "table" | "sample" | "time"): Column {
  const top = root.children[index], name = top?.element.name ?? "";
  let repetition = 0, definition = 0, leaf = top;
  for (let node = top; node !== undefined; node = node.children[0]) {
    if (node.children.length > 1) refuse(`the column ${name} has columns inside it; expected one of numbers or words`);
    if (node.element.repetition_type === "REPEATED") repetition++;
    if (node.element.repetition_type !== "REQUIRED") definition++;
    leaf = node;
  }
  const { type, converted_type: converted, logical_type: logical } = leaf?.element ?? {};
  const whole = (type === "INT32" || type === "INT64") &&
    (converted === undefined || WHOLE.test(converted)) && (logical === undefined || logical.type === "INTEGER");
  const word = type === "BYTE_ARRAY" && (converted === undefined || converted === "UTF8" || converted === "ENUM") &&
    (logical === undefined || logical.type === "STRING" || logical.type === "ENUM");
  if (!whole && !word && role !== "time") {
    refuse(
      `the column ${name} has values of type ${logical?.type ?? converted ?? type}, expected whole numbers or words`,
    );
  }
  if (repetition > (role === "key" ? 1 : 0)) {
    refuse(`the column ${name} has lists ${role === "key" ? "of lists" : `and cannot be the ${role}`}`);
  }
  return { name, levels: { repetition, definition }, list: repetition > 0 };
}

function rolesOf({ root, refuse }: OpenParquet, columns: TraceColumns | undefined): Roles {
  const names = root.children.map(({ element }) => element.name);
  if (names.length === 0) refuse("it has no columns");
  if (!names.every((name) => typeof name === "string")) refuse("it is damaged: a column has no name");
  if (new Set(names).size < names.length) refuse("two of its columns have one name");
  if (columns !== undefined) return chosenLayout(columns, names, names.length, refuse);
  if (names.length === 1) return { keys: [{ index: 0, table: ONLY_TABLE }] };
  const { table, keys, sample, time } = namedLayout(names, [names], refuse);
  // Names alone make no role of a column with others inside it: times of a history stand beside its keys.
  const plain = (index: number | undefined) => index !== undefined && root.children[index]?.children.length === 0;
  return {
    keys,
    ...(plain(table) ? { table: table as number } : {}),
    ...(plain(sample) ? { sample: sample as number } : {}),
    ...(plain(time) ? { time: time as number } : {}),
  };
}

/** Names of the columns, and which are what. @throws {TraceError} If several readings are possible. */
export async function parquetLayout(
  bytes: TraceBytes,
  columns?: TraceColumns,
): Promise<Roles & { readonly names: readonly string[] }> {
  const file = await openParquet(bytes);
  return { ...rolesOf(file, columns), names: file.root.children.map(({ element }) => element.name) };
}

/** Bytes of a column in a row group, by its dictionary or its first page. */
function rangeOf({ bytes, refuse }: OpenParquet, column: ColumnMetaData): { start: number; end: number } {
  const { dictionary_page_offset: dictionary, data_page_offset: data, total_compressed_size: size } = column;
  const first = dictionary === undefined || dictionary <= 0 || dictionary >= data ? data : dictionary;
  const start = Number(first), end = start + Number(size);
  if (!(start >= 4 && start <= end && end <= bytes.size - TAIL_BYTES)) refuse("a column lies outside");
  if (end - start > LARGEST_COLUMN) {
    refuse(
      `a column has ${end - start} bytes in one row group, expected at most ${LARGEST_COLUMN}; write smaller groups`,
    );
  }
  return { start, end };
}

async function readColumn(file: OpenParquet, group: RowGroup, rows: number, column: Column): Promise<DecodedArray> {
  const { metadata, refuse } = file;
  const { parquetScan } = await import("../../../base/hyparquet.ts");
  const { checkedPages } = await import("./parquet_pages.ts");
  const chunks = group.columns.filter((chunk) => chunk.meta_data?.path_in_schema[0] === column.name);
  const [chunk] = chunks, described = chunk?.meta_data;
  if (chunk === undefined || described === undefined || chunks.length > 1) {
    return refuse(`the column ${column.name} is missing`);
  }
  const { start, end } = rangeOf(file, described);
  const buffer = await file.bytes.range(start, end);
  const unpack = checkedPages(buffer, described, column.levels, rows, refuse);
  const scan = await parquetScan({
    file: {
      byteLength: end,
      slice: (from, to = end) => from === start && to === end ? buffer : buffer.slice(from - start, to - start),
    },
    // Pages come unpacked from the check, whatever packed them.
    metadata: {
      ...metadata,
      row_groups: [{
        ...group,
        columns: [{ ...chunk, meta_data: { ...described, codec: "GZIP" } }],
      }],
    },
    columns: [column.name],
    compressors: { GZIP: unpack },
    useOffsetIndex: false,
  });
  const data = await scan.readColumn({ column: column.name, rowStart: 0, rowEnd: rows });
  if (data.length !== rows) refuse(`the column ${column.name} has ${data.length} rows in a group of ${rows}`);
  return data;
}

function keyFrom(value: unknown, where: () => string): bigint {
  if (typeof value === "bigint") return BigInt.asIntN(64, value);
  if (typeof value === "number" && Number.isInteger(value)) return BigInt(value);
  return keyOf(typeof value === "string" ? value : "", where());
}

function timeFrom(value: unknown, where: string): number {
  if (typeof value === "bigint" || typeof value === "number" || value instanceof Date) {
    return timeOf(String(Number(value)), where);
  }
  return timeOf(typeof value === "string" ? value : "", where);
}

function wordFrom(value: unknown, what: string, where: string): string {
  if (typeof value === "bigint" || typeof value === "number" || (typeof value === "string" && value !== "")) {
    return String(value);
  }
  throw new TraceError(`Cannot read the trace ${where}: the ${what} is empty`);
}

/**
 * Reads columns of a Parquet file. A list is the keys of one sample; an empty one is none.
 *
 * @param bytes The file.
 * @param options Columns that were chosen.
 * @throws {TraceError} If columns can be read in several ways, are no whole numbers or words, or are damaged.
 */
export async function* readParquet(
  bytes: TraceBytes,
  options: { readonly inOrder?: boolean; readonly columns?: TraceColumns },
): AsyncGenerator<TraceBatch> {
  const file = await openParquet(bytes), { metadata, refuse, path } = file, roles = rolesOf(file, options.columns);
  const keys = roles.keys.map(({ index, table }) => ({ table, column: columnOf(file, index, "key") }));
  const [table, sample, time] = (["table", "sample", "time"] as const).map((role) =>
    roles[role] === undefined ? undefined : columnOf(file, roles[role], role)
  );
  const columns = new Map(
    [...keys.map(({ column }) => column), table, sample, time].flatMap((column) =>
      column === undefined ? [] : [[column.name, column] as const]
    ),
  );
  const batches = new Batches(options.inOrder === true), { MOST_VALUES } = await import("./parquet_pages.ts");
  let row = 0, before = -Infinity;
  for (const group of await damaged(refuse, () => [...metadata.row_groups])) {
    const rows = typeof group.num_rows === "bigint" ? Number(group.num_rows) : NaN;
    if (!(rows >= 0)) refuse("it is damaged: a row group does not say how many rows it has");
    if (rows > MOST_VALUES) {
      refuse(`a row group has ${rows} rows, expected at most ${MOST_VALUES}; write smaller groups`);
    }
    if (rows === 0) continue;
    const data = new Map<string, DecodedArray>();
    for (const [name, column] of columns) {
      data.set(name, await damaged(refuse, () => readColumn(file, group, rows, column)));
    }
    const of = (column: Column | undefined, i: number): unknown =>
      column === undefined ? 0 : data.get(column.name)?.[i];
    const [only] = keys;
    if (columns.size === 1 && keys.length === 1 && roles.line !== true && only?.column.list === false) {
      const values = data.get(only.column.name) ?? [];
      for (let at = 0; at < rows; at += KEYS) {
        const block = new BigInt64Array(Math.min(KEYS, rows - at));
        for (let i = 0; i < block.length; i++) {
          block[i] = keyFrom(values[at + i], () => `"${path}", row ${row + i + 1}`);
        }
        row += block.length;
        yield { table: only.table, keys: block };
      }
      continue;
    }
    for (let i = 0; i < rows; i++, row++) {
      const where = `"${path}", row ${row + 1}`;
      if (time !== undefined) {
        const now = timeFrom(of(time, i), where);
        if (now < before) {
          throw new TraceError(
            `Cannot read the trace ${where}: the time goes back from ${before} to ${now}; sort the rows by it, or leave it ` +
              `out if they are in order: --columns key=${only?.column.name}`,
          );
        }
        before = now;
      }
      const named = table === undefined ? undefined : wordFrom(of(table, i), "table", where);
      const word = sampleOf(roles, () => wordFrom(of(sample, i), "sample", where), row);
      for (const { table: own, column } of keys) {
        const value = of(column, i);
        if (!column.list) {
          batches.add(named ?? own, keyFrom(value, () => where), word, () => where);
          continue;
        }
        const list = Array.isArray(value) ? value : [];
        if (list.length > MOST_BAG) {
          throw new TraceError(
            `Cannot read the trace ${where}: it has ${list.length} keys, expected at most ${MOST_BAG}`,
          );
        }
        for (const key of list) batches.add(named ?? own, keyFrom(key, () => where), word ?? String(row), () => where);
      }
      if (batches.ready.length > 0) yield* batches.take();
    }
  }
  yield* batches.end();
}
