/**
 * Comparing two cases round by round. A run takes its samples in rounds, each with every case once in random order, and
 * numbers a case's samples by the round. Two samples of one round ran close to each other in time, so what changes
 * slowly on the machine meets both, and their ratio is free of it.
 *
 * @module
 */

import { type Estimate, estimatePairedRatio, estimateRatio } from "./bootstrap.ts";
import { estimateNestedRatio } from "./hierarchy.ts";

/** A sample that knows its round. */
interface InRound {
  /** Number of the round, which is that of the sample in its case, from 1. */
  readonly sample: number;
}

/** Whether both sides completed the same rounds, each of them once. */
export function sameRounds(some: readonly InRound[], others: readonly InRound[]): boolean {
  const rounds = (of: readonly InRound[]): Set<number> => new Set(of.map(({ sample }) => sample));
  const [a, b] = [rounds(some), rounds(others)];
  return a.size === some.length && b.size === others.length && a.size === b.size && [...a].every((one) => b.has(one));
}

/**
 * Ratio of a figure to that of a baseline: by round where both completed the same rounds, else of independent groups.
 *
 * @param samples The samples of a case.
 * @param baseline Those of the case that it is compared with.
 * @param figure The figure of one sample, above 0.
 * @param scale How groups are averaged where they are not paired; see `estimate`.
 * @param seed Text that seeds the resampling.
 */
export function compared<S extends InRound>(
  samples: readonly S[],
  baseline: readonly S[],
  figure: (sample: S) => number,
  scale: "rate" | "positive",
  seed: string,
): Estimate {
  if (!sameRounds(samples, baseline)) return estimateRatio(samples.map(figure), baseline.map(figure), scale, seed);
  const inOrder = (of: readonly S[]): number[] => [...of].sort((a, b) => a.sample - b.sample).map(figure);
  return estimatePairedRatio(inOrder(samples), inOrder(baseline), seed);
}

/** A sample with its steps. */
export interface TimedSample extends InRound {
  /** Training samples a step. */
  readonly batch: number;
  /** Wall time of every counted step, nanoseconds. */
  readonly stepNs: readonly number[];
}

/** Samples a second of a process. */
export function rateOf({ batch, stepNs }: Omit<TimedSample, "sample">): number {
  return batch * stepNs.length / (stepNs.reduce((total, ns) => total + ns, 0) / 1e9);
}

/**
 * Rate of a case ÷ that of a baseline: by the hierarchy of steps, processes and rounds where both completed the same
 * rounds, else of independent groups.
 *
 * @param again Samples of the same rounds that repeat the baseline: further processes of it.
 */
export function comparedRates<S extends TimedSample>(
  samples: readonly S[],
  baseline: readonly S[],
  again: readonly S[],
  seed: string,
): Estimate {
  if (!sameRounds(samples, baseline)) return estimateRatio(samples.map(rateOf), baseline.map(rateOf), "rate", seed);
  const times = ({ batch, stepNs }: S): number[] => stepNs.map((ns) => ns / batch);
  const others = Map.groupBy([...baseline, ...again], ({ sample }) => sample);
  const inOrder = [...samples].sort((a, b) => a.sample - b.sample);
  return estimateNestedRatio(
    inOrder.map((one) => ({ one: [times(one)], other: (others.get(one.sample) ?? []).map(times) })),
    seed,
  );
}
