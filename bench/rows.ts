/**
 * From paired rounds to the rows of `reports/out/bench-<what>.json`. Pure functions: nothing here runs anything.
 *
 * @module
 */

import { quantile, shareInterval } from "../base/statistics.ts";
import { seededRandom } from "../reports/statistics/random.ts";

/** One line of the bench's result. */
export interface BenchRow {
  /** Stable name: `what/against`, and for parts of it the distribution behind. */
  readonly name: string;
  /** Median over rounds; `null` if it could not be measured here, and `note` says why. */
  readonly value: number | null;
  /** Lower end of the interval; `null` if there was one measurement only. */
  readonly low: number | null;
  /** Upper end of the interval; `null` if there was one measurement only. */
  readonly high: number | null;
  /** `ratio`, unless it says otherwise. */
  readonly unit: string;
  /** The bar, where more is better. */
  readonly atLeast?: number;
  /** The bar, where less is better. */
  readonly atMost?: number;
  /** What has to be known to read it. */
  readonly note?: string;
  /** When it was measured, and the load before, of results whose parts are run one by one. */
  readonly measured?: string;
}

/** The bar of a row; both: it is to lie between them. */
export type Bar = { readonly atLeast: number; readonly atMost?: number } | { readonly atMost: number };

/** What the project aims at, on two threads: rows of `bench:store`, then of `bench:wdl`. */
export const BARS: Readonly<Record<string, Bar>> = {
  "lookup/floor": { atLeast: 0.85 },
  "update/floor": { atLeast: 0.8 },
  "lookup/absl": { atLeast: 2 },
  "lookup/tbb": { atLeast: 8 },
  "update/absl": { atLeast: 1.3 },
  "update/tbb": { atLeast: 3.5 },
  "insert/absl": { atLeast: 1 },
  "insert/tbb": { atLeast: 1 },
  "ssd-read/raw": { atLeast: 0.95 },
  "ssd-cpu/rocksdb": { atMost: 0.45 },
  "ssd-write-amplification": { atMost: 1.5 },
  "memory/rows": { atMost: 1.15 },
  "open/ms": { atMost: 2 },
  "typescript/c": { atLeast: 0.9 },
  "scaling/floor-scaling": { atLeast: 0.95 },
  "pmem-off/dram": { atLeast: 0.97 },
  "hbm-lookup/gather": { atLeast: 0.7 },
  "emulation-off/compiled-out": { atLeast: 0.99 },
  "step/floor": { atLeast: 0.9 },
  "step-bf16/floor": { atLeast: 0.85 },
  "step/torch": { atLeast: 1.3 },
  "step/torch-fbgemm": { atLeast: 1.2 },
  "step-bf16/torch-fbgemm": { atLeast: 1.35 },
  "embedding/torch": { atLeast: 6 },
  "bf16/fp32": { atLeast: 1.6 },
  "auc-difference bf16/fp32": { atMost: 0.001 },
  "all/none": { atLeast: 1.6 },
  "parse-share": { atMost: 0.02 },
  "exchange/floor": { atLeast: 0.9 },
  "ranks/one-process": { atLeast: 0.9 },
  "ranks/identical": { atLeast: 1 },
};

const RESAMPLES = 2000;

/**
 * The median of paired ratios with its 95 % bootstrap interval (percentiles of the medians of resampled rounds).
 *
 * @param name Of the row; it also seeds the resampling.
 * @param ratios One a round, finite.
 */
export function ratioRow(name: string, ratios: readonly number[], note?: string): BenchRow {
  if (ratios.length === 0) throw new RangeError(`Cannot make the row "${name}": it has no rounds`);
  const bad = ratios.find((ratio) => !Number.isFinite(ratio));
  if (bad !== undefined) throw new RangeError(`Cannot make the row "${name}": a round gave ${bad}`);
  const value = quantile(ratios, 0.5);
  const more = note === undefined ? {} : { note };
  if (ratios.length === 1) return { name, value, low: null, high: null, unit: "ratio", ...more };
  const random = seededRandom(name);
  const medians = Array.from({ length: RESAMPLES }, () => {
    const sample = ratios.map(() => ratios[Math.floor(random() * ratios.length)] as number);
    return quantile(sample, 0.5);
  });
  return { name, value, low: quantile(medians, 0.025), high: quantile(medians, 0.975), unit: "ratio", ...more };
}

