/**
 * Whether a series comes to a steady state, and from where on it is in it.
 *
 * @module
 */

import { median } from "../../base/statistics.ts";
import { changePoints } from "./change_points.ts";

/**
 * How a process went, in the terms of Barrett et al.: `flat`, one level all along; `warmup`, the last level is the fastest;
 * `slowdown`, an earlier one was faster; `no steady state`, its level still changes in its last quarter.
 */
export type Steadiness = "flat" | "warmup" | "slowdown" | "no steady state";

/** What change points say of a series of times. */
export interface SteadyState {
  /** How it went. */
  readonly kind: Steadiness;
  /** How many values come before the steady state; undefined where there is none. */
  readonly from: number | undefined;
}

/** Values, at least: ten parts of two, fewer than which have no change point. */
const FEWEST = 20;
/** Parts of neighbouring values among which changes are looked for, at most. */
const PARTS = 40;
/** Levels whose logarithms are nearer than this are one: 3 %. */
const LIKE = Math.log(1.03);
/** Share of the series, at its end, in which the level must not change. */
const LAST = 1 / 4;
/** Permutations: a change point has p of at most 0.01, of 199 and the series itself two. */
const PERMUTATIONS = 199;

/**
 * The steady state of a process's step times: change points cut them into segments, those before the last whose level is that
 * of the last belong to it, and what they begin with is the steady state, if it fills the last quarter (E. Barrett, C. F.
 * Bolz-Tereick, R. Killick, S. Mount, L. Tratt, "Virtual Machine Warmup Blows Hot and Cold", OOPSLA 2017; there by PELT, here by
 * E-divisive, {@linkcode changePoints}, over medians of neighbouring values, which single slow ones do not move).
 *
 * @param times In the order of time, above 0.
 * @param seed Text from which permutations are drawn.
 * @returns Undefined of fewer than 20.
 */
export function steadyState(times: readonly number[], seed: string): SteadyState | undefined {
  if (times.length < FEWEST) return undefined;
  const parts = Math.min(PARTS, Math.floor(times.length / 2));
  const begin = (part: number): number => Math.floor(part * times.length / parts);
  const series = Array.from({ length: parts }, (_, i) => Math.log(median(times.slice(begin(i), begin(i + 1)))));
  const cuts = [0, ...changePoints(series, { seed, permutations: PERMUTATIONS }).map(({ at }) => at), parts];
  const segments = cuts.slice(0, -1).map((from, i) => ({ from, level: median(series.slice(from, cuts[i + 1])) }));
  const last = segments.at(-1)?.level ?? 0;
  const unlike = segments.findLastIndex(({ level }) => Math.abs(level - last) > LIKE);
  const from = begin(segments[unlike + 1]?.from ?? 0);
  if (unlike < 0) return { kind: "flat", from: 0 };
  if (from > (1 - LAST) * times.length) return { kind: "no steady state", from: undefined };
  return { kind: segments.some(({ level }) => level < last - LIKE) ? "slowdown" : "warmup", from };
}
