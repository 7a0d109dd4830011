/**
 * A set-associative row cache in whose sets the least frequently used row leaves, key by key. As FBGEMM's (`lfu_cache_populate` of
 * `split_embeddings_cache`): every row of the table has a count of its lookups, in the cache or not, that never ages; a batch is
 * counted, with its repetitions, before anything is put in; of a set the rows that were not found come by falling counts, each
 * against the next of the places by rising counts, and it is put in unless the row there has the higher count.
 *
 * Among equal counts FBGEMM's order is that of row numbers and of its sorting network; here it is that of coming, and of places.
 *
 * @module
 */

import type { NumberedKeys } from "../../base/number_keys.ts";
import {
  checkRowCache,
  type HashedKeys,
  type RowCacheHits,
  type RowCacheShape,
  setOfHash,
} from "./row_cache_replay.ts";

/**
 * Replays a stream of batches on a cache that is empty at first.
 *
 * @param hashed The stream.
 * @param numbered The same stream.
 * @param cache Sets, and places of each.
 * @param batch Lookups that come together, in which each row counts once as a hit or a miss; 1: every lookup counts.
 * @throws {RangeError} If sets, places or the batch are no whole numbers of 1 or more.
 */
export function replayLfuRowCache(
  { low, high }: HashedKeys,
  { ids, firsts }: NumberedKeys,
  { sets, ways }: RowCacheShape,
  batch: number,
): RowCacheHits {
  checkRowCache({ sets, ways }, batch);
  const setOfRow = Uint32Array.from(firsts, (at) => setOfHash(low[at] as number, high[at] as number, sets));
  /** Lookups of each row so far. */
  const counts = new Float64Array(firsts.length);
  /** The row of each place, plus 1; 0: none. */
  const places = new Uint32Array(sets * ways);
  const isIn = new Uint8Array(firsts.length);
  /** The batch that looked a row up last; 0: none has. */
  const seen = new Float64Array(firsts.length);
  const countAt = (place: number): number => {
    const held = places[place] as number;
    return held === 0 ? -1 : counts[held - 1] as number;
  };
  const put = (row: number, place: number): void => {
    const held = places[place] as number;
    if (held !== 0) isIn[held - 1] = 0;
    places[place] = row + 1;
    isIn[row] = 1;
  };
  let hits = 0, lookups = 0, now = 0;
  /** Rows of the batch that were not found, by their sets. */
  const waiting = new Map<number, number[]>();
  for (let start = 0; start < ids.length; start += batch) {
    now++;
    waiting.clear();
    const end = Math.min(ids.length, start + batch);
    for (let i = start; i < end; i++) {
      const row = ids[i] as number;
      counts[row] = (counts[row] as number) + 1;
      if (seen[row] === now) continue;
      seen[row] = now;
      lookups++;
      if (isIn[row] === 1) {
        hits++;
        continue;
      }
      const set = setOfRow[row] as number, others = waiting.get(set);
      if (others === undefined) waiting.set(set, [row]);
      else others.push(row);
    }
    for (const [set, newcomers] of waiting) {
      const order = Array.from({ length: ways }, (_, way) => set * ways + way).sort((a, b) => countAt(a) - countAt(b));
      newcomers.sort((a, b) => (counts[b] as number) - (counts[a] as number));
      for (const [i, row] of newcomers.entries()) {
        const place = order[i];
        if (place === undefined || countAt(place) > (counts[row] as number)) break;
        put(row, place);
      }
    }
  }
  return { hits, lookups };
}
