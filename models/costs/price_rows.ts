/**
 * Rows of the price book: reads the CSV files and refuses what is undated, unsourced, without a known mark, or in a
 * wrong unit. Two forms are known by their header: machines that can be rented (a `provider` column) and everything
 * else (an `item` column). docs/costs.md lists the columns.
 *
 * @module
 */

import { csvColumns, type CsvRow, parseCsv } from "./csv.ts";
import { monthIndex } from "./dates.ts";
import { capitalRecovery, HOURS_PER_YEAR } from "./owned.ts";

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
  /** Name of the file it stands in. */
  readonly file: string;
  /** Whether the user gave it; such a row wins over one of ours on the same item. */
  readonly own: boolean;
  /** Last month in which it, or the memory in it, was sold new; absent: it still is, as far as the source says. */
  readonly soldUntil?: string;
  /** Currency of the amount, such as `EUR`; absent: US dollars, or no money. */
  readonly currency?: string;
  /** US dollars for one unit of that currency, on the row's date; absent: the book's item `USD per EUR` says. */
  readonly rate?: number;
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
  /** Network in each direction, GB/s (1e9 bytes); undefined where the source does not state it. */
  readonly networkGBs: number | undefined;
  /** CXL memory in GiB; absent for none. */
  readonly cxlGib?: number;
  /** HBM in GiB; absent for none. */
  readonly hbmGib?: number;
  /** NVMe drives, and GB (1e9 bytes) of one; absent for none. */
  readonly nvmeCount?: number;
  /** GB of one NVMe drive. */
  readonly nvmeGB?: number;
  /** Mean watts; absent where the source does not state them. */
  readonly watts?: number;
  /** An hour of its power, of one that is built of parts; of other purchases it follows from `bought`. */
  readonly energyPerHour?: number;
  /** How it is paid for if it is bought; absent for a rented one. */
  readonly bought?: Bought;
  /** An hour's price: rent, or what {@linkcode Bought} comes to. */
  readonly pricePerHour: number;
}

/** A machine that somebody offers without stating a price: plans say at most what to pay for it to win. */
export type Quote = Omit<Instance, "pricePerHour" | "bought">;

/** A purchase, spread over years. */
export interface Bought {
  /** Price of one machine. */
  readonly price: number;
  /** Years that it is used. */
  readonly lifeYears: number;
  /** Cost of capital a year, as a share; 0 is a straight line. */
  readonly financing: number;
}

/** What an amount of an item is per (US dollars), or measured in. A `share` is of 1; a `ratio` may be above 1. */
export type PriceUnit =
  | ("GB" | "GB-month" | "GiB-hour" | "kWh" | "server" | "die")
  | ("W" | "years" | "share" | "ratio");
/** Units of which an amount is US dollars. */
export const MONEY_UNITS: readonly PriceUnit[] = ["GB", "GB-month", "GiB-hour", "kWh", "server", "die"];
/** Units without a currency. */
export const PLAIN_UNITS: readonly PriceUnit[] = ["W", "years", "share", "ratio"];

/** A kind of memory that owned machines are built of. */
export type Medium = "DDR4" | "DDR5" | "PMem 100" | "CXL" | "NVMe" | "HBM";
/** Every {@linkcode Medium}. */
export const MEDIA: readonly Medium[] = ["DDR4", "DDR5", "PMem 100", "CXL", "NVMe", "HBM"];

/** A price or a figure that prices need: $ per GB, watts of a module, years of a server. */
export interface PriceItem extends Provenance {
  /** What it is. */
  readonly item: string;
  /** The kind of memory it is about; undefined for everything else. */
  readonly medium: Medium | undefined;
  /** Capacity of the module it is about, GB as sold; undefined: any. */
  readonly capacityGB: number | undefined;
  /** Best value. */
  readonly value: number;
  /** Lower end of the stated range; equal to the value if none is stated. */
  readonly low: number;
  /** Upper end. */
  readonly high: number;
  /** What it is per, or measured in. */
  readonly unit: PriceUnit;
}

/** A file of prices. */
export interface PriceFile {
  /** Name that messages and reports call it. */
  readonly name: string;
  /** Its text: CSV with a header. */
  readonly text: string;
}

/** Rows of one file. */
interface PriceRows {
  readonly instances: readonly Instance[];
  /** Of the user's files alone. */
  readonly quotes: readonly Quote[];
  readonly items: readonly PriceItem[];
}

/** Something wrong with a file of prices. */
export interface PriceProblem {
  /** Name of the file it is in. */
  readonly file: string;
  /** From 1; undefined where it is the file as a whole. */
  readonly line: number | undefined;
  /** What was found and what is needed. */
  readonly text: string;
}

/**
 * Reads a file of prices as far as it can be read.
 *
 * @param own Whether it is the user's.
 * @returns Sound rows with their lines, and what is wrong with the others.
 */
