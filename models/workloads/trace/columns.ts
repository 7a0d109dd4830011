/**
 * Which column of a text is what: chosen by words, told by a header, or by a form that can only be read one way. Anything else
 * is refused with the readings there are.
 *
 * @module
 */

import { ONLY_TABLE, TraceError } from "./batch.ts";

/** Columns of a trace, each by the name in its header or by its number from 1. */
export interface TraceColumns {
  /** Column that names the table; absent: each column of keys is a table. */
  readonly table?: string;
  /** Columns of keys; `*` alone: all that are nothing else. */
  readonly key: readonly string[];
  /** Column whose word is the same in all lines of a sample; `*`: each line is a sample; absent: each key is one. */
  readonly sample?: string;
  /** Column of times, which must not fall: numbers, or dates. */
  readonly time?: string;
}

/** How lines are read. */
export interface Layout {
  /** What stands between fields. */
  readonly separator: string | RegExp;
  /** Fields of a line. */
  readonly fields: number;
  /** The first line is a header. */
  readonly header: boolean;
  /** Words of the header, or numbers. */
  readonly names: readonly string[];
  /** Index of the table's column. */
  readonly table?: number;
  /** Indices of the columns of keys, and the table of each where no column names it. */
  readonly keys: readonly { readonly index: number; readonly table: string }[];
  /** Index of the sample's column. */
  readonly sample?: number;
  /** A line is a sample: all its keys are of one table. */
  readonly line?: true;
  /** Index of the time's column. */
  readonly time?: number;
  /** Keys are hexadecimal numbers of 32 bits, and may be missing. */
  readonly criteo: boolean;
}

const CRITEO = { label: 1, numerics: 13, categories: 26 };
const ROLES = ["table", "key", "sample", "time"] as const;
type Role = typeof ROLES[number];

/**
 * Columns from `table=feature,key=row,sample=request`. `key` may be given several times: each is a table.
 *
 * @param text The words.
 * @throws {TraceError} Naming what is no such word.
 */
export function parseColumns(text: string): TraceColumns {
  const found: Record<Role, string[]> = { table: [], key: [], sample: [], time: [] };
  for (const part of text.split(",")) {
    const [role = "", ...rest] = part.split("="), column = rest.join("=").trim();
    const known = ROLES.find((name) => name === role.trim());
    if (known === undefined || column === "") {
      throw new TraceError(
        `Cannot use --columns ${text}: "${part}" is none of table=…, key=…, sample=…, time=…, each with the name of a ` +
          "column or its number from 1",
      );
    }
    found[known].push(column);
  }
  for (const role of ["table", "sample", "time"] as const) {
    if (found[role].length > 1) throw new TraceError(`Cannot use --columns ${text}: ${role} is given twice`);
  }
  if (found.key.length === 0) throw new TraceError(`Cannot use --columns ${text}: key=… is missing`);
  if (found.key.length > 1 && found.table.length > 0 && found.sample[0] !== "*") {
    throw new TraceError(
      `Cannot use --columns ${text}: with several columns of keys, each is a table; leave table out`,
    );
  }
  const one = (role: Role) => found[role][0] === undefined ? {} : { [role]: found[role][0] };
  return { key: found.key, ...one("table"), ...one("sample"), ...one("time") };
}

const NUMBER = /^[+-]?\d+(\.\d+)?([eE][+-]?\d+)?$/;
const BLANKS = /[ \t]+/;
const SEPARATORS: readonly (string | RegExp)[] = ["\t", "::", ",", ";", "|", BLANKS];

/** A separator in words. */
const nameOf = (separator: string | RegExp) =>
  separator === "\t" ? "tabs" : typeof separator === "string" ? `"${separator}"` : "blanks";

/** Fields of a line, without the blanks and the double quotes around them. */
export function fieldsOf(line: string, separator: string | RegExp): string[] {
  return line.trim().split(separator).map((field) => {
    const bare = field.trim();
    return bare.length > 1 && bare.startsWith('"') && bare.endsWith('"') ? bare.slice(1, -1).trim() : bare;
  });
}

function separatorOf(lines: readonly string[], refuse: (what: string) => never): string | RegExp | undefined {
  const [first = ""] = lines;
  const count = (line: string, separator: string | RegExp) => line.trim().split(separator).length;
  const viable = SEPARATORS.filter((separator) => count(first, separator) > 1);
  const steady = viable.filter((separator) =>
    lines.every((line) => count(line, separator) === count(first, separator))
  );
  // Blanks and tabs lie inside fields, too.
  const strong = steady.filter((separator) => separator !== BLANKS);
  if (strong.length > 1) {
    const [a, b] = strong;
    if (a !== undefined && b !== undefined) {
      refuse(
        `fields may be separated by ${nameOf(a)} (${count(first, a)} a line) or by ${nameOf(b)} (${
          count(first, b)
        } a line); say which: --separator "${a === "\t" ? "tab" : a as string}" or --separator "${b as string}"`,
      );
    }
  }
  return strong[0] ?? steady[0] ?? viable[0];
}

