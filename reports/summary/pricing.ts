/**
 * Prices the cases: cheapest machines that hold a model of the named size, and what a million samples costs on them.
 *
 * @module
 */

import type { UnpricedCase } from "./case_summary.ts";
import { decimalBytesText } from "../../base/bytes.ts";
import { percentText, significant } from "../../base/numbers.ts";
import type { CaseCost, CaseSummary, Pricing } from "./summary_types.ts";
import type { ScenarioView } from "./scenario_view.ts";
import { mapEstimate } from "../statistics/bootstrap.ts";
import {
  dollarsPerMillionSamples,
  type Need,
  type Offer,
  offers,
  priceWithoutOverBuy,
  savingWithCommon,
} from "../../models/costs/cost_model.ts";
import { type BillPart, billParts, BOUNDARIES, commonPerHour, partsWithin } from "../../models/costs/bill.ts";
import { missingForOwned, OWNED, ownedMachines } from "../../models/costs/owned_machines.ts";
import { currencySign, DOLLARS } from "../../models/costs/currency.ts";
import {
  boughtPerHour,
  dateText,
  type Instance,
  isEnded,
  isStale,
  type PriceBook,
  pricesAsOf,
} from "../../models/costs/price_book.ts";
import { listText } from "../text/format.ts";
import { namedOffer, type NoOffer } from "../../models/costs/named_machine.ts";
import type { Prices } from "../../models/costs/machine_cost.ts";
import { paybackMonths } from "../../models/costs/owned.ts";
import { winText } from "./win_price.ts";
import { type SampleWork, serversNeeded } from "../../models/costs/traffic.ts";

/** Share of a machine's memory that tables may use; the rest is for system, process and buffers. An assumption. */
const USABLE_SHARE = 0.9;

/** $ an hour of a training worker, for the question what happens when it is in the bill. */
const WORKER_PRICES: readonly number[] = [5, 10, 20];

/** Why a traffic cannot be asked of a case. */
export const NO_WIRE: string =
  'The record does not say what a step sends over the network ("wire" of a sample; earlier versions wrote none), so no traffic ' +
  "can be asked";

/** What pricing reads of a case. */
export type PriceableCase =
  & Pick<
    UnpricedCase,
    | "name"
    | "configuration"
    | "holding"
    | "virtual"
    | "throughput"
    | "relative"
    | "baseline"
    | "dramBytes"
    | "tableBytes"
  >
  & {
    readonly tiers: readonly { readonly type?: string; readonly purposes: Readonly<Record<string, number>> }[];
    /** Bytes of DRAM for rows as a share of the row bytes; absent: what index and policy need, and no more. */
    readonly cacheShare?: number;
    /** What a sample asks of a server; needed where a traffic is asked for. */
    readonly work?: (SampleWork & { readonly cpuSeconds: number }) | undefined;
  };

/** A case with its price, or why it has none. */
export type Priced<T> = T & Pick<CaseSummary, "cost" | "costMissing">;

interface Choice {
  readonly need: Need;
  readonly overhead: number;
  readonly offer: Offer;
}

/** Machines of one provider; Memory Mode runs on some of them only. */
interface Seller {
  readonly provider: string;
  readonly machines: readonly Instance[];
  readonly forMemoryMode: readonly Instance[];
}

/**
 * Prices what can be priced; every other case says why not.
 *
 * @param book Prices of any date; those of `cost.prices` are used.
 * @param traffic Samples a second that all machines together must train. Default: what the run did, on machines that hold
 * the model; more machines are bought for memory alone then.
 */
