/**
 * Reads key traces: which rows were looked up, in order.
 *
 * @module
 */

/** A trace that was read. */
export interface Trace {
  /** One key a lookup; keys of different tables differ. */
  readonly keys: BigInt64Array;
  /** Names of the tables, as they came; empty if the trace has no tables. */
  readonly tables: readonly string[];
}

/**
 * Reads a trace: `.i64` is raw little-endian 64-bit keys; anything else is text with one key a line, or CSV with the
 * columns `table,key` (a third, `sample`, is passed over), each with or without a header line. Keys are whole numbers of
 * 64 bits. With tables, keys are mixed with the table's name: equal keys of two tables are two rows.
 *
 * @throws {SyntaxError} Naming the first line that is none of these.
 */
export async function readTrace(path: string): Promise<Trace> {
  if (path.endsWith(".i64")) {
    const bytes = await Deno.readFile(path);
    if (bytes.length % 8 === 0) return { keys: new BigInt64Array(bytes.buffer), tables: [] };
    throw new SyntaxError(`Cannot read the trace "${path}": ${bytes.length} bytes are no whole number of 64-bit keys`);
  }
  const builder = new TraceBuilder(path);
  using file = await Deno.open(path);
  let rest = "";
  for await (const text of file.readable.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) builder.add(line);
  }
  if (rest !== "") builder.add(rest);
  return builder.trace();
}

/** Lines become keys. */
class TraceBuilder {
  readonly #path: string;
  readonly #tables = new Map<string, bigint>();
  #keys = new BigInt64Array(1 << 16);
  #count = 0;
  #line = 0;
  #columns: number | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  add(line: string): void {
    this.#line++;
    const cells = line.trimEnd().split(",").map((cell) => cell.trim());
    if (cells.length === 1 && cells[0] === "") return;
    const header = this.#columns === undefined && this.#line === 1 && cells.some((cell) => cell === "key");
    if (header) {
      const known = ["key", "table,key", "table,key,sample"];
      if (known.includes(cells.join(","))) return;
      throw this.#wrong(`has the columns "${line.trim()}"; give one of ${known.map((one) => `"${one}"`).join(", ")}`);
    }
    this.#columns ??= cells.length;
    if (cells.length !== this.#columns || cells.length > 3) {
      throw this.#wrong(`has ${cells.length} columns; give key, or table,key, or table,key,sample, in every line`);
    }
    const text = (this.#columns === 1 ? cells[0] : cells[1]) as string;
    if (!/^-?\d{1,19}$/.test(text)) throw this.#wrong(`has the key "${text}"; give a whole number of 64 bits`);
    const key = BigInt(text);
    if (BigInt.asIntN(64, key) !== key) throw this.#wrong(`has the key "${text}", which has more than 64 bits`);
    this.#push(this.#columns === 1 ? key : BigInt.asIntN(64, key ^ this.#table(cells[0] as string)));
  }

  trace(): Trace {
    return { keys: this.#keys.slice(0, this.#count), tables: [...this.#tables.keys()] };
  }

  /** 64 bits of the name (FNV-1a, mixed): with them equal keys of two tables are two rows. */
  #table(name: string): bigint {
    const known = this.#tables.get(name);
    if (known !== undefined) return known;
    let hash = 0xcbf29ce484222325n;
    for (const byte of new TextEncoder().encode(name)) {
      hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n);
    }
    hash = BigInt.asUintN(64, (hash ^ hash >> 32n) * 0x9e3779b97f4a7c15n);
    this.#tables.set(name, hash);
    return hash;
  }

  #push(key: bigint): void {
    if (this.#count === this.#keys.length) {
      const larger = new BigInt64Array(2 * this.#count);
      larger.set(this.#keys);
      this.#keys = larger;
    }
    this.#keys[this.#count++] = key;
  }

  #wrong(what: string): SyntaxError {
    return new SyntaxError(`Cannot read the trace "${this.#path}": line ${this.#line} ${what}`);
  }
}
