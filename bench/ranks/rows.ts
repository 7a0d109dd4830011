/**
 * From what jobs of ranks print to the rows of `reports/out/bench-ranks.json`.
 *
 * @module
 */

import { quantile } from "../../base/statistics.ts";
import { BARS, type BenchResult, type BenchRow, keptRows, ratioRow, resultJson } from "../rows.ts";
import type { Values } from "../simulator/rows.ts";
import { EXCHANGE_TOLERANCE, type MeasuredExchange, simulatedExchange } from "../../models/validation/exchanges.ts";
import type { RankReport } from "./rank.ts";

/** A job of ranks, and what each printed. */
export interface Job {
  /** How many there were, and who of them, in words. */
  readonly name: string;
  /** Of every rank. */
  readonly reports: readonly RankReport[];
}

/** Ratios, round by round, of two series of times. */
function ratios(values: Values, over: string, under: string): number[] {
  const [a, b] = [values.get(over), values.get(under)];
  if (a === undefined || b === undefined || a.length !== b.length) {
    throw new RangeError(`Cannot make the rows: expected as many rounds of "${over}" as of "${under}"`);
  }
  return a.map((time, round) => time / (b[round] as number));
}

/**
 * The rows of a step's messages.
 *
 * @param values Times and bytes of each way, as `ranks_exchange` prints them.
 * @param ranks How many there were.
 */
export function exchangeRows(values: Values, ranks: number): BenchRow[] {
  const bytes = (way: string): number => quantile(values.get(`${way}-bytes`) ?? [], 0.5);
  const kib = (way: string): string => `${(bytes(way) / 1024).toFixed(0)} KiB a rank`;
  return [
    {
      ...ratioRow("exchange/floor", ratios(values, "fused-floor", "fused"), `${ranks} ranks, ${kib("fused")}`),
      ...BARS["exchange/floor"],
    },
    ratioRow(
      "fused/separate",
      ratios(values, "separate", "fused"),
      "times of messages; above 1: one for all tables is faster",
    ),
    ratioRow("dedup/none", ratios(values, "all", "fused"), `the same; ${kib("all")} without`),
    ratioRow("bf16/fp32 rows", ratios(values, "fused", "bf16"), `the same; ${kib("bf16")} in BF16`),
  ];
}

/** Nanoseconds of the median step of jobs that ran one after the other. */
export interface StepRound {
  /** One rank of two threads. */
  readonly one: number;
  /** Two ranks of one thread. */
  readonly two: number;
  /** The same with `ranksAhead: "rows"`. */
  readonly ahead: number;
  /** The same with `asyncEmbedding`. */
  readonly stale: number;
}

/** Steps of two ranks of one thread against one rank of two threads, and of what is sent ahead. */
export function stepRows(rounds: readonly StepRound[]): BenchRow[] {
  const row = (name: string, over: keyof StepRound, under: keyof StepRound, note: string): BenchRow =>
    ratioRow(name, rounds.map((round) => round[over] / round[under]), note);
  return [
    {
      ...row("ranks/one-process", "one", "two", "steps a second, two ranks of one thread"),
      ...BARS["ranks/one-process"],
    },
    row("ahead/none", "two", "ahead", "steps a second of two ranks, rows of the next batch sent ahead"),
    row("stale/none", "two", "stale", "the same with asynchronous embedding"),
  ];
}

/** Nanoseconds of the mean step of jobs of two ranks that train and a server, which ran one after the other. */
export interface ServedRound {
  /** In step, and asynchronously. */
  readonly inStep: number;
  readonly asynchronous: number;
  /** The same where the second rank is stopped half of the time. */
  readonly slowInStep: number;
  readonly slowAsynchronous: number;
  /** Share of the asynchronous steps that this rank took then. */
  readonly slowShare: number;
}

/** Asynchronous steps against steps together, also with a slow rank, and what of the work that one takes. */
export function servedRows(rounds: readonly ServedRound[]): BenchRow[] {
  const shares = rounds.map(({ slowShare }) => slowShare);
  return [
    ratioRow(
      "async/in-step",
      rounds.map(({ inStep, asynchronous }) => inStep / asynchronous),
      "steps a second, two ranks that train and a server",
    ),
    ratioRow(
      "async/in-step, one slow",
      rounds.map(({ slowInStep, slowAsynchronous }) => slowInStep / slowAsynchronous),
      "the same, one rank stopped half of the time",
    ),
    {
      ...ratioRow("slow rank's share", shares, "of the asynchronous steps; 0.5: as much as the other"),
      unit: "share of steps",
    },
  ];
}

/** Whether every rank of a job has the bits of a reference. */
export function hasBitsOf({ reports }: Job, { reports: [first] }: Job): boolean {
  return first !== undefined && reports.length > 0 &&
    reports.every(({ digest, loss }) => digest === first.digest && loss === first.loss);
}

/** A result's text with one row replaced, or added. */
export function withRow(result: string, row: BenchRow): string {
  const { machine, rows } = JSON.parse(result) as BenchResult;
  return resultJson(machine, keptRows(rows, [row]));
}

/** Share of jobs whose ranks all have the digest and the loss of the first job, which is one rank alone. */
export function identicalRow(jobs: readonly Job[]): BenchRow {
  const [first] = jobs[0]?.reports ?? [];
  if (first === undefined || jobs.length < 2) {
    throw new RangeError(`Cannot compare ${jobs.length} jobs: expected two or more`);
  }
  const others = jobs.slice(1);
  const differs = others.filter((job) => !hasBitsOf(job, jobs[0] as Job));
  const names = (some: readonly Job[]): string => some.map(({ name }) => name).join(", ");
  return {
    ...{
      name: "ranks/identical",
      value: 1 - differs.length / others.length,
      low: null,
      high: null,
      unit: "share of jobs",
    },
    ...BARS["ranks/identical"],
    note: differs.length === 0 ? `${others.length} jobs of ranks` : `other bits: ${names(differs)}`,
  };
}

/**
 * Times of exchanges as the simulator has them against those over limited links: one row each, and the largest deviation.
 *
 * @param exchanges What was measured, or why nothing was.
 */
export async function networkRows(exchanges: readonly MeasuredExchange[] | string): Promise<BenchRow[]> {
  const name = "simulated/measured";
  const none = { value: null, low: null, high: null };
  if (typeof exchanges === "string") return [{ name, ...none, unit: "ratio", note: `skipped: ${exchanges}` }];
  const rows = await Promise.all(exchanges.map(async (exchange): Promise<BenchRow & { value: number }> => {
    const simulated = await simulatedExchange(exchange);
    const { rate, seconds, low, high } = exchange;
    return {
      name: `${name} ${rate / 1e9} Gbit/s`,
      ...{ value: simulated / seconds, low: simulated / high, high: simulated / low, unit: "ratio" },
      note: `${(simulated * 1e3).toFixed(1)} ms simulated, ${(seconds * 1e3).toFixed(1)} ms measured`,
    };
  }));
  const deviations = rows.map(({ value }) => Math.abs(value - 1));
  const worst = {
    name,
    ...none,
    value: Math.max(...deviations),
    unit: "largest deviation",
    atMost: EXCHANGE_TOLERANCE,
  };
  return [worst, ...rows];
}