export function priceCases<T extends PriceableCase>(
  cases: readonly T[],
  { cost }: Pick<ScenarioView, "cost">,
  book: PriceBook,
  traffic?: number,
): { readonly cases: Priced<T>[]; readonly pricing: Pricing | undefined } {
  const dated = pricesAsOf(book, cost.prices);
  const unpriced = (why: (one: T) => string): Priced<T>[] =>
    cases.map((one) => ({ ...one, cost: undefined, costMissing: why(one) }));
  if (cost.model !== "cloud" && cost.model !== "owned") {
    const why = `No cost model "${cost.model}": there are "cloud" and "owned"`;
    return { cases: unpriced(() => why), pricing: undefined };
  }
  const currency = [...dated.instances, ...dated.items].find((row) => row.currency !== undefined)?.currency ?? DOLLARS;
  const sign = currencySign(currency);
  const bill = billParts(cost.bill, dated, cost.priceForBytes, sign);
  const common = commonPerHour(bill, cost.boundary);
  if (common === undefined) {
    const [part] = partsWithin(bill, cost.boundary).flatMap(({ missing }) => missing ?? []);
    const why = `The bill holds more than there are prices for: ${part}; --boundary parameter-servers prices the rest`;
    return { cases: unpriced(() => why), pricing: undefined };
  }
  const lacking = cost.model === "owned" ? missingForOwned(dated) : [];
  if (lacking.length > 0) {
    const why = `Owned servers need more prices than the book has by ${cost.prices}: ${lacking.join(", ")}`;
    return { cases: unpriced(() => why), pricing: undefined };
  }
  const needs = new Map(cases.map((one) => [one.name, needOf(one, cost.priceForBytes)]));
  const byName = new Map(cases.map((one) => [one.name, one]));
  const at: Prices = { dated, book, currency, sign, date: cost.prices };
  const own = new Map(cases.flatMap((one): [string, Offer | NoOffer][] => {
    const [machine, need] = [cost.machines?.[one.configuration], needs.get(one.name)];
    return machine === undefined || need === undefined || typeof need === "string"
      ? []
      : [[one.name, namedOffer(machine, need.need, at)]];
  }));
  const tries = sellers(cost.model, dated).map(({ provider, machines, forMemoryMode }) => {
    const choices = new Map<string, Choice>();
    for (const [name, need] of needs) {
      if (typeof need === "string") continue;
      const named = own.get(name);
      const offer = named === undefined
        ? cheapest(need.need.memoryMode ? forMemoryMode : machines, need.need, byName.get(name), traffic)
        : "why" in named
        ? undefined
        : traffic === undefined
        ? named
        : cheapest([named.instance], need.need, byName.get(name), traffic);
      if (offer !== undefined) choices.set(name, { ...need, offer });
    }
    const total = [...choices.values()].reduce((sum, { offer }) => sum + offer.pricePerHour, 0);
    return { provider, machines, choices, total };
  }).sort((a, b) => b.choices.size - a.choices.size || a.total - b.total);
  const best = tries[0];
  if (best === undefined || best.choices.size === 0) {
    return {
      cases: unpriced((one) => {
        const need = needs.get(one.name);
        return typeof need === "string" ? need : `The price book has no machine for it as of ${cost.prices}`;
      }),
      pricing: undefined,
    };
  }
  const rented = dated.instances.filter(({ bought }) => bought === undefined);
  const priced = cases.map((one): Priced<T> => {
    const need = needs.get(one.name);
    const choice = best.choices.get(one.name);
    if (typeof need === "string") return { ...one, cost: undefined, costMissing: need };
    const named = own.get(one.name);
    if (named !== undefined && "why" in named) {
      const beside = { choices: best.choices, machines: best.machines, common, cost, sign };
      return { ...one, cost: undefined, costMissing: namedLackText(one, named, beside) };
    }
    if (choice === undefined && need !== undefined && (one.holding === "cxl" || one.holding === "ssd")) {
      const why = lackText(one, need.need, { choices: best.choices, machines: best.machines, common, cost, sign });
      return { ...one, cost: undefined, costMissing: why };
    }
    if (choice === undefined || one.throughput === undefined) {
      if (traffic !== undefined && one.work === undefined) return { ...one, cost: undefined, costMissing: NO_WIRE };
      const why = traffic === undefined ? "" : " that states its vCPUs";
      return { ...one, cost: undefined, costMissing: `${best.provider} has no machine for it in the price book${why}` };
    }
    const baseline = one.baseline === undefined ? undefined : best.choices.get(one.baseline);
    const terms = { bill, common, rowBytes: cost.priceForBytes, traffic, rented };
    return { ...one, cost: caseCost(one, choice, baseline, terms), costMissing: undefined };
  });
  const used = [
    ...priced.flatMap((one) => one.cost?.offer.instance ?? []),
    ...partsWithin(bill, cost.boundary).flatMap(({ price }) => price ?? []),
  ];
  return {
    cases: priced,
    pricing: {
      asOf: cost.prices,
      provider: listText([...new Set(priced.flatMap(({ cost }) => cost?.offer.instance.provider ?? []))]),
      dates: [...new Set(used.filter((row) => "provider" in row).map(dateText))].join(", "),
      stale: used.some((price) => isStale(price, cost.prices)),
      currency,
      sign,
      ended: endedOf(priced, cost.prices),
      model: cost.model,
      boundary: cost.boundary,
      bill,
      common,
      ownFiles: [...new Set([...dated.instances, ...dated.items].filter(({ own }) => own).map(({ file }) => file))],
      modelBytes: cost.priceForBytes,
      usableShare: USABLE_SHARE,
      scaling: scalingText(priced, cost.priceForBytes),
      instances: dated.instances,
      items: dated.items,
      otherOffers: tries.slice(1).flatMap(({ choices }) =>
        [...choices].map(([name, { offer }]) => ({ case: name, offer }))
      ),
    },
  };
}

