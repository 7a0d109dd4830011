/**
 * What would turn an answer around: prices of memory, the target, the size of the tables, what caches miss, the skew. Each is
 * moved by itself, both ways, until another way to hold the tables wins.
 *
 * Values are tried on a grid and the first turn is then narrowed by halves: a way that wins only between two points of the
 * grid is not seen.
 *
 * @module
 */

import { type Medium, modulePrice, type PriceBook, pricesAsOf } from "../../costs/price_book.ts";
import type { PlanPricing } from "../bill.ts";
import { planInputs } from "../inputs.ts";
import type { ResolvedPlanFile } from "../plan_file.ts";
import type { Plan, PlanAnswer, PlanRequest } from "../plan_types.ts";
import { bestPlan } from "../planner.ts";
import { type PlanInputs, planRequest } from "../request.ts";
import { wayOf } from "./ways.ts";

/** What is moved. */
export type TurnOf = "price" | "target" | "step" | "bytes" | "misses" | "skew";

/** A value at which another way wins, or that there is none. */
export interface Turn {
  /** What is moved. */
  readonly of: TurnOf;
  /** Of a price: `DDR5`. */
  readonly medium?: Medium;
  /** Where it is: $/GB, samples/s, p99 seconds, bytes of rows, share of cached lookups that miss, exponent. */
  readonly now: number;
  /** How far it was moved. */
  readonly tried: number;
  /** Where another way wins; absent: nowhere up to `tried`. */
  readonly at?: number;
  /** What wins there; absent: nothing meets the target. */
  readonly then?: Plan;
}

/** Points of a grid, and halvings between two of them. */
const [POINTS, HALVINGS] = [8, 7] as const;
/** How far prices, targets, bytes and misses are moved, as factors. */
const FAR: Readonly<Record<"price" | "target" | "step" | "bytes" | "misses", readonly [number, number]>> = {
  price: [1 / 20, 20],
  target: [1 / 10, 10],
  step: [1 / 10, 10],
  bytes: [1 / 10, 10],
  misses: [1 / 10, 10],
};
/** Exponents between which the skew is moved: from uniform to where one row in a thousand gets nearly all lookups. */
const SKEWS = [0, 1.5] as const;

type Winner = Plan | undefined;

/** The plan's answer, with what it was asked for. */
export interface Answered {
  readonly file: ResolvedPlanFile;
  readonly book: PriceBook;
  readonly pricing: PlanPricing;
  readonly inputs: PlanInputs;
  readonly request: PlanRequest;
  readonly answer: PlanAnswer;
}

/** Every turn of an answer that has a winner. */
export async function turnsOf(of: Answered): Promise<Turn[]> {
  const { answer: { best } } = of;
  if (best === undefined) return [];
  const base = wayOf(best.machine);
  const turns: Turn[] = [];
  for (const { medium, now, at } of prices(of)) {
    for (const far of FAR.price) {
      turns.push({ of: "price", medium, now, ...await firstTurn(base, now, now * far, geometric, at) });
    }
  }
  const { request, inputs, file } = of;
  const { samplesPerSecond, p99StepSeconds } = request.target;
  if (samplesPerSecond !== undefined) {
    for (const far of FAR.target) {
      const at = (value: number) => bestPlan({ ...request, target: { ...request.target, samplesPerSecond: value } });
      turns.push({ of: "target", now: samplesPerSecond, ...await both(samplesPerSecond, far, at) });
    }
  } else if (p99StepSeconds !== undefined) {
    for (const far of FAR.step) {
      const at = (value: number) => bestPlan({ ...request, target: { ...request.target, p99StepSeconds: value } });
      turns.push({ of: "step", now: p99StepSeconds, ...await both(p99StepSeconds, far, at) });
    }
  }
  const again = async (file: ResolvedPlanFile): Promise<Winner> =>
    bestPlan(planRequest(await planInputs(file), of.book, of.pricing));
  const bytes = inputs.tables.reduce((sum, { rows, rowBytes, count }) => sum + rows * rowBytes * count, 0);
  for (const far of FAR.bytes) {
    const at = (value: number) => again({ ...file, tables: withTables(file, value / bytes) });
    turns.push({ of: "bytes", now: bytes, ...await both(bytes, far, at) });
  }
  const missed = missesOf(of);
  if (missed !== undefined) {
    for (const far of [FAR.misses[0], Math.min(FAR.misses[1], 1 / missed)]) {
      const at = (value: number) => bestPlan({ ...request, tables: withMisses(request, value / missed) });
      turns.push({ of: "misses", now: missed, ...await both(missed, far, at) });
    }
  }
  const skew = skewOf(file);
  for (const end of skew === undefined ? [] : SKEWS) {
    const at = (s: number) => again({ ...file, tables: withSkew(file, s) });
    const now = skew ?? 0;
    if (now !== end) turns.push({ of: "skew", now, ...await firstTurn(base, now, end, straight, at) });
  }
  return turns;

  function both(now: number, far: number, at: (value: number) => Winner | Promise<Winner>) {
    return firstTurn(base, now, now * far, geometric, at);
  }
}

type Between = (from: number, to: number, share: number) => number;
const geometric: Between = (from, to, share) => from * (to / from) ** share;
const straight: Between = (from, to, share) => from + (to - from) * share;