/** The row of a share: of how many how many, with its 95 % interval as if they were independent (Wilson's). */
export function shareRow(name: string, yes: number, of: number, note?: string): BenchRow {
  const [low, high] = shareInterval(yes, of);
  return { name, value: yes / of, low, high, unit: "share", ...(note === undefined ? {} : { note }) };
}

/** The row of something that could not be measured here. */
export function missingRow(name: string, why: string): BenchRow {
  return { name, value: null, low: null, high: null, unit: "ratio", ...BARS[name], note: `not available: ${why}` };
}

/**
 * The row that has the bar: the worst of its parts. A part that could not be measured makes it unmeasured, too.
 *
 * @param name One of {@linkcode BARS}.
 */
export function worstRow(name: string, parts: readonly BenchRow[]): BenchRow {
  const bar = BARS[name];
  if (bar === undefined) throw new RangeError(`Cannot make the row "${name}": it has no bar`);
  if (parts.length === 0) return missingRow(name, "nothing was measured");
  const missing = parts.find(({ value }) => value === null);
  if (missing !== undefined) return { ...missing, name, ...bar };
  const sign = "atLeast" in bar ? 1 : -1;
  const worst = parts.reduce((a, b) => sign * (b.value as number) < sign * (a.value as number) ? b : a);
  const which = worst.name.startsWith(`${name} `) ? `worst: ${worst.name.slice(name.length + 1)}` : worst.name;
  return { ...worst, name, ...bar, note: worst.note === undefined ? which : `${which}; ${worst.note}` };
}

/** Whether a row reaches its bar; `undefined` without a bar or a value. */
export function reached({ value, atLeast, atMost }: BenchRow): boolean | undefined {
  if (value === null || (atLeast === undefined && atMost === undefined)) return undefined;
  return value >= (atLeast ?? -Infinity) && value <= (atMost ?? Infinity);
}

/** The lines of the table, cells apart. */
export function tableRows(rows: readonly BenchRow[]): string[][] {
  const number = (value: number | null): string => value === null ? "–" : value.toPrecision(3);
  return [
    ["row", "median", "95 % interval", "bar", "", "note"],
    ...rows.map((row) => {
      const { atLeast, atMost } = row;
      const bars = [
        ...(atLeast === undefined ? [] : [`≥ ${atLeast}`]),
        ...(atMost === undefined ? [] : [`≤ ${atMost}`]),
      ];
      const verdict = { true: "reached", false: "MISSED", undefined: "" }[`${reached(row)}`] ?? "";
      const interval = row.low === null ? "" : `${number(row.low)} – ${number(row.high)}`;
      return [row.name, number(row.value), interval, bars.join(", "), verdict, row.note ?? ""];
    }),
  ];
}

/**
 * A result with rows replaced and added: those of an earlier run that the new one did not make.
 *
 * @param before The earlier run's.
 * @param rows The new ones.
 * @param keeps Which of the earlier ones may stay. Default: all.
 */
export function keptRows(
  before: readonly BenchRow[],
  rows: readonly BenchRow[],
  keeps: (name: string) => boolean = () => true,
): BenchRow[] {
  const made = new Set(rows.map(({ name }) => name));
  return [...before.filter(({ name }) => !made.has(name) && keeps(name)), ...rows];
}

/** What the bench writes. */
export interface BenchResult {
  /** Facts on the machine and the run. */
  readonly machine: Readonly<Record<string, string | number | boolean>>;
  /** The rows, those with a bar first. */
  readonly rows: readonly BenchRow[];
}

/** The text of the result's file: rows with a bar first, in the order of {@linkcode BARS}. */
export function resultJson(machine: BenchResult["machine"], rows: readonly BenchRow[]): string {
  const names = rows.map(({ name }) => name);
  const twice = names.find((name, i) => names.indexOf(name) !== i);
  if (twice !== undefined) throw new RangeError(`Cannot write the result: the row "${twice}" comes twice`);
  const result: BenchResult = { machine, rows: sortedRows(rows) };
  return JSON.stringify(result, undefined, 2) + "\n";
}

/** Rows with a bar first, in the order of {@linkcode BARS}; the others as they came. */
export function sortedRows(rows: readonly BenchRow[]): BenchRow[] {
  const order = Object.keys(BARS);
  const place = ({ name }: BenchRow): number => order.includes(name) ? order.indexOf(name) : order.length;
  return rows.toSorted((a, b) => place(a) - place(b));
}
