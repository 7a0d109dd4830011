/**
 * What our own store costs on this machine beside its accesses to memory: core time of a key, of a row looked up, updated,
 * kept in order, brought up. Found from runs of the store itself, with what the medium takes for the same accesses subtracted
 * as the engine counts them (native/simulator/step_parts.c), so that both together are the time of the run.
 *
 * Runs of one thread tell the prices apart. In DRAM: keys that are all different, and each of them four times (keys from
 * rows). In two tiers, over a medium slower than any memory, whose time the run takes whatever this machine's memory does: keys
 * of an even law and of a skewed one, so that many and few rows are brought up, with a first tier of two sizes. What a lookup
 * takes beyond one in DRAM is keys x track + misses x price, least squares of the four; what an update takes beyond is rows x
 * upkeep. The table and each first tier are several times the caches of most CPUs: rows of a smaller tier come from there, which
 * makes a miss look cheaper than it is.
 *
 * @module
 */

import { evaluateMedia, type MediaQuery } from "../../ffi/media.ts";
import type { NativeOptions } from "../../ffi/options.ts";
import { EmbeddingStore, type StoreOptions } from "../../ffi/store.ts";
import { randomNumbers } from "../../base/random.ts";
import type { Price, SoftwarePrices, SoftwareRuns } from "../simulation/software_file.ts";
import { median, orderInterval } from "./sweep.ts";

