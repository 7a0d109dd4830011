/**
 * Owned servers as machines that the search for shapes can choose from: every population whose modules have a price at
 * the date, priced by the hour.
 *
 * @module
 */

import { monthIndex } from "./dates.ts";
import { ownedCost, type OwnedRates, type Part } from "./owned.ts";
import { type Platform, PLATFORMS, type Population, populations } from "./populations.ts";
import { type Instance, itemNamed, type Medium, modulePrice, type PriceBook, type PriceItem } from "./price_book.ts";

/** What owned machines are listed under. */
export const OWNED = "owned servers";

/** An owned server. */
export interface OwnedMachine {
  /** The modules that are in it. */
  readonly population: Population;
  /** The server as the search sees it; its provenance is that of its oldest price. */
  readonly instance: Instance;
}

/** Names of the items that owned servers are priced with; rows of a user's file by these names replace ours. */
export const OWNED_ITEMS: Readonly<Record<keyof OwnedRates, string>> = {
  serverPrice: "Server without memory",
  networkPrice: "Network of a server",
  serverWatts: "Power of a server without memory",
  life: "Server life",
  capitalRate: "Cost of capital",
  utilisation: "Utilisation of owned servers",
  pue: "PUE average",
  pricePerKWh: "Electricity US industrial",
};

const WATTS: Readonly<Record<"dram" | "pmem" | "cxl", string>> = {
  dram: "Power of a DRAM module",
  pmem: "Power of a PMem module",
  cxl: "Power of a CXL module",
};

/** Names of items that owned servers need and that a dated book does not have. */
export function missingForOwned(dated: PriceBook): string[] {
  const wanted = [...Object.values(OWNED_ITEMS), WATTS.dram, WATTS.pmem];
  return wanted.filter((name) => !dated.items.some(({ item }) => item === name));
}

/** The rates of a dated book. @throws {RangeError} naming the item that the book does not have by its date. */
export function ownedRates(dated: PriceBook): OwnedRates {
  const entries = Object.entries(OWNED_ITEMS).map(([key, name]) => [key, itemNamed(dated, name).value]);
  return Object.fromEntries(entries) as unknown as OwnedRates;
}

/**
 * Every owned server that can be built and priced with a dated book.
 *
 * @param rates Other rates than the book's.
 */
export function ownedMachines(dated: PriceBook, rates: OwnedRates = ownedRates(dated)): OwnedMachine[] {
  return PLATFORMS.flatMap((platform) =>
    populations(platform).flatMap((population) => priced(platform, population, dated, rates) ?? [])
  );
}

/** Items of which more makes a server cheaper. */
const CHEAPER_ABOVE: readonly string[] = [OWNED_ITEMS.life, OWNED_ITEMS.utilisation];

/**
 * The price of an owned server with every item at the end of its stated range that makes it cheaper, or dearer.
 *
 * @param name Name of the machine.
 * @returns $ an hour; undefined if the book has no such machine.
 */
export function ownedPriceRange(dated: PriceBook, name: string): { low: number; high: number } | undefined {
  const at = (end: "low" | "high"): number | undefined => {
    const other = end === "low" ? "high" : "low";
    const items = dated.items.map((item) => ({
      ...item,
      value: item[CHEAPER_ABOVE.includes(item.item) ? other : end],
    }));
    return ownedMachines({ ...dated, items }).find(({ instance }) => instance.name === name)?.instance.pricePerHour;
  };
  const [low, high] = [at("low"), at("high")];
  return low === undefined || high === undefined ? undefined : { low, high };
}

function priced(
  platform: Platform,
  population: Population,
  dated: PriceBook,
  rates: OwnedRates,
): OwnedMachine | undefined {
  const used: PriceItem[] = Object.values(OWNED_ITEMS).map((name) => itemNamed(dated, name));
  const parts: Part[] = [];
  const { dram, pmem, cxl, memoryMode } = population;
  const add = (medium: Medium, kind: keyof typeof WATTS, { count, sizeGB }: Population["dram"]): boolean => {
    if (count === 0) return true;
    const price = modulePrice(dated, medium, sizeGB);
    if (price === undefined) return false;
    const watts = itemNamed(dated, WATTS[kind]);
    used.push(price, watts);
    parts.push({ name: `${count} × ${sizeGB} GB ${medium}`, count, price: price.value * sizeGB, watts: watts.value });
    return true;
  };
  const known = add(platform.dram.medium, "dram", dram) && add(platform.pmem?.medium ?? "PMem 100", "pmem", pmem) &&
    add("CXL", "cxl", cxl);
  if (!known) return undefined;
  const { perHour, purchase, watts, terms } = ownedCost(parts, rates);
  const prices = used.filter(({ unit }) => unit === "GB");
  const oldest = prices.reduce((a, b) => monthIndex(b.to, "last") < monthIndex(a.to, "last") ? b : a);
  const instance: Instance = {
    provider: OWNED,
    name: `${platform.name}, ${parts.map(({ name }) => name).join(", ")}`,
    role: "memory",
    vcpus: platform.vcpus,
    dramGib: dram.count * dram.sizeGB,
    pmemGib: gib(pmem),
    ...(cxl.count === 0 ? {} : { cxlGib: cxl.count * cxl.sizeGB }),
    networkGBs: platform.networkGBs,
    pricePerHour: perHour,
    watts,
    energyPerHour: terms.energy,
    bought: { price: purchase, lifeYears: rates.life, financing: rates.capitalRate },
    from: oldest.from,
    to: oldest.to,
    region: "not stated",
    source: `computed from ${[...new Set(prices.map(({ item, source }) => `"${item}" (${source})`))].join(", ")}`,
    mark: "C",
    note: `${Math.round(purchase)} $ to buy${memoryMode ? "" : pmem.count > 0 ? "; no Memory Mode at this ratio" : ""}`,
    file: oldest.file,
    own: used.some(({ own }) => own),
    ...endOf(prices),
  };
  return { population, instance };
}

/** The first month after which one of the parts is not sold new any more. */
function endOf(prices: readonly PriceItem[]): Pick<Instance, "soldUntil"> {
  const [first] = prices.flatMap(({ soldUntil }) => soldUntil ?? []).sort();
  return first === undefined ? {} : { soldUntil: first };
}

/** PMem is sold in decimal GB: a module of 128 GB has 126.4 GiB, one of 756 GiB in six in sum, as Alibaba's re6p shows. */
function gib({ count, sizeGB }: Population["pmem"]): number {
  return count * sizeGB * PMEM_GIB_PER_GB;
}

/** `ipmctl` shows 126.4 GiB for a module that is sold as 128 GB (re6p: 756 GiB are six times 126). */
const PMEM_GIB_PER_GB = 126 / 128;
