/**
 * What a machine costs, however it is said: a row of the price book, an hour's price, or parts of the book. One type for
 * simulations and plans. What has no price has none, and says why.
 *
 * @module
 */

import { parseBytes, type Size } from "../../base/bytes.ts";
import { amountIn, currencySign } from "./currency.ts";
import { monthIndex } from "./dates.ts";
import { capitalRecovery, HOURS_PER_YEAR, ownedCost, type Part } from "./owned.ts";
import { missingForOwned, OWNED_ITEMS, ownedRates } from "./owned_machines.ts";
import {
  anyModulePrice,
  boughtPerHour,
  dateText,
  type Instance,
  isEnded,
  isStale,
  type Medium,
  modulePrice,
  type PriceBook,
  pricesAsOf,
  type Provenance,
} from "./price_book.ts";

/** Modules or drives of one kind in a machine. */
export interface Modules {
  /** One of them: `"64 GB"`, `"7.68 TB"`. */
  readonly size: Size;
  /** How many. Default: as many as the rows need, a tenth left free. */
  readonly count?: number;
  /** They come by so many, as channels are filled alike. Default 1. */
  readonly by?: number;
  /** DRAM alone: which. Default `"DDR5"`. */
  readonly medium?: "DDR4" | "DDR5";
}

/** Parts of a machine that is bought: a server and what is put into it. */
export interface MachineParts {
  /** DRAM modules. */
  readonly dram?: Modules;
  /** PMem modules. */
  readonly pmem?: Modules;
  /** CXL memory cards. */
  readonly cxl?: Modules;
  /** NVMe drives. */
  readonly nvme?: Modules;
  /** HBM. */
  readonly hbm?: Modules;
}

/**
 * What a machine costs: a machine of the price book, `"Alibaba Cloud ecs.re6p.13xlarge"`; an hour's price with its date; or
 * the parts that it is built of.
 */
export type MachineCost =
  | string
  | { readonly pricePerHour: number; readonly date: string; readonly currency?: string }
  | { readonly components: MachineParts };

/** Kinds of memory that rows are put on. */
export type PartName = keyof MachineParts;
/** Every {@linkcode PartName}, fastest first. */
export const PART_NAMES: readonly PartName[] = ["hbm", "dram", "cxl", "pmem", "nvme"];

/** Bytes that one machine must hold, by kind of memory. */
export type PartNeeds = Readonly<Partial<Record<PartName, number>>>;

/** Prices of a date in a currency. */
export interface Prices {
  /** The book as of the date, in the currency. */
  readonly dated: PriceBook;
  /** The book as it is written, for rates. */
  readonly book: PriceBook;
  /** Three letters. */
  readonly currency: string;
  /** How amounts are written. */
  readonly sign: string;
  /** As of when. */
  readonly date: string;
}

/** What is known of the prices behind a figure. */
export interface PriceAge {
  /** `2021 to 2022`. */
  readonly dates: readonly string[];
  /** Whether one is more than a year old. */
  readonly stale: boolean;
  /** What is not sold new any more, a sentence each. */
  readonly ended: readonly string[];
}

/** One machine with its price. */
export interface PricedMachine extends PriceAge {
  /** What it is: `r7i.24xlarge`, `server with 8 × 64 GB DDR5`. */
  readonly what: string;
  /** An hour of it. */
  readonly perHour: number;
  /** What it costs to buy; absent where it is rented, or not known. */
  readonly purchase?: number;
  /** Mean watts; absent where no source states them. */
  readonly watts?: number;
  /** An hour of its power, of one that is bought. */
  readonly energyPerHour?: number;
  /** Bytes of its NVMe drives; absent where it has none, or none are stated. */
  readonly nvmeBytes?: number;
  /** Bytes of all its memory by kind, of one that is built of parts. */
  readonly holds?: PartNeeds;
  /** The first month after which one of its parts is not sold new any more. */
  readonly soldUntil?: string;
  /** What an hour of one that is built of parts is made of; the lines add up to `perHour`. */
  readonly lines?: readonly MachineLine[];
}