export function readPriceFile(file: PriceFile, own: boolean): PriceRows & { readonly problems: PriceProblem[] } {
  const [instances, quotes, items]: [Instance[], Quote[], PriceItem[]] = [[], [], []];
  const problems: PriceProblem[] = [];
  let rows: CsvRow[];
  try {
    rows = parseCsv(file.text, file.name);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return { instances, quotes, items, problems: [{ file: file.name, line: undefined, text: error.message }] };
  }
  const columns = csvColumns(file.text, file.name);
  const form = columns.includes("provider") ? "instances" : columns.includes("item") ? "items" : undefined;
  if (form === undefined) {
    const text = `the header has neither "provider" (machines) nor "item" (everything else): found "${
      columns.join(",")
    }"`;
    return { instances, quotes, items, problems: [{ file: file.name, line: 1, text }] };
  }
  const lines = new Map<string, number>();
  for (const row of rows) {
    try {
      const context = { row, file: file.name, own };
      const read = form === "instances" ? instance(context) : item(context);
      const key = `${keyOf(read)} from ${read.from}`;
      const twin = lines.get(key);
      if (twin !== undefined) refuse(`${key} is there twice, first in line ${twin}`);
      lines.set(key, row.line);
      if (!("provider" in read)) items.push(read);
      else if (hasPrice(read)) instances.push(read);
      else quotes.push(read);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      problems.push({ file: file.name, line: row.line, text: error.message });
    }
  }
  return { instances, quotes, items, problems };
}

function hasPrice(read: Instance | Quote): read is Instance {
  return "pricePerHour" in read;
}

/** What two rows have in common if they are prices of the same thing. */
export function keyOf(row: Instance | Quote | PriceItem): string {
  return "provider" in row ? `${row.provider} ${row.name}` : row.item;
}

/** A row that cannot be used. */
class Refused extends Error {}

function refuse(why: string): never {
  throw new Refused(why);
}

interface Context {
  readonly row: CsvRow;
  readonly file: string;
  readonly own: boolean;
}

function instance({ row, file, own }: Context): Instance | Quote {
  const role = text(row, "role");
  if (role !== "memory" && role !== "worker") refuse(`role is "${role}", "memory" or "worker" is needed`);
  const shape = {
    vcpus: optional(row, "vcpus"),
    dramGib: optional(row, "dram_gib"),
    pmemGib: optional(row, "pmem_gib"),
    networkGBs: optional(row, "network_gb_s"),
  };
  if (role === "memory" && (shape.dramGib === undefined || shape.pmemGib === undefined)) {
    refuse("a machine that holds tables needs dram_gib and pmem_gib");
  }
  const more = {
    ...stated(row, "cxl_gib", "cxlGib"),
    ...stated(row, "hbm_gib", "hbmGib"),
    ...stated(row, "nvme_count", "nvmeCount"),
    ...stated(row, "nvme_gb", "nvmeGB"),
    ...stated(row, "watts", "watts"),
  };
  if (("nvmeCount" in more) !== ("nvmeGB" in more)) refuse("nvme_count and nvme_gb belong together: one is missing");
  const unit = text(row, "unit");
  if (unit !== "hour" && unit !== "machine") {
    refuse(`unit is "${unit}", "hour" is needed, or "machine" if it is bought`);
  }
  const machine = { provider: chosen(row, "provider"), name: chosen(row, "name"), role, ...shape, ...more } as const;
  if (own && (row.fields["price"] ?? "").trim() === "") return { ...machine, ...origin(row, file, own) };
  const money = currency(row, true);
  const price = positive(row, "price");
  const lifeYears = optional(row, "life_years");
  if (unit === "hour" && lifeYears !== undefined) {
    refuse('life_years is given, but the unit is "hour": "machine" is needed');
  }
  if (unit === "machine" && !((lifeYears ?? 0) > 0)) {
    refuse('a machine that is bought (unit "machine") needs life_years');
  }
  const bought = { price, lifeYears: lifeYears ?? 1, financing: optional(row, "financing") ?? 0 };
  return {
    ...machine,
    ...(unit === "machine" ? { bought } : {}),
    pricePerHour: unit === "machine" ? boughtPerHour(bought) : price,
    ...origin(row, file, own),
    ...money,
  };
}

/** What a purchase comes to in an hour, power aside. */
export function boughtPerHour({ price, lifeYears, financing }: Bought): number {
  return price * capitalRecovery(financing, lifeYears) / HOURS_PER_YEAR;
}

/** A number that a column states, under another name; nothing where it is empty or 0. */
function stated<Name extends string>(row: CsvRow, column: string, name: Name): { readonly [K in Name]?: number } {
  const value = optional(row, column);
  return value === undefined || value === 0 ? {} : { [name]: value } as { readonly [K in Name]?: number };
}

