/**
 * The rows of real runs: of all that their file has.
 *
 * @module
 */

import { mean, quantile } from "../../base/statistics.ts";
import { type BenchRow, shareRow } from "../rows.ts";
import { DELAYS, type RealRun, type Sampling } from "./real.ts";

/** The delay that is to be found. */
const EFFECT = 0.03;

const isCalled = (found: RealRun["called"][number] | undefined): boolean => found === "above" || found === "below";
const percent = (width: number): string => `${(100 * width).toFixed(1)} %`;

/** How runs were taken, those of one kind together: their count, seconds and rounds. */
function kinds(runs: readonly RealRun[]): string {
  const of = Map.groupBy(
    runs,
    ({ run: { seconds, repetitions, width } }) =>
      width === undefined
        ? `of ${seconds} s, ${repetitions} rounds`
        : `of at most ${seconds} s, until intervals are ±${percent(width)}`,
  );
  return [...of].map(([kind, { length }]) => `${length} ${kind}`).join("; ");
}

/** Wide intervals of one way ÷ those of the other, runs of the same length, by the mean of logarithms. */
function widthRow(runs: readonly RealRun[]): BenchRow {
  const paired = runs.filter(({ run }) => run.width === undefined);
  const widths = (sampling: Sampling, of: readonly RealRun[]) =>
    of.filter(({ run }) => run.sampling === sampling).map(({ width }) => width);
  const lengths = [...Map.groupBy(paired, ({ run: { seconds, repetitions } }) => `${seconds} ${repetitions}`).values()]
    .filter((of) => widths("turns", of).length >= 2 && widths("processes", of).length >= 2);
  const all = lengths.flat();
  const weighted = lengths.map((of) => {
    const log = (sampling: Sampling) => mean(widths(sampling, of).map(Math.log));
    return { weight: widths("processes", of).length, log: log("turns") - log("processes") };
  });
  const weight = weighted.reduce((sum, one) => sum + one.weight, 0);
  const ratio = Math.exp(weighted.reduce((sum, one) => sum + one.weight * one.log, 0) / weight);
  return {
    name: "width/before",
    value: weight === 0 ? null : ratio,
    low: null,
    high: null,
    unit: "ratio",
    atMost: 0.67,
    note: weight === 0
      ? "not available: no two runs of a length in either way"
      : `intervals in turns ÷ those of one process after the other, ${kinds(all)}; ` +
        `medians ${percent(quantile(widths("turns", all), 0.5))} and ${
          percent(quantile(widths("processes", all), 0.5))
        } wide`,
  };
}

/**
 * The rows: false alarms of all runs, differences found by those that went on until their intervals were narrow, or by all
 * where none did, and the widths of both ways to share a round.
 */
export function realRows(runs: readonly RealRun[]): BenchRow[] {
  const by = (sampling: Sampling) => runs.filter(({ run }) => run.sampling === sampling);
  const alarms = (name: string, of: readonly RealRun[]): BenchRow[] =>
    of.length === 0
      ? []
      : [shareRow(name, of.filter(({ called }) => isCalled(called[0])).length, of.length, `real runs: ${kinds(of)}`)];
  const turns = by("turns");
  const long = turns.some(({ run }) => run.width !== undefined)
    ? turns.filter(({ run }) => run.width !== undefined)
    : turns;
  const power = long.length === 0 ? [] : DELAYS.flatMap((delay, i): BenchRow[] => {
    if (delay === 0) return [];
    const found = long.filter(({ called, run }) => called[i] === "below" && run.took <= run.seconds).length;
    const took = quantile(long.map(({ run }) => run.took), 0.5).toFixed(0);
    const note = `real runs: ${kinds(long)}; median ${took} s`;
    const row = shareRow(`power/real ${(100 * delay).toFixed(0)}-percent`, found, long.length, note);
    return [delay === EFFECT ? { ...row, atLeast: 0.8 } : row];
  });
  return [
    ...alarms("aa/real false alarms", turns).map((row) => ({ ...row, atMost: 0.05 })),
    ...alarms("aa/real processes", by("processes")),
    ...power,
    widthRow(runs),
  ];
}
