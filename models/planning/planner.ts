/**
 * The planner: of the machines there are, the cheapest number of one shape on which a model's tables meet a target, and
 * why the others lost.
 *
 * A step takes `compute`, and memory and network of a host, which work side by side: max(memory, network); one after the
 * other, or, if `overlapped`, at the same time as the dense layers. Tables are shared row by row, so every host has the same part
 * of each.
 *
 * @module
 */

import { dollarsPerMillionSamples } from "../costs/cost_model.ts";
import { allocate, bytesOf } from "./allocate.ts";
import type { Banded, Loser, Placement, Plan, PlanAnswer, PlanMachine, PlanRequest, PlanTable } from "./plan_types.ts";
import { type Option, optionAt, optionsOf } from "./options.ts";

/** Shares of a table that are tried for each boundary between two tiers. */
const GRID = 24;
/** The same with three tiers, where options are pairs of boundaries. */
const GRID_OF_TWO = 12;

/** 99 % quantile of a standard normal variable. */
const Z99 = 2.326;

/**
 * The best plan for a request.
 *
 * @throws {RangeError} The request asks for nothing, or holds a number that cannot be.
 */
export function plan(request: PlanRequest): PlanAnswer {
  check(request);
  const { target } = request;
  const tried = request.machines.map((machine) => ({ machine, ...bestOn(machine, request) }));
  const budgetOnly = target.samplesPerSecond === undefined && target.p99StepSeconds === undefined;
  const winners = tried.filter(({ found, met }) => found !== undefined && met).sort((a, b) => {
    const [x, y] = [a.found as Plan, b.found as Plan];
    const faster = y.samplesPerSecond.value - x.samplesPerSecond.value;
    const cheaper = x.pricePerHour - y.pricePerHour;
    return (budgetOnly ? faster || cheaper : cheaper || faster) || (a.machine.name < b.machine.name ? -1 : 1);
  });
  const best = winners[0]?.found;
  const losers = tried.filter(({ found }) => found === undefined || found !== best)
    .map(({ machine, found, why, full }): Loser => ({
      machine,
      plan: found,
      why: why ?? lostTo(found as Plan, best, budgetOnly, full === true),
    }));
  return { ...(request.bill === undefined ? {} : { bill: request.bill }), best, losers };
}

function check({ tables, machines, target, samplesPerStep, computeSeconds, maxHosts }: PlanRequest): void {
  if (tables.length === 0 || machines.length === 0) {
    throw new RangeError(
      `Cannot plan: there are ${tables.length} tables and ${machines.length} machines, one of each is needed`,
    );
  }
  if (Object.values(target).every((value) => value === undefined)) {
    throw new RangeError("Cannot plan: the target names no samples a second, no step time and no budget");
  }
  const numbers = { samplesPerStep, maxHosts, ...target };
  for (const [name, value] of Object.entries(numbers)) {
    if (value !== undefined && !(value > 0)) {
      throw new RangeError(`Cannot plan: ${name} is ${value}, above 0 is needed`);
    }
  }
  if (!(computeSeconds >= 0)) {
    throw new RangeError(`Cannot plan: computeSeconds is ${computeSeconds}, 0 or more is needed`);
  }
}

/** The fewest hosts of a shape that meet the target, or its best try and why that is not enough. */
function bestOn(
  machine: PlanMachine,
  request: PlanRequest,
): { readonly found: Plan | undefined; readonly met: boolean; readonly why?: string; readonly full?: boolean } {
  const { target, maxHosts } = request;
  const affordable = target.dollarsPerHour === undefined
    ? maxHosts
    : Math.min(maxHosts, Math.floor(target.dollarsPerHour / machine.pricePerHour));
  if (affordable < 1) {
    return { found: undefined, met: false, why: `one costs ${machine.pricePerHour} $ an hour, more than the budget` };
  }
  const limit = affordable < maxHosts ? "the budget pays for" : "may be used";
  const memo = new Map<number, Plan | undefined>();
  const at = (hosts: number): Plan | undefined => {
    if (!memo.has(hosts)) memo.set(hosts, planOn(machine, hosts, request));
    return memo.get(hosts);
  };
  const smallest = first(affordable, (hosts) => at(hosts) !== undefined);
  if (smallest === undefined) {
    const place = capacityText(machine, request);
    return {
      found: undefined,
      met: false,
      why: `the tables do not fit into the ${affordable} that ${limit}: ${place}`,
    };
  }
  if (target.samplesPerSecond === undefined && target.p99StepSeconds === undefined) {
    return { found: at(affordable), met: true };
  }
  const enough = first(affordable, (hosts) => hosts >= smallest && meets(at(hosts), request));
  if (enough !== undefined) return { found: at(enough), met: true, full: enough === smallest && enough > 1 };
  const most = at(affordable) as Plan;
  return { found: most, met: false, why: missText(most, request, limit) };
}

