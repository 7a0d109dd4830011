/**
 * Change points of a series: from which value on its distribution is another one. The method is E-divisive (Matteson and James,
 * "A Nonparametric Approach for Multiple Change Point Analysis of Multivariate Data", JASA 109, 2014), which is what MongoDB,
 * and Hunter after it, watch the histories of their benchmarks with: it asks for no normal law and no known noise, and its
 * significance comes from permutations of the series itself.
 *
 * @module
 */

import { seededRandom } from "./random.ts";

/** Where a series changes. */
export interface ChangePoint {
  /** Index of the first value after the change. */
  readonly at: number;
  /** Share of permutations, the series among them, that are cut in two at least as clearly. */
  readonly p: number;
}

/** How change points are looked for. */
export interface ChangePointOptions {
  /** Text from which permutations are drawn. */
  readonly seed: string;
  /** A change point has at most this p. Default: 0.01. */
  readonly level?: number;
  /** Permutations, besides the series itself. Default: 499. */
  readonly permutations?: number;
}

/** Values on each side of a change, at least: fewer are outliers, whatever they are. */
const LEAST = 3;

/**
 * The shortest series in which a change can be found: its p is 2 ÷ C(n, n/2) at best, since a permutation that swaps the sides
 * is as clear, and that is at most 0.01 from ten values on.
 */
export const FEWEST_FOR_CHANGE = 10;

interface Cut {
  readonly at: number;
  readonly clarity: number;
}

/**
 * The best place to cut values[from..to) in two, and how clearly it is cut there: nm/(n + m) times the energy distance of both
 * sides, 2 E|X - Y| - E|X - X'| - E|Y - Y'|, where means within a side have the pairs of a value with itself in them, as
 * MongoDB's implementation has it (the paper leaves those out, equations 5 to 7).
 */
export function bestCut(values: Float64Array, from: number, to: number): Cut | undefined {
  const length = to - from;
  let best: Cut | undefined, left = 0, right = 0, all = 0;
  for (let i = from; i < to; i++) for (let j = i + 1; j < to; j++) all += Math.abs((values[i] ?? 0) - (values[j] ?? 0));
  right = all;
  for (let n = 1; n <= length - LEAST; n++) {
    const moved = from + n - 1, value = values[moved] ?? 0;
    for (let i = from; i < moved; i++) left += Math.abs((values[i] ?? 0) - value);
    for (let j = moved + 1; j < to; j++) right -= Math.abs((values[j] ?? 0) - value);
    if (n < LEAST) continue;
    const m = length - n, between = all - left - right;
    const energy = 2 * between / (n * m) - 2 * left / n ** 2 - 2 * right / m ** 2;
    const clarity = n * m / (n + m) * energy;
    if (best === undefined || clarity > best.clarity) best = { at: from + n, clarity };
  }
  return best;
}

function clearest(values: Float64Array, ends: readonly number[]): Cut | undefined {
  let best: Cut | undefined;
  for (let i = 0; i + 1 < ends.length; i++) {
    const cut = bestCut(values, ends[i] ?? 0, ends[i + 1] ?? 0);
    if (cut !== undefined && (best === undefined || cut.clarity > best.clarity)) best = cut;
  }
  return best;
}

/** Shuffles each part by itself (Fisher and Yates). */
function shuffle(values: Float64Array, ends: readonly number[], random: () => number): void {
  for (let part = 0; part + 1 < ends.length; part++) {
    const from = ends[part] ?? 0;
    for (let i = (ends[part + 1] ?? 0) - 1; i > from; i--) {
      const j = from + Math.floor(random() * (i - from + 1)), kept = values[i] ?? 0;
      values[i] = values[j] ?? 0;
      values[j] = kept;
    }
  }
}

/**
 * Change points, in the order of the series. One after the other is looked for, the clearest first, within what those before it
 * left, until one is not significant.
 *
 * @param series Finite numbers; of ratios, their logarithms. Fewer than {@linkcode FEWEST_FOR_CHANGE} have no change point.
 */
export function changePoints(series: readonly number[], options: ChangePointOptions): ChangePoint[] {
  const { seed, level = 0.01, permutations = 499 } = options;
  const found: ChangePoint[] = [];
  if (series.length < FEWEST_FOR_CHANGE) return found;
  const values = Float64Array.from(series), random = seededRandom(seed);
  for (;;) {
    const ends = [0, ...found.map(({ at }) => at), series.length].sort((a, b) => a - b);
    const cut = clearest(values, ends);
    if (cut === undefined) break;
    const drawn = values.slice();
    let asClear = 1;
    // As soon as it cannot be significant any more, it is not.
    for (let i = 0; i < permutations && asClear <= level * (permutations + 1); i++) {
      shuffle(drawn, ends, random);
      // What rounding makes different is not less clear.
      if ((clearest(drawn, ends)?.clarity ?? 0) >= cut.clarity * (1 - 1e-12)) asClear++;
    }
    const p = asClear / (permutations + 1);
    if (p > level) break;
    found.push({ at: cut.at, p });
  }
  return found.sort((a, b) => a.at - b.at);
}