/**
 * The cheapest machines that hold a model, and train the traffic that is asked for. Of a shape whose network the book does
 * not state, memory and vCPUs alone count.
 */
function cheapest(
  machines: readonly Instance[],
  need: Need,
  { work }: Pick<PriceableCase, "work"> = {},
  traffic: number | undefined,
): Offer | undefined {
  if (traffic === undefined) return offers(machines, need, USABLE_SHARE)[0];
  if (work === undefined) return undefined;
  const stated = machines.filter(({ networkGBs }) => networkGBs !== undefined);
  const silent = machines.filter(({ networkGBs }) => networkGBs === undefined);
  return [
    ...serversNeeded(stated, need, traffic, work, USABLE_SHARE),
    ...offers(silent, { ...need, vcpus: traffic * work.cpuSeconds }, USABLE_SHARE),
  ].reduce<Offer | undefined>((a, b) => a === undefined || b.pricePerHour < a.pricePerHour ? b : a, undefined);
}

/** Who has machines: every provider of the book, or the owner of servers. */
function sellers(model: "cloud" | "owned", dated: PriceBook): Seller[] {
  if (model === "owned") {
    const all = ownedMachines(dated);
    return [{
      provider: OWNED,
      machines: all.map(({ instance }) => instance),
      forMemoryMode: all.filter(({ population }) => population.memoryMode).map(({ instance }) => instance),
    }];
  }
  const providers = [...new Set(dated.instances.filter((i) => i.role === "memory").map((i) => i.provider))];
  return providers.map((provider) => {
    const machines = dated.instances.filter((instance) => instance.provider === provider);
    return { provider, machines, forMemoryMode: machines };
  });
}

/** What the cost of every case is made with. */
interface Terms {
  readonly bill: readonly BillPart[];
  readonly common: number;
  readonly rowBytes: number;
  readonly traffic: number | undefined;
  /** Machines that can be rented: what a purchase saves. */
  readonly rented: readonly Instance[];
}

/** What it takes to own machines: money, power, and months of rent that pay it. Nothing of rented ones but their power. */
function owningOf({ offer: { instance, machines }, need }: Choice, rented: readonly Instance[]): CaseCost["owning"] {
  const { bought, watts, pricePerHour } = instance;
  if (bought === undefined) return watts === undefined ? undefined : { watts: watts * machines };
  const energy = instance.energyPerHour ?? (watts === undefined ? undefined : pricePerHour - boughtPerHour(bought));
  const [rent] = offers(rented, need, USABLE_SHARE);
  const purchase = bought.price * machines;
  const months = energy === undefined || rent === undefined
    ? undefined
    : paybackMonths(purchase, rent.pricePerHour, energy * machines);
  return {
    purchase,
    ...(watts === undefined ? {} : { watts: watts * machines }),
    ...(months === undefined || rent === undefined ? {} : { payback: { months, against: rent } }),
  };
}

