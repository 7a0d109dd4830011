/**
 * What our own store costs on this machine beside its accesses to memory: core time of a key, of a row looked up, updated,
 * brought up. Found from runs of the store itself, with what the medium takes for the same accesses subtracted as the engine
 * counts them (native/simulator/step_parts.c), so that both together are the time of the run.
 *
 * Three runs of one thread tell the prices apart: in DRAM, keys without and with duplicates (keys from rows); and two tiers
 * over an emulated medium so slow that its time is known to the nanosecond, against DRAM (misses).
 *
 * @module
 */

import { evaluateMedia, type MediaQuery } from "../../ffi/media.ts";
import type { NativeOptions } from "../../ffi/options.ts";
import { EmbeddingStore, type StoreOptions } from "../../ffi/store.ts";
import { randomNumbers } from "../../base/random.ts";
import { median, orderInterval } from "./sweep.ts";

/** A price with the ends of its 90 % interval: core seconds. */
export interface Price {
  /** Core seconds; 0 where all of it hides behind accesses to memory. */
  readonly value: number;
  /** Low end. */
  readonly low: number;
  /** High end. */
  readonly high: number;
}

/** Core seconds of what our store does beside its accesses to memory. */
export interface SoftwarePrices {
  /** A key of a lookup or an update: hash, index, duplicates, copy. */
  readonly perKey: Price;
  /** A distinct row looked up. */
  readonly perRow: Price;
  /** A distinct row updated. */
  readonly perUpdate: Price;
  /** A row that is brought up and the one that leaves for it: policy, lock, places, what the copies push out of the caches. */
  readonly perMiss: Price;
}

/** Seconds of the parts of a step. */
export interface StepTimes {
  /** Of the lookup of a batch. */
  readonly lookup: number;
  /** Of its update. */
  readonly update: number;
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
  /** Where the second tier's pool is: a memory file system. */
  readonly folder?: string;
  /** Emulation of the second tier. */
  readonly native?: NativeOptions;
}

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
  // An odd factor is a permutation of a power of two.
  return Array.from(
    { length: steps },
    () => BigInt64Array.from({ length: keys }, () => BigInt(rankOf(random() * sum) * 202_517 % rows)),
  );
}

const quartile = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[values.length >> 2] ?? NaN;

/** Runs steps and gives the lower quartile of their times: what else the machine does only adds to them. */
export function runSteps({ rows, dim, batches, cacheBytes, folder, native, warmup }: StepsOptions): StepTimes {
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
  const piece = 4096;
  for (let at = 0; at < rows; at += piece) {
    table.lookup(BigInt64Array.from({ length: Math.min(piece, rows - at) }, (_, i) => BigInt(at + i)));
  }
  const most = Math.max(...batches.map(({ length }) => length));
  const out = new Float32Array(most * dim), gradients = new Float32Array(most * dim).fill(1e-3);
  const lookups: number[] = [], updates: number[] = [];
  for (const [i, keys] of batches.entries()) {
    const start = performance.now();
    table.lookupInto(keys, out.subarray(0, keys.length * dim));
    const middle = performance.now();
    table.update(keys, gradients.subarray(0, keys.length * dim));
    const end = performance.now();
    if (i < warmup) continue;
    lookups.push((middle - start) / 1e3);
    updates.push((end - middle) / 1e3);
  }
  return { lookup: quartile(lookups), update: quartile(updates) };
}

/** Seconds of so many random accesses by one thread, as the engine counts them (native/simulator/access_cost.c). */
export function accessSeconds(
  media: Readonly<Record<string, string>>,
  operation: MediaQuery["operation"],
  bytes: number,
  count: number,
): number {
  const query: MediaQuery = { ask: "bandwidth", operation, bytes, threads: 1 };
  const [rate = NaN] = evaluateMedia(media, [query]);
  return count * bytes / rate;
}

/** A medium whose time is known: one row after the other, 4 us each, whatever its size. */
const SLOW: Readonly<Record<string, string>> = {
  medium: "slow",
  ...Object.fromEntries(["read", "write_nt", "write_cached"].flatMap((op) => [
    [`${op}_latency_ns`, "4000"],
    [`${op}_next_latency_ns`, "1"],
    [`${op}_in_flight`, "1"],
    [`${op}_bandwidth`, "1e14"],
  ])),
};

