/**
 * What simulated cases cost: the machines that the simulation names, at prices of a book. The whole bill is servers and
 * trainers; a case whose machines have no price says why.
 *
 * @module
 */

import { atPoint } from "../../base/matrix.ts";
import { HOURS_PER_MONTH } from "../../models/costs/bill.ts";
import { driveWritesPerDay, HOURS_PER_YEAR, paybackMonths } from "../../models/costs/owned.ts";
import { dollarsPerMillionSamples } from "../../models/costs/cost_model.ts";
import {
  type NoPrice,
  type PartName,
  partNamed,
  type PartNeeds,
  type PriceAge,
  type PricedMachine,
  priceMachine,
  type Prices,
} from "../../models/costs/machine_cost.ts";
import type { SimulatedRecord, SimulationResult } from "../../models/simulation/record.ts";
import { pageShares, type ResolvedSimulation } from "../../models/simulation/simulation.ts";

/** Where a simulation's bill ends: with the trainers, or before them. */
export type SimulatedBill = "whole" | "servers";

/** Machines of one kind. */
export interface PricedMachines {
  /** What one is. */
  readonly what: string;
  /** How many. */
  readonly count: number;
  /** An hour of all. */
  readonly perHour: number;
}

/** What a case costs. */
export interface CaseMoney extends PriceAge {
  /** Machines that hold the rows, or without servers that train. */
  readonly servers: PricedMachines;
  /** Machines that train beside them; absent where there are none, or where the bill ends before them. */
  readonly trainers?: PricedMachines;
  /** An hour of the bill. */
  readonly perHour: number;
  /** A million samples. */
  readonly perMillion: number;
  /** Its 90 % band, that of the speed; absent where the speed has none. */
  readonly band?: { readonly low: number; readonly high: number };
  /** 730 hours. */
  readonly perMonth: number;
  /** 8,760 hours. */
  readonly perYear: number;
  /** Mean watts of the servers; absent where a source does not state them. */
  readonly watts?: number;
  /** What the servers cost to buy; absent where they are rented. */
  readonly purchase?: number;
  /** An hour of the servers' power, of those that are bought and state it. */
  readonly powerPerHour?: number;
  /** Months until the purchase is earned, against renting the servers of `payback.against` at the same work. */
  readonly payback?: { readonly months: number; readonly against: string };
}

/** Why a case costs nothing that could be told. */
export interface NoMoney {
  /** `no price: …`. */
  readonly why: string;
}

/** The highest price of memory at which a case costs as much as the cheapest. */
export interface WinPrice {
  /** For a GB bought; 0 or less: it would lose as a gift. */
  readonly perGB: number;
  /** For a GB and month. */
  readonly perGBMonth: number;
  /** The case that it costs as much as. */
  readonly against: string;
}

type Study = readonly SimulatedRecord[];

/** What each case of a study costs, in its order; undefined where the simulation names no machine at all. */
export function studyMoney(
  { run: { scenario } }: SimulationResult,
  study: Study,
  prices: Prices,
  bill: SimulatedBill,
): ((CaseMoney | NoMoney) & { readonly win?: WinPrice })[] | undefined {
  if (!namesMachines(scenario)) return undefined;
  const tried = study.map((one) => caseMoney(atPoint(scenario, one.point), one, prices, bill));
  const points = study.map(({ point }) => JSON.stringify(Object.entries(point).sort()));
  return tried.map(({ money, rest }, i) => {
    const one = study[i] as SimulatedRecord;
    const beside = tried.flatMap(({ money: other }, k) =>
      points[k] === points[i] && k !== i && "perHour" in other ? [{ other, record: study[k] as SimulatedRecord }] : []
    );
    if ("perHour" in money) return { ...money, ...paybackOf(money, one, beside) };
    const cheapest = beside.reduce<typeof beside[number] | undefined>(
      (a, b) => a === undefined || b.other.perMillion < a.other.perMillion ? b : a,
      undefined,
    );
    if (rest === undefined || cheapest === undefined) return money;
    return { ...money, win: winOf(rest, one, cheapest.other.perMillion, cheapest.record.configuration) };
  });
}