/** A line of a machine's bill. */
export interface MachineLine {
  /** `16 × 64 GB DDR5`. */
  readonly name: string;
  /** What it is a part of: modules, cards and drives; the rest of the server with its network; or power. */
  readonly kind: "memory" | "server" | "power";
  /** An hour of it. */
  readonly perHour: number;
  /** What it costs to buy; absent of power. */
  readonly purchase?: number;
}

/** Why a machine has no price. */
export interface NoPrice {
  /** The reason. */
  readonly why: string;
  /** It is no such machine: it cannot hold what it should, or cannot be built, at any price. */
  readonly unfit?: true;
  /** Where CXL memory alone lacks one: the rest of the machine, GB of that memory, and what a purchase comes to in an hour. */
  readonly rest?: { readonly machine: PricedMachine; readonly gigabytes: number; readonly hourly: number };
}

/** Share of a machine's memory that rows may use. */
export const USABLE_SHARE = 0.9;
const GIB = 1073741824;
const MEDIUM: Readonly<Record<PartName, Medium>> = {
  hbm: "HBM",
  dram: "DDR5",
  cxl: "CXL",
  pmem: "PMem 100",
  nvme: "NVMe",
};
const WATTS: Readonly<Record<PartName, string>> = {
  hbm: "Power of HBM",
  dram: "Power of a DRAM module",
  cxl: "Power of a CXL module",
  pmem: "Power of a PMem module",
  nvme: "Power of an NVMe drive",
};
/**
 * Modules or drives that a server takes at most: slots of the platforms in `populations.ts`, four CXL cards as there, and 24
 * drive bays, an assumption.
 */
const MOST: Readonly<Record<PartName, number>> = { hbm: 16, dram: 32, cxl: 4, pmem: 12, nvme: 24 };
/** Kinds of memory in sentences. */
export const PART_WORDS: Readonly<Record<PartName, string>> = {
  hbm: "HBM",
  dram: "DRAM",
  cxl: "CXL memory",
  pmem: "PMem",
  nvme: "NVMe",
};

/** What a medium is made of, by the beginning of its name; undefined for one that does not say. */
export function partNamed(medium: string): PartName | undefined {
  if (/\bcxl\b/i.test(medium)) return "cxl";
  if (/^hbm/i.test(medium)) return "hbm";
  if (/^nvme|\bssd\b/i.test(medium)) return "nvme";
  if (/\boptane\b/i.test(medium)) return "pmem";
  return /^l?p?ddr\d/i.test(medium) ? "dram" : undefined;
}

/** The price of one machine that holds so many bytes, or why it has none. */
export function priceMachine(machine: MachineCost, needs: PartNeeds, prices: Prices): PricedMachine | NoPrice {
  if (typeof machine === "string") return fromBook(machine, needs, prices);
  if ("components" in machine) return fromParts(machine.components, needs, prices);
  const { pricePerHour, date, currency = "USD" } = machine;
  const perHour = amountIn(prices.currency, pricePerHour, currency, prices.book, prices.date);
  const stale = monthIndex(prices.date, "last") - monthIndex(date, "last") > 12;
  return { what: `a machine of ${short(perHour)} ${prices.sign}/h`, perHour, dates: [date], stale, ended: [] };
}

function rowsNamed(name: string, { dated }: Prices): Instance[] {
  return dated.instances.filter((one) => name === `${one.provider} ${one.name}` || name === one.name);
}

/** The row of the price book by a name that one row has; undefined without. */
export function bookMachine(name: string, prices: Prices): Instance | undefined {
  const found = rowsNamed(name, prices);
  return found.length === 1 ? found[0] : undefined;
}