/** The smallest number from 1 to `most` for which a test that stays true holds; doubling, then halves. */
function first(most: number, test: (n: number) => boolean): number | undefined {
  let high = 1;
  while (!test(high)) {
    if (high >= most) return undefined;
    high = Math.min(most, high * 2);
  }
  let low = Math.floor(high / 2); // test(low) is false, or low is 0
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (test(middle)) high = middle;
    else low = middle;
  }
  return high;
}

function meets(found: Plan | undefined, { target }: PlanRequest): boolean {
  return found !== undefined && found.samplesPerSecond.value >= (target.samplesPerSecond ?? 0) &&
    found.p99StepSeconds.value <= (target.p99StepSeconds ?? Infinity);
}

/** The best placement on so many hosts; undefined if the tables do not fit. */
export function planOn(machine: PlanMachine, hosts: number, request: PlanRequest): Plan | undefined {
  const { tables, overhead } = request;
  const limits = machine.tiers.map(({ bytes }) => bytes);
  const points = machine.tiers.length > 2 ? GRID_OF_TWO : GRID;
  const options = tables.map((table) => optionsOf(table, machine, overhead, hosts, points));
  const choices = allocate(options, limits);
  return choices === undefined ? undefined : planOf(machine, hosts, request, fill(choices, machine, hosts, request));
}

/** Gives what the grid left free of the first tier to the tables that gain most by it. */
function fill(choices: readonly Option[], machine: PlanMachine, hosts: number, request: PlanRequest): Option[] {
  const filled = [...choices];
  for (let i = 0; i < filled.length; i++) {
    const [option, table] = [filled[i] as Option, request.tables[i] as PlanTable];
    if (option.kind !== "cached") continue;
    const used = bytesOf(filled, machine.tiers.length);
    const free = (machine.tiers[0]?.bytes ?? 0) - (used[0] ?? 0);
    const more = Math.floor(free * 0.999_999 / table.rowBytes) * hosts;
    const second = option.upTo[1] ?? table.rows;
    const rows = Math.min(second, (option.upTo[0] ?? 0) + Math.max(0, more));
    const upTo = [rows, ...option.upTo.slice(1)];
    const next = optionAt(table, machine, request.overhead, hosts, "cached", upTo);
    const after = used.map((bytes, k) => bytes + (next.bytes[k] ?? 0) - (option.bytes[k] ?? 0));
    if (next.seconds <= option.seconds && after.every((bytes, k) => bytes <= (machine.tiers[k]?.bytes ?? 0))) {
      filled[i] = next;
    }
  }
  return filled;
}

/** The figures of a choice of options. */
export function planOf(machine: PlanMachine, hosts: number, request: PlanRequest, choices: readonly Option[]): Plan {
  const { tables, computeSeconds, samplesPerStep, overlapped } = request;
  const network = machine.networkBytesPerSecond === undefined
    ? 0
    : tables.reduce((sum, table) => sum + table.distinctPerStep / hosts * table.weightBytes, 0) * 2 /
      machine.networkBytesPerSecond;
  const seconds = (factor: (k: number) => number): number =>
    choices.reduce(
      (sum, option, i) => sum + memorySeconds(option, (tables[i] as PlanTable).distinctPerStep / hosts, factor),
      0,
    );
  const step = (memory: number): number => {
    const exchange = Math.max(memory, network);
    return overlapped ? Math.max(computeSeconds, exchange) : computeSeconds + exchange;
  };
  const used = machine.tiers.map((_, k) => choices.some(({ answered }) => (answered[k] ?? 0) > 0));
  const calibrated = machine.tiers.every(({ band }, k) => !used[k] || band !== undefined);
  const banded = (value: (memory: number) => number): Banded => ({
    value: value(seconds(() => 1)),
    low: calibrated ? value(seconds((k) => machine.tiers[k]?.band?.low ?? 1)) : undefined,
    high: calibrated ? value(seconds((k) => machine.tiers[k]?.band?.high ?? 1)) : undefined,
  });
  const inverse = (of: Banded, value: (at: number) => number): Banded => ({
    value: value(of.value),
    low: of.high === undefined ? undefined : value(of.high),
    high: of.low === undefined ? undefined : value(of.low),
  });
  const memory = seconds(() => 1);
  const pricePerHour = hosts * machine.pricePerHour;
  const billPerHour = pricePerHour + (request.bill?.commonPerHour ?? 0);
  const stepSeconds = banded(step);
  const spread = Math.sqrt(
    choices.reduce((sum, option, i) => sum + variance(option, (tables[i] as PlanTable).distinctPerStep / hosts), 0),
  );
  const p99StepSeconds = banded((at) => step(at + Z99 * spread * (memory === 0 ? 0 : at / memory)));
  const samplesPerSecond = inverse(stepSeconds, (at) => samplesPerStep / at);
  return {
    machine,
    hosts,
    pricePerHour,
    billPerHour,
    placements: choices.map((option, i) => placement(option, tables[i] as PlanTable, hosts)),
    step: { compute: computeSeconds, memory, network },
    stepSeconds,
    p99StepSeconds,
    samplesPerSecond,
    dollarsPerMillionSamples: inverse(samplesPerSecond, (rate) => dollarsPerMillionSamples(billPerHour, rate)),
    usedBytes: bytesOf(choices, machine.tiers.length),
  };
}

