/**
 * A planner's request from what a plan file asks, what the models say of its tables and media, and a price book.
 *
 * @module
 */

import { GIB } from "../costs/cost_model.ts";
import { amountIn, DOLLARS, inCurrency } from "../costs/currency.ts";
import { type PricedMachine, pricesIn } from "../costs/machine_cost.ts";
import { boughtPerHour, dateText, type Instance, isEnded, isStale, type PriceBook } from "../costs/price_book.ts";
import { billOf, ownPrice, type PlanPricing, type PlanTrainers, priceNoteOf, type UnpricedMachine } from "./bill.ts";
import { OVERHEAD } from "../workloads/row_bytes.ts";
import type { BookMedia, ResolvedMachine } from "./plan_file.ts";
import type { PlanTableBytes } from "./sizes.ts";
import type {
  PlanBandModel,
  PlanMachine,
  PlanQuestions,
  PlanRequest,
  PlanSimulator,
  PlanStepModel,
  PlanTable,
  PlanTarget,
  PlanTier,
} from "./plan_types.ts";

/** A table of the file, with how a step uses it. */
export interface PlannedTable extends PlanTableBytes {
  /** Keys of one table that a sample has, on average. */
  readonly lookups: number;
  /** Different rows of one table that a step of all workers touches. */
  readonly distinctPerStep: number;
  /** Different rows of one worker's batch. */
  readonly distinctPerWorker: number;
  /** Variance of that number. */
  readonly variancePerWorker: number;
  /** Share of these that the kernel's tiering leaves below, by the share of all pages that are in the first tier. */
  readonly pageMissRatio: (share: number) => number;
  /** Points of its miss-ratio curve: rows kept, ascending, and the share of a step's different rows that are missed. */
  readonly curve: { readonly rows: readonly number[]; readonly misses: readonly number[] };
}

/** Times of one row on a medium, all threads of a machine together, and their 90 % band if it is calibrated. */
export interface RowTimes {
  /** Seconds a row for reading. */
  readonly readSeconds: number;
  /** Seconds a row for writing. */
  readonly writeSeconds: number;
  /** Rows take a multiple of so many bytes there. */
  readonly round: number;
  /** Factors on both times; undefined where the medium is not calibrated for such accesses. */
  readonly band: { readonly low: number; readonly high: number } | undefined;
  /** Why there is no band: what was asked beyond what the medium's model was calibrated on. */
  readonly outside?: string;
}

/** A machine of the user's own, with its name in the plan file. */
export interface OwnMachine extends ResolvedMachine {
  /** Name of the machine. */
  readonly name: string;
}

/** Everything but the price book. */
export interface PlanInputs {
  /** The tables of the file, each with its use in a step. */
  readonly tables: readonly PlannedTable[];
  /** Machines of the user's own, beside those of the price book. */
  readonly own: readonly OwnMachine[];
  /** Providers of the price book that are looked at; undefined: all of them. */
  readonly providers: readonly string[] | undefined;
  /** Media of the book's machines. */
  readonly media: BookMedia;
  /** Bytes that one device of a medium holds; undefined where its file does not say. */
  readonly capacity: (medium: string) => number | undefined;
  /** Whether the kernel can spread pages over a medium and move them: DRAM, CXL memory. */
  readonly pages: (medium: string) => boolean;
  /** Times of a row on a medium that so many threads use. */
  readonly rowTimes: (medium: string, threads: number, rowBytes: number, devices?: number) => RowTimes;
  /** Date of the prices: the latest the price book has by then. */
  readonly prices: string;
  /** What trains; absent: nothing is said of it. */
  readonly trainers?: PlanTrainers;
  /** Share of each memory that tables may use, above 0 and at most 1. */
  readonly usableShare: number;
  /** What a plan must meet. */
  readonly target: PlanTarget;
  /** Training samples a step, all workers together. */
  readonly samplesPerStep: number;
  /** Workers that train together. */
  readonly workers: number;
  /** What a step costs. */
  readonly step: PlanStepModel;
  /** How wrong that may be. */
  readonly band: PlanBandModel;
  /** Runs plans in virtual time. */
  readonly simulate: PlanSimulator;
  /** What plans ask the media. */
  readonly questions: PlanQuestions;
  /** Machines of one shape at most. */
  readonly maxHosts: number;
}

/**
 * The request, and the machines that have no price.
 *
 * @throws {RangeError} There is no machine to plan with, or a rate is needed that no row states.
 */