function item({ row, file, own }: Context): PriceItem {
  const unit = text(row, "unit");
  const money = (MONEY_UNITS as readonly string[]).includes(unit);
  if (!money && !(PLAIN_UNITS as readonly string[]).includes(unit)) {
    refuse(`unit is "${unit}", one of ${[...MONEY_UNITS, ...PLAIN_UNITS].join(", ")} is needed`);
  }
  const denomination = currency(row, money);
  const value = positive(row, "value");
  const low = (row.fields["low"] ?? "") === "" ? value : positive(row, "low");
  const high = (row.fields["high"] ?? "") === "" ? value : positive(row, "high");
  if (low > value || value > high) refuse(`value is ${value}, outside its range of ${low} to ${high}`);
  const medium = (row.fields["medium"] ?? "").trim();
  if (medium !== "" && !(MEDIA as readonly string[]).includes(medium)) {
    refuse(`medium is "${medium}", one of ${MEDIA.join(", ")}, or nothing, is needed`);
  }
  return {
    item: chosen(row, "item"),
    medium: medium === "" ? undefined : medium as Medium,
    capacityGB: optional(row, "capacity_gb"),
    value,
    low,
    high,
    unit: unit as PriceUnit,
    ...origin(row, file, own),
    ...denomination,
  };
}

/** The currency of a row, and its rate to US dollars where the row states it. */
function currency(row: CsvRow, money: boolean): Pick<Provenance, "currency" | "rate"> {
  const found = (row.fields["currency"] ?? "").trim();
  if (!money && found !== "") refuse(`currency is "${found}", but the unit is no money: leave it empty`);
  if (money && !/^[A-Z]{3}$/.test(found)) {
    refuse(`currency is "${found}", three letters such as "USD" or "EUR" are needed`);
  }
  const given = (row.fields["rate"] ?? "").trim() === "" ? undefined : positive(row, "rate");
  if (given !== undefined && (!money || found === "USD")) {
    refuse(`rate is "${given}", but ${money ? "US dollars need none" : "the unit is no money"}: leave it empty`);
  }
  return {
    ...(money && found !== "USD" ? { currency: found } : {}),
    ...(given === undefined ? {} : { rate: given }),
  };
}

function origin(row: CsvRow, file: string, own: boolean): Provenance {
  const [from, to] = [text(row, "from"), text(row, "to")];
  try {
    if (monthIndex(from, "first") > monthIndex(to, "last")) refuse(`it begins in ${from}, after ${to}`);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    refuse(error.message);
  }
  const mark = text(row, "mark");
  if (mark !== "V" && mark !== "M" && mark !== "C") refuse(`mark is "${mark}", "V", "M" or "C" is needed`);
  const source = text(row, "source");
  if (/^[-–?]$/.test(source)) refuse("source is missing");
  const soldUntil = (row.fields["sold_until"] ?? "").trim();
  if (soldUntil !== "" && !/^\d{4}-(0[1-9]|1[0-2])$/.test(soldUntil)) {
    refuse(`sold_until is "${soldUntil}", a month such as "2025-12", or nothing, is needed`);
  }
  const region = chosen(row, "region");
  const ended = soldUntil === "" ? {} : { soldUntil };
  return { from, to, region, source, mark, note: row.fields["note"] ?? "", file, own, ...ended };
}

function text(row: CsvRow, column: string): string {
  const value = row.fields[column]?.trim() ?? "";
  if (value === "") refuse(`${column} is missing`);
  return value;
}

/** Names stand in maps, commands and every report: letters, digits and a few signs, and none that every object has. */
const NAME = /^[\p{L}\p{N}][\p{L}\p{M}\p{N} ._+/&():;,'%#×·–-]{0,149}$/u;

function chosen(row: CsvRow, column: string): string {
  const name = text(row, column);
  if (name in Object.prototype || name === "prototype") refuse(`${column} is "${name}", a name that every object has`);
  if (!NAME.test(name)) {
    refuse(
      `${column} is ${
        JSON.stringify(name.slice(0, 60))
      }: a name of 1 to 150 letters, digits, spaces and ._+/&():;,'%#×·–- ` +
        "is needed, a letter or digit first",
    );
  }
  return name;
}

function positive(row: CsvRow, column: string): number {
  const value = Number(text(row, column));
  if (!Number.isFinite(value) || value <= 0) refuse(`${column} is "${text(row, column)}", a number above 0 is needed`);
  return value;
}

function optional(row: CsvRow, column: string): number | undefined {
  const found = (row.fields[column] ?? "").trim();
  if (found === "") return undefined;
  const value = Number(found);
  if (!Number.isFinite(value) || value < 0) refuse(`${column} is "${found}", a number, 0 or above, is needed`);
  return value;
}