/** Seconds of the parts of a step. */
export interface StepTimes {
  /** Of the lookup of a batch. */
  readonly lookup: number;
  /** Of its update. */
  readonly update: number;
  /** Rows that were brought up from the second tier, a step. */
  readonly missed: number;
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

/** Runs steps and gives the lower quartile of their times: what else the machine does only adds to them. */
export function runSteps(options: StepsOptions): StepTimes {
  const { rows, dim, batches, cacheBytes, folder, native, warmup } = options;
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
  for (let at = 0; at < rows; at += FILL) table.lookup(order.subarray(at, at + FILL));
  const most = Math.max(...batches.map(({ length }) => length));
  const out = new Float32Array(most * dim), gradients = new Float32Array(most * dim).fill(1e-3);
  const lookups: number[] = [], updates: number[] = [];
  for (const [i, keys] of batches.entries()) {
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

/**
 * A medium whose time is known: one row after the other, 500 ns each, whatever its size. Slower than the memory it stands in
 * for, so that the emulation always waits, and quick enough for steps that end before the core is taken away.
 */
const KNOWN: Readonly<Record<string, string>> = {
  medium: "known",
  ...Object.fromEntries(["read", "write_nt", "write_cached"].flatMap((op) => [
    [`${op}_latency_ns`, "500"],
    [`${op}_next_latency_ns`, "1"],
    [`${op}_in_flight`, "1"],
    [`${op}_bandwidth`, "1e14"],
  ])),
};

/** Runs whose table is 512 MiB: a few minutes. Steps are short, so that most of them lose no core to other work. */
export const SOFTWARE_RUNS: SoftwareRuns = { rows: 2 ** 20, dim: 64, keys: 512, steps: 480, rounds: 5 };

/** Times that a key comes in the batches that tell keys from rows. */
const TIMES = 4;
/** Shares of the rows that the first of two tiers holds, and skews of keys by which many rows are brought up, and few. */
const HELD = [0.2, 0.4] as const, SKEWS = [0, 1.2] as const;

/** Prices of one round, core seconds. */
export type SoftwareRound = Readonly<Record<keyof SoftwarePrices, number>>;

/** Prices from one round; the seed draws its keys. */
export function softwareRound(
  { rows, dim, keys, steps }: SoftwareRuns,
  dram: Readonly<Record<string, string>>,
  folder: string,
  seed: number,
): SoftwareRound {
  const value = dim * 4, row = dim * 8, base = { rows, dim, warmup: steps >> 2 };
  const distinct = (batches: readonly BigInt64Array[]): number =>
    batches.reduce((sum, batch) => sum + new Set(batch).size, 0) / batches.length;
  const atLeast = (seconds: number): number => Math.max(0, seconds);
  const even = zipfBatches({ rows, keys, steps, s: 0, seed });
  const again = zipfBatches({ rows, keys: keys / TIMES, steps, s: 0, seed }).map((batch) =>
    BigInt64Array.from({ length: keys }, (_, i) => batch[i % batch.length] ?? 0n)
  );
  const [many, few] = [distinct(even), distinct(again)];
  const [a, b] = [runSteps({ ...base, batches: even }), runSteps({ ...base, batches: again })];
  // Keys: what a lookup takes that does not grow with its rows. Then the rows, without their accesses.
  const perKey = atLeast((b.lookup * many - a.lookup * few) / (many - few) / keys);
  const perRow = atLeast((a.lookup - keys * perKey - accessSeconds(dram, "load", value, many)) / many);
  const perUpdate = atLeast((a.update - keys * perKey - accessSeconds(dram, "cached-store", row, many)) / many);
  const emulation = Object.entries(KNOWN).map(([key, value]) => [`emulate.${key}`, value]);
  const native = { "emulate.threads": "1", ...Object.fromEntries(emulation) };
  const access = accessSeconds(KNOWN, "load", row, 1) + accessSeconds(KNOWN, "nt-store", row, 1) +
    accessSeconds(dram, "cached-store", row, 1) + accessSeconds(dram, "load", row, 1);
  const tiered = SKEWS.flatMap((s): Tiered[] => {
    const batches = s === 0 ? even : zipfBatches({ rows, keys, steps, s, seed });
    const order = lastUsed({ rows, s, seed }), kept = distinct(batches);
    const plain = s === 0 ? a : runSteps({ ...base, batches });
    return HELD.map((held) => {
      const cacheBytes = Math.round(rows * held) * row;
      const { lookup, update, missed } = runSteps({ ...base, order, batches, cacheBytes, folder, native });
      return { lookup, more: lookup - plain.lookup - missed * access, update: update - plain.update, kept, missed };
    });
  });
  const sum = (of: (run: Tiered) => number): number => tiered.reduce((total, run) => total + of(run), 0);
  const upkeep = atLeast(sum(({ update, kept }) => update * kept) / sum(({ kept }) => kept * kept));
  return { perKey, perRow, perUpdate, upkeep, ...lookupPrices(tiered, keys) };
}

/** A run of two tiers beside one of DRAM for the same keys. */
export interface Tiered {
  /** Seconds of a lookup. */
  readonly lookup: number;
  /** Seconds of it beyond a lookup in DRAM and the accesses of its misses. */
  readonly more: number;
  /** Seconds of an update beyond one in DRAM. */
  readonly update: number;
  /** Distinct rows of a step. */
  readonly kept: number;
  /** Rows brought up in a step. */
  readonly missed: number;
}

/**
 * What a key that is told to the policy and a row that is brought up cost by runs of so many keys a step: more = keys x track +
 * missed x perMiss, least squares of the errors relative to each run's lookup; neither is below 0.
 */
export function lookupPrices(
  runs: readonly Pick<Tiered, "lookup" | "more" | "missed">[],
  keys: number,
): { readonly track: number; readonly perMiss: number } {
  const sum = (of: (run: Pick<Tiered, "more" | "missed">) => number): number =>
    runs.reduce((total, run) => total + of(run) / run.lookup ** 2, 0);
  const [kk, km, mm] = [sum(() => keys * keys), sum(({ missed }) => keys * missed), sum(({ missed }) => missed ** 2)];
  const [ky, my] = [sum(({ more }) => keys * more), sum(({ more, missed }) => missed * more)];
  const both = kk * mm - km * km;
  const [track, perMiss] = [(ky * mm - my * km) / both, (my * kk - ky * km) / both];
  if (!(track >= 0)) return { track: 0, perMiss: Math.max(0, my / mm) };
  return perMiss >= 0 ? { track, perMiss } : { track: Math.max(0, ky / kk), perMiss: 0 };
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
  return pricesOf(
    Array.from({ length: runs.rounds }, (_, round) => softwareRound(runs, dram, folder, round + 1)),
    runs.keys,
  );
}

/** Medians of rounds with 90 % intervals, of steps of so many keys. */
export function pricesOf(rounds: readonly SoftwareRound[], keys: number): SoftwarePrices {
  const priceOf = (name: keyof SoftwarePrices): Price => {
    const values = rounds.map((round) => round[name]);
    const [low, high] = orderInterval(values), value = median(values);
    // A clock's tick in a step is the least that can be told.
    const tick = 1e-6 / keys;
    return { value, low: Math.max(0, low - tick), high: high + tick };
  };
  return {
    perKey: priceOf("perKey"),
    perRow: priceOf("perRow"),
    perUpdate: priceOf("perUpdate"),
    track: priceOf("track"),
    upkeep: priceOf("upkeep"),
    perMiss: priceOf("perMiss"),
  };
}