function caseCost(one: PriceableCase, choice: Choice, baseline: Choice | undefined, terms: Terms): CaseCost {
  const { bill, common, rowBytes, traffic, rented } = terms;
  const { offer } = choice;
  const price = offer.pricePerHour;
  const pricePerHour = price + common;
  const perMillion = mapEstimate(
    one.throughput as NonNullable<UnpricedCase["throughput"]>,
    (rate) => dollarsPerMillionSamples(pricePerHour, traffic ?? rate),
  );
  // At equal traffic both sides train equally fast: what is slower needs more machines.
  const relative = one.relative === undefined || traffic === undefined
    ? one.relative
    : mapEstimate(one.relative, () => 1);
  const compared = baseline !== undefined && relative !== undefined;
  const other = baseline?.offer.pricePerHour ?? price;
  const savedWithin = BOUNDARIES.map((boundary) => {
    const within = commonPerHour(bill, boundary);
    const saved = compared && within !== undefined
      ? mapEstimate(relative, (ratio) => savingWithCommon(other, price, within, ratio))
      : undefined;
    return { boundary, saved };
  });
  return {
    ...choice,
    owning: owningOf(choice, rented),
    pricePerHour,
    perMillion,
    saved: compared ? mapEstimate(relative, (ratio) => savingWithCommon(other, price, common, ratio)) : undefined,
    flip: compared
      ? mapEstimate(relative, (ratio) => Math.max(0, ((price + common) / ratio - common) / other))
      : undefined,
    savedWithoutOverBuy: compared
      ? savingWithCommon(priceWithoutOverBuy(baseline.offer), priceWithoutOverBuy(offer), common, relative.value)
      : undefined,
    savedWithin,
    savedWithWorker: compared
      ? WORKER_PRICES.map((worker) => ({ worker, saved: savingWithCommon(other, price, worker, relative.value) }))
      : [],
    dramShare: one.holding === "dram"
      ? undefined
      : { run: one.dramBytes / one.tableBytes, priced: offer.dramBytes * USABLE_SHARE / rowBytes },
  };
}

/** Machines in use whose memory is not sold new any more, in words. */
function endedOf(cases: readonly Pick<CaseSummary, "cost">[], date: string): string[] {
  const machines = cases.flatMap(({ cost }) => cost?.offer.instance ?? []).filter((one) => isEnded(one, date));
  return [
    ...new Set(machines.map(({ name, soldUntil }) => `${name}: its memory is not sold new since ${soldUntil}`)),
  ];
}

/** What a case without a price is held against. */
interface Beside {
  readonly choices: ReadonlyMap<string, Choice>;
  readonly machines: readonly Instance[];
  readonly common: number;
  readonly cost: ScenarioView["cost"];
  readonly sign: string;
}

/** Why a configuration's own machines have no price, and up to which one of their memory they would win. */
function namedLackText(one: PriceableCase, { why, rest }: NoOffer, { choices, common, cost, sign }: Beside): string {
  const baseline = one.baseline === undefined ? undefined : choices.get(one.baseline);
  const said = `${why.charAt(0).toUpperCase()}${why.slice(1)}`;
  if (rest === undefined || one.relative === undefined || baseline === undefined) return said;
  const against = { name: one.baseline as string, offer: baseline.offer };
  return `${said}; ${winText({ relative: one.relative, baseline: against, common, ...rest }, cost.boundary, sign)}`;
}

/** Why memory has no price, and up to which one it would win. */
function lackText(one: PriceableCase, need: Need, { choices, machines, common, cost, sign }: Beside): string {
  const what = one.holding === "cxl" ? "No public price of CXL memory" : "No price of a machine with NVMe drives";
  const baseline = one.baseline === undefined ? undefined : choices.get(one.baseline);
  const [host] = offers(machines, { ...need, cxlBytes: 0, ssdBytes: 0 }, USABLE_SHARE);
  if (one.relative === undefined || baseline === undefined || host === undefined) return what;
  const bytes = ((need.cxlBytes ?? 0) + (need.ssdBytes ?? 0)) / USABLE_SHARE;
  const against = { name: one.baseline as string, offer: baseline.offer };
  return `${what}; ${winText({ relative: one.relative, baseline: against, host, common, bytes }, cost.boundary, sign)}`;
}