/** Seconds of the option's accesses; `factor` is what the times of tier k's accesses are multiplied by. */
function memorySeconds({ answered, costs }: Option, accesses: number, factor: (k: number) => number): number {
  return answered.reduce((sum, share, k) => sum + share * (costs[k] ?? 0) * factor(k), 0) * accesses;
}

/** Of the sum of independent accesses, each answered by tier k with its share. */
function variance({ answered, costs }: Option, accesses: number): number {
  const mean = answered.reduce((sum, share, k) => sum + share * (costs[k] ?? 0), 0);
  return accesses * answered.reduce((sum, share, k) => sum + share * ((costs[k] ?? 0) - mean) ** 2, 0);
}

function placement(option: Option, table: PlanTable, hosts: number): Placement {
  return {
    table: table.name,
    kind: option.kind,
    shares: option.upTo.map((rows, k) => (rows - (k === 0 ? 0 : option.upTo[k - 1] ?? 0)) / table.rows),
    answered: option.answered,
    bytes: option.bytes.map((bytes) => bytes * hosts),
    seconds: option.seconds,
  };
}

function capacityText(machine: PlanMachine, { tables, overhead }: PlanRequest): string {
  const rows = tables.reduce((sum, table) => sum + table.rows * table.rowBytes, 0);
  const beside = tables.reduce((sum, table) => sum + table.rows, 0) *
    (machine.tiers.at(-1)?.records === true ? overhead.recordRow : overhead.memoryRow);
  const has = machine.tiers.map(({ name, bytes }) => `${gib(bytes)} of ${name}`).join(" and ");
  return `rows take ${gib(rows)}, index and policy at least ${gib(beside)} of ${
    machine.tiers[0]?.name
  }, and one has ${has}`;
}

function missText(found: Plan, { target, overlapped }: PlanRequest, limit: string): string {
  const { step, samplesPerSecond, p99StepSeconds, hosts } = found;
  const slowest = Object.entries(step).sort(([, a], [, b]) => b - a)[0]?.[0] ?? "compute";
  const what = target.samplesPerSecond !== undefined && samplesPerSecond.value < target.samplesPerSecond
    ? `${short(samplesPerSecond.value)} of ${short(target.samplesPerSecond)} samples/s`
    : `a p99 step of ${short(p99StepSeconds.value * 1e3)} ms, ${
      short((target.p99StepSeconds ?? 0) * 1e3)
    } ms is asked for`;
  const why = slowest === "compute"
    ? `the dense layers${
      overlapped ? "" : " alone"
    } take most of the step, which more machines for tables do not change`
    : `${slowest} takes most of the step`;
  return `the ${hosts} that ${limit} reach ${what}; ${why}`;
}

function lostTo(found: Plan, best: Plan | undefined, budgetOnly: boolean, full: boolean): string {
  if (best === undefined) return "no machine meets the target";
  if (budgetOnly) {
    return `${short(found.samplesPerSecond.value / best.samplesPerSecond.value * 100)} % of the winner's speed for ` +
      `${short(found.pricePerHour)} $ an hour`;
  }
  const dearer = (found.pricePerHour / best.pricePerHour - 1) * 100;
  const bound = found.hosts === 1 ? "" : full ? `; the tables do not fit into ${found.hosts - 1}` : boundBy(found);
  return dearer === 0
    ? "costs the same and is slower"
    : `meets the target with ${found.hosts}, ${short(dearer)} % dearer${bound}`;
}

/** What the number of hosts comes from. */
function boundBy({ step }: Plan): string {
  return step.network > step.memory ? "; its network is the limit" : "; the time of its memory is the limit";
}

function short(value: number): string {
  return Number(value.toPrecision(3)).toLocaleString("en-US", { maximumSignificantDigits: 3 });
}

function gib(bytes: number): string {
  return `${short(bytes / 2 ** 30)} GiB`;
}
