/**
 * The ways to hold a model's tables, each by its best machines: DRAM alone, DRAM and CXL memory, DRAM and drives, …
 *
 * @module
 */

import { type PlanWin, planWin, type UnpricedMachine } from "../bill.ts";
import type { Plan, PlanAnswer, PlanMachine, PlanRequest } from "../plan_types.ts";
import { plan } from "../planner.ts";

/** A way to hold the tables. */
export interface Way {
  /** `DRAM + SSD`; of machines for rent `DRAM, rented`. */
  readonly name: string;
  /** The best machines of this way; absent: none holds the tables. */
  readonly plan?: Plan;
  /** Whether it meets the target and has a price. */
  readonly meets: boolean;
  /** Why it is not the best; absent of the best. */
  readonly why?: string;
  /** Of machines without a price: at most what they may cost to win. */
  readonly win?: PlanWin;
}

/** Tiers of a machine, and whether it is rented: machines that differ in number and size of modules alone are one way. */
export function wayOf({ tiers, purchase }: PlanMachine): string {
  return `${tiers.map(({ name }) => name).join(" + ")}${purchase === undefined ? ", rented" : ""}`;
}

/** The ways of an answer, the best first, then those that meet the target by price, then the others. */
export function waysOf(
  answer: PlanAnswer,
  request: PlanRequest & { readonly unpriced: readonly UnpricedMachine[] },
): Way[] {
  const { best, losers } = answer;
  const ways: Way[] = best === undefined ? [] : [{ name: wayOf(best.machine), plan: best, meets: true }];
  const { samplesPerSecond = 0, p99StepSeconds = Infinity, dollarsPerHour = Infinity } = request.target;
  const meets = (plan: Plan | undefined): boolean =>
    plan !== undefined && plan.samplesPerSecond.value >= samplesPerSecond &&
    plan.p99StepSeconds.value <= p99StepSeconds && plan.pricePerHour <= dollarsPerHour;
  const ranked = [...losers].sort((a, b) =>
    a.plan === undefined && b.plan === undefined ? holds(b.machine) - holds(a.machine) : rank(a.plan) - rank(b.plan)
  );
  for (const { machine, plan, why } of ranked) {
    const name = wayOf(machine);
    if (ways.some((way) => way.name === name)) continue;
    ways.push({ name, ...(plan === undefined ? {} : { plan }), meets: meets(plan), why });
  }
  const open = request.unpriced.flatMap((one) => {
    const win = planWin(one, request, answer);
    if (one.machine === undefined) return [];
    return [{ machine: one.machine, why: win === undefined ? unfitText(one.why, one.machine, request) : one.why, win }];
  }).sort((a, b) => worth(b.win) - worth(a.win) || holds(b.machine) - holds(a.machine));
  for (const { machine, why, win } of open) {
    // Without a price nothing says whether it would be bought: its parts do, where they are named.
    const way = machine.lines === undefined && machine.purchase === undefined
      ? `${machine.tiers.map((tier) => tier.name).join(" + ")}, quoted`
      : wayOf(machine);
    // Drives that have a price are a way; others of another size, which have none, are one of their own.
    const last = machine.tiers.at(-1);
    const priced = ways.some(({ name, win }) => name === way && win === undefined);
    const name = priced && last?.records === true ? `${way}, of another size` : way;
    if (ways.some((way) => way.name === name)) continue;
    ways.push({ name, ...(win === undefined ? {} : { plan: win.plan, win }), meets: false, why });
  }
  return ways;

  function rank(plan: Plan | undefined): number {
    return plan === undefined ? Infinity : plan.pricePerHour + (meets(plan) ? 0 : 1e30);
  }
}

/** Why a machine without a price is no way, whatever it may cost: that the tables do not fit, or the target is missed. */
function unfitText(why: string, machine: PlanMachine, request: PlanRequest): string {
  const { best, losers } = plan({ ...request, machines: [{ ...machine, pricePerHour: LEAST }] });
  return best === undefined && losers[0] !== undefined ? `${why}; ${losers[0].why}` : why;
}

/** An hour's price that no budget refuses. */
const LEAST = 1e-9;

function holds({ tiers }: PlanMachine): number {
  return tiers.reduce((sum, { bytes }) => sum + bytes, 0);
}

function worth(win: PlanWin | undefined): number {
  return win === undefined ? -Infinity : win.perGB?.bought ?? win.perHour;
}
