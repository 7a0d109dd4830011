/**
 * How the times of a case's steps are distributed, which of them stand out, how they went over the run, and which processes
 * came to a steady state.
 *
 * @module
 */

import type { SampleRecord } from "../../scenarios/record.ts";
import { median, quantileOfSorted } from "../../base/statistics.ts";
import { steadyState } from "../statistics/steady.ts";
import type { StepCourse } from "./summary_types.ts";

/** Bins of a histogram in a doubling of time: each is 4.4 % wide. */
export const BINS_A_DOUBLING = 16;
/** Outliers that are named, the slowest first. */
const NAMED = 5;
/** Places of a course. */
const PLACES = 60;
/** Interquartile ranges above the third quartile beyond which a step stands out: Tukey's outer fence. */
const FENCE = 3;

/**
 * Distribution, outliers and course of the counted steps of a case.
 *
 * @param samples Of one case, one or more, each with one counted step or more.
 */
export function stepCourse(samples: readonly SampleRecord[]): StepCourse {
  const all = Float64Array.from(samples.flatMap(({ stepNs }) => stepNs), (ns) => ns / 1e9).sort();
  const counts = new Map<number, number>();
  for (const seconds of all) {
    const bin = Math.floor(Math.log2(seconds) * BINS_A_DOUBLING);
    counts.set(bin, (counts.get(bin) ?? 0) + 1);
  }
  const [first, third] = [quantileOfSorted(all, 0.25), quantileOfSorted(all, 0.75)];
  const fence = third + FENCE * (third - first);
  const outside = samples.flatMap(({ id, stepNs, warmupSteps }) =>
    stepNs.flatMap((ns, i) => ns / 1e9 > fence ? [{ sample: id, step: warmupSteps + i + 1, seconds: ns / 1e9 }] : [])
  ).sort((a, b) => b.seconds - a.seconds);
  const steps = Math.min(...samples.map(({ stepNs }) => stepNs.length));
  const along = Array.from({ length: steps }, (_, i) => median(samples.map(({ stepNs }) => stepNs[i] as number)) / 1e9);
  const width = Math.ceil(steps / PLACES);
  const warmup = samples[0]?.warmupSteps ?? 0;
  const steady = steadyState(along, "course")?.from;
  const processes = samples.flatMap(({ id, stepNs, warmupSteps }) => {
    const state = steadyState(stepNs, id);
    if (state === undefined) return [];
    const { kind, from } = state;
    return [{ sample: id, kind, from: from === undefined ? undefined : warmupSteps + from + 1 }];
  });
  return {
    histogram: [...counts].sort(([a], [b]) => a - b).map(([bin, count]) => ({ bin, count })),
    outliers: { count: outside.length, fence, slowest: outside.slice(0, NAMED) },
    course: Array.from({ length: Math.ceil(steps / width) }, (_, i) => {
      const part = along.slice(i * width, (i + 1) * width);
      return { step: warmup + i * width + (part.length + 1) / 2, seconds: median(part) };
    }),
    steadyFrom: steady === undefined ? undefined : warmup + steady + 1,
    processes,
  };
}
