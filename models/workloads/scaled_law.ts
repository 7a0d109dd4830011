/**
 * Laws of profiles for tables of other sizes: the one place that says what "the same shape" means.
 *
 * @module
 */

import { wordAt } from "../../base/path_word.ts";
import type { PopularityLaw } from "../../ffi/curve.ts";
import { loadProfile, type Profile } from "./profile.ts";

/** Rows of a law, all buckets together. */
export function rowsOf({ rows }: PopularityLaw): number {
  return Number(rows.reduce((sum, own) => sum + own, 0n));
}

/**
 * A law with so many rows and the shape of another: the same share of the lookups goes to the same share of the rows. Ends of
 * buckets are rounded to whole rows; a bucket that has none left gives its lookups to the next.
 *
 * @param rows A whole number, 1 or more.
 *
 * @example
 * ```ts
 * import { scaledLaw } from "./scaled_law.ts";
 *
 * const law = { rows: BigUint64Array.of(1n, 9n), weights: Float64Array.of(0.1, 0.1) };
 * console.log(scaledLaw(law, 20).rows); // BigUint64Array(2) [ 2n, 18n ]
 * ```
 */
export function scaledLaw(law: PopularityLaw, rows: number): PopularityLaw {
  const all = rowsOf(law);
  if (all === rows) return law;
  const counts: bigint[] = [], weights: number[] = [];
  let [seen, end, lookups] = [0, 0, 0];
  for (const [i, own] of law.rows.entries()) {
    seen += Number(own);
    lookups += Number(own) * (law.weights[i] ?? 0);
    const next = seen === all ? rows : Math.round(seen / all * rows);
    if (next === end) continue;
    counts.push(BigInt(next - end));
    weights.push(lookups / (next - end));
    [end, lookups] = [next, 0];
  }
  // Lookups of a last bucket without rows are those of the row before.
  const last = weights.length - 1;
  if (lookups > 0 && last >= 0) weights[last] = (weights[last] ?? 0) + lookups / Number(counts[last]);
  return { rows: BigUint64Array.from(counts), weights: Float64Array.from(weights) };
}

/**
 * Loads the profile that a scenario names.
 *
 * @param word Name of a shipped profile, or the path of a file.
 * @param directory Where relative paths start.
 * @throws {ProfileError} There is none, or it is none.
 */
export async function profileAt(word: string, directory: string): Promise<Profile> {
  return await loadProfile(wordAt(word, directory));
}
