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
import type { Plan, PlanAnswer, PlanBill, PlanMachine, PlanRequest } from "./plan_types.ts";
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
  /** The machine, its price that of the parts that have one; absent: it cannot be planned with at any price. */
  readonly machine?: PlanMachine;
  /** Where CXL memory or drives alone lack a price: the rest of the machine. */
  readonly rest?: NoPrice["rest"];
}

/** Up to which price a machine without one would win. */
export interface PlanWin {
  /** How many of it the target needs. */
  readonly hosts: number;
  /** At most so much for an hour of one, all of it: 0 or less, it would lose as a gift. */
  readonly perHour: number;
  /** Where CXL memory or drives alone lack a price: at most so much for a GB of it, bought, and a month of a GB. */
  readonly perGB?: { readonly bought: number; readonly month: number };
  /** The plan on it. */
  readonly plan: Plan;
}

/**
 * Up to which price a machine without a price would win: where as many of it as the target needs cost what the winner costs.
 *
 * @returns Undefined where it cannot be planned with, or where there is no winner, or it cannot meet the target; and with a
 * budget alone, where the fastest wins.
 */
export function planWin(
  { rest, machine }: UnpricedMachine,
  request: PlanRequest,
  { best }: PlanAnswer,
): PlanWin | undefined {
  const { samplesPerSecond, p99StepSeconds } = request.target;
  if (machine === undefined || best === undefined || (samplesPerSecond ?? p99StepSeconds) === undefined) {
    return undefined;
  }
  // Without what has no price it costs less than with it: what it is planned with must not bound the number of machines.
  const found = plan({ ...request, machines: [{ ...machine, pricePerHour: rest?.machine.perHour ?? 0 }] }).best;
  if (found === undefined) return undefined;
  const perHour = best.pricePerHour / found.hosts;
  if (rest === undefined) return { hosts: found.hosts, perHour, plan: found };
  const spare = (perHour - rest.machine.perHour) / rest.gigabytes;
  return {
    hosts: found.hosts,
    perHour,
    perGB: { bought: spare / rest.hourly, month: spare * HOURS_PER_MONTH },
    plan: found,
  };
}

/** {@linkcode planWin} in words. */
export function planWinText(one: UnpricedMachine, request: PlanRequest, answer: PlanAnswer): string | undefined {
  const [win, { best, bill }] = [planWin(one, request, answer), answer];
  if (win === undefined || best === undefined) return undefined;
  const [sign, against] = [bill?.sign ?? "$", `against ${best.hosts} × ${best.machine.name}`];
  const most = win.perGB === undefined
    ? `${significant(win.perHour)} ${sign} an hour, or ${significant(win.perHour * HOURS_PER_MONTH)} ${sign} a month,`
    : `${significant(win.perGB.bought)} ${sign}/GB to buy, or ${significant(win.perGB.month)} ${sign}/GB-month,`;
  return (win.perGB?.bought ?? win.perHour) <= 0
    ? `as a gift it would not win ${against}`
    : `at most ${most} for ${win.hosts} of it to win ${against}`;
}

/** The price of a machine of the user's own, all of whose memory must be there, whatever share of it rows may use. */
export function ownPrice({ machine, tiers }: ResolvedMachine, prices: Prices): PricedMachine | NoPrice {
  if (machine === undefined) return { why: "no price is stated" };
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
    trainers: `${trainers.count} × ${price.what}`,
    of: `the whole bill, with ${trainers.count} × ${price.what} to train (${dates})`,
  };
}

/** That prices are old, and what is not sold any more. */
export function priceNoteOf({ stale, ended }: Omit<PriceAge, "dates">): Pick<PlanMachine, "priceNote"> {
  const notes = [...(stale ? ["over a year old"] : []), ...ended];
  return notes.length === 0 ? {} : { priceNote: notes.join("; ") };
}
