/**
 * Runs of the same scenario on the same machine, one after the other.
 *
 * @module
 */

import { mean } from "../../base/statistics.ts";
import { type Kind, kindOf, kindText } from "../summary/kind.ts";
import type { Evidence } from "../../scenarios/record.ts";
import { compareResults } from "../compare/compare.ts";
import type { CaseVerdict, ResultComparison } from "../compare/comparison.ts";
import { unlikeOf } from "../compare/unlike.ts";
import type { Estimate } from "../statistics/bootstrap.ts";
import { type ChangePoint, changePoints, FEWEST_FOR_CHANGE } from "../statistics/change_points.ts";
import type { FoundReport } from "./collect.ts";

/** One case in one run. */
export interface HistoryPoint {
  /** Samples a second; undefined where the run has no such case, or shows no speed of it. */
  readonly rate: Estimate | undefined;
  /** Against the run before: a change by the rule of `tierbench compare`. Undefined in the first run. */
  readonly change: CaseVerdict | undefined;
  /** Its speed ÷ that of the run before. */
  readonly ratio: Estimate | undefined;
}

/** From which run on a case is another: what a single run against the one before cannot tell from noise. */
export interface HistoryChange {
  /** Index of the first run after it. */
  readonly run: number;
  /** Index of the last run before it that has the case. */
  readonly before: number;
  /** Speed after it, to the next change, ÷ speed before, from the last change on: geometric means. */
  readonly ratio: number;
  /** How often chance alone would show one as clear (permutations of the runs). */
  readonly p: number;
}

/** A case over all runs. */
export interface HistoryLine {
  /** Name of the case. */
  readonly case: string;
  /** How its figures were obtained, where one kind is all. */
  readonly evidence: Evidence;
  /** What the medium is by the word of the machine's owner. */
  readonly vouched?: string | undefined;
  /** One point a run. */
  readonly points: readonly HistoryPoint[];
  /** Where it changed; undefined where too few runs have it to tell. */
  readonly changes: readonly HistoryChange[] | undefined;
}

/** The runs of one scenario on one machine. */
export interface History {
  /** The oldest first. */
  readonly reports: readonly FoundReport[];
  /** Every run against the one before; one fewer than there are reports. */
  readonly comparisons: readonly ResultComparison[];
  /** Its cases, those of the newest run first. */
  readonly lines: readonly HistoryLine[];
}

/** Reports in groups that `tierbench compare` takes for alike: one scenario, one machine, one key stream. */
export function historiesOf(reports: readonly FoundReport[]): History[] {
  const groups: FoundReport[][] = [];
  const alike = (a: FoundReport, b: FoundReport): boolean =>
    unlikeOf(a.read.result, b.read.result).every(({ weight }) => weight !== "refused");
  for (const report of reports) {
    const group = groups.find(([first]) => first !== undefined && alike(first, report));
    if (group === undefined) groups.push([report]);
    else group.push(report);
  }
  // They come with the newest first; a history begins with the oldest.
  return groups.map((group) => historyOf(group.reverse()));
}

function historyOf(reports: readonly FoundReport[]): History {
  const comparisons = reports.slice(1).map((report, i) => {
    const before = reports[i] as FoundReport;
    return compareResults(before.read.result, report.read.result, { names: [before.path, report.path], unlike: true });
  });
  const newest = [...reports].reverse();
  const names = new Map<string, Kind>();
  for (const { summary } of newest) {
    for (const one of summary.cases) if (!names.has(one.name)) names.set(one.name, kindOf(one));
  }
  const lines = [...names].map(([name, kind]): HistoryLine => {
    const points = reports.map(({ summary }, i): HistoryPoint => {
      const found = summary.cases.find((one) => one.name === name && kindText(one) === kindText(kind));
      const compared = comparisons[i - 1]?.cases.find((one) => one.case === name);
      return { rate: found?.throughput, change: compared?.verdict, ratio: compared?.ratio };
    });
    return { case: name, ...kind, points, changes: changesOf(points, name) };
  });
  return { reports, comparisons, lines };
}

/** A change of less is nobody's concern, however sure it is: speeds that creep by a thousandth a run have many. */
export const LEAST_CHANGE = 0.01;

function changesOf(points: readonly HistoryPoint[], seed: string): HistoryChange[] | undefined {
  const runs = points.flatMap(({ rate }, run) => rate === undefined ? [] : [{ run, log: Math.log(rate.value) }]);
  if (runs.length < FEWEST_FOR_CHANGE) return undefined;
  const logs = runs.map(({ log }) => log);
  let found = changePoints(logs, { seed });
  const stepsOf = (of: readonly ChangePoint[]): number[] => {
    const ends = [0, ...of.map(({ at }) => at), logs.length];
    const levels = ends.slice(1).map((end, i) => mean(logs.slice(ends[i], end)));
    return levels.slice(1).map((level, i) => level - (levels[i] ?? 0));
  };
  // The least first: what it lies between becomes one level.
  for (;;) {
    const sizes = stepsOf(found).map(Math.abs), least = sizes.indexOf(Math.min(...sizes));
    if (least < 0 || (sizes[least] ?? 0) >= Math.log1p(LEAST_CHANGE)) break;
    found = found.filter((_, i) => i !== least);
  }
  const steps = stepsOf(found);
  return found.map(({ at, p }, i) => ({
    run: (runs[at] as { run: number }).run,
    before: (runs[at - 1] as { run: number }).run,
    ratio: Math.exp(steps[i] ?? 0),
    p,
  }));
}
