/**
 * What a round that trained in turns says of both ways to share a round's time: how far a ratio of two of its samples would
 * be off by what the machine did meanwhile, in turns and with one process after the other.
 *
 * @module
 */

import { mean, variance } from "../../base/statistics.ts";
import type { SampleRecord } from "../record.ts";

/** Standard deviations of the logarithm of a ratio of two samples, by the noise within a round alone. */
export interface Precision {
  /** In turns. */
  readonly turns: number;
  /** One process after the other. */
  readonly processes: number;
}

/** Turns of a sample, at least, for each of those that share them: fewer say nothing. */
const LEAST = 2;

/**
 * Both precisions, from the times of one round in turns.
 *
 * Each sample's turns are first divided by their own mean, so that what is left is noise. In turns two samples are told
 * apart by turns of the same cycle: what all of a cycle have in common cancels out. One after the other each sample would
 * have had a stretch of the round as long as all its turns: the cycles are cut into so many stretches, and what these differ
 * by is what such samples would.
 *
 * @param samples The samples of a round, of equal steps.
 * @returns Undefined where there are too few turns, or fewer than two samples.
 */
export function turnsPilot(samples: readonly Pick<SampleRecord, "stepNs" | "turns">[]): Precision | undefined {
  const every = samples[0]?.turns?.steps;
  const steps = Math.min(...samples.map(({ stepNs }) => stepNs.length));
  if (every === undefined || samples.length < 2) return undefined;
  const cycles = Math.floor(steps / every), sharers = samples.length;
  if (cycles < LEAST * sharers) return undefined;
  const noise = samples.map(({ stepNs }) => {
    const turns = Array.from({ length: cycles }, (_, i) => mean(stepNs.slice(i * every, (i + 1) * every)));
    const all = mean(turns);
    return turns.map((ns) => ns / all - 1);
  });
  const common = Array.from({ length: cycles }, (_, i) => mean(noise.map((of) => of[i] as number)));
  const apart = noise.flatMap((of) => of.map((one, i) => one - (common[i] as number)));
  // Cycles and samples each take a mean from it.
  const own = apart.reduce((sum, one) => sum + one * one, 0) / ((sharers - 1) * (cycles - 1));
  const stretches = Array.from({ length: sharers }, (_, s) => {
    const [from, to] = [Math.floor(s * cycles / sharers), Math.floor((s + 1) * cycles / sharers)];
    return mean(common.slice(from, to));
  });
  return { turns: Math.sqrt(2 * own / cycles), processes: Math.sqrt(2 * variance(stretches)) };
}
