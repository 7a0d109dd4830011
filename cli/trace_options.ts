// @ts-types="@commander-js/extra-typings"
import type { Command, OptionValues } from "commander";
import { parseBytes, parseColumns, type TraceFormat, type TraceOptions } from "../mod.ts";
import { UsageError } from "./exit_codes.ts";

const COLUMNS_HELP: string = "which columns of a trace are what, by name or number: table=…,key=…,sample=…,time=…";
const SEPARATOR_HELP: string = 'what stands between the fields of a trace, e.g. ";", "::", "tab"';
const FORMAT_HELP: string =
  "form of a trace whose bytes do not say: text, i64, i32, oracleGeneral, npy, npz, torch, parquet";

/** Help of the argument of commands that take a trace or a profile. */
export const KEYS_HELP: string = "a trace, as tierbench inspect tells its forms; or a profile: its name or .json";
/** Help of `--table` of such a command. */
export const TABLE_HELP: string =
  "one of several tables; default: of a profile the first, of a trace all, which share the cache";
/** Help of `--rows`, `--s` and `--q`: a law instead. */
export const LAW_HELP: { readonly rows: string; readonly s: string; readonly q: string } = {
  rows: "instead of those: a Zipf-Mandelbrot law of so many rows, e.g. 1e12",
  s: "its skew",
  q: "what flattens its head",
};
/** Help of `--batch`. */
export const BATCH_HELP: string = "lookups that come together and count each row once";
/** Help of `--row-bytes`. */
export const ROW_BYTES_HELP: string = "bytes of a row in the cache";

/** Words of a command line about how a trace is to be read. */
export interface TraceWords {
  /** Which columns are what. */
  readonly columns?: string;
  /** What stands between fields. */
  readonly separator?: string;
  /** Form of the file. */
  readonly format?: string;
}

/** Gives a verb the options that say how a trace is to be read: `--columns`, `--separator`, `--format`. */
export function withTraceOptions<A extends unknown[], O extends OptionValues, G extends OptionValues>(
  verb: Command<A, O, G>,
): Command<A, O & TraceWords, G> {
  return verb
    .option("--columns <roles>", COLUMNS_HELP)
    .option("--separator <text>", SEPARATOR_HELP)
    .option("--format <name>", FORMAT_HELP) as unknown as Command<A, O & TraceWords, G>;
}

/** How a trace is to be read, by the words of the command. */
export function traceOptions(words: TraceWords): TraceOptions {
  const { columns, separator, format } = words;
  return {
    ...(columns === undefined ? {} : { columns: parseColumns(columns) }),
    ...(separator === undefined ? {} : { separator }),
    // The command passes on what the library checks.
    ...(format === undefined ? {} : { format: format as TraceFormat }),
  };
}

/** Help of `--memory`. */
export const MEMORY_HELP: string =
  "what the command may take while it reads a trace; keys beyond are a sample of rows, with its error";
/** What `--memory` is if nobody says. */
export const MEMORY = "1 GiB";
/** What the runtime and its readers take: 250 MiB were measured, with room for garbage that waits. */
const RUNTIME = 384 * 2 ** 20;

/** Bytes that are left for keys and curves, of what the command may take. */
export function memoryForKeys(text: string): number {
  let bytes = NaN;
  try {
    bytes = parseBytes(text);
  } catch { // said below
  }
  if (bytes >= 512 * 2 ** 20) return bytes - RUNTIME;
  throw new UsageError(`Cannot use --memory ${text}: give 512 MiB or more, such as "4 GiB"`);
}
