/**
 * Arrays of whole numbers, a line after the other.
 *
 * @module
 */

import { Batches, ONLY_TABLE, type TraceBatch, TraceError } from "./batch.ts";
import type { TraceBytes } from "./bytes.ts";
import { chosenLayout, type Roles, sampleOf, type TraceColumns } from "./columns.ts";
import { numberAt, type NumberForm, NumberRoom, numbersOf } from "./numbers.ts";

/** An array of whole numbers in a file. */
export interface ArrayHead extends NumberForm {
  /** What errors call it. */
  readonly what: "NumPy array" | "tensor";
  /** Lines. */
  readonly rows: number;
  /** Columns: 1 for arrays of one dimension. */
  readonly columns: number;
  /** Bytes before the first number. */
  readonly start: number;
  /** Columns stand one after the other (NumPy's Fortran order), not lines. */
  readonly byColumn?: boolean;
}

/** Which columns of an array are what. @throws {TraceError} If it has several and none was chosen. */
export function arrayLayout(
  path: string,
  { what: array, columns: count }: ArrayHead,
  columns?: TraceColumns,
): Roles {
  const refuse = (what: string): never => {
    throw new TraceError(`Cannot read the ${array} "${path}": ${what}`);
  };
  if (columns !== undefined) return chosenLayout(columns, undefined, count, refuse);
  if (count > 1) {
    refuse(
      `it has ${count} columns, which can be read in several ways; say which columns are what: --columns key=1,key=2 if ` +
        "each of these has keys of a table of its own, --columns key=* if all have, --columns key=*,sample=* if a line is a sample of one table, " +
        "--columns table=1,key=2 if one names tables; sample=… names samples",
    );
  }
  return { keys: [{ index: 0, table: ONLY_TABLE }] };
}

/**
 * Reads an array of whole numbers: a key a line, or chosen columns.
 *
 * @param bytes Its numbers, and before them `head.start` bytes that were peeked at.
 * @param head What it is.
 * @param options Columns that were chosen.
 * @throws {TraceError} If it is cut short or too long.
 */
export async function* readArray(
  bytes: TraceBytes,
  head: ArrayHead,
  options: { readonly inOrder?: boolean; readonly columns?: TraceColumns; readonly reuse?: boolean },
): AsyncGenerator<TraceBatch> {
  const roles = arrayLayout(bytes.path, head, options.columns), { table, keys, time } = roles;
  bytes.skip(head.start);
  if (head.byColumn === true) return yield* readColumn(bytes, head, roles);
  const line = head.width * head.columns;
  bytes.align(line);
  const batches = new Batches(options.inOrder === true);
  // Keys alone, one after the other.
  const plain = keys.length === head.columns && (table ?? roles.sample ?? time) === undefined &&
    (head.columns === 1 || (roles.line === true && keys.every(({ index }, i) => index === i)));
  const room = options.reuse === true ? new NumberRoom() : undefined;
  const where = () => `"${bytes.path}", line ${row + 1}`;
  let row = 0, before: bigint | undefined;
  for (;;) {
    const block = await bytes.take(line), n = Math.floor(block.length / line);
    if (block.length === 0) break;
    const refuse = (what: string): never => {
      throw new TraceError(`Cannot read the ${head.what} "${bytes.path}", line ${row + 1}: ${what}`);
    };
    if (n === 0) refuse(`it ends within a line of ${line} bytes`);
    if (row + n > head.rows) {
      row = head.rows;
      refuse(`bytes are left over behind the ${head.rows} lines that its shape says`);
    }
    if (plain) {
      row += n;
      if (block.length > n * line) refuse(`it ends within a line of ${line} bytes`);
      const bags = roles.line === true ? { bags: Array<number>(n).fill(head.columns) } : {};
      yield { table: keys[0]?.table ?? ONLY_TABLE, keys: numbersOf(block, head, room), ...bags };
      continue;
    }
    const view = new DataView(block.buffer, block.byteOffset, block.length);
    for (let i = 0; i < n; i++, row++) {
      const field = (column: number) => numberAt(view, i * line + column * head.width, head);
      if (time !== undefined) {
        const now = field(time);
        if (before !== undefined && now < before) refuse(`the time goes back from ${before} to ${now}`);
        before = now;
      }
      for (const each of keys) {
        batches.add(
          table === undefined ? each.table : String(field(table)),
          field(each.index),
          sampleOf(roles, (column) => String(field(column)), row),
          where,
        );
      }
      if (batches.ready.length > 0) yield* batches.take();
    }
  }
  if (row < head.rows) {
    throw new TraceError(
      `Cannot read the ${head.what} "${bytes.path}": it ends after ${row} of ${head.rows} lines`,
    );
  }
  yield* batches.end();
}

/** The keys of one column of an array whose columns stand one after the other. */
async function* readColumn(bytes: TraceBytes, head: ArrayHead, roles: Roles): AsyncGenerator<TraceBatch> {
  const { table, keys, sample, line, time } = roles, [key] = keys;
  const refuse = (what: string): never => {
    throw new TraceError(`Cannot read the ${head.what} "${bytes.path}": ${what}`);
  };
  if (key === undefined || keys.length > 1 || line === true || (table ?? sample ?? time) !== undefined) {
    refuse("its columns are stored one after the other; choose one alone, or save numpy.ascontiguousarray(it)");
  }
  bytes.align(head.width);
  const from = (key?.index ?? 0) * head.rows, all = head.rows * head.columns;
  for (let seen = 0;;) {
    const block = await bytes.take(head.width), n = Math.floor(block.length / head.width);
    if (block.length === 0) return seen < all ? refuse(`it ends after ${seen} of ${all} numbers`) : undefined;
    if (block.length > n * head.width) refuse("it ends within a number");
    if (seen + n > all) refuse(`bytes are left over behind the ${all} numbers that its shape says`);
    const begin = Math.max(0, from - seen), end = Math.min(n, from + head.rows - seen);
    if (begin < end) {
      const part = block.subarray(begin * head.width, end * head.width);
      yield { table: key?.table ?? ONLY_TABLE, keys: numbersOf(part, head) };
    }
    seen += n;
  }
}
