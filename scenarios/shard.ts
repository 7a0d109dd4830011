/**
 * A run in shares: each machine of several takes some rounds of some points of the matrix, and `merge` joins them.
 *
 * What is compared stays together: a share has whole rounds of a point, with every case of it, so that the cases of a round
 * run close to each other on one machine. Which share a round belongs to follows from the scenario alone.
 *
 * @module
 */

import { ABLATION_FIELD } from "./ablation.ts";
import { pointText } from "../base/matrix.ts";
import type { PlannedSample } from "./plan.ts";

/** Which share of a run. */
export interface Shard {
  /** From 1. */
  readonly index: number;
  /** How many there are. */
  readonly of: number;
}

/** The rounds of a point of the matrix: what is never divided. */
function unitOf({ case: { point: { [ABLATION_FIELD]: _, ...point } }, sample }: PlannedSample): string {
  return `${pointText(point)}#${sample}`;
}

/** Most shares that a run of these samples can have: one for each round of each point. */
export function mostShards(planned: readonly PlannedSample[]): number {
  return new Set(planned.map(unitOf)).size;
}

/**
 * The samples of a share, in their order. All shares together are the whole run, and no sample is in two.
 *
 * @throws {RangeError} if a share would have none.
 */
export function shardOf<P extends PlannedSample>(planned: readonly P[], { index, of }: Shard): P[] {
  const units = new Map<string, number>();
  for (const one of planned) if (!units.has(unitOf(one))) units.set(unitOf(one), units.size);
  if (of > units.size) {
    throw new RangeError(
      `Cannot share a run in ${of}: it has ${units.size} rounds (repetitions × points of the matrix), and a round is never ` +
        "divided, since what is compared must run close together; use fewer shards or more repetitions",
    );
  }
  return planned.filter((one) => (units.get(unitOf(one)) as number) % of === index - 1);
}

/** `2/8` as a share. @throws {RangeError} if it is none. */
export function parseShard(text: string): Shard {
  const [, index, of] = /^(\d{1,4})\/(\d{1,4})$/.exec(text) ?? [];
  const shard = { index: Number(index), of: Number(of) };
  if (shard.index >= 1 && shard.index <= shard.of) return shard;
  throw new RangeError(`Cannot use the shard "${text}": expected its number and how many there are, such as 2/8`);
}

/** `2/8`. */
export function shardText({ index, of }: Shard): string {
  return `${index}/${of}`;
}
