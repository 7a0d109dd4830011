/**
 * The price book: what machines, memory and power cost, each figure with its date, source and quality mark. A row without
 * them is refused when the book is read, so no undated figure can reach a report. Pure: the files that ship with
 * tierbench come in by `default_prices.ts` alone.
 *
 * @module
 */

import { monthIndex } from "./dates.ts";
import { energyPerYear, HOURS_PER_YEAR } from "./owned.ts";
import {
  boughtPerHour,
  type Instance,
  keyOf,
  type Medium,
  type PriceFile,
  type PriceItem,
  type PriceProblem,
  type Provenance,
  type Quote,
  readPriceFile,
} from "./price_rows.ts";

export { monthIndex } from "./dates.ts";
export {
  type Bought,
  boughtPerHour,
  type Instance,
  type Mark,
  MARK_WORDS,
  type Medium,
  MONEY_UNITS,
  type PriceFile,
  type PriceItem,
  type PriceProblem,
  type PriceUnit,
  type Provenance,
  type Quote,
} from "./price_rows.ts";

/** Everything the book holds. */
export interface PriceBook {
  /** Machines that can be rented. */
  readonly instances: readonly Instance[];
  /** Prices of memory, power, servers, storage, and the figures that go with them. */
  readonly items: readonly PriceItem[];
  /** Machines of the user's files that no price is stated of; absent without any. */
  readonly quotes?: readonly Quote[];
}

/**
 * Reads a book from CSV files.
 *
 * @param files Files of either form, in any order.
 * @throws {RangeError} naming the first row that has no date, source, known mark or right unit, or is there twice.
 *
 * @example
 * ```ts
 * import { parsePriceBook } from "../../mod.ts";
 *
 * const head = "item,medium,capacity_gb,value,low,high,unit,currency,from,to,region,source,mark,note\n";
 * const text = head + "Electricity,,,0.21,,,kWh,USD,2026-01,2026-12,our site,contract of 2026,V,\n";
 * console.log(parsePriceBook([{ name: "mine.csv", text }]).items[0]?.value); // 0.21
 * ```
 */
export function parsePriceBook(files: readonly PriceFile[]): PriceBook {
  const { book, problems } = readBook(files, false);
  refuseFirst(problems);
  return book;
}

/**
 * Adds the user's files to a book. Their rows win over those of the book on the same machine or item, at every date from
 * which they hold.
 *
 * @throws {RangeError} as {@linkcode parsePriceBook}, or where a row has another unit than the book's.
 */
export function withOwnPrices(book: PriceBook, files: readonly PriceFile[]): PriceBook {
  const { book: own, problems } = readBook(files, true);
  refuseFirst([...problems, ...unitProblems([...book.items, ...own.items])]);
  const quotes = [...book.quotes ?? [], ...own.quotes ?? []];
  return {
    instances: [...book.instances, ...own.instances],
    items: [...book.items, ...own.items],
    ...(quotes.length === 0 ? {} : { quotes }),
  };
}

/**
 * Everything that is wrong with files of prices, by themselves and beside a book.
 *
 * @param beside The book they would be added to.
 */
export function lintPrices(files: readonly PriceFile[], beside?: PriceBook): PriceProblem[] {
  const { book, problems } = readBook(files, beside !== undefined);
  return [...problems, ...unitProblems([...beside?.items ?? [], ...book.items])];
}

/**
 * The book as it stood at a date: of every item the latest price that had begun by then, the user's before ours.
 *
 * @param date `2026`, `2026-11` or `2026-11-20`.
 */
export function pricesAsOf(book: PriceBook, date: string): PriceBook {
  const month = monthIndex(date, "last");
  const latest = <T extends Instance | Quote | PriceItem>(rows: readonly T[]): T[] => {
    const kept = new Map<string, T>();
    for (const row of rows) {
      if (monthIndex(row.from, "first") > month) continue;
      const other = kept.get(keyOf(row));
      if (other === undefined || precedes(row, other)) kept.set(keyOf(row), row);
    }
    return [...kept.values()];
  };
  const items = latest(book.items);
  const instances = latest(book.instances).map((one) => withEnergy(one, items));
  // A machine that has a price by the date is no open quote, too.
  const priced = new Set(instances.map(keyOf));
  const quotes = latest(book.quotes ?? []).filter((one) => !priced.has(keyOf(one)));
  return { instances, items, ...(quotes.length === 0 ? {} : { quotes }) };
}

/** Rows whose power a machine that is bought is priced with. */
const [PUE, ENERGY] = ["PUE average", "Electricity US industrial"];

