/**
 * Traces of keys: text with a key a line, `table,key[,sample]`, Criteo rows, or raw 64-bit numbers. Read in one pass, a block
 * at a time. A damaged line is an error that names it.
 *
 * @module
 */

/** Keys of one table, in their order, and how many each sample has where the trace tells samples apart. */
export interface TraceBatch {
  /** Name of the table. */
  readonly table: string;
  /** Keys. */
  readonly keys: BigInt64Array;
  /** Keys of each of the batch's samples; absent: each key is a sample. */
  readonly bags?: readonly number[];
}

/** Forms of a trace. */
type TraceFormat = "keys" | "table-key" | "table-key-sample" | "criteo" | "i64";

/** A trace that cannot be read. */
export class TraceError extends Error {
  /** Name of the class. */
  override readonly name = "TraceError";
}

/** Keys of one batch at most. */
const BATCH = 65_536;
const RAW_BYTES = 1 << 20;
/** A line without an end is not kept in memory beyond this many characters. */
const LONGEST_LINE = 65_536;
/** Table of a trace that names none. */
const ONLY_TABLE = "keys";
const CRITEO = { label: 1, numerics: 13, categories: 26 };
/** In place of a category that is missing. No key of a Criteo file is negative. */
const MISSING = -1n;

const encoder = new TextEncoder();

/** FNV-1a over UTF-8, 64 bits: the key of a word that is no number. */
function keyOfWord(word: string): bigint {
  let hash = 0xcbf29ce484222325n;
  for (const byte of encoder.encode(word)) hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n);
  return BigInt.asIntN(64, hash);
}

function keyOf(word: string, where: string): bigint {
  if (word === "") throw new TraceError(`Cannot read the trace ${where}: the key is empty`);
  if (!/^[+-]?\d+$/.test(word)) return keyOfWord(word);
  const key = BigInt(word.startsWith("+") ? word.slice(1) : word);
  if (BigInt.asIntN(64, key) === key || BigInt.asUintN(64, key) === key) return BigInt.asIntN(64, key);
  throw new TraceError(`Cannot read the trace ${where}: the key ${word} does not fit 64 bits`);
}

async function* linesOf(path: string): AsyncGenerator<{ line: string; number: number }> {
  using file = await Deno.open(path);
  const decoder = new TextDecoder("utf-8", { fatal: true }), buffer = new Uint8Array(RAW_BYTES);
  let rest = "", number = 0;
  for (let read = await file.read(buffer);; read = await file.read(buffer)) {
    let text: string;
    try {
      text = decoder.decode(read === null ? new Uint8Array() : buffer.subarray(0, read), { stream: read !== null });
    } catch {
      throw new TraceError(
        `Cannot read the trace "${path}", line ${
          number + 1
        } or after: it is no UTF-8 text; raw numbers need a name that ends with .i64`,
      );
    }
    const lines = (rest + text).split("\n");
    rest = read === null ? "" : lines.pop() ?? "";
    if (rest.length > LONGEST_LINE) {
      throw new TraceError(
        `Cannot read the trace "${path}", line ${
          number + lines.length + 1
        }: it has more than ${LONGEST_LINE} characters`,
      );
    }
    for (const line of lines) {
      number++;
      yield { line: line.endsWith("\r") ? line.slice(0, -1) : line, number };
    }
    if (read === null) return;
  }
}

interface Layout {
  readonly format: TraceFormat;
  readonly separator: string;
  /** Fields of a line. */
  readonly fields: number;
  /** The first line is a header. */
  readonly header: boolean;
  /** First field of the categories, Criteo only. */
  readonly first: number;
}

/** What the first line says of the others. */
function layoutOf(line: string, where: string): Layout {
  const separator = line.includes("\t") ? "\t" : ",", fields = line.split(separator), n = fields.length;
  const { label, numerics, categories } = CRITEO, criteo = label + numerics + categories;
  if (n === criteo || n === criteo + 1) {
    const header = fields.some((field) => /^(label|C1|I1)$/i.test(field.trim()));
    return { format: "criteo", separator, fields: n, header, first: n - categories };
  }
  const words = fields.map((field) => field.trim().toLowerCase());
  const header = ["key", "id", "table", "sample", "row", "index"].includes(words[n - 1] ?? "") || words[1] === "key";
  if (n === 1) return { format: "keys", separator, fields: 1, header, first: 0 };
  if (n === 2) return { format: "table-key", separator, fields: 2, header, first: 0 };
  if (n === 3) return { format: "table-key-sample", separator, fields: 3, header, first: 0 };
  throw new TraceError(
    `Cannot read the trace ${where}: it has ${n} fields; expected 1 (key), 2 (table, key), 3 (table, key, sample) or ` +
      `Criteo's ${criteo}`,
  );
}

/** Keys that wait for their batch to be full. */
class Pending {
  readonly keys = new BigInt64Array(BATCH);
  readonly bags: number[] = [];
  count = 0;
  sample: string | undefined;
}