/** Memory that a model of so many bytes of rows needs in a case, or why that cannot be said. */
function needOf(one: PriceableCase, rowBytes: number): { need: Need; overhead: number } | string {
  if (one.virtual) return "The medium is virtual: no price";
  if (one.holding === "paged") {
    return "No price: the kernel places pages in DRAM and in slower memory, and the record does not say how much of each to buy";
  }
  if (one.holding === "other") {
    return "No price: the price book has no machines for this storage type, or the record does not say what its memory is";
  }
  const total = (purpose: string): number => one.tiers.reduce((sum, tier) => sum + (tier.purposes[purpose] ?? 0), 0);
  const rows = total("rows");
  if (rows === 0 || one.tableBytes === 0) return "The run holds no rows to scale from";
  const overhead = (total("index") + total("policy")) / rows;
  const [held, beside] = [rowBytes, rowBytes * overhead];
  const inDram = { dramBytes: beside + (one.cacheShare ?? 0) * rowBytes, pmemBytes: 0, memoryMode: false };
  const placed = placedInDram(one);
  if (placed !== undefined && placed > 1) {
    return "The kernel had more DRAM in the run than the tables take: there is no share of it to scale from";
  }
  const need = placed !== undefined
    ? { ...inDram, dramBytes: beside + placed * held, cxlBytes: (1 - placed) * held }
    : one.holding === "pmem"
    ? { ...inDram, pmemBytes: held }
    : one.holding === "cxl"
    ? { ...inDram, cxlBytes: held }
    : one.holding === "ssd"
    ? { ...inDram, ssdBytes: held }
    : { dramBytes: held + beside, pmemBytes: 0, memoryMode: one.holding === "memory-mode" };
  return { need, overhead };
}

/** Share of rows in DRAM where the kernel places them over it and CXL memory: they are in one of them, not in both. */
function placedInDram({ holding, tiers: [tier, ...others], dramBytes }: PriceableCase): number | undefined {
  if (holding !== "cxl" || tier?.type !== "DRAM" || others.length > 0) return undefined;
  const { rows = 0, ...rest } = tier.purposes;
  return (dramBytes - Object.values(rest).reduce((sum, bytes) => sum + bytes, 0)) / rows;
}

function scalingText(cases: readonly Priced<PriceableCase>[], rowBytes: number): string {
  const priced = cases.filter((one) => one.cost !== undefined);
  const tables = Math.max(...priced.map((one) => one.tableBytes));
  const overheads = priced.map((one) => one.cost?.overhead ?? 0);
  const [low, high] = [percentText(Math.min(...overheads)), percentText(Math.max(...overheads))];
  const shares = priced.flatMap((one) => one.cost?.dramShare ?? []);
  const share = (of: (s: { run: number; priced: number }) => number): string => {
    const values = [...new Set(shares.map((s) => percentText(of(s))))];
    return values.join(" or ");
  };
  const dram = shares.length === 0
    ? ""
    : ` In the run the PMEM configurations had DRAM for ${share((s) => s.run)} of the row bytes; the priced machines ` +
      `have it for ${share((s) => s.priced)}.`;
  return `The run's tables (${decimalBytesText(tables)} of rows) are scaled to ${
    decimalBytesText(rowBytes)
  } of rows, a ` +
    `factor of ${significant(rowBytes / tables)}; index and policy grow along as measured (${
      low === high ? low : `${low} to ${high}`
    } of the row bytes), buffers and reserved space do not. Throughput is taken as it came out of the run: one training process at the ` +
    `run's table size. A larger table misses CPU caches more often and a whole machine runs more processes, so the ` +
    `dollar figure compares configurations and does not forecast a bill.${dram} At most ${
      percentText(USABLE_SHARE)
    } of a ` +
    `machine's memory is given to tables (an assumption).`;
}
