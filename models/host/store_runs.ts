/**
 * Runs of our own store by one thread, timed: what its prices are found from (software.ts).
 *
 * @module
 */

import type { NativeOptions } from "../../ffi/options.ts";
import { EmbeddingStore, type StoreOptions } from "../../ffi/store.ts";
import { randomNumbers } from "../../base/random.ts";

/** Seconds of the parts of a step. */
export interface StepTimes {
  /** Of the lookup of a batch. */
  readonly lookup: number;
  /** Of its update. */
  readonly update: number;
  /** Rows that were brought up from the second tier, a step. */
  readonly missed: number;
}

/** Told while runs go on; what it throws ends them. */
export interface RunWatch {
  /** Before a run: what it is. */
  readonly onRun?: (what: string) => void;
  /** At the start of a run and between its steps, about twenty times a second. */
  readonly onPause?: () => void;
}

/** A run of steps by one thread: lookup and update of a batch each. */
export interface StepsOptions {
  /** Rows of the table; all of them are there before a step is timed. */
  readonly rows: number;
  /** Weights of a row; it has one optimizer state beside them. */
  readonly dim: number;
  /** Keys of each step. */
  readonly batches: readonly BigInt64Array<ArrayBuffer>[];
  /** Steps before those that are timed: the cache fills. */
  readonly warmup: number;
  /** Bytes of the first of two tiers; undefined: all rows are in DRAM. */
  readonly cacheBytes?: number;
  /** In which order all rows are looked up before the steps: the last of them are in the first tier then. Default: by key. */
  readonly order?: BigInt64Array<ArrayBuffer>;
  /** Where the second tier's pool is: a memory file system. */
  readonly folder?: string;
  /** Emulation of the second tier. */
  readonly native?: NativeOptions;
  /** Told between steps. */
  readonly onPause?: RunWatch["onPause"];
}

/** The key of a rank: popular ones are spread over the table. An odd factor is a permutation of a power of two. */
const keyOf = (rank: number, rows: number): bigint => BigInt(rank * 202_517 % rows);

/** Batches of keys by a Zipf law over so many rows, popular ones spread over the table; the same for the same seed. */
export function zipfBatches(
  { rows, keys, steps, s, seed }: Readonly<Record<"rows" | "keys" | "steps" | "s" | "seed", number>>,
): BigInt64Array<ArrayBuffer>[] {
  const sums = new Float64Array(rows);
  let sum = 0;
  for (let rank = 0; rank < rows; rank++) sums[rank] = sum += (rank + 1) ** -s;
  const random = randomNumbers(seed);
  const rankOf = (x: number): number => {
    let [low, high] = [0, rows - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((sums[middle] ?? 0) < x) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  return Array.from(
    { length: steps },
    () => BigInt64Array.from({ length: keys }, () => keyOf(rankOf(random() * sum), rows)),
  );
}

/**
 * The rows in the order of their last use, the least recent first, as an endless stream of {@linkcode zipfBatches} leaves them:
 * a row of weight w was used last an exponentially distributed time of mean 1 / w ago. Whoever looks them up in this order has
 * an LRU tier in its steady state, which popular laws reach after millions of lookups only.
 */
export function lastUsed(
  { rows, s, seed }: Readonly<Record<"rows" | "s" | "seed", number>>,
): BigInt64Array<ArrayBuffer> {
  const random = randomNumbers(seed);
  const ago = Float64Array.from({ length: rows }, (_, rank) => -Math.log(1 - random()) * (rank + 1) ** s);
  const order = Uint32Array.from({ length: rows }, (_, rank) => rank).sort((a, b) => (ago[b] ?? 0) - (ago[a] ?? 0));
  return BigInt64Array.from(order, (rank) => keyOf(rank, rows));
}

const quartile = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[values.length >> 2] ?? NaN;

/** Keys of a lookup that fills a table. */
const FILL = 4096;

/** Milliseconds of work between two pauses. */
const PAUSE_EVERY = 50;

/** Lets signals and timers of the process in, every {@linkcode PAUSE_EVERY}. */
function pauses(onPause: (() => void) | undefined): () => Promise<void> {
  let last = 0; // the first call of a run is one
  return async () => {
    if (onPause === undefined || performance.now() - last < PAUSE_EVERY) return;
    await new Promise((resolve) => setTimeout(resolve, 0));
    onPause();
    last = performance.now();
  };
}

/** Runs steps and gives the lower quartile of their times: what else the machine does only adds to them. */
export async function runSteps(options: StepsOptions): Promise<StepTimes> {
  const { rows, dim, batches, cacheBytes, folder, native, warmup } = options;
  const pause = pauses(options.onPause);
  const all = 2 * rows * dim * 8;
  const tiers: StoreOptions = cacheBytes === undefined ? { storage: "DRAM", size: [4 * all] } : {
    storage: "DRAM_PMEM",
    pmem: "libpmem",
    path: folder ?? "",
    size: [cacheBytes, 4 * all],
    sizeCounts: "rows",
    policy: "lru",
    evictionThreads: 0,
  };
  using store = EmbeddingStore.open({ ...tiers, ...(native === undefined ? {} : { native }) });
  const table = store.table({ name: "rows", dim, optimizer: { adagrad: { learningRate: 0.01 } } });
  const order = options.order ?? BigInt64Array.from({ length: rows }, (_, key) => BigInt(key));
  for (let at = 0; at < rows; at += FILL) {
    table.lookup(order.subarray(at, at + FILL));
    await pause();
  }
  const most = Math.max(...batches.map(({ length }) => length));
  const out = new Float32Array(most * dim), gradients = new Float32Array(most * dim).fill(1e-3);
  const lookups: number[] = [], updates: number[] = [];
  for (const [i, keys] of batches.entries()) {
    await pause();
    const start = performance.now();
    table.lookupInto(keys, out.subarray(0, keys.length * dim));
    const middle = performance.now();
    table.update(keys, gradients.subarray(0, keys.length * dim));
    const end = performance.now();
    if (i < warmup) {
      if (i === warmup - 1) store.resetStatistics();
      continue;
    }
    lookups.push((middle - start) / 1e3);
    updates.push((end - middle) / 1e3);
  }
  const missed = (store.statistics()["promoted"] ?? NaN) / lookups.length;
  return { lookup: quartile(lookups), update: quartile(updates), missed };
}