export function planRequest(
  inputs: PlanInputs,
  book: PriceBook,
  { currency = DOLLARS, serversAlone = false }: PlanPricing = {},
): PlanRequest & { readonly unpriced: readonly UnpricedMachine[] } {
  const prices = pricesIn(book, inCurrency(book, currency, inputs.prices), currency, inputs.prices);
  const { dated } = prices;
  const own = inputs.own.map((machine) => ({ machine, price: ownPrice(machine, prices) }));
  const unpriced = own.flatMap(({ machine, price }): UnpricedMachine[] => {
    if (!("why" in price)) return [];
    const { why, rest, unfit } = price;
    if (unfit) return [{ name: machine.name, why }];
    const planned = ownMachine(
      machine,
      rest?.machine ?? { what: "", perHour: 0, dates: [], stale: false, ended: [] },
      inputs,
    );
    return [{ name: machine.name, why, machine: planned, ...(rest === undefined ? {} : { rest }) }];
  });
  const offered = ({ role, provider }: Pick<Instance, "role" | "provider">) =>
    role === "memory" && (inputs.providers === undefined || inputs.providers.includes(provider));
  for (const quote of (dated.quotes ?? []).filter(offered)) {
    const free = { ...quote, pricePerHour: 0 };
    unpriced.push(
      tooManyKinds(free, inputs) ??
        { name: nameOf(quote), why: "no price is stated", machine: rentedMachine(free, inputs) },
    );
  }
  const rented = dated.instances.filter(offered);
  unpriced.push(...rented.flatMap((instance) => tooManyKinds(instance, inputs) ?? []));
  const machines = [
    ...rented.filter((instance) => tooManyKinds(instance, inputs) === undefined)
      .map((instance) => rentedMachine(instance, inputs)),
    ...own.flatMap(({ machine, price }) => "why" in price ? [] : [ownMachine(machine, price, inputs)]),
  ];
  if (machines.length === 0) {
    const providers = [
      ...new Set(dated.instances.filter(({ role }) => role === "memory").map(({ provider }) => provider)),
    ];
    throw new RangeError(
      `Cannot plan: the price book has no machine of ${
        inputs.providers?.join(", ") ?? "anybody"
      } as of ${inputs.prices}, ` +
        `and the plan names none${
          unpriced.length === 0
            ? ""
            : ` with a price (${unpriced.map(({ name, why }) => `${name}: ${why}`).join("; ")})`
        }; providers there are: ${providers.join(", ")}`,
    );
  }
  const { dollarsPerHour } = inputs.target;
  const budget = dollarsPerHour === undefined
    ? {}
    : { dollarsPerHour: amountIn(currency, dollarsPerHour, DOLLARS, book, inputs.prices) };
  return {
    ...inputs,
    tables: inputs.tables.map(planTable),
    machines,
    overhead: OVERHEAD,
    target: { ...inputs.target, ...budget },
    bill: billOf(inputs.trainers, prices, serversAlone),
    unpriced,
  };
}

function planTable({ name, rows, rowBytes, weightBytes, count, curve, ...use }: PlannedTable): PlanTable {
  return {
    name: count === 1 ? name : `${name} × ${count}`,
    count,
    rows: rows * count,
    rowBytes,
    weightBytes,
    lookups: use.lookups * count,
    distinctPerStep: use.distinctPerStep * count,
    distinctPerWorker: use.distinctPerWorker * count,
    variancePerWorker: use.variancePerWorker * count,
    missRatio: (kept) => between(curve.rows, curve.misses, kept / count),
    pageMissRatio: use.pageMissRatio,
  };
}

/** A straight line between neighbouring points, in the logarithm of the rows, as such curves bend least there. */
function between(rows: readonly number[], misses: readonly number[], at: number): number {
  let high = rows.findIndex((point) => point >= at);
  if (high < 0) high = rows.length - 1;
  const [x1, y1] = [rows[high] ?? at, misses[high] ?? 0];
  const [x0, y0] = high === 0 ? [0, 1] : [rows[high - 1] ?? 0, misses[high - 1] ?? 1];
  if (at >= x1 || x1 === x0) return y1;
  const share = x0 <= 1 ? (at - x0) / (x1 - x0) : Math.log(at / x0) / Math.log(x1 / x0);
  return y0 + (y1 - y0) * share;
}

function nameOf({ provider, name }: Pick<Instance, "provider" | "name">): string {
  return `${provider} ${name}`;
}

/** Kinds of memory of one machine that rows can be placed in. */
const MOST_TIERS = 3;

/**
 * The memory of a machine of the price book, each kind as what it is. CXL memory and PMem are as many devices as its bytes
 * fill; of a drive, rows use at most what the one that was measured holds.
 */
