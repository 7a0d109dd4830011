/**
 * How the rows of a bag of keys become one: the options of bags.
 *
 * @module
 */

import type { FieldsOf } from "../base/fields.ts";
import { checkWeights, countBags, countKeys, type Keys, type Offsets, toKeys, toOffsets } from "./keys.ts";

/** `TS_COMBINER_*` of `tierstore.h` by name. A test compares the two. */
export const COMBINERS = { sum: 0, mean: 1, sqrtn: 2 } as const;

/**
 * How the rows of a bag become one: their weighted `sum`, that divided by the sum of the weights (`mean`), or by the
 * square root of the sum of their squares (`sqrtn`).
 */
export type Combiner = "sum" | "mean" | "sqrtn";

/** Options of {@linkcode Table.updateBags}. */
export interface BagOptions {
  /** One factor for each key; 1 if absent. */
  readonly weights?: Float32Array;
  /**
   * How rows become one.
   *
   * @default {"mean"}
   */
  readonly combiner?: Combiner;
}

/** Options of {@linkcode Table.lookupBags}. */
export interface LookupBagsOptions extends BagOptions {
  /** Rows with a larger L2 norm are scaled to this one first; 0, which is the default, has no limit. */
  readonly maxNorm?: number;
}

/** The fields of {@linkcode BagOptions}. */
export const BAG_FIELDS: FieldsOf<BagOptions> = { weights: true, combiner: true };
/** The fields of {@linkcode LookupBagsOptions}. */
export const LOOKUP_BAGS_FIELDS: FieldsOf<LookupBagsOptions> = { ...BAG_FIELDS, maxNorm: true };

/** Bags as the library takes them: converted first, then measured. */
export function toBags(keys: Keys, offsets: Offsets, { weights, combiner = "mean" }: BagOptions): {
  readonly batch: BigInt64Array;
  readonly ends: BigUint64Array;
  readonly bags: number;
  readonly weights: Float32Array | null;
  readonly combiner: number;
} {
  if (typeof combiner !== "string" || !Object.hasOwn(COMBINERS, combiner)) {
    throw new TypeError(`Cannot use the combiner "${String(combiner)}": expected "sum", "mean" or "sqrtn"`);
  }
  const batch = toKeys(keys), ends = toOffsets(offsets);
  const count = countKeys(batch), bags = countBags(ends, count);
  checkWeights(weights, count);
  return { batch, ends, bags, weights: weights ?? null, combiner: COMBINERS[combiner] };
}
