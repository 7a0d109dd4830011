/**
 * Training data in the binary cache format: synthetic Criteo, imported Criteo, and what a cache file holds.
 *
 * @module
 */

import { encodeText, message, readText } from "./errors.ts";
import { numberOf, parseLines } from "./facts.ts";
import { native } from "./library.ts";
import { createConfig, type NativeOptions, nativeOptions, seedText } from "./options.ts";
import { type LongCall, runLong, type RunOptions } from "./run.ts";

export type { RunOptions } from "./run.ts";

/** What the model gets for a numeric value x: sign(x) log(1 + |x|) / 2, or (x - minimum) / range with DeepRec's constants. */
export type Numerics = "log" | "min-max";

/** Lines of imported text that were left out. */
export interface SkippedLines {
  /** How many, of train and test rows together. */
  readonly lines: number;
  /** How many of each kind: `columns`, `label`, `number`, `number_range`, `key`, `key_range`, `quote`, `empty`, `long`, `nul`. */
  readonly kinds: Readonly<Record<string, number>>;
  /** File, line and fault of the first of them. */
  readonly first?: string;
}

/** Options of {@linkcode generateData}. What is absent is left to the library's default, given in brackets. */
export interface GenerateOptions {
  /** Path of the file to write. It is written beside it and renamed, so it is never half there. */
  readonly out: string;
  /** Rows to write. */
  readonly rows: number;
  /** Train or test: independent rows of the same planted model (`"train"`). */
  readonly split?: "train" | "test";
  /** For a test file: path of its train file. The description then has the share of unseen keys. */
  readonly train?: string;
  /** Factor on the cardinalities of Criteo Kaggle, above 0 and up to 1 (1). */
  readonly scale?: number;
  /** Exponent s of the Zipf-Mandelbrot skew: the weight of rank r is (r + q)^-s (1.15). */
  readonly skewS?: number;
  /** Shift q of the skew, scaled with the rows of the column (2.7). */
  readonly skewQ?: number;
  /** Rows of the table whose law has this q; 0: each column's own rows in Criteo Kaggle (0). */
  readonly skewRows?: number;
  /** An unsigned 64-bit number (0). */
  readonly seed?: number | bigint;
  /** How numeric values are transformed; keys and labels are the same with either (`"log"`). */
  readonly numerics?: Numerics;
  /** Compute threads (1). */
  readonly threads?: number;
}

/** Options of {@linkcode importCriteo}. What is absent is left to the library's default, given in brackets. */
export interface ImportOptions {
  /** Path of Criteo text, plain or gzip: TSV without header or CSV with one. Of several, the rows follow one another. */
  readonly in: string | readonly string[];
  /** Path of the cache file for training. */
  readonly trainOut: string;
  /** Path of the cache file of held-out rows. */
  readonly testOut: string;
  /** Form of the text (`"auto"`). */
  readonly format?: "auto" | "tsv" | "csv";
  /** Every so manyth row is held out (10). */
  readonly testEvery?: number;
  /** Rows to read at most; 0 = all (0). */
  readonly maxRows?: number;
  /** How numeric values are transformed (`"log"`). */
  readonly numerics?: Numerics;
  /** What becomes of a line that is no row: the import fails and names it, or it is left out and counted (`"error"`). */
  readonly onError?: "error" | "skip";
  /** Threads that share the files; what is written does not depend on it (1). */
  readonly readers?: number;
}

/** What a cache file holds. Figures of the planted model are there for synthetic data only. */
export interface DataDescription {
  /** Rows in the file. */
  readonly rows: number;
  /** Digest of the key stream, hexadecimal. */
  readonly digest: string;
  /** Distinct keys per categorical column; for synthetic data, its vocabulary. */
  readonly cardinalities: readonly number[];
  /** How numeric values were transformed. */
  readonly numerics?: Numerics;
  /** Lines that were left out; imported data only. */
  readonly skipped?: SkippedLines;
  /** AUC of the planted model on these rows: the best that can be reached. */
  readonly plantedAuc?: number;
  /** Logloss of the planted model on these rows. */
  readonly plantedLogloss?: number;
  /** AUC of the planted model's numeric part alone. */
  readonly numericAuc?: number;
  /** Share of the planted logit's variance that the categorical columns carry. */
  readonly categoricalVariance?: number;
  /** Share of held-out (row, column) pairs whose key the training rows never show. */
  readonly unseenShare?: number;
  /** Every pair of `ts_data_describe` as text. */
  readonly facts: Readonly<Record<string, string>>;
}

/**
 * Writes a seeded synthetic Criteo data set whose labels come from a planted model. Progress counts rows.
 *
 * @param options What to write; progress and cancellation.
 * @throws {TierstoreError} `TS_EINVAL`, `TS_EIO` (disk full, path).
 *
 * @example
 * ```ts ignore
 * import { describeData, generateData } from "../mod.ts";
 *
 * await generateData({ out: "train.cache", rows: 100_000, scale: 0.01, seed: 1 });
 * console.log(describeData("train.cache").rows); // 100000
 * ```
 */
export async function generateData(options: GenerateOptions & RunOptions): Promise<void> {
  const words = nativeOptions({
    out: options.out,
    rows: options.rows,
    split: options.split,
    train: options.train,
    scale: options.scale,
    skew_s: options.skewS,
    skew_q: options.skewQ,
    skew_rows: options.skewRows,
    numerics: numericsText(options.numerics),
    seed: seedText(options.seed),
    threads: options.threads,
  });
  await runConfigured("generate data", words, options, (config) => (control, { bytes, capacity }) => {
    return native().ts_data_generate(config, control, bytes, capacity);
  });
}