/** Whether any machine of a simulation is named. */
export function namesMachines({ configurations }: ResolvedSimulation): boolean {
  return Object.values(configurations).some(({ machine }) => machine !== undefined);
}

interface Rest {
  readonly noPrice: NonNullable<NoPrice["rest"]>;
  readonly count: number;
  readonly trainersPerHour: number;
}

function caseMoney(
  scenario: ResolvedSimulation,
  one: SimulatedRecord,
  prices: Prices,
  bill: SimulatedBill,
): { readonly money: CaseMoney | NoMoney; readonly rest?: Rest } {
  const { cluster, cost, configurations } = scenario;
  const configuration = configurations[one.configuration];
  if (configuration?.machine === undefined) {
    return { money: { why: `no price: configurations.${one.configuration}.machine does not say what it runs on` } };
  }
  const count = Math.max(1, cluster.servers);
  const server = priceMachine(configuration.machine, needsOf(scenario, one.configuration), prices);
  const trains = bill === "whole" && cluster.servers > 0;
  const trainer = trains && cost?.trainers !== undefined ? priceMachine(cost.trainers, {}, prices) : undefined;
  if (trains && trainer === undefined) {
    const why = "no price: the whole bill has trainers, and cost.trainers does not say what one is " +
      "(--boundary parameter-servers prices the servers alone)";
    return { money: { why } };
  }
  if (trainer !== undefined && "why" in trainer) return { money: { why: `${trainer.why} (cost.trainers)` } };
  const hosts = Math.ceil(cluster.workers / cluster.workersPerHost);
  const trainersPerHour = trainer === undefined ? 0 : hosts * trainer.perHour;
  if ("why" in server) {
    const { rest, why } = server;
    return { money: { why }, ...(rest === undefined ? {} : { rest: { noPrice: rest, count, trainersPerHour } }) };
  }
  return { money: moneyOf(one, server, count, trainer, hosts) };
}

function moneyOf(
  { samplesPerSecond, band }: SimulatedRecord,
  server: PricedMachine,
  count: number,
  trainer: PricedMachine | undefined,
  hosts: number,
): CaseMoney {
  const all = [{ machine: server, count }, ...(trainer === undefined ? [] : [{ machine: trainer, count: hosts }])];
  const perHour = all.reduce((sum, { machine, count }) => sum + machine.perHour * count, 0);
  const at = (rate: number): number => dollarsPerMillionSamples(perHour, rate);
  const machines = (of: PricedMachine, n: number): PricedMachines => ({
    what: of.what,
    count: n,
    perHour: of.perHour * n,
  });
  return {
    servers: machines(server, count),
    ...(trainer === undefined ? {} : { trainers: machines(trainer, hosts) }),
    perHour,
    perMillion: at(samplesPerSecond),
    ...("why" in band
      ? {}
      : { band: { low: at(samplesPerSecond * band.high), high: at(samplesPerSecond * band.low) } }),
    perMonth: perHour * HOURS_PER_MONTH,
    perYear: perHour * HOURS_PER_YEAR,
    ...(server.watts === undefined ? {} : { watts: server.watts * count }),
    ...(server.purchase === undefined ? {} : { purchase: server.purchase * count }),
    ...(server.energyPerHour === undefined ? {} : { powerPerHour: server.energyPerHour * count }),
    dates: [...new Set(all.flatMap(({ machine }) => machine.dates))],
    stale: all.some(({ machine }) => machine.stale),
    ended: [...new Set(all.flatMap(({ machine }) => machine.ended))],
  };
}

