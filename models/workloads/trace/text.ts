/**
 * Traces of text: lines of fields.
 *
 * @module
 */

import { Batches, type TraceBatch, TraceError } from "./batch.ts";
import type { TraceBytes } from "./bytes.ts";
import { fieldsOf, type Layout, layoutOf, sampleOf, type TraceColumns } from "./columns.ts";
import { HEAD } from "./recognise.ts";
import { keyOf, timeOf } from "./words.ts";

/** A line without an end is not kept in memory beyond this many characters. */
const LONGEST_LINE = 65_536;
/** Lines that are looked at to tell columns. */
const LOOKED_AT = 1000;
/** In place of a category that is missing. No key of a Criteo file is negative. */
const MISSING = -1n;

function categoryOf(word: string, table: string, where: string): bigint {
  if (word === "") return MISSING;
  if (/^[0-9a-f]{1,16}$/i.test(word)) return BigInt.asIntN(64, BigInt(`0x${word}`));
  throw new TraceError(`Cannot read the trace ${where}: ${table} is "${word}", expected a hexadecimal number`);
}

/** Lines as they come; line ends are LF, CRLF or, where the head has no LF, CR. */
async function* linesOf(bytes: TraceBytes): AsyncGenerator<readonly string[]> {
  const head = await bytes.peek(HEAD);
  const end = !head.includes(10) && head.includes(13) ? "\r" : "\n";
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let rest = "", number = 0;
  const damaged = (what: string) =>
    new TraceError(`Cannot read the trace "${bytes.path}", line ${number + 1} or after: ${what}`);
  for (;;) {
    const block = await bytes.take(), last = block.length === 0;
    let text: string;
    try {
      text = decoder.decode(block, { stream: !last });
    } catch {
      throw damaged("it is no UTF-8 text");
    }
    if (text.includes("\0")) throw damaged("it has NUL characters: binary data, no text");
    const lines = (rest + text).split(end);
    rest = last ? "" : lines.pop() ?? "";
    const longest = rest.length > LONGEST_LINE ? lines.length : lines.findIndex((line) => line.length > LONGEST_LINE);
    if (longest >= 0) {
      throw new TraceError(
        `Cannot read the trace "${bytes.path}", line ${
          number + longest + 1
        }: it has more than ${LONGEST_LINE} characters`,
      );
    }
    number += lines.length;
    yield end === "\n" ? lines.map((line) => line.endsWith("\r") ? line.slice(0, -1) : line) : lines;
    if (last) return;
  }
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
  options: { readonly inOrder?: boolean; readonly columns?: TraceColumns; readonly separator?: string },
): AsyncGenerator<TraceBatch> {
  const { layout, comments } = await layoutOfHead(bytes, options);
  const { table, keys, time, criteo } = layout, batches = new Batches(options.inOrder === true);
  let number = 0, empty = 0, before = -Infinity;
  for await (const lines of linesOf(bytes)) {
    for (const line of lines) {
      number++;
      if (number <= comments || (number === comments + 1 && layout.header)) continue;
      const where = `"${bytes.path}", line ${number}`;
      if (line.trim() === "") {
        empty ||= number; // only right at the end
        continue;
      }
      if (empty > 0) throw new TraceError(`Cannot read the trace "${bytes.path}", line ${empty}: it is empty`);
      if (line.startsWith("#")) {
        throw new TraceError(
          `Cannot read the trace ${where}: it begins with #, as comments do, which stand above the first key; take it out`,
        );
      }
      const fields = fieldsOf(line, layout.separator);
      if (fields.length !== layout.fields) {
        throw new TraceError(
          `Cannot read the trace ${where}: it has ${fields.length} fields, the first line has ${layout.fields}`,
        );
      }
      if (time !== undefined) {
        const now = timeOf(fields[time] ?? "", where);
        if (now < before) {
          throw new TraceError(
            `Cannot read the trace ${where}: the time goes back from ${before} to ${now}; sort the lines by it, or ` +
              `leave it out if they are in order: --columns key=${layout.names[keys[0]?.index ?? 0] ?? 1}`,
          );
        }
        before = now;
      }
      const named = table === undefined ? undefined : fields[table] ?? "";
      if (named === "") throw new TraceError(`Cannot read the trace ${where}: the table is empty`);
      for (const each of keys) {
        const word = fields[each.index] ?? "";
        const key = criteo ? categoryOf(word, each.table, where) : keyOf(word, where);
        batches.add(named ?? each.table, key, sampleOf(layout, (column) => fields[column] ?? "", number), where);
      }
      if (batches.ready.length > 0) yield* batches.take();
    }
  }
  yield* batches.end();
}
