/**
 * What a plan's machines cost, and the rest of its bill.
 *
 * @module
 */

import { significant } from "../../base/numbers.ts";
import { HOURS_PER_MONTH } from "../costs/bill.ts";
import {
  type MachineCost,
  type NoPrice,
  type PartName,
  partNamed,
  type PriceAge,
  type PricedMachine,
  priceMachine,
  type Prices,
  USABLE_SHARE,
} from "../costs/machine_cost.ts";
import type { ResolvedMachine } from "./plan_file.ts";
import type { PlanAnswer, PlanBill, PlanMachine, PlanRequest } from "./plan_types.ts";
import { plan } from "./planner.ts";

/** Machines that train. */
export interface PlanTrainers {
  /** What one costs. */
  readonly machine: MachineCost;
  /** How many. */
  readonly count: number;
}

/** How a plan is priced. */
export interface PlanPricing {
  /** Currency of every amount. Default USD. */
  readonly currency?: string;
  /** Whether the bill ends with the machines that hold the tables. Default false: trainers are in it. */
  readonly serversAlone?: boolean;
}

/** A machine that cannot be planned with. */
export interface UnpricedMachine {
  /** Its name in the plan. */
  readonly name: string;
  /** `no price: …`. */
  readonly why: string;
  /** The machine, its price that of the parts that have one. */
  readonly machine: PlanMachine;
  /** Where CXL memory alone lacks a price: the rest of the machine. */
  readonly rest?: NoPrice["rest"];
}

/**
 * Up to which price of its CXL memory a machine without a price would win: where as many of it as the target needs cost what
 * the winner costs.
 *
 * @returns Undefined where something else has no price, or where there is no winner, or it cannot meet the target.
 */
export function planWinText(
  { rest, machine }: UnpricedMachine,
  request: PlanRequest,
  { best, bill }: PlanAnswer,
): string | undefined {
  if (rest === undefined || best === undefined) return undefined;
  // Without its CXL memory it costs less than with it: what it is planned with must not bound the number of machines.
  const found = plan({ ...request, machines: [{ ...machine, pricePerHour: rest.machine.perHour }] }).best;
  if (found === undefined) return undefined;
  const spare = (best.pricePerHour - found.hosts * rest.machine.perHour) / (found.hosts * rest.gigabytes);
  const [perGB, perMonth] = [spare / rest.hourly, spare * HOURS_PER_MONTH];
  const sign = bill?.sign ?? "$";
  return spare <= 0
    ? `as a gift it would not win against ${best.hosts} × ${best.machine.name}`
    : `at most ${significant(perGB)} ${sign}/GB to buy, or ${
      significant(perMonth)
    } ${sign}/GB-month, for ${found.hosts} of it to ` +
      `win against ${best.hosts} × ${best.machine.name}`;
}

/** The price of a machine of the user's own, all of whose memory must be there, whatever share of it rows may use. */
export function ownPrice({ machine, tiers }: ResolvedMachine, prices: Prices): PricedMachine | NoPrice {
  const needs: Partial<Record<PartName, number>> = {};
  for (const { medium, bytes, records } of tiers) {
    const part = partNamed(medium) ?? (records ? "nvme" : undefined);
    if (part !== undefined) needs[part] = (needs[part] ?? 0) + bytes * USABLE_SHARE;
  }
  return priceMachine(machine, needs, prices);
}

/** The trainers' part of the bill, or why there is none. */
export function billOf(trainers: PlanTrainers | undefined, prices: Prices, serversAlone: boolean): PlanBill {
  const { sign } = prices;
  const alone = "the machines that hold the tables alone";
  if (serversAlone) return { sign, commonPerHour: 0, of: alone };
  if (trainers === undefined) {
    return { sign, commonPerHour: 0, of: `${alone}; no price of what trains: cost.trainers does not say what it is` };
  }
  const price = priceMachine(trainers.machine, {}, prices);
  if ("why" in price) return { sign, commonPerHour: 0, of: `${alone}; of what trains ${price.why}` };
  const { priceNote } = priceNoteOf(price);
  const dates = `prices of ${price.dates.join(", ")}${priceNote === undefined ? "" : `, ${priceNote}`}`;
  return {
    sign,
    commonPerHour: price.perHour * trainers.count,
    of: `the whole bill, with ${trainers.count} × ${price.what} to train (${dates})`,
  };
}

/** That prices are old, and what is not sold any more. */
export function priceNoteOf({ stale, ended }: Omit<PriceAge, "dates">): Pick<PlanMachine, "priceNote"> {
  const notes = [...(stale ? ["over a year old"] : []), ...ended];
  return notes.length === 0 ? {} : { priceNote: notes.join("; ") };
}