/**
 * Converts Criteo text into two cache files. Progress counts bytes of the text. Lines that were left out are in
 * {@linkcode describeData}'s answer.
 *
 * @param options What to read and write; progress and cancellation.
 * @throws {TypeError} If no path is given, or one holds a line end.
 * @throws {TierstoreError} `TS_EFORMAT` naming file and line, `TS_EIO`, `TS_EINVAL`, `TS_EUNAVAILABLE` (gzip without
 * zlib).
 *
 * @example
 * ```ts ignore
 * import { importCriteo } from "../mod.ts";
 *
 * await importCriteo({ in: "train.tsv.gz", trainOut: "train.cache", testOut: "test.cache" });
 * ```
 */
export async function importCriteo(options: ImportOptions & RunOptions): Promise<void> {
  const words = nativeOptions({
    in: pathsText(options.in),
    train_out: options.trainOut,
    test_out: options.testOut,
    format: options.format,
    test_every: options.testEvery,
    max_rows: options.maxRows,
    numerics: numericsText(options.numerics),
    on_error: options.onError,
    readers: options.readers,
  });
  await runConfigured("import Criteo data", words, options, (config) => (control, { bytes, capacity }) => {
    return native().ts_data_import(config, control, bytes, capacity);
  });
}

/** The native word for a choice of numerics. */
function numericsText(numerics: Numerics | undefined): string | undefined {
  return numerics === "min-max" ? "min_max" : numerics;
}

function numericsOf(word: string | undefined): { numerics?: Numerics } {
  if (word === "log") return { numerics: "log" };
  return word === "min_max" ? { numerics: "min-max" } : {};
}

/** Paths as the native library takes them: separated by line ends. */
function pathsText(paths: string | readonly string[]): string {
  const list = typeof paths === "string" ? [paths] : paths;
  if (list.length === 0) throw new TypeError("Cannot import Criteo data: no path, expected one or more");
  const bad = list.find((path) => path.includes("\n"));
  if (bad !== undefined) {
    throw new TypeError(`Cannot import Criteo data: the path ${JSON.stringify(bad)} holds a line end`);
  }
  return list.join("\n");
}

/** Makes a long call with a `ts_config` that lives until its end. */
async function runConfigured(
  action: string,
  words: NativeOptions,
  run: RunOptions,
  call: (config: bigint) => LongCall,
): Promise<void> {
  const config = createConfig(words);
  try {
    await runLong(action, undefined, run, call(config));
  } finally {
    native().ts_config_free(config);
  }
}

/**
 * What a cache file holds.
 *
 * @param path The cache file.
 * @throws {TierstoreError} `TS_EIO` if it cannot be read, `TS_EFORMAT` if it is no cache file.
 */
export function describeData(path: string): DataDescription {
  const file = encodeText(path);
  const { bytes, capacity } = message;
  const text = readText(`describe "${path}"`, (...buffer) => {
    return native().ts_data_describe(file, ...buffer, bytes, capacity);
  });
  return parseDataDescription(text);
}

/**
 * Reads a whole cache file and looks whether it is what was written: every 1024 rows against their sum, the keys against the
 * digest, labels and numerics for values that cannot be trained on. Progress counts rows.
 *
 * @param path The cache file.
 * @param run Progress and cancellation.
 * @throws {TierstoreError} `TS_EFORMAT` naming what is damaged, `TS_EIO` if it cannot be read.
 */
export async function verifyData(path: string, run: RunOptions = {}): Promise<void> {
  const file = encodeText(path);
  await runLong(`verify "${path}"`, undefined, run, (control, { bytes, capacity }) => {
    return native().ts_data_verify(file, control, bytes, capacity);
  });
}

/** Reads what `ts_data_describe` writes. */
export function parseDataDescription(text: string): DataDescription {
  const facts = parseLines(text);
  const cardinalities: number[] = [];
  while (facts[`cardinality.${cardinalities.length}`] !== undefined) {
    cardinalities.push(numberOf(facts, `cardinality.${cardinalities.length}`));
  }
  const known = <K extends string>(name: K, key: string): { [P in K]?: number } => {
    return facts[key] === undefined ? {} : { [name]: numberOf(facts, key) } as { [P in K]: number };
  };
  return {
    rows: numberOf(facts, "rows"),
    digest: facts["digest"] ?? "",
    cardinalities,
    ...numericsOf(facts["numerics"]),
    ...(facts["skipped"] === undefined ? {} : { skipped: skippedOf(facts) }),
    ...known("plantedAuc", "planted_auc"),
    ...known("plantedLogloss", "planted_logloss"),
    ...known("numericAuc", "numeric_auc"),
    ...known("categoricalVariance", "categorical_variance"),
    ...known("unseenShare", "unseen_share"),
    facts,
  };
}

function skippedOf(facts: Readonly<Record<string, string>>): SkippedLines {
  const names = Object.keys(facts).filter((name) => name.startsWith("skipped.") && name !== "skipped.first");
  const first = facts["skipped.first"];
  return {
    lines: numberOf(facts, "skipped"),
    kinds: Object.fromEntries(names.map((name) => [name.slice("skipped.".length), numberOf(facts, name)])),
    ...(first === undefined ? {} : { first }),
  };
}
