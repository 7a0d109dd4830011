/**
 * The price book: what machines and memory cost, each price with its date, source and quality mark. A price without
 * them is refused when the book is loaded, so no undated figure can reach a report.
 *
 * @module
 */

import componentsCsv from "./prices/components.csv" with { type: "text" };
import instancesCsv from "./prices/instances.csv" with { type: "text" };
import { type CsvRow, parseCsv } from "./csv.ts";

/** How good a price is: V read at the source, M from memory and not verified, C computed from other rows. */
export type Mark = "V" | "M" | "C";

/** Words for a {@linkcode Mark}. */
export const MARK_WORDS: Readonly<Record<Mark, string>> = {
  V: "verified at the source",
  M: "from memory, not verified",
  C: "computed",
};

/** Where and when a price was seen. */
export interface Provenance {
  /** First month it stands for: `2021` or `2021-03`. Equal to the last for a single date. */
  readonly from: string;
  /** Last month it stands for. */
  readonly to: string;
  /** Region, or `not stated`. */
  readonly region: string;
  /** Where it was read. */
  readonly source: string;
  /** How good it is. */
  readonly mark: Mark;
  /** Free text. */
  readonly note: string;
}

/** A machine that can be rented. */
export interface Instance extends Provenance {
  /** Who rents it out. */
  readonly provider: string;
  /** Name of the shape. */
  readonly name: string;
  /** `memory`: may hold tables. `worker`: a training worker, only for bills that include one. */
  readonly role: "memory" | "worker";
  /** Virtual CPUs; undefined where the source does not state them. */
  readonly vcpus: number | undefined;
  /** DRAM in GiB; undefined where the source does not state it. */
  readonly dramGib: number | undefined;
  /** PMem in GiB, 0 for none. */
  readonly pmemGib: number | undefined;
  /** US dollars an hour. */
  readonly pricePerHour: number;
}

/** A component's price: context for the reader, not part of the cloud model. */
export interface Component extends Provenance {
  /** What it is. */
  readonly item: string;
  /** US dollars per GB (1e9 bytes). */
  readonly low: number;
  /** Upper end in US dollars per GB. */
  readonly high: number;
}

/** Everything the book holds. */
export interface PriceBook {
  /** Machines that can be rented. */
  readonly instances: readonly Instance[];
  /** Prices of components. */
  readonly components: readonly Component[];
}

/** The book that ships with tierbench. */
export function defaultPriceBook(): PriceBook {
  return parsePriceBook(instancesCsv, componentsCsv);
}

/**
 * Reads a book from two CSV texts with the columns of `prices/instances.csv` and `prices/components.csv`.
 *
 * @throws {RangeError} A row has no date, no source, no known mark, no positive price, or is there twice.
 */
export function parsePriceBook(instances: string, components: string): PriceBook {
  const machines = parseCsv(instances, "instances.csv").map((row) => instance(row, "instances.csv"));
  const parts = parseCsv(components, "components.csv").map((row) => component(row, "components.csv"));
  refuseTwins(machines.map((m) => `${m.provider} ${m.name} ${m.from}`), "instances.csv");
  refuseTwins(parts.map((p) => `${p.item} ${p.from}`), "components.csv");
  return { instances: machines, components: parts };
}

/**
 * The book as it stood at a date: of every item the latest price that had begun by then.
 *
 * @param date `2026`, `2026-11` or `2026-11-20`.
 */
export function pricesAsOf(book: PriceBook, date: string): PriceBook {
  const month = monthIndex(date, "last");
  const latest = <T extends Provenance>(rows: readonly T[], key: (row: T) => string): T[] => {
    const kept = new Map<string, T>();
    for (const row of rows) {
      if (monthIndex(row.from, "first") > month) continue;
      const other = kept.get(key(row));
      if (other === undefined || monthIndex(row.from, "first") > monthIndex(other.from, "first")) {
        kept.set(key(row), row);
      }
    }
    return [...kept.values()];
  };
  return {
    instances: latest(book.instances, (row) => `${row.provider} ${row.name}`),
    components: latest(book.components, (row) => row.item),
  };
}

