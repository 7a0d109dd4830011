/**
 * Traces of text: lines of fields.
 *
 * @module
 */

import { traceLines } from "../../../ffi/trace.ts";
import { Batches, type TraceBatch, TraceError } from "./batch.ts";
import type { TraceBytes } from "./bytes.ts";
import { fieldsOf, type Layout, layoutOf, sampleOf, type TraceColumns } from "./columns.ts";
import { NumberLines } from "./number_lines.ts";
import { HEAD } from "./recognise.ts";
import { keyOf, timeOf } from "./words.ts";

const LF = 10, CR = 13;
/** A line without an end is not kept in memory beyond this many characters. */
const LONGEST_LINE = 65_536;
/** Bytes of a character at most. */
const MOST_BYTES = 4;
/** Lines that are looked at to tell columns. */
const LOOKED_AT = 1000;
/** Keys that the library reads at once. */
const TOGETHER = 1 << 16;
/** In place of a category that is missing. No key of a Criteo file is negative. */
const MISSING = -1n;

function categoryOf(word: string, table: string, where: string): bigint {
  if (word === "") return MISSING;
  if (/^[0-9a-f]{1,16}$/i.test(word)) return BigInt.asIntN(64, BigInt(`0x${word}`));
  throw new TraceError(`Cannot read the trace ${where}: ${table} is "${word}", expected a hexadecimal number`);
}

/** How the text is read, by its head. */
async function layoutOfHead(
  bytes: TraceBytes,
  options: { readonly columns?: TraceColumns; readonly separator?: string },
): Promise<{ layout: Layout; comments: number }> {
  const head = await bytes.peek(HEAD);
  const text = new TextDecoder().decode(head, { stream: true });
  const lines = text.split(text.includes("\n") ? /\r?\n/ : "\r");
  if (head.length === HEAD && lines.length > 1) lines.pop(); // cut
  while (lines.length > 1 && lines.at(-1)?.trim() === "") lines.pop();
  let comments = 0;
  while (comments < lines.length && lines[comments]?.startsWith("#")) comments++;
  const where = `"${bytes.path}", line ${comments + 1}`;
  const refuse = (what: string): never => {
    throw new TraceError(`Cannot read the trace ${where}: ${what}`);
  };
  if (comments === lines.length) refuse("it has nothing but lines that begin with #, which are comments; no keys");
  const [first = ""] = lines.slice(comments);
  if (first.trim() === "") refuse("it is empty");
  if (first.length > LONGEST_LINE) refuse(`it has more than ${LONGEST_LINE} characters`);
  const looked = lines.slice(comments, comments + LOOKED_AT).filter((line) => line.trim() !== "");
  return { layout: layoutOf(looked, options, refuse), comments };
}

/**
 * How a text is read.
 *
 * @param bytes The file; it is left at its beginning.
 * @param options Columns and separator that were chosen.
 * @throws {TraceError} If it can be read in several ways, or in none.
 */
export async function textLayout(
  bytes: TraceBytes,
  options: { readonly columns?: TraceColumns; readonly separator?: string },
): Promise<Layout> {
  return (await layoutOfHead(bytes, options)).layout;
}