/** A machine that is bought costs its power, too, where the book says what power costs by the date. */
function withEnergy(one: Instance, items: readonly PriceItem[]): Instance {
  if (one.bought === undefined) return one;
  const [pue, energy] = [PUE, ENERGY].map((name) => items.find(({ item }) => item === name));
  const power = one.watts === undefined || pue === undefined || energy === undefined
    ? 0
    : energyPerYear(one.watts, { pue: pue.value, pricePerKWh: energy.value }) / HOURS_PER_YEAR;
  return { ...one, pricePerHour: boughtPerHour(one.bought) + power };
}

function precedes(row: Provenance, other: Provenance): boolean {
  if (row.own !== other.own) return row.own;
  return monthIndex(row.from, "first") > monthIndex(other.from, "first");
}

/** Whether a price is more than twelve months older than a date. */
export function isStale(price: Provenance, date: string): boolean {
  return monthIndex(date, "last") - monthIndex(price.to, "last") > 12;
}

/** Whether it was not sold new any more by a date. */
export function isEnded({ soldUntil }: Provenance, date: string): boolean {
  return soldUntil !== undefined && monthIndex(date, "last") > monthIndex(soldUntil, "last");
}

/** `2021 to 2022`, or the single date. */
export function dateText(price: Provenance): string {
  return price.from === price.to ? price.from : `${price.from} to ${price.to}`;
}

/**
 * An item of a dated book by its name.
 *
 * @throws {RangeError} if the book has none.
 */
export function itemNamed(dated: PriceBook, name: string): PriceItem {
  const found = dated.items.find(({ item }) => item === name);
  if (found === undefined) throw new RangeError(`Cannot price: the price book has no "${name}" by this date`);
  return found;
}

/**
 * The price of a module of memory in a dated book: of the rows about this medium that name this capacity or none, the
 * user's first, then the latest; of equals the one that comes first. Undefined if there is none.
 *
 * @param capacityGB GB as sold.
 */
export function modulePrice(dated: PriceBook, medium: Medium, capacityGB: number): PriceItem | undefined {
  let best: PriceItem | undefined;
  for (const item of dated.items) {
    if (item.medium !== medium || item.unit !== "GB") continue;
    if (item.capacityGB !== undefined && item.capacityGB !== capacityGB) continue;
    if (best === undefined || precedes(item, best)) best = item;
  }
  return best;
}

/** The price of modules of a medium of any capacity, chosen as {@linkcode modulePrice} does; undefined if there is none. */
export function anyModulePrice(dated: PriceBook, medium: Medium): PriceItem | undefined {
  return dated.items.filter((item) => item.medium === medium && item.unit === "GB")
    .reduce<PriceItem | undefined>(
      (best, item) => best !== undefined && !precedes(item, best) ? best : item,
      undefined,
    );
}

function readBook(files: readonly PriceFile[], own: boolean): { book: PriceBook; problems: PriceProblem[] } {
  const read = files.map((file) => readPriceFile(file, own));
  const quotes = read.flatMap((one) => one.quotes);
  const book: PriceBook = {
    instances: read.flatMap((one) => one.instances),
    items: read.flatMap((one) => one.items),
    ...(quotes.length === 0 ? {} : { quotes }),
  };
  const across: PriceProblem[] = [];
  const seen = new Map<string, string>();
  for (const row of [...book.instances, ...quotes, ...book.items]) {
    const key = `${keyOf(row)} from ${row.from}`;
    const first = seen.get(key);
    if (first !== undefined) across.push({ file: row.file, line: undefined, text: `${key} is in "${first}", too` });
    seen.set(key, row.file);
  }
  return { book, problems: [...read.flatMap((one) => one.problems), ...across, ...unitProblems(book.items)] };
}

/** Prices of an item in two units cannot replace each other. */
function unitProblems(items: readonly PriceItem[]): PriceProblem[] {
  const units = new Map<string, PriceItem>();
  return items.flatMap((item) => {
    const first = units.get(item.item) ?? item;
    units.set(item.item, first);
    if (first.unit === item.unit) return [];
    const text = `the unit of "${item.item}" is "${item.unit}", in "${first.file}" it is "${first.unit}"`;
    return [{ file: item.file, line: undefined, text }];
  });
}

/** A problem as one line. */
export function problemText({ file, line, text }: PriceProblem): string {
  return `"${file}"${line === undefined ? "" : ` line ${line}`}: ${text}`;
}

function refuseFirst(problems: readonly PriceProblem[]): void {
  const [first, ...more] = problems;
  if (first === undefined) return;
  const rest = more.length === 0 ? "" : ` (and ${more.length} more: "tierbench prices --lint" lists them)`;
  throw new RangeError(`Cannot use the prices in ${problemText(first)}${rest}`);
}
