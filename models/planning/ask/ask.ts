/**
 * A plan file's whole answer: the cheapest machines, the other ways to hold the tables, both leaders in virtual time, what it
 * takes to be sure, and what would turn it around. Plans are the planner's, costs its bill, speeds its step cost.
 *
 * @module
 */

import { DOLLARS } from "../../costs/currency.ts";
import { type Instance, type PriceBook, pricesAsOf } from "../../costs/price_book.ts";
import type { PlanPricing } from "../bill.ts";
import { planInputs } from "../inputs.ts";
import type { ResolvedPlanFile } from "../plan_file.ts";
import type { Plan, PlanAnswer, PlanDoubt, SimulatedPlan } from "../plan_types.ts";
import { hasPages } from "../by_kernel.ts";
import { bestPlan, placementsOn, plan, planOn, Z99 } from "../planner.ts";
import { type PlanInputs, planRequest } from "../request.ts";
import { planRowRule } from "../row_rule.ts";
import { meetsAt, uncalibrated } from "../verdict.ts";
import { type Turn, turnsOf } from "./turning.ts";
import { type Way, wayOf, waysOf } from "./ways.ts";

/** A question's answer. */
export interface Asked {
  /** The plan file, every default filled in. */
  readonly file: ResolvedPlanFile;
  /** The planner's answer. */
  readonly answer: PlanAnswer;
  /** The ways to hold the tables, the best first. */
  readonly ways: readonly Way[];
  /** Machines that are in no way, and why: `name`, reason. */
  readonly left: readonly (readonly [string, string])[];
  /** The best and the next way in virtual time; undefined where the engine does not have what a plan asks for. */
  readonly simulated: readonly (readonly [Plan, SimulatedPlan | undefined])[];
  /** Of each way with DRAM and CXL memory, its machines by who places the rows, the fastest first, and each in virtual time. */
  readonly placements: readonly {
    readonly way: string;
    readonly plans: readonly (readonly [Plan, SimulatedPlan | undefined])[];
  }[];
  /** Doubts that another way wins, or that the best one meets the target. */
  readonly doubts: readonly PlanDoubt[];
  /**
   * As many of the best machines as meet the target with every medium at the slow end of its band; absent where a medium has
   * none, or where the best is so many already.
   */
  readonly sure?: Plan;
  /** The five-minute rule for its rows, a sentence without its full stop; absent where the book has no prices for it. */
  readonly rowRule?: string;
  /** What would turn it around. */
  readonly turns: readonly Turn[];
  /** The cheapest machines for rent, of anybody in the price book, that meet the target: what a purchase saves. Absent: none do. */
  readonly rented?: Plan;
}

/** How a question is answered. */
export interface AskOptions extends PlanPricing {
  /** Whether what would turn the answer around is looked for, which takes most of the time. Default true. */
  readonly turns?: boolean;
}

/**
 * Answers a plan file.
 *
 * @throws {RangeError} There is no machine to plan with, or a rate is needed that no row states.
 * @throws {ScenarioError} A medium is not known, or a tier is larger than its devices.
 */
export async function ask(
  file: ResolvedPlanFile,
  book: PriceBook,
  { turns = true, ...pricing }: AskOptions = {},
): Promise<Asked> {
  const inputs = await planInputs(file);
  const request = planRequest(inputs, book, pricing);
  const answer = plan(request);
  const ways = waysOf(answer, request);
  const leaders = ways.flatMap((way) =>
    way.plan !== undefined && (way.meets || way.win !== undefined) ? [way.plan] : []
  )
    .slice(0, 2);
  const { best } = answer;
  const { currency = DOLLARS } = pricing;
  const rowRule = planRowRule(file, book, inputs.prices, currency);
  const wayOfDoubt = ({ machine }: PlanDoubt): string | undefined => {
    const found = request.machines.find(({ name }) => name === machine);
    return found === undefined ? undefined : wayOf(found);
  };
  // Of a way that may win one doubt is enough: that of the machine whose price is nearest to the winner's.
  const nearest = new Map<string, PlanDoubt>();
  for (const one of answer.doubts) {
    const way = wayOfDoubt(one);
    if (one.turns !== "misses" && best !== undefined && way === wayOf(best.machine)) continue;
    const key = `${one.turns} ${way}`;
    const other = nearest.get(key);
    if (other === undefined || priceOf(other) < priceOf(one)) nearest.set(key, one);
  }
  const doubts = [...nearest.values()];
  function priceOf({ machine, hosts }: PlanDoubt): number {
    return hosts * (request.machines.find(({ name }) => name === machine)?.pricePerHour ?? 0);
  }
  const sure = best === undefined ? undefined : sureOf(best, request);
  const shown = new Set(ways.flatMap((way) => way.plan === undefined ? [] : [way.plan.machine.name]));
  return {
    file,
    answer,
    ways,
    left: [
      ...answer.losers.filter(({ machine }) => !shown.has(machine.name)).map(({ machine, why }) =>
        [machine.name, why] as const
      ),
      ...request.unpriced.filter(({ name }) => !shown.has(name)).map(({ name, why }) => [name, why] as const),
    ],
    simulated: leaders.map((one) => [one, inputs.simulate(one)] as const),
    placements: ways.flatMap(({ name, plan }) =>
      plan === undefined || !hasPages(plan.machine) ? [] : [{
        way: name,
        plans: placementsOn(plan.machine, plan.hosts, request).map((one) => [one, inputs.simulate(one)] as const),
      }]
    ),
    doubts,
    ...(sure === undefined ? {} : { sure }),
    ...(rowRule === undefined ? {} : { rowRule }),
    turns: turns ? await turnsOf({ file, book, pricing, inputs, request, answer }) : [],
    ...rentedOf(inputs, book, pricing),
  };
}

/** The cheapest machines for rent that meet the target, whoever rents them out. */
function rentedOf(inputs: PlanInputs, book: PriceBook, pricing: PlanPricing): Pick<Asked, "rented"> {
  const isRented = ({ bought }: Pick<Instance, "bought">): boolean => bought === undefined;
  const rentals = { ...book, instances: book.instances.filter(isRented) };
  if (!pricesAsOf(rentals, inputs.prices).instances.some(({ role }) => role === "memory")) return {};
  const rented = bestPlan(planRequest({ ...inputs, own: [], providers: undefined }, rentals, pricing));
  return rented === undefined ? {} : { rented };
}

/** The fewest of a plan's machines that meet the target at the slow end of every band. */
function sureOf(best: Plan, request: Parameters<typeof planOn>[2]): Plan | undefined {
  if (uncalibrated(best).length > 0 || meetsAt(best, request, "high", Z99)) return undefined;
  for (let hosts = best.hosts + 1; hosts <= Math.min(request.maxHosts, best.hosts * 2 + 1); hosts++) {
    const found = planOn(best.machine, hosts, request);
    if (found !== undefined && meetsAt(found, request, "high", Z99)) return found;
  }
  return undefined;
}