async function firstTurn(
  base: string,
  now: number,
  tried: number,
  between: Between,
  at: (value: number) => Winner | Promise<Winner>,
): Promise<Pick<Turn, "tried" | "at" | "then">> {
  const turned = (winner: Winner): boolean => winner === undefined || wayOf(winner.machine) !== base;
  let same = now;
  for (let i = 1; i <= POINTS; i++) {
    let other = between(now, tried, i / POINTS);
    let then = await at(other);
    if (!turned(then)) {
      same = other;
      continue;
    }
    for (let half = 0; half < HALVINGS; half++) {
      const middle = between(same, other, 0.5);
      const winner = await at(middle);
      if (turned(winner)) [other, then] = [middle, winner];
      else same = middle;
    }
    return { tried, at: other, ...(then === undefined ? {} : { then }) };
  }
  return { tried };
}

/**
 * Prices of the media that bought machines are filled with, and who wins at others: speeds do not change with prices, so that
 * each machine keeps its number.
 */
function prices(
  { inputs, book, pricing, request, answer, file }: Answered,
): { readonly medium: Medium; readonly now: number; readonly at: (value: number) => Winner }[] {
  const { best } = answer;
  if (best === undefined || request.target.dollarsPerHour !== undefined) return [];
  const plans = [best, ...answer.losers.flatMap((loser) => loser.plan ?? [])];
  const { samplesPerSecond = 0, p99StepSeconds = Infinity } = request.target;
  const meeting = plans.filter((one) =>
    one.samplesPerSecond.value >= samplesPerSecond && one.p99StepSeconds.value <= p99StepSeconds
  );
  const dated = pricesAsOf(book, file.prices);
  return MEDIA_OF_PARTS.flatMap(({ part, medium, only }) => {
    // The price of the module in the best machine that has one, else in the cheapest of the others.
    const sized = meeting.flatMap(({ machine }) => {
      const cost = file.machines[machine.name]?.machine;
      if (cost === undefined || typeof cost === "string" || !("components" in cost)) return [];
      const modules = cost.components[part];
      return modules === undefined || (modules.medium ?? only) !== only ? [] : [modules.size];
    });
    const gb = sized[0] === undefined ? undefined : /^([\d.]+) (GiB|GB)$/.exec(`${sized[0]}`)?.[1];
    const price = gb === undefined ? undefined : modulePrice(dated, medium, Number(gb));
    if (price === undefined) return [];
    const at = (value: number): Winner => {
      const factor = value / price.value;
      const items = book.items.map((item) =>
        item.medium === medium && item.unit === "GB"
          ? { ...item, value: item.value * factor, low: item.low * factor, high: item.high * factor }
          : item
      );
      const other = new Map(
        planRequest(inputs, { ...book, items }, pricing).machines.map((one) => [one.name, one.pricePerHour]),
      );
      const priced = meeting.flatMap((one): Plan[] => {
        const pricePerHour = other.get(one.machine.name);
        return pricePerHour === undefined ? [] : [{ ...one, pricePerHour: one.hosts * pricePerHour }];
      });
      return priced.sort((a, b) => a.pricePerHour - b.pricePerHour)[0];
    };
    return [{ medium, now: price.value, at }];
  });
}

const MEDIA_OF_PARTS = [
  { part: "dram", medium: "DDR5", only: "DDR5" },
  { part: "dram", medium: "DDR4", only: "DDR4" },
  { part: "cxl", medium: "CXL", only: undefined },
  { part: "nvme", medium: "NVMe", only: undefined },
  { part: "pmem", medium: "PMem 100", only: undefined },
] as const;

function withTables({ tables }: ResolvedPlanFile, factor: number): ResolvedPlanFile["tables"] {
  return Object.fromEntries(
    Object.entries(tables).map(([name, table]) => [
      name,
      { ...table, rows: Math.max(1, Math.round(table.rows * factor)) },
    ]),
  );
}

/** The exponent of tables that all follow one law; undefined where they do not. */
function skewOf({ tables }: ResolvedPlanFile): number | undefined {
  const found = new Set(
    Object.values(tables).map(({ profile }) => typeof profile === "string" ? undefined : profile.s),
  );
  const [only] = found;
  return found.size === 1 ? only : undefined;
}

function withSkew({ tables }: ResolvedPlanFile, s: number): ResolvedPlanFile["tables"] {
  return Object.fromEntries(
    Object.entries(tables).map(([name, table]) => [
      name,
      { ...table, profile: typeof table.profile === "string" ? table.profile : { ...table.profile, s } },
    ]),
  );
}

/** Share of a step's rows that the first tier does not have, of the cheapest plan that caches. */
function missesOf({ answer: { best, losers } }: Answered): number | undefined {
  const plans = [best, ...losers.map((loser) => loser.plan)].flatMap((one) => one ?? [])
    .filter(({ placed }) => placed.some(({ kind }) => kind === "cached"))
    .sort((a, b) => (a === best ? -1 : b === best ? 1 : a.pricePerHour - b.pricePerHour));
  const found = plans[0] === undefined ? 0 : missShare(plans[0]);
  return found > 0 ? found : undefined;
}

/** Share of a step's different rows that the first tier of a plan does not have. */
export function missShare({ placed }: Plan): number {
  const all = placed.reduce((sum, { table }) => sum + table.distinctPerStep, 0);
  const missed = placed.reduce((sum, { table, answered }) => sum + table.distinctPerStep * (1 - (answered[0] ?? 0)), 0);
  return all === 0 ? 0 : missed / all;
}

function withMisses({ tables }: PlanRequest, factor: number): PlanRequest["tables"] {
  return tables.map((table) => {
    const { missRatio, pageMissRatio } = table;
    const more = (missed: number): number => Math.min(1, missed * factor);
    return {
      ...table,
      missRatio: (rows) => more(missRatio(rows)),
      ...(pageMissRatio === undefined ? {} : { pageMissRatio: (share) => more(pageMissRatio(share)) }),
    };
  });
}
