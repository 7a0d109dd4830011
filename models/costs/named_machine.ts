/**
 * Machines that a configuration names, as an offer: so many of them as hold a model. What a search for the cheapest machines
 * would find, the configuration says.
 *
 * @module
 */

import { fit, GIB, type Need, type Offer } from "./cost_model.ts";
import { monthIndex } from "./dates.ts";
import {
  bookMachine,
  type MachineCost,
  type PartName,
  type PricedMachine,
  priceMachine,
  type Prices,
  USABLE_SHARE,
} from "./machine_cost.ts";
import { OWNED, ownedRates } from "./owned_machines.ts";
import type { Instance } from "./price_book.ts";
import { parseBytes } from "../../base/bytes.ts";

/** Why a named machine makes no offer. */
export interface NoOffer {
  /** `no price: …`. */
  readonly why: string;
  /** Where one kind of memory alone lacks a price: the machines without it, and its bytes. */
  readonly rest?: { readonly host: Offer; readonly bytes: number };
}

/** Machines of one kind that are tried. */
const MOST_MACHINES = 256;

/**
 * As many of a machine as a need takes. A machine of which an hour's price alone is said is one that holds the model.
 *
 * @param prices In the currency of the offer.
 */
export function namedOffer(machine: MachineCost, need: Need, prices: Prices): Offer | NoOffer {
  if (typeof machine === "string") {
    const priced = priceMachine(machine, {}, prices);
    const row = bookMachine(machine, prices);
    if ("why" in priced || row === undefined) return { why: "why" in priced ? priced.why : `no price: "${machine}"` };
    return fit(row, need, USABLE_SHARE) ??
      { why: `no price: ${row.name} has not the kinds of memory that rows are in` };
  }
  const bytes = bytesOf(need);
  if (!("components" in machine)) {
    const priced = priceMachine(machine, {}, prices);
    if ("why" in priced) return { why: priced.why };
    const holds = Object.fromEntries(Object.entries(bytes).map(([part, amount]) => [part, amount / USABLE_SHARE]));
    return offerOf({ ...priced, holds }, need, prices, "stated");
  }
  // Parts of a stated number say how many machines it takes; others are as many as one machine's rows need.
  let least = 1;
  for (const [part, amount] of Object.entries(bytes)) {
    const modules = machine.components[part as PartName];
    if (modules?.count === undefined) continue;
    least = Math.max(
      least,
      Math.ceil(amount / (modules.count * parseBytes(modules.size) * USABLE_SHARE) * (1 - 1e-12)),
    );
  }
  let first: NoOffer | undefined;
  for (let machines = least; machines < least + MOST_MACHINES; machines++) {
    const needs = Object.fromEntries(Object.entries(bytes).map(([part, amount]) => [part, amount / machines]));
    const priced = priceMachine(machine, needs, prices);
    if (!("why" in priced)) return offerOf(priced, need, prices, OWNED, machines);
    const { why, rest, unfit } = priced;
    if (rest !== undefined) {
      const host = offerOf(rest.machine, { ...need, cxlBytes: 0, ssdBytes: 0 }, prices, OWNED, machines);
      return "why" in host ? host : { why, rest: { host, bytes: rest.gigabytes * 1e9 * machines } };
    }
    first ??= { why };
    if (unfit !== true) break;
  }
  return first ?? { why: "no price" };
}

/** Bytes of a need by kind of memory. In Memory Mode rows are in PMem; how much DRAM caches it, the machine says. */
function bytesOf(
  { dramBytes, pmemBytes, cxlBytes = 0, ssdBytes = 0, memoryMode }: Need,
): Partial<Record<PartName, number>> {
  const all = {
    dram: memoryMode ? 0 : dramBytes,
    pmem: memoryMode ? dramBytes + pmemBytes : pmemBytes,
    cxl: cxlBytes,
    nvme: ssdBytes,
  };
  return Object.fromEntries(Object.entries(all).filter(([, amount]) => amount > 0));
}

function offerOf(
  { what, perHour, purchase, watts, energyPerHour, dates, holds = {}, soldUntil }: PricedMachine,
  need: Need,
  prices: Prices,
  provider: string,
  machines: number = 1,
): Offer | NoOffer {
  const [from = prices.date, to = from] = oldest(dates).split(" to ");
  const instance: Instance = {
    provider,
    name: what,
    role: "memory",
    vcpus: undefined,
    dramGib: (holds.dram ?? 0) / GIB,
    pmemGib: (holds.pmem ?? 0) / GIB,
    ...(holds.cxl === undefined ? {} : { cxlGib: holds.cxl / GIB }),
    ...(holds.nvme === undefined ? {} : { nvmeCount: 1, nvmeGB: holds.nvme / 1e9 }),
    networkGBs: undefined,
    pricePerHour: perHour,
    ...(watts === undefined ? {} : { watts }),
    ...(energyPerHour === undefined ? {} : { energyPerHour }),
    ...(purchase === undefined ? {} : { bought: boughtFor(purchase, prices) }),
    from,
    to,
    region: "not stated",
    source: provider === OWNED ? "computed from parts of the price book" : "the scenario",
    mark: "C",
    note: "named by the configuration",
    file: "the scenario",
    own: true,
    ...(prices.currency === "USD" ? {} : { currency: prices.currency }),
    ...(soldUntil === undefined ? {} : { soldUntil }),
  };
  const offer = fit(instance, need, USABLE_SHARE * (1 + 1e-9));
  if (offer === undefined || offer.machines > machines) {
    return { why: `no price: ${what} has not the kinds of memory that rows are in` };
  }
  return offer.machines === machines ? offer : {
    ...offer,
    machines,
    pricePerHour: machines * perHour,
    overBuy: offer.overBuy * machines / offer.machines,
    dramBytes: machines * (holds.dram ?? 0),
    pmemBytes: machines * (holds.pmem ?? 0),
  };
}

function boughtFor(price: number, { dated }: Prices): NonNullable<Instance["bought"]> {
  const { life, capitalRate } = ownedRates(dated);
  return { price, lifeYears: life, financing: capitalRate };
}

/** The oldest of some spans: a figure is as old as its oldest price. */
function oldest(dates: readonly string[]): string {
  const end = (span: string): number => monthIndex(span.split(" to ").at(-1) ?? span, "last");
  return dates.reduce((a, b) => end(b) < end(a) ? b : a, dates[0] ?? "");
}