/** How large the runs are. */
export interface SoftwareRuns {
  /** Rows of the table: a power of two, many times the caches of the CPU. */
  readonly rows: number;
  /** Weights of a row. */
  readonly dim: number;
  /** Keys of a step. */
  readonly keys: number;
  /** Steps of a run, a quarter of them before any is timed. */
  readonly steps: number;
  /** Times that everything is run, in turns. */
  readonly rounds: number;
}

/** Runs whose table is 128 MiB: half a minute. Steps are short, so that most of them lose no core to other work. */
export const SOFTWARE_RUNS: SoftwareRuns = { rows: 2 ** 18, dim: 64, keys: 512, steps: 480, rounds: 3 };

/** Prices from one round. */
function roundOf(
  { rows, dim, keys, steps }: SoftwareRuns,
  dram: Readonly<Record<string, string>>,
  folder: string,
  seed: number,
): Record<keyof SoftwarePrices, number> {
  const warmup = steps >> 2, value = dim * 4, row = dim * 8;
  const distinct = (batches: readonly BigInt64Array[]): number =>
    batches.reduce((sum, batch) => sum + new Set(batch).size, 0) / batches.length;
  const even = zipfBatches({ rows, keys, steps, s: 0, seed }),
    skewed = zipfBatches({ rows, keys, steps, s: 1.3, seed });
  const [many, few] = [distinct(even), distinct(skewed)];
  const base = { rows, dim, warmup };
  const [a, b] = [runSteps({ ...base, batches: even }), runSteps({ ...base, batches: skewed })];
  const looked = (seconds: number, n: number) => seconds - accessSeconds(dram, "load", value, n);
  const updated = (seconds: number, n: number) => seconds - accessSeconds(dram, "cached-store", row, n);
  const atLeast = (seconds: number): number => Math.max(0, seconds);
  const perRow = atLeast((looked(a.lookup, many) - looked(b.lookup, few)) / (many - few));
  const perKey = atLeast((looked(a.lookup, many) - many * perRow) / keys);
  const rest = (seconds: number, n: number) => (updated(seconds, n) - keys * perKey) / n;
  const perUpdate = atLeast((rest(a.update, many) + rest(b.update, few)) / 2);
  const options = Object.entries(SLOW).map(([key, value]) => [`emulate.${key}`, value]);
  const native = { "emulate.threads": "1", ...Object.fromEntries(options) };
  const tiers = runSteps({ ...base, batches: even, cacheBytes: rows * row / 4, folder, native });
  const missed = many * 3 / 4;
  const accesses = accessSeconds(SLOW, "load", row, missed) + accessSeconds(SLOW, "nt-store", row, missed) +
    accessSeconds(dram, "cached-store", row, missed) + accessSeconds(dram, "load", row, missed);
  const perMiss = atLeast((tiers.lookup + tiers.update - a.lookup - a.update - accesses) / missed);
  return { perKey, perRow, perUpdate, perMiss };
}

/**
 * Measures what our store costs on this machine beside its accesses to memory.
 *
 * @param dram The calibrated memory of this machine, as native options without prefix.
 * @param folder A folder in memory, for the pool of the second tier; it must exist.
 */
export function measureSoftware(
  dram: Readonly<Record<string, string>>,
  folder: string,
  runs: SoftwareRuns = SOFTWARE_RUNS,
): SoftwarePrices {
  const rounds = Array.from({ length: runs.rounds }, (_, round) => roundOf(runs, dram, folder, round + 1));
  const priceOf = (name: keyof SoftwarePrices): Price => {
    const values = rounds.map((round) => round[name]);
    const [low, high] = orderInterval(values), value = median(values);
    // A clock's tick in a step is the least that can be told.
    const tick = 1e-6 / runs.keys;
    return { value, low: Math.max(0, low - tick), high: high + tick };
  };
  return {
    perKey: priceOf("perKey"),
    perRow: priceOf("perRow"),
    perUpdate: priceOf("perUpdate"),
    perMiss: priceOf("perMiss"),
  };
}