/** Reads a text. @throws {TraceError} Naming the line. */
export async function* readText(
  bytes: TraceBytes,
  options: {
    readonly inOrder?: boolean;
    readonly reuse?: boolean;
    readonly columns?: TraceColumns;
    readonly separator?: string;
  },
): AsyncGenerator<TraceBatch> {
  const { layout, comments } = await layoutOfHead(bytes, options);
  const { table, keys, time, criteo } = layout, batches = new Batches(options.inOrder === true);
  let number = 0, empty = 0, before = -Infinity;
  const where = () => `"${bytes.path}", line ${number}`;
  const refuse = (what: string): never => {
    throw new TraceError(`Cannot read the trace ${where()}: ${what}`);
  };
  const checkNotEmpty = () => {
    if (empty > 0) throw new TraceError(`Cannot read the trace "${bytes.path}", line ${empty}: it is empty`);
  };
  /** Any line. */
  const add = (line: string): void => {
    if (line.includes("\0")) refuse("it has NUL characters: binary data, no text");
    if (number <= comments || (number === comments + 1 && layout.header)) return;
    if (line.trim() === "") {
      empty ||= number; // only right at the end
      return;
    }
    checkNotEmpty();
    if (line.startsWith("#")) {
      refuse("it begins with #, as comments do, which stand above the first key; take it out");
    }
    const fields = fieldsOf(line, layout.separator);
    if (fields.length !== layout.fields) {
      refuse(`it has ${fields.length} fields, the first line has ${layout.fields}`);
    }
    if (time !== undefined) {
      const now = timeOf(fields[time] ?? "", where());
      if (now < before) {
        refuse(
          `the time goes back from ${before} to ${now}; sort the lines by it, or leave it out if they are in order: ` +
            `--columns key=${layout.names[keys[0]?.index ?? 0] ?? 1}`,
        );
      }
      before = now;
    }
    const named = table === undefined ? undefined : fields[table] ?? "";
    if (named === "") refuse("the table is empty");
    for (const each of keys) {
      const word = fields[each.index] ?? "";
      const key = criteo ? categoryOf(word, each.table, where()) : keyOf(word, where());
      batches.add(named ?? each.table, key, sampleOf(layout, (column) => fields[column] ?? "", number), where);
    }
  };
  const plain = NumberLines.takes(layout) ? new NumberLines(layout, LONGEST_LINE) : undefined;
  const head = await bytes.peek(HEAD), end = !head.includes(LF) && head.includes(CR) ? CR : LF;
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  const sample = (): string => plain?.sample.word ?? "";
  // One key a line is read by the library, up to the first line that is not plain.
  const [first] = keys, alone = keys.length === 1 && (table ?? layout.sample) === undefined && layout.line !== true;
  const only = plain !== undefined && alone && end === LF ? first?.table : undefined;
  const column = {
    separator: String(layout.separator).charCodeAt(0),
    fields: layout.fields,
    column: first?.index ?? 0,
  };
  const together = new BigInt64Array(only === undefined ? 0 : TOGETHER);
  let rest: Uint8Array<ArrayBuffer> = new Uint8Array();
  for (;;) {
    const block = await bytes.takeOn(rest), last = block.length === rest.length;
    let at = 0;
    while (at < block.length) {
      if (only !== undefined && number > comments) {
        const { count, bytes: used } = traceLines(block.subarray(at), together, column);
        if (count > 0) {
          number++;
          checkNotEmpty();
          number += count - 1;
          at += used;
          yield* batches.end(); // lines before these
          yield { table: only, keys: options.reuse === true ? together.subarray(0, count) : together.slice(0, count) };
          continue;
        }
      }
      const next = plain === undefined || end !== LF || number < comments + 1 ? 0 : plain.read(block, at);
      if (plain !== undefined && next > 0) {
        number++;
        checkNotEmpty();
        at = next;
        for (let i = 0; i < keys.length; i++) {
          const name = table === undefined ? keys[i]?.table ?? "" : plain.table.word;
          batches.add(name, plain.keys[i] as number, sampleOf(layout, sample, number), where);
        }
      } else {
        const found = block.indexOf(end, at), to = found < 0 ? block.length : found;
        const long = to - at > MOST_BYTES * LONGEST_LINE;
        if (found < 0 && !last && !long) break;
        number++;
        let line = "";
        try {
          if (!long) line = decoder.decode(block.subarray(at, to));
        } catch {
          refuse("it is no UTF-8 text");
        }
        if (long || line.length > LONGEST_LINE) refuse(`it has more than ${LONGEST_LINE} characters`);
        if (number === 1) line = line.replace(/^\ufeff/, "");
        add(end === LF && line.endsWith("\r") ? line.slice(0, -1) : line);
        at = to + 1;
      }
      if (batches.ready.length > 0) yield* batches.take();
    }
    if (last) break;
    rest = block.subarray(Math.min(at, block.length));
  }
  yield* batches.end();
}