/** Bytes that a server must hold, by kind of memory: tiers of a size hold that, the last one what is left. */
export function needsOf({ workload, cluster, configurations }: ResolvedSimulation, name: string): PartNeeds {
  const configuration = configurations[name];
  if (configuration === undefined) return {};
  const { mode, tiers, placement } = configuration;
  const shares = pageShares(configuration);
  const round = tiers.at(-1)?.round ?? 1;
  const bytes = workload.tables.reduce((sum, { rows, count, dim, dtype, slots, overhead }) => {
    const row = dim * (dtype === "f32" ? 4 : 2) * (1 + slots) + overhead;
    return sum + rows * count * Math.ceil(row / round) * round;
  }, 0) / Math.max(1, cluster.servers);
  const needs: Partial<Record<PartName, number>> = {};
  let left = bytes;
  for (const [i, { media, size }] of tiers.entries()) {
    const last = i === tiers.length - 1;
    const share = shares?.[i];
    const held = share !== undefined ? bytes * share : last ? placement === "lines" ? bytes : Math.max(0, left) : size;
    left -= last ? 0 : size;
    const part = partOf(mode, media, last);
    // DRAM that caches PMem in Memory Mode is no place of rows, but it is bought.
    needs[part] = (needs[part] ?? 0) + held;
  }
  return needs;
}

/** What a tier is made of. */
function partOf(mode: ResolvedSimulation["configurations"][string]["mode"], media: string, last: boolean): PartName {
  const named = partNamed(media);
  if (named !== undefined || !last) return named ?? "dram";
  return {
    dram: "dram",
    fsdax: "pmem",
    "kmem-dax": "pmem",
    "memory-mode": "pmem",
    cxl: "cxl",
    ssd: "nvme",
    hbm: "hbm",
  }[
    mode
  ] as PartName;
}

/** A purchase against renting as many of the cheapest rented servers as do the same work; both sides pay the trainers. */
function paybackOf(
  { purchase, powerPerHour }: CaseMoney,
  one: SimulatedRecord,
  beside: readonly { readonly other: CaseMoney; readonly record: SimulatedRecord }[],
): Pick<CaseMoney, "payback"> {
  const rented = beside.filter(({ other }) => other.purchase === undefined)
    .sort((a, b) => a.other.perMillion - b.other.perMillion)[0];
  if (purchase === undefined || powerPerHour === undefined || rented === undefined) return {};
  const rent = rented.other.servers.perHour * one.samplesPerSecond / rented.record.samplesPerSecond;
  const months = paybackMonths(purchase, rent, powerPerHour);
  return months === undefined ? {} : { payback: { months, against: rented.record.configuration } };
}

function winOf(
  { noPrice, count, trainersPerHour }: Rest,
  one: SimulatedRecord,
  most: number,
  against: string,
): WinPrice {
  const spare = most * one.samplesPerSecond * 3600 / 1e6 - trainersPerHour - noPrice.machine.perHour * count;
  const perGBHour = spare / (noPrice.gigabytes * count);
  return { perGB: perGBHour / noPrice.hourly, perGBMonth: perGBHour * HOURS_PER_MONTH, against };
}

/** Bytes that a model writes to a server's drives in a day, as a share of their capacity; undefined without either. */
export function driveWrites(scenario: ResolvedSimulation, one: SimulatedRecord, prices: Prices): number | undefined {
  const at = atPoint(scenario, one.point);
  const configuration = at.configurations[one.configuration];
  const written = configuration?.tiers.reduce(
    (sum, { media }, i) =>
      partOf(configuration.mode, media, i === configuration.tiers.length - 1) === "nvme"
        ? sum + (one.tiers[i]?.writeBytes ?? 0)
        : sum,
    0,
  );
  if (configuration?.machine === undefined || written === undefined) return undefined;
  const server = priceMachine(configuration.machine, needsOf(at, one.configuration), prices);
  const capacity = "why" in server ? undefined : server.nvmeBytes;
  if (capacity === undefined) return undefined;
  return driveWritesPerDay(written / one.step.mean, capacity);
}
