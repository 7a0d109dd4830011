/**
 * The planner: of the machines there are, the cheapest number of one shape on which a model's tables meet a target, and
 * why the others lost.
 *
 * Tables are shared row by row, so every host has the same part of each. They are placed by the time of their accesses,
 * which adds up over tables; what the step then costs is asked of the step model.
 *
 * @module
 */

import { dollarsPerMillionSamples } from "../costs/cost_model.ts";
import { allocate, bytesOf } from "./allocate.ts";
import type {
  Banded,
  Loser,
  PlacedTable,
  Placement,
  Plan,
  PlanAnswer,
  PlanBand,
  PlanMachine,
  PlanRequest,
  PlanTable,
} from "./plan_types.ts";
import { interleaved, kernelTiered } from "./by_kernel.ts";
import { type Option, optionAt, optionsOf } from "./options.ts";
import { doubts } from "./verdict.ts";

/** Shares of a table that are tried for each boundary between two tiers. */
const GRID = 24;
/** The same with three tiers, where options are pairs of boundaries. */
const GRID_OF_TWO = 12;

/** Machines of one shape that are looked at to say how many would hold tables that do not fit. */
const MOST_HOSTS = 1 << 20;

/** 99 % quantile of a standard normal variable. */
export const Z99 = 2.326;

/** What a machine came to. */
type Tried = ReturnType<typeof bestOn> & { readonly machine: PlanMachine };

/** Whether nothing but a budget is asked for, so that the fastest wins. */
function isBudgetOnly({ target }: PlanRequest): boolean {
  return target.samplesPerSecond === undefined && target.p99StepSeconds === undefined;
}

function tryAll(request: PlanRequest): { readonly tried: readonly Tried[]; readonly best: Plan | undefined } {
  check(request);
  const tried = request.machines.map((machine) => ({ machine, ...bestOn(machine, request) }));
  const winners = tried.filter(({ found, met }) => found !== undefined && met).sort((a, b) => {
    const [x, y] = [a.found as Plan, b.found as Plan];
    const faster = y.samplesPerSecond.value - x.samplesPerSecond.value;
    const cheaper = x.pricePerHour - y.pricePerHour;
    return (isBudgetOnly(request) ? faster || cheaper : cheaper || faster) ||
      (a.machine.name < b.machine.name ? -1 : 1);
  });
  return { tried, best: winners[0]?.found };
}

/**
 * The plan that {@linkcode plan} names, without the reasons of the others.
 *
 * @throws {RangeError} as {@linkcode plan}.
 */
export function bestPlan(request: PlanRequest): Plan | undefined {
  return tryAll(request).best;
}

/**
 * The best plan for a request.
 *
 * @throws {RangeError} The request asks for nothing, or holds a number that cannot be.
 */
export function plan(request: PlanRequest): PlanAnswer {
  const { tried, best } = tryAll(request);
  const budgetOnly = isBudgetOnly(request);
  const losers = tried.filter(({ found }) => found === undefined || found !== best)
    .map(({ machine, found, why, full }): Loser => ({
      machine,
      plan: found,
      why: why ?? lostTo(found as Plan, best, budgetOnly, full === true),
    }));
  const others = losers.flatMap((loser) => loser.plan === undefined ? [] : [loser.plan]);
  const on = (machine: PlanMachine, hosts: number) => planOn(machine, hosts, request);
  const open = best === undefined ? [] : doubts(best, others, request, on, Z99);
  const otherwise = best === undefined
    ? []
    : placementsOn(best.machine, best.hosts, request).filter(({ placed }) => placed[0]?.kind !== best.placed[0]?.kind);
  return { ...(request.bill === undefined ? {} : { bill: request.bill }), best, doubts: open, otherwise, losers };
}

/** Of the plans that lost, the one that would win without the best: those that meet the target first. */
export function runnerUp({ losers }: PlanAnswer, request: PlanRequest): Plan | undefined {
  const plans = losers.flatMap((loser) => loser.plan === undefined ? [] : [loser.plan]);
  const rank = (plan: Plan) => (meets(plan, request) ? 0 : 1e30) + plan.pricePerHour;
  return plans.sort((a, b) =>
    isBudgetOnly(request) ? b.samplesPerSecond.value - a.samplesPerSecond.value : rank(a) - rank(b)
  )[0];
}

