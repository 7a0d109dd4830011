/**
 * Whether a plan wins however wrong the models may be: what bands, or their absence, could turn.
 *
 * @module
 */

import type { Plan, PlanDoubt, PlanMachine, PlanRequest } from "./plan_types.ts";

/** What a medium without a band may be wrong by: anything. */
const ANYTHING = { low: 1e-3, high: 1e3 };

function usedMedia({ machine, placements }: Plan): string[] {
  const used = machine.tiers.filter((_, k) => placements.some(({ answered }) => (answered[k] ?? 0) > 0));
  return [...new Set(used.map(({ medium }) => medium))];
}

/** Media of a plan that are used and have no band, and why. */
export function uncalibrated(plan: Plan): { readonly medium: string; readonly why: string }[] {
  const used = usedMedia(plan);
  return plan.machine.tiers.flatMap(({ medium, band, outside }) =>
    band !== undefined || !used.includes(medium) ? [] : [{ medium, why: outside ?? "not calibrated" }]
  );
}

function secondsAt(plan: Plan, request: PlanRequest, end: "low" | "high", late: number): number {
  const factors = plan.machine.tiers.map(({ band }) => (band ?? ANYTHING)[end]);
  return request.step(plan.machine, plan.hosts, plan.placed, { late, factors }).seconds;
}

/** Whether a plan meets the target with every medium at one end of its band. */
export function meetsAt(plan: Plan, request: PlanRequest, end: "low" | "high", z99: number): boolean {
  const { samplesPerSecond, p99StepSeconds } = request.target;
  return (samplesPerSecond === undefined ||
    request.samplesPerStep / secondsAt(plan, request, end, 0) >= samplesPerSecond) &&
    (p99StepSeconds === undefined || secondsAt(plan, request, end, z99) <= p99StepSeconds);
}

/** A doubt, with what to measure, so that the order can be told. */
function doubt(plan: Plan, turns: PlanDoubt["turns"], why: string): PlanDoubt {
  const open = uncalibrated(plan);
  const all = usedMedia(plan);
  const media = open.length > 0 ? open.map(({ medium }) => medium) : all;
  const named = open.length > 0 ? open.map(({ medium, why }) => `${medium} (${why})`) : all;
  const text = `${why}: measure ${named.join(" and ")} on such a machine (tierbench calibrate)`;
  return { machine: plan.machine.name, hosts: plan.hosts, turns, media, text };
}

/**
 * Why it cannot be told that the best plan wins; empty if it can.
 *
 * @param others The plans of the machines that lost.
 * @param planOn The best plan on so many of a machine.
 * @param z99 Standard deviations of the slowest step in a hundred.
 */
export function doubts(
  best: Plan,
  others: readonly Plan[],
  request: PlanRequest,
  planOn: (machine: PlanMachine, hosts: number) => Plan | undefined,
  z99: number,
): PlanDoubt[] {
  const { samplesPerSecond, p99StepSeconds } = request.target;
  const name = (plan: Plan): string => `${plan.hosts} × ${plan.machine.name}`;
  if (samplesPerSecond === undefined && p99StepSeconds === undefined) {
    const slow = secondsAt(best, request, "high", 0);
    return others.filter((other) => secondsAt(other, request, "low", 0) < slow)
      .map((other) => doubt(other, "faster", `within its band ${name(other)} may be faster than ${name(best)}`));
  }
  const found: PlanDoubt[] = [];
  if (!meetsAt(best, request, "high", z99)) {
    found.push(doubt(best, "misses", `within its band ${name(best)} may miss the target`));
  }
  for (const { machine } of others) {
    // Fewer of them would have to do; the largest number that is cheaper is the likeliest.
    const hosts = Math.min(request.maxHosts, Math.ceil(best.pricePerHour / machine.pricePerHour) - 1);
    const fewer = hosts < 1 ? undefined : planOn(machine, hosts);
    if (fewer === undefined || !meetsAt(fewer, request, "low", z99)) continue;
    found.push(doubt(fewer, "cheaper", `within its band ${name(fewer)} may do for less than ${name(best)}`));
  }
  return found;
}
