/**
 * How faithful a law's keys are: distances of miss-ratio curves, original against regenerated.
 *
 * @module
 */

import { EVICTION_POLICIES } from "../../../base/policies.ts";
import { missRatioCurve } from "../../../ffi/curve.ts";
import type { ReplayPolicy } from "../../../ffi/replay.ts";
import { KeySource, type KeyTableOptions } from "../../../ffi/simulator/key_source.ts";
import { type CurveError, SCORE_BARS } from "./bars.ts";

/** Policies by which laws are chosen: what was used last, and what was used most. */
export const CHOSEN_BY: readonly ReplayPolicy[] = ["lru", "lfu"];
/** Policies that a score tells: all of the store, and the best there can be. */
export const SCORED: readonly ReplayPolicy[] = [...EVICTION_POLICIES, "opt"];

/** Errors of miss ratios under each policy that was compared. */
export type Fidelity = Readonly<Partial<Record<ReplayPolicy, CurveError>>>;

/** Miss ratios at some cache sizes, by policy. */
export interface Curves {
  /** Sizes in rows. */
  readonly sizes: readonly number[];
  /** Lookups at the beginning that only fill the caches. */
  readonly uncounted: number;
  /** Miss ratios at these sizes. */
  readonly misses: ReadonlyMap<ReplayPolicy, readonly number[]>;
}

/** Sizes of caches that are compared: evenly spaced in logarithms, from one row to all. */
const SIZES = 20;
/** Short streams are drawn again and again until so many keys have been compared, to tell the law from its chance. */
const LEAST_KEYS = 200_000;
/** Draws at most, of laws that are tried and of the one that is scored. */
const MOST_DRAWS = { tried: 32, scored: 4 };

/** Cache sizes for a stream with so many distinct keys. */
export function cacheSizes(keys: BigInt64Array): number[] {
  const rows = new Set(keys).size;
  const sizes = Array.from({ length: SIZES }, (_, i) => Math.round(rows ** (i / (SIZES - 1))));
  return [...new Set(sizes)].filter((size) => size >= 1);
}

/** Curves of a stream under some policies. */
export function curvesOf(
  keys: BigInt64Array<ArrayBuffer>,
  of: Pick<Curves, "sizes" | "uncounted">,
  policies: readonly ReplayPolicy[],
): Curves {
  const { sizes, uncounted } = of;
  return {
    sizes,
    uncounted,
    misses: new Map(
      policies.map((policy) => [policy, missRatioCurve({ keys, policy, sizes, uncounted }).missRatios]),
    ),
  };
}

/** Curves of what a law makes of a stream's length, averaged over draws with different seeds. */
export function curvesOfLaw(law: KeyTableOptions, length: number, original: Curves, seed: bigint): Curves {
  const policies = [...original.misses.keys()], most = policies.length > CHOSEN_BY.length ? "scored" : "tried";
  const draws = Math.max(1, Math.min(MOST_DRAWS[most], Math.ceil(LEAST_KEYS / Math.max(1, length))));
  const sum = new Map(policies.map((policy) => [policy, original.sizes.map(() => 0)]));
  for (let draw = 0; draw < draws; draw++) {
    using source = new KeySource(seed + BigInt(draw));
    const { keys } = source.keys(source.add(law), 0, length);
    for (const [policy, misses] of curvesOf(keys, original, policies).misses) {
      const total = sum.get(policy) ?? [];
      misses.forEach((x, i) => total[i]! += x / draws);
    }
  }
  return { sizes: original.sizes, uncounted: original.uncounted, misses: sum };
}

/** The errors of one curve against another, by policy. */
export function distanceOf(a: Curves, b: Curves): Fidelity {
  return Object.fromEntries([...a.misses].map(([policy, misses]) => {
    const errors = misses.map((x, i) => Math.abs(x - (b.misses.get(policy)?.[i] ?? 0)));
    return [policy, {
      mean: errors.reduce((sum, x) => sum + x, 0) / Math.max(1, errors.length),
      largest: Math.max(0, ...errors),
    }];
  }));
}

/** The worst of some errors, in units of the bars: above 1 is beyond them. */
export function badness(fidelity: Fidelity): number {
  return Math.max(
    0,
    ...Object.values(fidelity).map(({ mean, largest }) =>
      Math.max(mean / SCORE_BARS.mean, largest / SCORE_BARS.largest)
    ),
  );
}
