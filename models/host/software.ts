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
import type { Price, SoftwarePrices, SoftwareRuns } from "../simulation/software_file.ts";
import { lastUsed, runSteps, type RunWatch, type StepsOptions, type StepTimes, zipfBatches } from "./store_runs.ts";
import { randomNumbers } from "../../base/random.ts";
import { median } from "../../base/statistics.ts";
import { lookupsAtOnce } from "../../ffi/gauge.ts";
import { EmbeddingStore } from "../../ffi/store.ts";
import { messageSeconds, messageStart } from "./messages.ts";
import { orderInterval } from "./sweep.ts";

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

/** Prices of one round, core seconds; without those of threads and messages where there are no others. */
export type SoftwareRound = { readonly [name in keyof SoftwarePrices]: number };

/** Runs of a round: two of keys and rows, one of threads, one of messages, and for each skew those of two tiers, of the skewed one with its own in DRAM. */
export const ROUND_RUNS: number = 4 + SKEWS.length * HELD.length + SKEWS.filter((s) => s !== 0).length;

/** Prices from one round; the seed draws its keys. */
export async function softwareRound(
  { rows, dim, keys, steps }: SoftwareRuns,
  dram: Readonly<Record<string, string>>,
  folder: string,
  seed: number,
  { onRun, onPause }: RunWatch = {},
): Promise<SoftwareRound> {
  const value = dim * 4, row = dim * 8, base = { rows, dim, warmup: steps >> 2, ...(onPause && { onPause }) };
  const run = (what: string, options: Omit<StepsOptions, keyof typeof base>): Promise<StepTimes> => {
    onRun?.(what);
    return runSteps({ ...base, ...options });
  };
  const distinct = (batches: readonly BigInt64Array[]): number =>
    batches.reduce((sum, batch) => sum + new Set(batch).size, 0) / batches.length;
  const atLeast = (seconds: number): number => Math.max(0, seconds);
  const even = zipfBatches({ rows, keys, steps, s: 0, seed });
  const again = zipfBatches({ rows, keys: keys / TIMES, steps, s: 0, seed }).map((batch) =>
    BigInt64Array.from({ length: keys }, (_, i) => batch[i % batch.length] ?? 0n)
  );
  const [many, few] = [distinct(even), distinct(again)];
  const a = await run("rows in DRAM", { batches: even }), b = await run("repeated keys in DRAM", { batches: again });
  // Keys: what a lookup takes that does not grow with its rows. Then the rows, without their accesses.
  const perKey = atLeast((b.lookup * many - a.lookup * few) / (many - few) / keys);
  const perRow = atLeast((a.lookup - keys * perKey - accessSeconds(dram, "load", value, many)) / many);
  const perUpdate = atLeast((a.update - keys * perKey - accessSeconds(dram, "cached-store", row, many)) / many);
  const emulation = Object.entries(KNOWN).map(([key, value]) => [`emulate.${key}`, value]);
  const native = { "emulate.threads": "1", ...Object.fromEntries(emulation) };
  const access = accessSeconds(KNOWN, "load", row, 1) + accessSeconds(KNOWN, "nt-store", row, 1) +
    accessSeconds(dram, "cached-store", row, 1) + accessSeconds(dram, "load", row, 1);
  const tiered: Tiered[] = [];
  for (const s of SKEWS) {
    const batches = s === 0 ? even : zipfBatches({ rows, keys, steps, s, seed });
    const order = lastUsed({ rows, s, seed }), kept = distinct(batches);
    const plain = s === 0 ? a : await run("skewed keys in DRAM", { batches });
    for (const held of HELD) {
      const cacheBytes = Math.round(rows * held) * row;
      const what = `two tiers, the first ${held * 100} %, ${s === 0 ? "even" : "skewed"} keys`;
      const { lookup, update, missed } = await run(what, { order, batches, cacheBytes, folder, native });
      const more = lookup - plain.lookup - missed * access;
      tiered.push({ lookup, more, update: update - plain.update, kept, missed });
    }
  }
  const sum = (of: (run: Tiered) => number): number => tiered.reduce((total, run) => total + of(run), 0);
  const upkeep = atLeast(sum(({ update, kept }) => update * kept) / sum(({ kept }) => kept * kept));
  onRun?.("threads that look up at once");
  const perLock = await lockPrice({ rows, dim, keys, rounds: Math.ceil(steps / 4), seed });
  onRun?.("messages between two ranks");
  const start = messageStart();
  return {
    perKey,
    perRow,
    perUpdate,
    upkeep,
    ...lookupPrices(tiered, keys),
    ...(perLock === undefined ? {} : { perLock }),
    ...(start === undefined ? {} : { perMessage: await messageSeconds(start) }),
  };
}

/**
 * Seconds that a row takes longer while another thread looks rows up in the same table, against one in which each has its own, of as
 * many rows together; undefined on one CPU. Both threads look up other keys, so that what they share are locks and the index.
 */
async function lockPrice(
  { rows, dim, keys, rounds, seed }: Readonly<Record<"rows" | "dim" | "keys" | "rounds" | "seed", number>>,
): Promise<number | undefined> {
  if (navigator.hardwareConcurrency < 2) return undefined;
  using store = EmbeddingStore.open({ storage: "DRAM" });
  const tables = ["shared", "first", "second"].map((name) => store.table({ name, dim }));
  const all = BigInt64Array.from({ length: rows }, (_, key) => BigInt(key));
  const half = rows >> 1;
  for (const [i, table] of tables.entries()) {
    // The shared table has all rows, the others a half each.
    const own = i === 0 ? all : i === 1 ? all.subarray(0, half) : all.subarray(half);
    for (let at = 0; at < own.length; at += 4096) table.lookup(own.subarray(at, at + 4096));
  }
  const random = randomNumbers(seed), each = Math.min(16 * keys, half);
  const drawn = BigInt64Array.from(
    { length: 2 * each },
    (_, i) => BigInt((i < each ? 0 : half) + Math.floor(random() * half)),
  );
  const times = async (numbers: readonly number[]): Promise<number> =>
    median([...await lookupsAtOnce(store, { tables: numbers, dim, keys: drawn, rounds })]);
  // In turns, so that what else the machine does meets both.
  const more: number[] = [];
  for (let turn = 0; turn < 5; turn++) more.push(await times([0, 0]) - await times([1, 2]));
  return Math.max(0, median(more) / each);
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

/** Medians of rounds with 90 % intervals, of steps of so many keys. */
export function pricesOf(rounds: readonly SoftwareRound[], keys: number): SoftwarePrices {
  const priceOf = (name: keyof SoftwarePrices): Price => {
    const values = rounds.map((round) => round[name] ?? NaN);
    const [low, high] = orderInterval(values), value = median(values);
    // A clock's tick in a step is the least that can be told.
    const tick = 1e-6 / keys;
    return { value, low: Math.max(0, low - tick), high: high + tick };
  };
  const told = (name: "perLock" | "perMessage") =>
    rounds.every((round) => round[name] !== undefined) ? { [name]: priceOf(name) } : {};
  return {
    perKey: priceOf("perKey"),
    perRow: priceOf("perRow"),
    perUpdate: priceOf("perUpdate"),
    track: priceOf("track"),
    upkeep: priceOf("upkeep"),
    perMiss: priceOf("perMiss"),
    ...told("perLock"),
    ...told("perMessage"),
  };
}
