/**
 * NumPy's archives of arrays (`.npz`), each the keys of a table: a line is a sample. So are the multi-hot files of MLPerf's DLRMv2,
 * whose arrays are called 0 to 25.
 *
 * @module
 */

import type { ArrayHead } from "./array.ts";
import { MOST_BAG, MOST_TABLES, ONLY_TABLE, type TraceBatch, TraceError } from "./batch.ts";
import { chosenLayout, type TraceColumns } from "./columns.ts";
import { NumberStream } from "./number_stream.ts";
import { npyHead } from "./npy.ts";
import { openEntry, readZip, type ZipEntry } from "./zip.ts";

/** An array that is read. */
export interface NpzTable {
  /** Name of the table: the array's. */
  readonly table: string;
  /** Where it is. */
  readonly entry: ZipEntry;
  /** Its lines and columns. */
  readonly head: ArrayHead;
}

/** Keys of a table that are given out together, about. */
const TOGETHER = 32_768;

async function headOf(path: string, entry: ZipEntry): Promise<ArrayHead> {
  using bytes = await openEntry(path, entry);
  return await npyHead(bytes);
}

/**
 * Which arrays of an archive are read as tables.
 *
 * @param path Its file.
 * @param columns Arrays that were chosen, by name or number; `*` is all of them.
 * @throws {TraceError} If they can be read in several ways, are no whole numbers, or have different numbers of lines.
 */
export async function npzTables(path: string, columns?: TraceColumns): Promise<NpzTable[]> {
  const refuse = (what: string): never => {
    throw new TraceError(`Cannot read the NumPy arrays in "${path}": ${what}`);
  };
  const entries = await readZip(path), names = entries.map(({ name }) => name.replace(/\.npy$/, ""));
  const other = entries.find(({ name }) => !name.endsWith(".npy"));
  if (other !== undefined) refuse(`"${other.name.slice(0, 80)}" in it is no NumPy array`);
  if (entries.length > MOST_TABLES) refuse(`it has ${entries.length} arrays, expected at most ${MOST_TABLES}`);
  let chosen = entries.map((_, index) => index);
  if (columns === undefined) {
    const numbered = names.every((name) => /^\d+$/.test(name) && Number(name) < names.length);
    if (!numbered && names.length > 1) {
      const [a = "", b = ""] = names;
      refuse(
        `it has the arrays ${names.slice(0, 20).join(", ")}, which can be read in several ways; say which have keys: ` +
          `--columns key=${a},key=${b} if each of these has keys of a table of its own, --columns key=* if all have`,
      );
    }
    chosen.sort((a, b) => Number(names[a]) - Number(names[b]));
  } else {
    const layout = chosenLayout(columns, names, names.length, refuse);
    if ((layout.table ?? layout.sample ?? layout.time ?? layout.line) !== undefined) {
      refuse("its arrays can be chosen as keys only: --columns key=…; each is a table, and a line of it a sample");
    }
    chosen = layout.keys.map(({ index }) => index);
  }
  const tables: NpzTable[] = [];
  for (const index of chosen) {
    const entry = entries[index];
    if (entry === undefined) continue;
    tables.push({
      table: entries.length === 1 ? ONLY_TABLE : names[index] ?? "",
      entry,
      head: await headOf(path, entry),
    });
  }
  const [first] = tables;
  for (const { entry, head } of tables) {
    if (head.rows !== first?.head.rows) {
      refuse(
        `"${entry.name}" has ${head.rows} lines, "${first?.entry.name}" has ${first?.head.rows}; a line is a sample`,
      );
    }
    if (head.byColumn === true) {
      refuse(`the columns of "${entry.name}" are stored one after the other; save numpy.ascontiguousarray(it)`);
    }
    if (head.columns > MOST_BAG) {
      refuse(`"${entry.name}" has ${head.columns} keys a line, expected at most ${MOST_BAG}`);
    }
  }
  if (tables.length === 0) refuse("it has no arrays");
  return tables;
}

/** Reads the arrays of an archive, some lines of each at a time. @throws {TraceError} As {@linkcode npzTables} does. */
export async function* readNpz(
  path: string,
  options: { readonly inOrder?: boolean; readonly columns?: TraceColumns },
): AsyncGenerator<TraceBatch> {
  const tables = await npzTables(path, options.columns), [first] = tables, rows = first?.head.rows ?? 0;
  using streams = new DisposableStack();
  const numbers: NumberStream[] = [];
  for (const { entry, head } of tables) {
    const bytes = await openEntry(path, entry), stream = new NumberStream(bytes, head);
    numbers.push(streams.use(stream));
    await bytes.advance(head.start);
  }
  const widest = tables.reduce((most, { head }) => Math.max(most, head.columns), 1);
  const step = Math.max(1, Math.floor(TOGETHER / widest));
  for (let row = 0; row < rows; row += step) {
    const lines = Math.min(step, rows - row), blocks: TraceBatch[] = [];
    for (const [i, { table, head: { columns } }] of tables.entries()) {
      const keys = await numbers[i]?.next(lines * columns) ?? new BigInt64Array();
      // An array of one dimension has a key a line.
      const bags = columns === 1 ? {} : { bags: Array<number>(lines).fill(columns) };
      if (keys.length > 0) blocks.push({ table, keys, ...bags });
    }
    if (options.inOrder !== true || blocks.length === 1) {
      yield* blocks;
      continue;
    }
    for (let line = 0; line < lines; line++) {
      for (const { table, keys, bags } of blocks) {
        const width = bags?.[line] ?? 1;
        yield {
          table,
          keys: keys.subarray(line * width, (line + 1) * width),
          ...(bags === undefined ? {} : { bags: [width] }),
        };
      }
    }
  }
  for (const [i, stream] of numbers.entries()) {
    const left = await stream.end();
    if (left > 0) {
      throw new TraceError(
        `Cannot read the NumPy arrays in "${path}": ${left} bytes are left over behind "${tables[i]?.entry.name}"`,
      );
    }
  }
}
