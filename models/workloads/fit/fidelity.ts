/**
 * How faithful a law's keys are: the largest distance of miss-ratio curves, original against regenerated.
 *
 * @module
 */

import { replayCache } from "../../../ffi/replay.ts";
import { KeySource, type KeyTableOptions } from "../../../ffi/simulator/key_source.ts";

/** Policies that are compared. */
const FIDELITY_POLICIES = ["lru", "lfu"] as const;

/** Largest distance of miss ratios under each policy. */
export type Fidelity = Readonly<Record<"lru" | "lfu", number>>;

/** Miss ratios at some cache sizes, by policy. */
export interface Curves {
  /** Sizes in rows. */
  readonly sizes: readonly number[];
  /** Miss ratios at these sizes. */
  readonly misses: Readonly<Record<(typeof FIDELITY_POLICIES)[number], readonly number[]>>;
}

/** Sizes of caches that are compared: evenly spaced in logarithms, from one row to all. */
const SIZES = 20;
/** Short streams are drawn again and again until so many keys have been compared, to tell the law from its chance. */
const LEAST_KEYS = 200_000;
const MOST_DRAWS = 32;

/** Number of distinct keys. */
function distinct(keys: BigInt64Array): number {
  return new Set(keys).size;
}

/** Cache sizes for a stream with so many distinct keys. */
function cacheSizes(rows: number): number[] {
  const sizes = Array.from({ length: SIZES }, (_, i) => Math.round(rows ** (i / (SIZES - 1))));
  return [...new Set(sizes)].filter((size) => size >= 1);
}

/** Curves of a stream. */
export function curvesOf(keys: BigInt64Array, sizes: readonly number[]): Curves {
  const misses = (policy: (typeof FIDELITY_POLICIES)[number]) =>
    sizes.map((size) => 1 - replayCache(policy, size, keys) / Math.max(1, keys.length));
  return { sizes, misses: { lru: misses("lru"), lfu: misses("lfu") } };
}

/** Curves of what a law makes of a stream's length, averaged over draws with different seeds. */
export function curvesOfLaw(law: KeyTableOptions, length: number, sizes: readonly number[], seed: bigint): Curves {
  const draws = Math.max(1, Math.min(MOST_DRAWS, Math.ceil(LEAST_KEYS / Math.max(1, length))));
  const sum = { lru: sizes.map(() => 0), lfu: sizes.map(() => 0) };
  for (let draw = 0; draw < draws; draw++) {
    using source = new KeySource(seed + BigInt(draw));
    const { keys } = source.keys(source.add(law), 0, length);
    const { misses } = curvesOf(keys, sizes);
    for (const policy of FIDELITY_POLICIES) misses[policy].forEach((x, i) => sum[policy][i]! += x / draws);
  }
  return { sizes, misses: sum };
}

/** The score: largest distance over the sizes. */
export function distanceOf(a: Curves, b: Curves): Fidelity {
  const largest = (policy: (typeof FIDELITY_POLICIES)[number]) =>
    a.misses[policy].reduce((most, x, i) => Math.max(most, Math.abs(x - (b.misses[policy][i] ?? 0))), 0);
  return { lru: largest("lru"), lfu: largest("lfu") };
}

/** Curves of the original at sizes that fit it. */
export function originalCurves(keys: BigInt64Array): Curves {
  return curvesOf(keys, cacheSizes(distinct(keys)));
}