function fromBook(name: string, needs: PartNeeds, prices: Prices): PricedMachine | NoPrice {
  const { date } = prices;
  const found = rowsNamed(name, prices);
  const [row] = found;
  if (row === undefined) return { why: `no price: the price book has no machine "${name}" by ${date}` };
  if (found.length > 1) return { why: `no price: "${name}" is a machine of ${found.map((one) => one.provider)}` };
  const has: Readonly<Record<PartName, number | undefined>> = {
    hbm: gib(row.hbmGib ?? 0),
    dram: gib(row.dramGib),
    cxl: gib(row.cxlGib ?? 0),
    pmem: gib(row.pmemGib),
    nvme: (row.nvmeCount ?? 0) * (row.nvmeGB ?? 0) * 1e9,
  };
  for (const part of PART_NAMES) {
    const [need, have] = [needs[part] ?? 0, has[part]];
    if (need > 0 && (have === undefined || need > have * USABLE_SHARE)) {
      return {
        unfit: true,
        why: `no price: a server needs ${gigabytes(need)} of ${PART_WORDS[part]}, ${row.name} has ${
          have === undefined ? "not stated" : gigabytes(have * USABLE_SHARE)
        } of it for rows`,
      };
    }
  }
  return {
    what: row.name,
    perHour: row.pricePerHour,
    ...(row.bought === undefined ? {} : { purchase: row.bought.price }),
    ...(row.bought === undefined || row.watts === undefined
      ? {}
      : { energyPerHour: row.pricePerHour - boughtPerHour(row.bought) }),
    ...(row.watts === undefined ? {} : { watts: row.watts }),
    ...(has.nvme === undefined || has.nvme === 0 ? {} : { nvmeBytes: has.nvme }),
    ...ageOf([row], date, row.name),
  };
}

