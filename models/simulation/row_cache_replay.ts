/**
 * A set-associative row cache, key by key: rows are hashed to sets, and the least recently used of a set leaves. As FBGEMM's
 * (`lru_cache_populate` of `split_embeddings_cache`, fbgemm-gpu 1.9): the set is the remainder of MurmurHash3's 64-bit finalizer;
 * what a batch finds is found before anything is put in; no row of a batch pushes out another of the same, so that a set may
 * have no place for a row, which then stays out.
 *
 * @module
 */

/** What the batches of a stream found. */
export interface RowCacheHits {
  /** Rows that were in the cache when they came. */
  readonly hits: number;
  /** Rows that came, each once a batch. */
  readonly lookups: number;
}

/** Keys by their hashes, halves apart. Different keys have different hashes: the finalizer is a bijection. */
export interface HashedKeys {
  /** The low 32 bits of each. */
  readonly low: Uint32Array;
  /** The high ones. */
  readonly high: Uint32Array;
}

/** The high half of a product of 32-bit numbers. */
function highOf(a: number, b: number): number {
  const [a0, a1, b0, b1] = [a & 0xffff, a >>> 16, b & 0xffff, b >>> 16];
  const middle = a1 * b0 + ((a0 * b0) >>> 16), other = a0 * b1 + (middle & 0xffff);
  return (a1 * b1 + Math.floor(middle / 65536) + Math.floor(other / 65536)) >>> 0;
}

/** Multipliers of the finalizer (Austin Appleby, MurmurHash3, `fmix64`), halves apart. */
const MULTIPLIERS = [[0xed558ccd, 0xff51afd7], [0x1a85ec53, 0xc4ceb9fe]] as const;

/** Hashes of keys. */
export function hashKeys(keys: BigInt64Array): HashedKeys {
  const halves = new Uint32Array(keys.buffer, keys.byteOffset, 2 * keys.length);
  const low = new Uint32Array(keys.length), high = new Uint32Array(keys.length);
  for (let i = 0; i < keys.length; i++) {
    let l = halves[2 * i] as number, h = halves[2 * i + 1] as number;
    for (const [cl, ch] of MULTIPLIERS) {
      l = (l ^ (h >>> 1)) >>> 0; // h ^= h >> 33
      const carried = highOf(l, cl) + Math.imul(h, cl) + Math.imul(l, ch);
      l = Math.imul(l, cl) >>> 0;
      h = carried >>> 0;
    }
    low[i] = l ^ (h >>> 1);
    high[i] = h;
  }
  return { low, high };
}

/** Sets, and places of each. */
export interface RowCacheShape {
  /** How many sets. */
  readonly sets: number;
  /** How many rows each holds. */
  readonly ways: number;
}

/** @throws {RangeError} If sets, places or the batch are no whole numbers of 1 or more. */
export function checkRowCache({ sets, ways }: RowCacheShape, batch: number): void {
  for (const [what, value] of Object.entries({ sets, ways, batch })) {
    if (!Number.isSafeInteger(value) || value < 1) {
      throw new RangeError(`Cannot replay a row cache: ${what} is ${value}, expected a whole number, 1 or more`);
    }
  }
}

/** The set of a key: the remainder of its hash. */
export function setOfHash(low: number, high: number, sets: number): number {
  // 2^32 high + low modulo the sets, 16 bits at a time: every product stays below 2^53.
  const above = (high % sets) * 65536 + (low >>> 16);
  return (above % sets * 65536 + (low & 0xffff)) % sets;
}

/**
 * Replays a stream of batches on a cache that is empty at first.
 *
 * @param keys The stream.
 * @param cache Sets, and places of each.
 * @param batch Lookups that come together, in which each row counts once; 1: every lookup counts.
 * @throws {RangeError} If sets, places or the batch are no whole numbers of 1 or more.
 */
export function replayRowCache(
  { low, high }: HashedKeys,
  { sets, ways }: RowCacheShape,
  batch: number,
): RowCacheHits {
  checkRowCache({ sets, ways }, batch);
  const placeLow = new Uint32Array(sets * ways), placeHigh = new Uint32Array(sets * ways);
  /** The batch that used a place last; 0: none has. */
  const used = new Float64Array(sets * ways);
  const setOf = (i: number): number => setOfHash(low[i] as number, high[i] as number, sets);
  /** Where a row is; -1: nowhere. */
  const find = (i: number, first: number): number => {
    const l = low[i] as number, h = high[i] as number;
    for (let place = first; place < first + ways; place++) {
      if (placeLow[place] === l && placeHigh[place] === h && (used[place] as number) > 0) return place;
    }
    return -1;
  };
  let hits = 0, lookups = 0, now = 0;
  const missed = new Set<number>(), waiting: number[] = [];
  for (let start = 0; start < low.length; start += batch) {
    now++;
    missed.clear();
    waiting.length = 0;
    for (let i = start; i < Math.min(low.length, start + batch); i++) {
      const place = find(i, setOf(i) * ways);
      if (place < 0) waiting.push(i);
      else if (used[place] !== now) {
        used[place] = now;
        hits++;
        lookups++;
      }
    }
    for (const i of waiting) {
      const first = setOf(i) * ways;
      if (batch > 1) {
        if (find(i, first) >= 0) continue; // put in by this batch
        // 53 bits of a hash: rows of one set that agree in them would be taken for one.
        const name = (high[i] as number) * 2 ** 21 + ((low[i] as number) >>> 11);
        if (missed.has(name)) continue;
        missed.add(name);
      }
      lookups++;
      let oldest = first;
      for (let place = first + 1; place < first + ways; place++) {
        if ((used[place] as number) < (used[oldest] as number)) oldest = place;
      }
      if (used[oldest] === now) continue; // all of this batch
      placeLow[oldest] = low[i] as number;
      placeHigh[oldest] = high[i] as number;
      used[oldest] = now;
    }
  }
  return { hits, lookups };
}
