import { parseBytes, parseColumns, type TraceFormat, type TraceOptions } from "../mod.ts";
import { UsageError } from "./exit_codes.ts";

/** Help of `--columns`. */
export const COLUMNS_HELP: string =
  "which columns of a trace are what, by name or number: table=…,key=…,sample=…,time=…";
/** Help of `--separator`. */
export const SEPARATOR_HELP: string = 'what stands between the fields of a trace, e.g. ";", "::", "tab"';
/** Help of `--format`. */
export const FORMAT_HELP: string =
  "form of a trace whose bytes do not say: text, i64, i32, oracleGeneral, npy, npz, torch, parquet";

/** How a trace is to be read, by the words of the command. */
export function traceOptions(
  words: {
    readonly columns?: string | undefined;
    readonly separator?: string | undefined;
    readonly format?: string | undefined;
  },
): TraceOptions {
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
