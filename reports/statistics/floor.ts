/**
 * The noise floor of cases that ran in the same rounds, with one of them repeated (A/A).
 *
 * @module
 */

import type { Estimate } from "./bootstrap.ts";
import { noiseFloor } from "./noise.ts";
import { comparedRates, rateOf, type TimedSample } from "./pairing.ts";

/** A floor, and what the repeated case differs from itself. */
export interface SpeedFloor {
  /** A factor above 1: rates whose ratio is nearer to 1 are not told apart. */
  readonly factor: number;
  /** Rate of the second time ÷ that of the first; undefined if no case was repeated. */
  readonly again: Estimate | undefined;
}

/**
 * The floor of speeds: what noise between processes would show by itself, and never less than what the repeated case
 * differs from itself.
 *
 * @param cases Samples of every case, each of the same rounds.
 * @param twin The case that ran twice in every round: its samples and those of the second time; undefined without.
 * @param seed Text that seeds the resampling.
 * @returns Undefined where there are too few cases or rounds.
 */
export function speedFloor<S extends TimedSample>(
  cases: readonly (readonly S[])[],
  twin: { readonly samples: readonly S[]; readonly again: readonly S[] } | undefined,
  seed: string,
): SpeedFloor | undefined {
  const again = twin === undefined ? undefined : comparedRates(twin.again, twin.samples, [], seed);
  const rows = [...cases, ...(twin === undefined ? [] : [twin.again])];
  const rates = rows.map((samples) => samples.toSorted((a, b) => a.sample - b.sample).map(rateOf));
  const pooled = noiseFloor(rates, Math.max(1, cases.length - 1), twin === undefined ? 1 : 2);
  if (pooled === undefined) return undefined;
  return { factor: Math.max(pooled, ...(again === undefined ? [] : [Math.max(again.value, 1 / again.value)])), again };
}
