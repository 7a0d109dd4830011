/**
 * What a simulation says where a figure was published.
 *
 * @module
 */

import { ratioBand, ratioBandWith } from "./ratio_band.ts";
import {
  caseName,
  metricOf,
  NULL_NAMES,
  type NullName,
  type SimulatedRecord,
  type SimulationResult,
} from "./record.ts";
import type { Published } from "./simulation.ts";

/** A published figure and what the simulation says. */
export interface PublishedDeviation {
  /** Name of the figure or table in its source. */
  readonly figure: string;
  /** What is compared: `time`, `samples-per-second`, `miss-rate`, `step-time` or `extra-time`. */
  readonly of: string;
  /** The published value, or multiple of another case. */
  readonly published: number;
  /** The same of the simulation, in the same unit. */
  readonly simulated: number;
  /** (simulated - published) / published; of `extra-time`, simulated - published. */
  readonly deviation: number;
  /** By how much of `deviation` the simulated value may differ. */
  readonly tolerance: number;
  /** Whether the deviation is within the tolerance. */
  readonly within: boolean;
  /** Where the figure is published. */
  readonly source: string;
  /** The parameter that was set by this figure: its deviation says nothing. */
  readonly calibrates?: string;
  /**
   * 90 % band of `simulated` where it is relative to another case: draws of both cases in pairs. Absent where a case has
   * no band.
   */
  readonly band?: readonly [number, number];
  /** What the null models say that concern the figure; absent in results of versions that ran none. */
  readonly nulls?: readonly NullDeviation[];
}

/** What a null model says of a published figure. */
export interface NullDeviation {
  /** Which. */
  readonly model: NullName;
  /** Its figure, in the unit of the published one. */
  readonly simulated: number;
  /** Whether it is within the same tolerance: then the figure says nothing of what the null model takes away. */
  readonly within: boolean;
}

/**
 * Whether a figure is reproduced: it is met, it set no parameter, and no null model that concerns it meets it, too. Undefined
 * where no null model was run.
 */
export function isReproduced({ within, calibrates, nulls }: PublishedDeviation): boolean | undefined {
  return nulls === undefined ? undefined : within && calibrates === undefined && nulls.every((one) => !one.within);
}

/** The band of a time relative to another case's; an effect is the share above 1. */
function bandOf(
  of: string,
  one: SimulatedRecord,
  unit: SimulatedRecord,
  engine: number | undefined,
): readonly [number, number] | undefined {
  if (of !== "time" && of !== "extra-time") return undefined;
  const less = of === "extra-time" ? 1 : 0;
  const [low, high] = (engine === undefined ? ratioBand(unit, one) : ratioBandWith(engine, unit, one)) ?? [];
  return low === undefined || high === undefined ? undefined : [low - less, high - less];
}

type Figures = Parameters<typeof metricOf>[0];

/**
 * Every published figure of a simulation with the case that it speaks of.
 *
 * @param engineOf Range of the engine in the band of a figure, by its name in its source. Default: that of the cases.
 */
export function publishedDeviations(
  { run, cases, nulls = [] }: SimulationResult,
  engineOf: (figure: string) => number | undefined = () => undefined,
): (readonly [SimulatedRecord, PublishedDeviation])[] {
  const find = (configuration: string, at: SimulatedRecord["point"] = {}) =>
    cases.find((one) => one.case === caseName(configuration, at));
  return run.scenario.published.flatMap((published) => {
    const one = find(published.configuration, published.at);
    const unit = published.relativeTo === undefined
      ? undefined
      : find(published.relativeTo.configuration, published.relativeTo.at);
    if (one === undefined || (published.relativeTo !== undefined && unit === undefined)) return [];
    const extra = published.of === "extra-time";
    const valueOf = (first: Figures, second: Figures | undefined) =>
      metricOf(first, published.of) / (second === undefined ? 1 : metricOf(second, published.of)) - (extra ? 1 : 0);
    const deviationOf = (found: number) => extra ? found - published.value : found / published.value - 1;
    const isWithin = (found: number) => Math.abs(deviationOf(found)) <= published.tolerance;
    const value = valueOf(one, unit);
    const band = unit === undefined ? undefined : bandOf(published.of, one, unit, engineOf(published.figure));
    const nullsOf = NULL_NAMES.flatMap((model): NullDeviation[] => {
      // Which rows are missed is no matter of the medium, nor of what software takes.
      if ((model === "dram" || model === "free-software") && published.of === "miss-rate") return [];
      const of = (real: SimulatedRecord | undefined) =>
        nulls.find((found) => found.model === model && found.case === real?.case);
      const [first, second] = [of(one), of(unit)];
      if (first === undefined && second === undefined) return [];
      const simulated = valueOf(first ?? one, second ?? unit);
      return [{ model, simulated, within: isWithin(simulated) }];
    });
    return [
      [one, {
        figure: published.figure,
        of: published.of,
        published: published.value,
        simulated: value,
        deviation: deviationOf(value),
        tolerance: published.tolerance,
        within: isWithin(value),
        source: published.source,
        ...(band === undefined ? {} : { band }),
        ...(published.calibrates === undefined ? {} : { calibrates: published.calibrates }),
        ...(nulls.length === 0 ? {} : { nulls: nullsOf }),
      }],
    ];
  });
}

/** How many published figures are relative to another case, and how many of those set no parameter; undefined where none is. */
export function relativeOf(
  published: readonly Pick<Published, "relativeTo" | "calibrates">[],
): { readonly figures: number; readonly free: number } | undefined {
  const relative = published.filter(({ relativeTo }) => relativeTo !== undefined);
  const free = relative.filter(({ calibrates }) => calibrates === undefined);
  return relative.length === 0 ? undefined : { figures: relative.length, free: free.length };
}

/** How many of the relative figures that set no parameter lie in their 90 % bands; undefined where none has one. */
export function coverageOf(
  deviations: readonly PublishedDeviation[],
): { readonly figures: number; readonly covered: number } | undefined {
  const banded = deviations.filter(({ band, calibrates }) => band !== undefined && calibrates === undefined);
  const covered = banded.filter(({ band: [low, high] = [0, 0], published }) => low <= published && published <= high);
  return banded.length === 0 ? undefined : { figures: banded.length, covered: covered.length };
}

/** Pairs of figures of one kind and source that differ by more than a tenth, and how many keep their order. */
export function orderOf(
  deviations: readonly PublishedDeviation[],
): { readonly pairs: number; readonly same: number } | undefined {
  let [pairs, same] = [0, 0];
  for (const [i, a] of deviations.entries()) {
    for (const b of deviations.slice(i + 1)) {
      if (a.of !== b.of || a.source !== b.source) continue;
      const [low, high] = a.published < b.published ? [a, b] : [b, a];
      // An effect is the share by which something is more than its baseline.
      const unit = a.of === "extra-time" ? 1 : 0;
      if (unit + high.published <= (unit + low.published) * 1.1) continue;
      pairs++;
      if (high.simulated > low.simulated) same++;
    }
  }
  return pairs === 0 ? undefined : { pairs, same };
}
