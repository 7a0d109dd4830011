import { parseColumns, type TraceFormat, type TraceOptions } from "../mod.ts";

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