/**
 * Reads a trace.
 *
 * @param path Its file; `.i64` is raw little-endian 64-bit keys, anything else text.
 * @param options `inOrder`: batches come in the order of the trace, however its tables alternate. Without, each table's keys are
 * in their order, and batches are long.
 * @throws {TraceError} Naming file and line.
 */
export async function* readTrace(
  path: string,
  options: { readonly inOrder?: boolean } = {},
): AsyncGenerator<TraceBatch> {
  if (path.endsWith(".i64")) {
    yield* readRaw(path);
    return;
  }
  const tables = new Map<string, Pending>();
  let layout: Layout | undefined;
  function* flush(table: string, pending: Pending): Generator<TraceBatch> {
    if (pending.count === 0) return;
    const keys = pending.keys.slice(0, pending.count);
    yield { table, keys, ...(layout?.format === "table-key-sample" ? { bags: [...pending.bags] } : {}) };
    pending.count = 0;
    pending.bags.length = 0;
  }
  let last: string | undefined;
  /** What must be given out before a key of this table, so that the order holds. */
  function* before(table: string): Generator<TraceBatch> {
    if (options.inOrder === true && last !== undefined && last !== table) yield* flush(last, pendingOf(last));
    last = table;
  }
  const pendingOf = (table: string) => {
    const found = tables.get(table) ?? new Pending();
    tables.set(table, found);
    return found;
  };
  for await (const { line, number } of linesOf(path)) {
    const where = `"${path}", line ${number}`;
    if (line === "" && (layout === undefined || number > 1)) {
      if (layout === undefined && number === 1) throw new TraceError(`Cannot read the trace ${where}: it is empty`);
      layout ??= layoutOf(line, where);
      tables.set("", tables.get("") ?? new Pending()); // an empty line is only right at the end
      continue;
    }
    if (tables.has("")) throw new TraceError(`Cannot read the trace "${path}", line ${number - 1}: it is empty`);
    if (layout === undefined) {
      layout = layoutOf(line, where);
      if (layout.header) continue;
    }
    const fields = line.split(layout.separator);
    if (fields.length !== layout.fields) {
      throw new TraceError(
        `Cannot read the trace ${where}: it has ${fields.length} fields, the first line has ${layout.fields}`,
      );
    }
    if (layout.format === "criteo") {
      for (let c = 0; c < CRITEO.categories; c++) {
        const table = `C${c + 1}`, pending = pendingOf(table), word = (fields[layout.first + c] ?? "").trim();
        if (word !== "" && !/^[0-9a-f]{1,16}$/i.test(word)) {
          throw new TraceError(`Cannot read the trace ${where}: ${table} is "${word}", expected a hexadecimal number`);
        }
        yield* before(table);
        pending.keys[pending.count++] = word === "" ? MISSING : BigInt.asIntN(64, BigInt(`0x${word}`));
        if (pending.count === BATCH) yield* flush(table, pending);
      }
      continue;
    }
    const [table, word, sample] = layout.fields === 1 ? [ONLY_TABLE, fields[0]] : fields;
    if (table === undefined || table.trim() === "") {
      throw new TraceError(`Cannot read the trace ${where}: the table is empty`);
    }
    const pending = pendingOf(table.trim());
    const key = keyOf((word ?? "").trim(), where);
    yield* before(table.trim());
    if (sample !== undefined && sample !== pending.sample) {
      if (pending.count >= BATCH / 2) yield* flush(table.trim(), pending);
      pending.bags.push(0);
      pending.sample = sample;
    }
    if (sample !== undefined) pending.bags[pending.bags.length - 1]! += 1;
    if (pending.count === BATCH) {
      throw new TraceError(`Cannot read the trace ${where}: one sample has more than ${BATCH / 2} keys of a table`);
    }
    pending.keys[pending.count++] = key;
    if (sample === undefined && pending.count === BATCH) yield* flush(table.trim(), pending);
  }
  for (const [table, pending] of tables) yield* flush(table, pending);
}

async function* readRaw(path: string): AsyncGenerator<TraceBatch> {
  using file = await Deno.open(path);
  const buffer = new Uint8Array(RAW_BYTES);
  let held = 0, offset = 0;
  for (;;) {
    const read = await file.read(buffer.subarray(held));
    if (read !== null) held += read;
    const whole = held - held % 8;
    if (whole > 0) {
      yield { table: ONLY_TABLE, keys: new BigInt64Array(buffer.slice(0, whole).buffer) };
      buffer.copyWithin(0, whole, held);
      offset += whole;
      held -= whole;
    }
    if (read !== null) continue;
    if (held > 0) {
      throw new TraceError(
        `Cannot read the trace "${path}", byte ${offset}: ${held} bytes are left over; a raw key has 8`,
      );
    }
    return;
  }
}