/** What a column is by its name. */
function roleOf(name: string): Role | undefined {
  const word = name.trim().replaceAll(/([a-z])([A-Z])/g, "$1_$2").toLowerCase().replaceAll(/[ -]/g, "_");
  if (/^(table|table_name|table_id|feature|feature_name|field|slot)$/.test(word)) return "table";
  if (/^(sample|sample_id|request|request_id|bag|batch|batch_id)$/.test(word)) return "sample";
  if (/^(time|timestamp|ts|date|datetime|clock_time|event_time)$/.test(word)) return "time";
  if (/^(keys?|ids?|rows?|index|indices|idx|item|user|object|obj|movie|product|query|page|video|ad)$/.test(word)) {
    return "key";
  }
  return /_(id|key|idx|index|hash)$/.test(word) ? "key" : undefined;
}

function headerIn(rows: readonly (readonly string[])[]): boolean {
  const [first = [], ...rest] = rows;
  if (first.some((field) => field === "" || NUMBER.test(field))) return false;
  if (first.some((field, i) => rest.some((row) => row[i] === field))) return false;
  const columns = first.map((_, i) => i);
  return first.some((field) => roleOf(field) !== undefined) ||
    (rest.length > 0 && columns.some((i) => rest.every((row) => NUMBER.test(row[i] ?? ""))));
}

/**
 * Whether the first line names a column that was chosen by its number: a word above numbers alone. The line may have numbers, too, as
 * that of scikit-learn's files has (`150,4,setosa,versicolor,virginica`), so nothing is called by it.
 */
function titled(rows: readonly (readonly string[])[], { key, time }: TraceColumns): boolean {
  const [first = [], ...rest] = rows, asked = [...key, ...(time === undefined ? [] : [time])];
  return rest.length > 0 &&
    first.some((word, i) =>
      (asked.includes("*") || asked.includes(String(i + 1))) && word !== "" && !NUMBER.test(word) &&
      rest.every((row) => NUMBER.test(row[i] ?? ""))
    );
}

/** A column that was asked for. */
function indexOf(
  column: string,
  names: readonly string[] | undefined,
  fields: number,
  refuse: (what: string) => never,
) {
  const named = names?.indexOf(column) ?? -1;
  if (named >= 0) return named;
  const number = Number(column);
  if (/^\d+$/.test(column) && number >= 1 && number <= fields) return number - 1;
  const there = names === undefined ? `columns 1 to ${fields} and no header` : `the columns ${names.join(", ")}`;
  return refuse(`there is no column "${column}"; it has ${there}`);
}

/** Indices of columns, and of those that are keys their tables. */
export type Roles = Pick<Layout, "table" | "keys" | "sample" | "line" | "time">;

/** The word of a line's sample; undefined: each key is one. @param field The word of a column. @param line Which line it is. */
export function sampleOf(roles: Roles, field: (column: number) => string, line: number): string | undefined {
  return roles.sample === undefined ? roles.line === true ? String(line) : undefined : field(roles.sample);
}

/** A layout by columns that were chosen. */
export function chosenLayout(
  columns: TraceColumns,
  names: readonly string[] | undefined,
  fields: number,
  refuse: (what: string) => never,
): Roles {
  const at = (column: string) => indexOf(column, names, fields, refuse), line = columns.sample === "*";
  const others = [columns.table, line ? undefined : columns.sample, columns.time].flatMap((column) =>
    column === undefined ? [] : [at(column)]
  );
  const all = columns.key.length === 1 && columns.key[0] === "*";
  const indices = all
    ? Array.from({ length: fields }, (_, i) => i).filter((i) => !others.includes(i))
    : columns.key.map(at);
  const keys = indices.map((index) => ({
    index,
    table: line || indices.length === 1 ? ONLY_TABLE : names?.[index] ?? `column ${index + 1}`,
  }));
  if (keys.length > 1 && columns.table !== undefined && !line) {
    refuse("with several columns of keys, each is a table; leave table out");
  }
  return {
    keys,
    ...(columns.table === undefined ? {} : { table: at(columns.table) }),
    ...(line ? { line } : columns.sample === undefined ? {} : { sample: at(columns.sample) }),
    ...(columns.time === undefined ? {} : { time: at(columns.time) }),
  };
}

