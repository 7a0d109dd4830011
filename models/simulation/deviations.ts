/**
 * What a simulation says where a figure was published.
 *
 * @module
 */

import { caseName, metricOf, type SimulatedRecord, type SimulationResult } from "./record.ts";

/** A published figure and what the simulation says. */
export interface PublishedDeviation {
  /** Name of the figure or table in its source. */
  readonly figure: string;
  /** What is compared: `time`, `samples-per-second`, `miss-rate` or `step-time`. */
  readonly of: string;
  /** The published value, or multiple of another case. */
  readonly published: number;
  /** The same of the simulation, in the same unit. */
  readonly simulated: number;
  /** (simulated - published) / published. */
  readonly deviation: number;
  /** Share of the published value by which the simulated one may differ. */
  readonly tolerance: number;
  /** Whether the deviation is within the tolerance. */
  readonly within: boolean;
  /** Where the figure is published. */
  readonly source: string;
  /** The parameter that was set by this figure: its deviation says nothing. */
  readonly calibrates?: string;
}

/** Every published figure of a simulation with the case that it speaks of. */
export function publishedDeviations(
  { run, cases }: SimulationResult,
): (readonly [SimulatedRecord, PublishedDeviation])[] {
  const find = (configuration: string, at: SimulatedRecord["point"] = {}) =>
    cases.find((one) => one.case === caseName(configuration, at));
  return run.scenario.published.flatMap((published) => {
    const one = find(published.configuration, published.at);
    const unit = published.relativeTo === undefined
      ? undefined
      : find(published.relativeTo.configuration, published.relativeTo.at);
    if (one === undefined || (published.relativeTo !== undefined && unit === undefined)) return [];
    const value = metricOf(one, published.of) / (unit === undefined ? 1 : metricOf(unit, published.of));
    const deviation = value / published.value - 1;
    return [
      [one, {
        figure: published.figure,
        of: published.of,
        published: published.value,
        simulated: value,
        deviation,
        tolerance: published.tolerance,
        within: Math.abs(deviation) <= published.tolerance,
        source: published.source,
        ...(published.calibrates === undefined ? {} : { calibrates: published.calibrates }),
      }],
    ];
  });
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
      if (high.published <= low.published * 1.1) continue;
      pairs++;
      if (high.simulated > low.simulated) same++;
    }
  }
  return pairs === 0 ? undefined : { pairs, same };
}