/** Whether a price is more than twelve months older than a date. */
export function isStale(price: Provenance, date: string): boolean {
  return monthIndex(date, "last") - monthIndex(price.to, "last") > 12;
}

/** `2021 to 2022`, or the single date. */
export function dateText(price: Provenance): string {
  return price.from === price.to ? price.from : `${price.from} to ${price.to}`;
}

/** Months since year 0 of a date text; a bare year is its first or last month. */
export function monthIndex(date: string, end: "first" | "last"): number {
  const match = /^(\d{4})(?:-(\d{2})(?:-\d{2})?)?$/.exec(date);
  const month = match?.[2] === undefined ? (end === "first" ? 1 : 12) : Number(match[2]);
  if (match === null || month < 1 || month > 12) {
    throw new RangeError(`Cannot read the date "${date}": write it as "2026", "2026-11" or "2026-11-20"`);
  }
  return Number(match[1]) * 12 + month - 1;
}

function instance(row: CsvRow, file: string): Instance {
  const role = text(row, "role", file);
  if (role !== "memory" && role !== "worker") refuse(row, file, `role is "${role}", "memory" or "worker" is needed`);
  const shape = {
    vcpus: optional(row, "vcpus", file),
    dramGib: optional(row, "dram_gib", file),
    pmemGib: optional(row, "pmem_gib", file),
  };
  if (role === "memory" && (shape.dramGib === undefined || shape.pmemGib === undefined)) {
    refuse(row, file, "a machine that holds tables needs dram_gib and pmem_gib");
  }
  if (text(row, "unit", file) !== "hour") refuse(row, file, 'unit must be "hour"');
  return {
    provider: text(row, "provider", file),
    name: text(row, "name", file),
    role,
    ...shape,
    pricePerHour: positive(row, "price", file),
    ...provenance(row, file),
  };
}

function component(row: CsvRow, file: string): Component {
  if (text(row, "unit", file) !== "GB") refuse(row, file, 'unit must be "GB"');
  const [low, high] = [positive(row, "low", file), positive(row, "high", file)];
  if (low > high) refuse(row, file, `low is ${low}, above high, which is ${high}`);
  return { item: text(row, "item", file), low, high, ...provenance(row, file) };
}

function provenance(row: CsvRow, file: string): Provenance {
  if (text(row, "currency", file) !== "USD") refuse(row, file, 'currency must be "USD"');
  const [from, to] = [text(row, "from", file), text(row, "to", file)];
  try {
    if (monthIndex(from, "first") > monthIndex(to, "last")) refuse(row, file, `it begins in ${from}, after ${to}`);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    refuse(row, file, error.message);
  }
  const mark = text(row, "mark", file);
  if (mark !== "V" && mark !== "M" && mark !== "C") refuse(row, file, `mark is "${mark}", "V", "M" or "C" is needed`);
  const source = text(row, "source", file);
  if (/^[-–?]$/.test(source)) refuse(row, file, "source is missing");
  return { from, to, region: text(row, "region", file), source, mark, note: row.fields["note"] ?? "" };
}

function text(row: CsvRow, column: string, file: string): string {
  const value = row.fields[column]?.trim() ?? "";
  if (value === "") refuse(row, file, `${column} is missing`);
  return value;
}

function positive(row: CsvRow, column: string, file: string): number {
  const value = Number(text(row, column, file));
  if (!Number.isFinite(value) || value <= 0) refuse(row, file, `${column} must be a number above 0`);
  return value;
}

function optional(row: CsvRow, column: string, file: string): number | undefined {
  if ((row.fields[column] ?? "") === "") return undefined;
  const value = Number(row.fields[column]);
  if (!Number.isFinite(value) || value < 0) refuse(row, file, `${column} must be a number, 0 or above`);
  return value;
}

function refuse(row: CsvRow, file: string, why: string): never {
  throw new RangeError(`Cannot use the price in "${file}" line ${row.line}: ${why}`);
}

function refuseTwins(keys: readonly string[], file: string): void {
  const seen = new Set<string>();
  for (const key of keys) {
    if (seen.has(key)) throw new RangeError(`Cannot use "${file}": the price of ${key} is there twice`);
    seen.add(key);
  }
}
