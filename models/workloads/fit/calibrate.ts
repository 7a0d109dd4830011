/**
 * Gaps of repeats set so that keys come again as soon as they did: the law is drawn from, the times between uses of the same
 * key are compared bin by bin, and the shares of gaps are corrected. Few rounds; as many numbers as bins.
 *
 * @module
 */

import { gapClass } from "./gaps.ts";
import { KeySource, type KeyTableOptions } from "../../../ffi/simulator/key_source.ts";

/** Rounds of drawing and correcting. */
const ROUNDS = 8;
/** Most that a share grows or shrinks in a round. */
const MOST_CHANGE = 3;
/** A share is held above this, so that it can grow again. */
const LEAST_SHARE = 1e-5;
/** Most repeats that a law may have. */
const MOST_SHARE = 0.95;

/** Accesses by the class of accesses since the last of the same key; first uses are not in it. */
function reuseTimes(keys: BigInt64Array, bins: number): Float64Array {
  const last = new Map<bigint, number>(), out = new Float64Array(bins);
  keys.forEach((key, at) => {
    const before = last.get(key);
    if (before !== undefined) out[Math.min(bins - 1, gapClass(at - before))]! += 1;
    last.set(key, at);
  });
  return out;
}

/**
 * Corrects the gaps of a law.
 *
 * @param law The law of the kept keys.
 * @param keys Those keys.
 */
export function calibrateGaps(law: KeyTableOptions, keys: BigInt64Array, seed: bigint): KeyTableOptions {
  if (law.repeats === undefined) return law;
  const bins = law.repeats.gaps.length, wanted = reuseTimes(keys, bins), n = keys.length;
  let shares = law.repeats.gaps.map((gap) => Math.max(LEAST_SHARE, gap * (law.repeats?.share ?? 0)));
  for (let round = 0; round < ROUNDS; round++) {
    using source = new KeySource(seed + BigInt(round));
    const drawn = reuseTimes(source.keys(source.add(withShares(law, shares)), 0, n).keys, bins);
    shares = shares.map((share, b) => {
      const missing = ((wanted[b] ?? 0) - (drawn[b] ?? 0)) / n;
      return Math.max(LEAST_SHARE, Math.min(share * MOST_CHANGE, Math.max(share / MOST_CHANGE, share + missing)));
    });
  }
  return withShares(law, shares);
}

function withShares(law: KeyTableOptions, shares: readonly number[]): KeyTableOptions {
  const sum = shares.reduce((total, share) => total + share, 0), share = Math.min(MOST_SHARE, sum);
  return { ...law, repeats: { share, gaps: shares.map((x) => x / sum) } };
}