function tiersOf(instance: Instance, { media, capacity }: PlanInputs): OwnMachine["tiers"] {
  const { dramGib = 0, pmemGib = 0, cxlGib = 0, nvmeCount = 0, nvmeGB = 0 } = instance;
  const memory = (name: string, medium: string, gib: number) => {
    const bytes = gib * GIB;
    const devices = name === "DRAM" ? 1 : Math.max(1, Math.ceil(bytes / (capacity(medium) ?? Infinity)));
    return { name, medium, bytes, devices, records: false };
  };
  const drive = Math.min(nvmeGB * 1e9, capacity(media.nvme) ?? Infinity);
  return [
    memory("DRAM", media.dram, dramGib),
    memory("CXL", media.cxl, cxlGib),
    memory("PMEM", media.pmem, pmemGib),
    { name: "SSD", medium: media.nvme, bytes: nvmeCount * drive, devices: nvmeCount, records: true },
  ].filter(({ name, bytes }) => name === "DRAM" || bytes > 0);
}

/** A machine that has more kinds of memory than rows can be placed in, HBM among them. */
function tooManyKinds(instance: Instance, inputs: PlanInputs): UnpricedMachine | undefined {
  const kinds = [
    ...(instance.hbmGib === undefined ? [] : ["HBM"]),
    ...tiersOf(instance, inputs).map(({ name }) => name),
  ];
  if (instance.hbmGib === undefined && kinds.length <= MOST_TIERS) return undefined;
  return {
    name: nameOf(instance),
    why: `not planned: it has ${kinds.join(", ")}; rows are placed in ${MOST_TIERS} kinds of memory at most, none of ` +
      "them HBM: describe it in machines with the tiers that rows should use",
  };
}

function rentedMachine(instance: Instance, inputs: PlanInputs): PlanMachine {
  const { vcpus = 16, networkGBs } = instance;
  // Two virtual CPUs are a core; each core keeps its own lines in flight.
  const threads = Math.max(1, Math.floor(vcpus / 2));
  const { bought, watts, pricePerHour, nvmeCount = 0, nvmeGB = 0 } = instance;
  return {
    name: nameOf(instance),
    pricePerHour,
    priceDate: dateText(instance),
    ...(bought === undefined ? {} : { purchase: bought.price }),
    ...(watts === undefined ? {} : { watts }),
    ...(bought === undefined || watts === undefined ? {} : { energyPerHour: pricePerHour - boughtPerHour(bought) }),
    ...(nvmeCount * nvmeGB > 0 ? { nvmeBytes: nvmeCount * nvmeGB * 1e9 } : {}),
    ...priceNoteOf({
      stale: isStale(instance, inputs.prices),
      ended: isEnded(instance, inputs.prices) ? [`its memory is not sold new since ${instance.soldUntil}`] : [],
    }),
    cores: threads,
    networkBytesPerSecond: networkGBs === undefined ? undefined : networkGBs * 1e9,
    tiers: tiersOf(instance, inputs).map((tier) => planTier(tier, threads, inputs)),
  };
}

function ownMachine(
  machine: OwnMachine,
  { perHour, dates, stale, ended, lines, purchase, watts, energyPerHour, nvmeBytes }: PricedMachine,
  inputs: PlanInputs,
): PlanMachine {
  return {
    name: machine.name,
    pricePerHour: perHour,
    priceDate: dates.join(", "),
    ...priceNoteOf({ stale, ended }),
    ...(lines === undefined ? {} : { lines }),
    ...(purchase === undefined ? {} : { purchase }),
    ...(watts === undefined ? {} : { watts }),
    ...(energyPerHour === undefined ? {} : { energyPerHour }),
    ...(nvmeBytes === undefined ? {} : { nvmeBytes }),
    cores: machine.threads,
    networkBytesPerSecond: machine.networkBytesPerSecond,
    tiers: machine.tiers.map((tier) => planTier(tier, machine.threads, inputs)),
  };
}

function planTier(
  { name, medium, bytes, devices, records }: OwnMachine["tiers"][number],
  threads: number,
  { rowTimes, pages, usableShare, tables, workers }: PlanInputs,
): PlanTier {
  // With servers as many threads look rows up as requests come together, with one worker the machine's own.
  const busy = workers === 1 ? threads : Math.min(threads, workers);
  const widest = rowTimes(medium, busy, Math.max(...tables.map(({ rowBytes }) => rowBytes)));
  return {
    name,
    medium,
    bytes: bytes * usableShare,
    devices,
    records,
    round: widest.round,
    pages: !records && pages(medium),
    readSeconds: (rowBytes) => rowTimes(medium, busy, rowBytes, devices).readSeconds,
    writeSeconds: (rowBytes) => rowTimes(medium, busy, rowBytes, devices).writeSeconds,
    ...bandOf(widest),
  };
}

function bandOf({ band, outside }: RowTimes): Pick<PlanTier, "band" | "outside"> {
  return outside === undefined ? { band } : { band, outside };
}
