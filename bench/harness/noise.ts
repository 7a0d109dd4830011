/**
 * Runs that never ran: step times of a baseline, of the same baseline again and of another case, with noise of five kinds
 * and an effect that is known. What the statistics of a report say of them can be counted against it.
 *
 * @module
 */

import type { Random } from "../../reports/statistics/random.ts";
import type { TimedSample } from "../../reports/statistics/pairing.ts";

/** One simulated run, all cases in the same rounds. */
export interface SimulatedRun {
  /** The case that others are compared with. */
  readonly baseline: readonly TimedSample[];
  /** The same once more. */
  readonly again: readonly TimedSample[];
  /** The other case. */
  readonly other: readonly TimedSample[];
}

/** Kinds of noise. */
export const NOISES = ["steady", "drift", "neighbour", "two-modes", "heavy-tails"] as const;
/** A kind of noise. */
export type Noise = typeof NOISES[number];

/** Counted steps of a process. */
const STEPS = 96;
/** Nanoseconds of a step without noise; figures do not depend on it. */
const STEP = 1e7;

/** Standard normal, by Box and Muller. */
function normal(random: Random): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}

/**
 * Times of one process's steps, as factors of what a quiet machine would take.
 *
 * - `steady`: processes spread by 1 %, steps by 4 %.
 * - `drift`: the machine slows down and recovers by up to 10 % over the rounds; processes spread by 1 %.
 * - `neighbour`: in a third of the processes other work takes a tenth of the steps, which are then 1.4 times as long.
 * - `two-modes`: a process lands in one of two layouts, one 3 % slower, for as long as it lives.
 * - `heavy-tails`: one step in fifty takes 2 to 20 times as long (Pareto, exponent 1.5).
 */
function factors(noise: Noise, round: number, random: Random): number[] {
  const process = 0.01 * normal(random);
  const level = process +
    (noise === "drift" ? 0.1 * Math.sin(round / 3) : 0) +
    (noise === "two-modes" && random() < 0.5 ? 0.03 : 0);
  const disturbed = noise === "neighbour" && random() < 1 / 3;
  const from = Math.floor(random() * STEPS * 0.9);
  return Array.from({ length: STEPS }, (_, i) => {
    const beside = disturbed && i >= from && i < from + STEPS / 10 ? 1.4 : 1;
    const tail = noise === "heavy-tails" && random() < 0.02 ? Math.min(20, 2 * (1 - random()) ** (-1 / 1.5)) : 1;
    return Math.exp(level + 0.04 * normal(random)) * beside * tail;
  });
}

/**
 * A run.
 *
 * @param effect How much longer a step of the other case takes: 0.03 is 3 %.
 */
export function simulatedRun(noise: Noise, rounds: number, effect: number, random: Random): SimulatedRun {
  const taken = (slower: number, sample: number): TimedSample => ({
    sample,
    batch: 1,
    stepNs: factors(noise, sample, random).map((factor) => STEP * slower * factor),
  });
  const all = Array.from(
    { length: rounds },
    (_, i) => [taken(1, i + 1), taken(1, i + 1), taken(1 + effect, i + 1)] as const,
  );
  return {
    baseline: all.map(([one]) => one),
    again: all.map(([, one]) => one),
    other: all.map(([, , one]) => one),
  };
}