function fromParts(parts: MachineParts, needs: PartNeeds, { dated, date, sign }: Prices): PricedMachine | NoPrice {
  const missing = missingForOwned(dated);
  if (missing.length > 0) return { why: `no price: the book has by ${date} no ${missing.join(", no ")}` };
  const bought: Part[] = [];
  const used: Provenance[] = Object.values(OWNED_ITEMS).flatMap((name) =>
    dated.items.find((one) => one.item === name) ?? []
  );
  const ended: string[] = [];
  let unpriced: { readonly what: string; readonly gigabytes: number } | undefined;
  const holds: Partial<Record<PartName, number>> = {};
  const ends: string[] = [];
  for (const part of PART_NAMES) {
    const need = needs[part] ?? 0;
    const modules = parts[part];
    if (modules === undefined) {
      if (need > 0) {
        return { unfit: true, why: `no price: rows are in ${PART_WORDS[part]}, and machine.components has none` };
      }
      continue;
    }
    const bytes = parseBytes(modules.size);
    const by = modules.by ?? 1;
    const count = modules.count ?? Math.max(1, Math.ceil(need / USABLE_SHARE / bytes / by)) * by;
    if (count * bytes * USABLE_SHARE < need * (1 - 1e-9)) {
      return {
        unfit: true,
        why: `no price: a server needs ${gigabytes(need)} of ${PART_WORDS[part]}, ${count} × ${gigabytes(bytes)} have ${
          gigabytes(count * bytes * USABLE_SHARE)
        } for rows`,
      };
    }
    if (count > MOST[part]) {
      return {
        unfit: true,
        why: `no price: a server needs ${gigabytes(need)} of ${PART_WORDS[part]}, that is ${count} × ${
          gigabytes(bytes)
        }, and one takes ${MOST[part]}`,
      };
    }
    holds[part] = count * bytes;
    const medium = part === "dram" ? modules.medium ?? "DDR5" : MEDIUM[part];
    // Modules are called by GB and hold GiB; whoever writes "64 GiB" means the module that is sold as 64 GB.
    const capacity = bytes % GIB === 0 ? bytes / GIB : Math.round(bytes / 1e9);
    const price = modulePrice(dated, medium, capacity);
    const watts = dated.items.find(({ item }) => item === WATTS[part]);
    if (price === undefined || watts === undefined) {
      const quoted: Partial<Record<PartName, string>> = { cxl: "CXL memory", nvme: `NVMe drives of ${sold(capacity)}` };
      const what = quoted[part];
      if (unpriced !== undefined || what === undefined) {
        return { why: `no price of ${sold(capacity)} ${part === "cxl" ? "CXL memory" : medium} by ${date}` };
      }
      const other = anyModulePrice(dated, medium);
      const beside = other?.capacityGB === undefined
        ? ""
        : ` (${sold(other.capacityGB)}: ${short(other.value)} ${sign}/GB)`;
      unpriced = { what: `${what}${beside}`, gigabytes: count * capacity };
      if (watts !== undefined) {
        bought.push({ name: `${count} × ${sold(capacity)} ${medium}`, count, price: 0, watts: watts.value });
      }
      continue;
    }
    used.push(price);
    if (price.soldUntil !== undefined) ends.push(price.soldUntil);
    if (isEnded(price, date)) ended.push(`${medium}: not sold new since ${price.soldUntil}`);
    bought.push({
      name: `${count} × ${sold(capacity)} ${medium}`,
      count,
      price: price.value * capacity,
      watts: watts.value,
    });
  }
  const rates = ownedRates(dated);
  const { perHour, purchase, watts, terms } = ownedCost(bought, rates);
  const hourly = capitalRecovery(rates.capitalRate, rates.life) / HOURS_PER_YEAR / rates.utilisation;
  const line = (kind: MachineLine["kind"], name: string, price: number): MachineLine => ({
    name,
    kind,
    perHour: price * hourly,
    purchase: price,
  });
  const machine: PricedMachine = {
    what: `server with ${bought.map(({ name }) => name).join(", ")}`,
    perHour,
    purchase,
    watts,
    energyPerHour: terms.energy,
    lines: [
      ...bought.filter(({ price }) => price > 0).map(({ name, count, price }) => line("memory", name, count * price)),
      line("server", "server without memory", rates.serverPrice),
      line("server", "network", rates.networkPrice),
      { name: "power", kind: "power", perHour: terms.energy },
    ],
    ...(holds.nvme === undefined ? {} : { nvmeBytes: holds.nvme }),
    holds,
    ...(ends.length === 0 ? {} : { soldUntil: ends.sort()[0] as string }),
    ...ageOf(used.filter((row) => "medium" in row && row.medium !== undefined), date),
    ended,
  };
  if (unpriced === undefined) return machine;
  return {
    why: `no public price of ${unpriced.what}`,
    rest: { machine, gigabytes: unpriced.gigabytes, hourly },
  };
}

/** Dates and age of rows. */
function ageOf(rows: readonly Provenance[], date: string, name?: string): PriceAge {
  return {
    dates: [...new Set(rows.map(dateText))],
    stale: rows.some((row) => isStale(row, date)),
    ended: rows.flatMap((row) =>
      name !== undefined && isEnded(row, date) ? [`${name}: its memory is not sold new since ${row.soldUntil}`] : []
    ),
  };
}

/** A book as of a date in a currency. @throws {RangeError} if a rate is needed and not there. */
export function pricesIn(book: PriceBook, converted: PriceBook, currency: string, date: string): Prices {
  return { dated: pricesAsOf(converted, date), book, currency, sign: currencySign(currency), date };
}

function gib(amount: number | undefined): number | undefined {
  return amount === undefined ? undefined : amount * GIB;
}

function short(value: number): number {
  return Number(value.toPrecision(4));
}

/** `64 GB`, `30 TB`: as modules and drives are sold. */
function sold(capacityGB: number): string {
  return capacityGB >= 1000 ? `${short(capacityGB / 1000)} TB` : `${capacityGB} GB`;
}

function gigabytes(bytes: number): string {
  return bytes >= 1e13 ? `${short(bytes / 1e12)} TB` : `${short(bytes / 1e9)} GB`;
}