function check({ tables, machines, target, samplesPerStep, maxHosts }: PlanRequest): void {
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
  const memo = new Map<number, Option[] | undefined>();
  const placedOn = (hosts: number): Option[] | undefined => {
    if (!memo.has(hosts)) memo.set(hosts, placeOn(machine, hosts, request));
    return memo.get(hosts);
  };
  const at = (hosts: number): Plan | undefined => {
    const choices = placedOn(hosts);
    return choices === undefined ? undefined : planOf(machine, hosts, request, choices);
  };
  const smallest = first(affordable, (hosts) => placedOn(hosts) !== undefined);
  if (smallest === undefined) {
    const place = capacityText(machine, request);
    const enough = first(MOST_HOSTS, (hosts) => placedByStore(machine, hosts, request) !== undefined);
    return {
      found: undefined,
      met: false,
      why: `the tables do not fit into the ${affordable} that ${limit}: ${place}${
        enough === undefined ? "" : `; ${enough.toLocaleString("en-US")} of it would hold them`
      }`,
    };
  }
  if (target.samplesPerSecond === undefined && target.p99StepSeconds === undefined) {
    return { found: at(affordable), met: true };
  }
  const enough = first(affordable, (hosts) => hosts >= smallest && reaches(placedOn(hosts), machine, hosts, request));
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

/** Whether a placement meets the target: no more of its figures than that takes. */
function reaches(
  choices: readonly Option[] | undefined,
  machine: PlanMachine,
  hosts: number,
  { tables, target, samplesPerStep, step }: PlanRequest,
): boolean {
  if (choices === undefined) return false;
  const placed = placedTables(tables, choices);
  const { samplesPerSecond, p99StepSeconds } = target;
  return (samplesPerSecond === undefined ||
    samplesPerStep / step(machine, hosts, placed, { late: 0 }).seconds >= samplesPerSecond) &&
    (p99StepSeconds === undefined || step(machine, hosts, placed, { late: Z99 }).seconds <= p99StepSeconds);
}

function meets(found: Plan | undefined, { target }: PlanRequest): boolean {
  return found !== undefined && found.samplesPerSecond.value >= (target.samplesPerSecond ?? 0) &&
    found.p99StepSeconds.value <= (target.p99StepSeconds ?? Infinity);
}

/** The best placement on so many hosts; undefined if the tables do not fit. */
export function planOn(machine: PlanMachine, hosts: number, request: PlanRequest): Plan | undefined {
  const choices = placeOn(machine, hosts, request);
  return choices === undefined ? undefined : planOf(machine, hosts, request, choices);
}

/**
 * Rows placed by the store, by the kernel's weights, by its tiering, on so many hosts; the fastest first. What is said of
 * kernel tiering is the most that it can do: pages lie as if the kernel knew how often each is used. So no plan rests on it.
 */
export function placementsOn(machine: PlanMachine, hosts: number, request: PlanRequest): Plan[] {
  const tiered = kernelTiered(request.tables, machine, request.overhead, hosts);
  return [...placedBySettings(machine, hosts, request), ...(tiered === undefined ? [] : [tiered])]
    .map((choices) => planOf(machine, hosts, request, choices))
    .sort((a, b) => a.stepSeconds.value - b.stepSeconds.value);
}

function placeOn(machine: PlanMachine, hosts: number, request: PlanRequest): Option[] | undefined {
  const ways = placedBySettings(machine, hosts, request);
  return ways.length <= 1 ? ways[0] : fastest(ways, machine, hosts, request);
}

/** The store's best choice that fits. No step is priced for it, so that there may be any number of hosts. */
function placedByStore(
  machine: PlanMachine,
  hosts: number,
  { tables, overhead }: PlanRequest,
): Option[] | undefined {
  const limits = machine.tiers.map(({ bytes }) => bytes);
  const points = machine.tiers.length > 2 ? GRID_OF_TWO : GRID;
  return allocate(tables.map((table) => optionsOf(table, machine, overhead, hosts, points)), limits);
}

/** The store's best choice that fits, and the kernel's best weights. */
function placedBySettings(machine: PlanMachine, hosts: number, request: PlanRequest): Option[][] {
  const { tables, overhead } = request;
  const choices = placedByStore(machine, hosts, request);
  const dealt = fastest(interleaved(tables, machine, overhead, hosts), machine, hosts, request);
  return [choices === undefined ? undefined : fill(choices, machine, hosts, request), dealt]
    .filter((one) => one !== undefined);
}

function fastest(
  ways: readonly Option[][],
  machine: PlanMachine,
  hosts: number,
  { tables, step }: PlanRequest,
): Option[] | undefined {
  let [best, least]: [Option[] | undefined, number] = [undefined, Infinity];
  for (const choices of ways) {
    const { seconds } = step(machine, hosts, placedTables(tables, choices));
    if (seconds < least) [best, least] = [choices, seconds];
  }
  return best;
}

/** Gives what the grid left free of the first tier to the tables that gain most by it. */
function fill(choices: readonly Option[], machine: PlanMachine, hosts: number, request: PlanRequest): Option[] {
  const filled = [...choices];
  for (let i = 0; i < filled.length; i++) {
    const [option, table] = [filled[i] as Option, request.tables[i] as PlanTable];
    if (option.kind !== "cached") continue;
    const used = bytesOf(filled, machine.tiers.length);
    const free = (machine.tiers[0]?.bytes ?? 0) - (used[0] ?? 0);
    // A row that was a record on a drive needs more beside it once it is in memory.
    const { memoryRow, recordRow } = request.overhead;
    const each = table.rowBytes + memoryRow - (machine.tiers[1]?.records === true ? recordRow : memoryRow);
    const more = Math.floor(free * 0.999_999 / each) * hosts;
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
  const { tables, samplesPerStep } = request;
  const placed = placedTables(tables, choices);
  const at = (late: number) => ({
    seconds: request.step(machine, hosts, placed, { late }).seconds,
    band: once(() => request.band(machine, hosts, placed, late)),
  });
  const [mean, p99] = [at(0), at(Z99)];
  const rate = (seconds: number) => samplesPerStep / seconds;
  const pricePerHour = hosts * machine.pricePerHour;
  const billPerHour = pricePerHour + (request.bill?.commonPerHour ?? 0);
  return {
    machine,
    hosts,
    pricePerHour,
    billPerHour,
    placed,
    placements: choices.map((option, i) => placement(option, tables[i] as PlanTable, hosts)),
    step: request.step(machine, hosts, placed),
    stepSeconds: bandedFigure(mean, (seconds) => seconds),
    p99StepSeconds: bandedFigure(p99, (seconds) => seconds),
    samplesPerSecond: bandedFigure(mean, rate),
    dollarsPerMillionSamples: bandedFigure(mean, (seconds) => dollarsPerMillionSamples(billPerHour, rate(seconds))),
    get band() {
      return mean.band();
    },
    usedBytes: bytesOf(choices, machine.tiers.length),
  };
}

/** What `make` gives, made when it is first asked for. */
function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => (made ??= { value: make() }).value;
}

/**
 * A figure that follows from the seconds of a step, with its band. Most plans are tried and never shown: a band is drawn for
 * whoever reads it.
 */
function bandedFigure(
  { seconds, band }: { readonly seconds: number; readonly band: () => PlanBand | undefined },
  figure: (seconds: number) => number,
): Banded {
  const ends = once(() => {
    const of = band();
    return of === undefined ? [] : [of.low, of.high].map((factor) => figure(seconds * factor)).sort((a, b) => a - b);
  });
  return {
    value: figure(seconds),
    get low() {
      return ends()[0];
    },
    get high() {
      return ends()[1];
    },
  };
}

/** Tables where the options put them. */
export function placedTables(tables: readonly PlanTable[], choices: readonly Option[]): PlacedTable[] {
  return choices.map(({ kind, answered, bytes }, i) => ({ table: tables[i] as PlanTable, kind, answered, bytes }));
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
  const round = machine.tiers.at(-1)?.round ?? 1;
  const rows = tables.reduce((sum, table) => sum + table.rows * Math.ceil(table.rowBytes / round) * round, 0);
  const beside = tables.reduce((sum, table) => sum + table.rows, 0) *
    (machine.tiers.at(-1)?.records === true ? overhead.recordRow : overhead.memoryRow);
  const has = machine.tiers.map(({ name, bytes }) => `${gib(bytes)} of ${name}`).join(" and ");
  return `rows take ${gib(rows)}, index and policy at least ${gib(beside)} of ${
    machine.tiers[0]?.name
  }, and one has ${has}`;
}

function missText(found: Plan, { target }: PlanRequest, limit: string): string {
  const { step: { compute, memory, network }, samplesPerSecond, p99StepSeconds, hosts } = found;
  const slowest = Object.entries({ compute, memory, network }).sort(([, a], [, b]) => b - a)[0]?.[0] ?? "compute";
  const what = target.samplesPerSecond !== undefined && samplesPerSecond.value < target.samplesPerSecond
    ? `${short(samplesPerSecond.value)} of ${short(target.samplesPerSecond)} samples/s`
    : `a p99 step of ${short(p99StepSeconds.value * 1e3)} ms, ${
      short((target.p99StepSeconds ?? 0) * 1e3)
    } ms is asked for`;
  const why = slowest === "compute"
    ? "the dense layers take most of the step, which more machines for tables do not change"
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