/** What two readings of columns are, and how to choose. */
function ambiguous(
  rows: readonly (readonly string[])[],
  names: readonly string[] | undefined,
  refuse: (what: string) => never,
): never {
  const [first = []] = rows, name = (i: number) => names?.[i] ?? String(i + 1);
  const suspects = names === undefined ? [] : names.flatMap((each, i) => roleOf(each) === "key" ? [i] : []);
  const [a = 0, b = 1] = suspects.length > 1 ? suspects : [0, 1];
  const says = names === undefined
    ? `no header, and the columns ${first.join(", ")}`
    : `the columns ${names.join(", ")}`;
  return refuse(
    `it has ${says}, which can be read in several ways; say which columns are what: ` +
      `--columns key=${name(b)} if only that has keys, ` +
      `--columns key=${name(a)},key=${name(b)} if both have keys of tables of their own, ` +
      `--columns table=${name(a)},key=${name(b)} if the former names tables` +
      (first.length > 2 ? `; sample=… and time=… name others` : ""),
  );
}

/**
 * A layout by names that tell what columns are.
 *
 * @param names Names of the columns.
 * @param rows Some of the lines.
 * @param refuse Throws the error of this trace.
 */
export function namedLayout(
  names: readonly string[],
  rows: readonly (readonly string[])[],
  refuse: (what: string) => never,
): Roles {
  const by = (role: Role) => names.flatMap((name, i) => roleOf(name) === role ? [i] : []);
  const [keys, tables, samples, times] = [by("key"), by("table"), by("sample"), by("time")];
  const [key] = keys, [table] = tables, [sample] = samples, [time] = times;
  if (key === undefined || keys.length > 1 || tables.length > 1 || samples.length > 1 || times.length > 1) {
    ambiguous(rows, names, refuse);
  }
  return {
    keys: [{ index: key, table: ONLY_TABLE }],
    ...(table === undefined ? {} : { table }),
    ...(sample === undefined ? {} : { sample }),
    ...(time === undefined ? {} : { time }),
  };
}

/**
 * How the lines of a trace are read.
 *
 * @param lines Its first lines, without comments and empty ones at the end; at least one.
 * @param options Columns and separator that were chosen.
 * @param refuse Throws the error of this trace.
 */
export function layoutOf(
  lines: readonly string[],
  options: { readonly columns?: TraceColumns; readonly separator?: string },
  refuse: (what: string) => never,
): Layout {
  const [line = ""] = lines;
  if (/^\s*[[{]/.test(line)) refuse("it looks like JSON; write a key a line, or columns with separators");
  if (/^\s*</.test(line)) refuse("it looks like HTML or XML; write a key a line, or columns with separators");
  if (/^\S+([ \t]+\S+:\S+)+\s*$/.test(line) && /[ \t]\d+:[-+.\deE]+/.test(line)) {
    refuse("it looks like libsvm's form (label index:value …); write a line table,key,sample for each index");
  }
  const asked = options.separator;
  const separator = asked === undefined
    ? separatorOf(lines, refuse)
    : asked === "tab"
    ? "\t"
    : asked.trim() === ""
    ? BLANKS
    : asked;
  const rows = lines.map((each) => separator === undefined ? fieldsOf(each, "\n") : fieldsOf(each, separator));
  const [first = []] = rows, n = first.length, even = rows.filter((row) => row.length === n);
  const base = { separator: separator ?? "\n", fields: n, criteo: false };
  const { label, numerics, categories } = CRITEO, criteo = label + numerics + categories;
  if (options.columns === undefined && (n === criteo || n === criteo + 1)) {
    const header = first.some((field) => /^(label|C1|I1)$/i.test(field));
    const keys = Array.from({ length: categories }, (_, i) => ({ index: n - categories + i, table: `C${i + 1}` }));
    return { ...base, header, names: header ? first : [], keys, criteo: true };
  }
  const named = options.columns === undefined ? [] : Object.values(options.columns).flat();
  const names = headerIn(even) || named.some((column) => !/^\d+$/.test(column) && first.includes(column))
    ? first
    : undefined;
  const header = names !== undefined || (options.columns !== undefined && titled(even, options.columns));
  const shared = { ...base, header, names: names ?? [] };
  if (options.columns !== undefined) return { ...shared, ...chosenLayout(options.columns, names, n, refuse) };
  const data = header ? even.slice(1) : even;
  if (n === 1) {
    return { ...shared, keys: [{ index: 0, table: ONLY_TABLE }] };
  }
  if (names !== undefined) return { ...shared, ...namedLayout(names, data.length === 0 ? [first] : data, refuse) };
  if (n > 3) {
    refuse(
      `it has ${n} fields and no header that tells them; expected 1 (key), 2 (table, key), 3 (table, key, sample) or ` +
        `Criteo's ${criteo}; or say which are what: --columns key=2 if only that has keys, --columns key=1,key=2 if both have, with table=…, sample=…, time=…`,
    );
  }
  // Names of tables are words that come again and again.
  const distinct = new Set(data.map((row) => row[0])).size;
  const tables = data.every((row) => !NUMBER.test(row[0] ?? "")) && (data.length < 8 || distinct <= data.length / 2);
  if (!tables) ambiguous(data, undefined, refuse);
  return { ...shared, table: 0, keys: [{ index: 1, table: ONLY_TABLE }], ...(n === 3 ? { sample: 2 } : {}) };
}
