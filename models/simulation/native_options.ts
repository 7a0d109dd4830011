/**
 * A case of a simulation as options of the native engine.
 *
 * @module
 */

import type { PopularityLaw, ZipfLaw } from "../../ffi/curve.ts";
import type { StepDemand } from "../../ffi/simulate.ts";
import { loadMedia, type Media, mediaOptions } from "../media/media.ts";
import { scaledLaw } from "../workloads/scaled_law.ts";
import {
  pageShares,
  type ResolvedSimulatedConfiguration,
  type ResolvedSimulation,
  type ResolvedTable,
  type ResolvedTier,
} from "./simulation.ts";
import { picoseconds } from "./units.ts";

/** What a media model calls the stores of a tier. */
export const STORES = { cached: "cached-store", nt: "nt-store", flush: "flushed-store" } as const;

/** Bytes of a weight. */
const WEIGHT = { f32: 4, bf16: 2 } as const;

/** Bytes of the weights of a row. */
function valueBytes(table: ResolvedTable): number {
  return table.dim * WEIGHT[table.dtype];
}

/** Bytes of a row that move with it: weights and states, single numbers of 32 bits included. */
export function rowBytes(table: ResolvedTable): number {
  return valueBytes(table) * (1 + table.slots) + 4 * table.scalars;
}

/** Bytes that a row takes in a tier. */
export function placeBytes(table: ResolvedTable, round: number = 1): number {
  return Math.ceil((rowBytes(table) + table.overhead) / round) * round;
}

/** The buckets of a table's law, for as many rows as the table has; undefined for a law of another form. */
export function bucketsOf({ law, rows }: ResolvedTable): PopularityLaw | undefined {
  if (!("buckets" in law)) return undefined;
  return scaledLaw({
    rows: BigUint64Array.from(law.buckets, ([n]) => BigInt(n)),
    weights: Float64Array.from(law.buckets, ([, weight]) => weight),
  }, rows);
}

/** Tables one by one. */
export function tablesOf({ workload }: Pick<ResolvedSimulation, "workload">): ResolvedTable[] {
  return workload.tables.flatMap((table) => Array<ResolvedTable>(table.count).fill(table));
}

/** A table's law as options of `ts_simulate_demand`, each with this before its name. */
export function lawOptions(
  prefix: string,
  law: PopularityLaw | ZipfLaw,
): Record<string, string> {
  if ("weights" in law) {
    return { [`${prefix}buckets`]: [...law.rows].map((rows, b) => `${rows},${law.weights[b]}`).join(",") };
  }
  const { rows, s = 1.05, q = 0, heavyHitters = [] } = law;
  return {
    [`${prefix}rows`]: String(rows),
    [`${prefix}s`]: String(s),
    [`${prefix}q`]: String(q),
    ...(heavyHitters.length > 0 ? { [`${prefix}hitters`]: heavyHitters.join(",") } : {}),
  };
}

/** Options of `ts_simulate_demand`. `seen`: numbers of steps whose distinct rows are asked for. */
export function demandOptions(
  simulation: ResolvedSimulation,
  configuration: ResolvedSimulatedConfiguration,
  seen: readonly number[],
  threads: number,
): Record<string, string> {
  const { workload, cluster, seed } = simulation;
  const tables = tablesOf(simulation);
  const { tiers, placement, pages } = configuration;
  const shares = pageShares(configuration);
  const options: Record<string, string> = {
    tables: String(tables.length),
    workers: String(cluster.workers),
    policy: configuration.policy === "lfu" ? "lfu" : "lru",
    seen: seen.join(","),
  };
  // Rows are spread evenly over servers, so their first tiers are one.
  const servers = Math.max(1, cluster.servers);
  if (placement === "lines") {
    options["cache_bytes"] = String((tiers[0]?.size ?? 0) * servers);
    options["placement"] = pages.contiguous ? "contiguous" : "random";
    options["trains"] = workload.trains ? "1" : "0";
    options["seed"] = String(seed);
    options["threads"] = String(threads);
  } else {
    // Dealt out, a tier has its share of all pages, whatever is asked for how often.
    const all = tables.reduce((sum, table) => sum + table.rows * rowBytes(table), 0);
    const held = shares === undefined
      ? tiers.map(({ size }) => size * servers)
      : shares.map((share) => Math.floor(all * share));
    options["capacity"] = held.slice(0, -1).join(",");
    if (placement === "pages") options["page_bytes"] = String(pages.bytes);
  }
  for (const [i, table] of tables.entries()) {
    const { law, rows } = table;
    options[`table${i}.lookups`] = String(table.lookups * workload.batch);
    options[`table${i}.row_bytes`] = String(placeBytes(table));
    Object.assign(
      options,
      lawOptions(
        `table${i}.`,
        "buckets" in law
          ? bucketsOf(table) as PopularityLaw
          : { rows, s: law.s, q: law.q ?? 0, heavyHitters: law.hitters ?? [] },
      ),
    );
  }
  return options;
}

/** Factors on the time of a tier's reads and writes: how a band is made. */
export interface Stretch {
  readonly read: number;
  readonly write: number;
}

/** Nanoseconds, and bytes or accesses a second, that a media model may have (native/media/media_options.c). */
const [NANOSECONDS, RATES] = [[1e-3, 1e9], [1, 1e15]] as const;

function within(value: number, [least, most]: readonly [number, number]): string {
  return String(Math.min(most, Math.max(least, value)));
}

/**
 * A media model whose reads and writes take so many times as long: latencies times, rates divided by the factor, as far as a
 * media model can.
 */
function stretched(options: Record<string, string>, { read, write }: Stretch): Record<string, string> {
  return Object.fromEntries(
    Object.entries(options).map(([key, value]) => {
      const factor = /^read_|_read$|^link_accesses$/.test(key) ? read : /^write_|_write$/.test(key) ? write : 1;
      if (factor === 1 || key.startsWith("load_")) return [key, value];
      if (/_ns$/.test(key)) return [key, Number(value) === 0 ? value : within(Number(value) * factor, NANOSECONDS)];
      return [key, /_bandwidth$|^(link|hop)_/.test(key) ? within(Number(value) / factor, RATES) : value];
    }),
  );
}

function tierOptions(
  tier: ResolvedTier,
  medium: Media,
  n: number,
  region: number,
  stretch?: Stretch,
): Record<string, string> {
  const prefix = `tier${n}`;
  const plain = mediaOptions(medium);
  const media = stretch === undefined ? plain : stretched(plain, stretch);
  return {
    ...Object.fromEntries(Object.entries(media).map(([key, value]) => [`${prefix}.${key}`, value])),
    [`${prefix}.label`]: medium.name,
    [`${prefix}.write`]: tier.store,
    [`${prefix}.round`]: String(tier.round),
    [`${prefix}.hops`]: String(tier.hops),
    [`${prefix}.remote`]: String(tier.remote),
    [`${prefix}.depth`]: String(tier.depth),
    [`${prefix}.devices`]: String(tier.devices),
    [`${prefix}.region`]: String(region),
    [`${prefix}.read_ps`]: String(picoseconds(tier.perRead)),
    [`${prefix}.write_ps`]: String(picoseconds(tier.perWrite)),
  };
}

/** What the kernel and checkpoints add to a step. */
export interface StepExtras {
  readonly faults: number;
  readonly migrations: number;
  readonly flushedRows: number;
}

/** Options of `ts_simulate` and `ts_step_cost`. */
export async function engineOptions(
  simulation: ResolvedSimulation,
  configuration: ResolvedSimulatedConfiguration,
  demand: StepDemand,
  denseSeconds: number,
  extras: StepExtras,
  stretch: readonly Stretch[] = [],
): Promise<Record<string, string>> {
  const media = await Promise.all(configuration.tiers.map((tier) => loadMedia(tier.media)));
  return engineOptionsOn(media, simulation, configuration, demand, denseSeconds, extras, stretch);
}

/** The same, with the media of the tiers at hand. */
export function engineOptionsOn(
  media: readonly Media[],
  simulation: ResolvedSimulation,
  configuration: ResolvedSimulatedConfiguration,
  demand: StepDemand,
  denseSeconds: number,
  extras: StepExtras,
  stretch: readonly Stretch[] = [],
): Record<string, string> {
  const { workload, compute, overlap, cluster } = simulation;
  const { software, placement, pages, migration } = configuration;
  const tables = tablesOf(simulation);
  const lines = placement === "lines";
  const list = (value: (index: number) => number) => tables.map((_, i) => value(i)).join(",");
  const options: Record<string, string> = {
    seed: String(simulation.seed),
    steps: String(simulation.steps),
    warmup: String(simulation.warmup),
    workers: String(cluster.workers),
    per_host: String(cluster.workersPerHost),
    servers: String(cluster.servers),
    cores: String(cluster.cores),
    background: String(cluster.backgroundThreads),
    stage_threads: String(cluster.stageThreads),
    ahead: String(overlap.ahead),
    micro: String(overlap.microBatches),
    prefetch: overlap.prefetch ? "1" : "0",
    async: overlap.async ? "1" : "0",
    promote: placement === "pages" || placement === "interleave" ? "0" : "1",
    trains: workload.trains ? "1" : "0",
    activations: compute.activations === "first-tier" ? "1" : "0",
    dense_on: compute.on,
    dense_ps: String(picoseconds(denseSeconds)),
    dense_spread: String(compute.spread),
    rest_ps: String(picoseconds(compute.rest)),
    parse_ps: String(picoseconds(compute.parse)),
    key_ps: String(picoseconds(compute.perKey)),
    row_ps: String(picoseconds(compute.perRow)),
    update_ps: String(picoseconds(compute.perUpdate)),
    contend_ps: String(picoseconds(compute.perLock)),
    maintenance: software.maintenance,
    track_ps: String(picoseconds(software.track)),
    upkeep_ps: String(picoseconds(software.upkeep)),
    miss_ps: String(picoseconds(software.miss)),
    rows_in_flight: String(software.rowsInFlight),
    lock_ps: String(picoseconds(software.lock)),
    lock_misses: software.lockMisses ? "1" : "0",
    lock_contention: String(software.lockContention),
    allreduce_bytes: String(cluster.allReduce),
    ...(cluster.network === undefined ? {} : {
      net_bandwidth: String(cluster.network.bandwidth),
      net_latency_ps: String(picoseconds(cluster.network.latency)),
      message_ps: String(picoseconds(compute.perMessage)),
    }),
    fault_count: String(extras.faults),
    fault_ps: String(picoseconds(pages.fault)),
    migrate_count: String(extras.migrations),
    migrate_ps: String(picoseconds(migration?.perPage ?? 0)),
    page_bytes: String(pages.bytes),
    flush_rows: String(extras.flushedRows),
    memory_mode: lines ? "1" : "0",
    tiers: String(configuration.tiers.length),
    tables: String(tables.length),
    "tables.distinct": list((i) => demand.tables[i]?.distinct ?? 0),
    "tables.variance": list((i) => demand.tables[i]?.variance ?? 0),
    "tables.all": list((i) => demand.tables[i]?.all ?? 0),
    "tables.lookups": list((i) => (tables[i]?.lookups ?? 0) * workload.batch),
    "tables.value_bytes": tables.map(valueBytes).join(","),
    "tables.row_bytes": tables.map(rowBytes).join(","),
  };
  const machines = Math.max(1, cluster.servers);
  for (const [t, tier] of configuration.tiers.entries()) {
    options[`tables.in${t}`] = list((i) => {
      const table = demand.tables[i];
      return lines ? (t === 0 ? table?.all ?? 0 : 0) : table?.inTier[t] ?? 0;
    });
    const rows = tables.reduce((sum, table) => sum + table.rows * placeBytes(table, tier.round), 0) / machines;
    const share = pageShares(configuration)?.[t];
    const region = share !== undefined
      ? Math.round(rows * share)
      : Math.round(tier.size > 0 ? Math.min(tier.size, rows) : rows);
    Object.assign(options, tierOptions(tier, media[t] as Media, t, region, stretch[t]));
  }
  const shares = demand.memoryMode;
  if (lines && shares !== undefined) {
    options["memory_mode.read_clean"] = String(shares.readClean);
    options["memory_mode.read_dirty"] = String(shares.readDirty);
    options["memory_mode.write_clean"] = String(shares.writeClean);
    options["memory_mode.write_dirty"] = String(shares.writeDirty);
  }
  return options;
}

/** Threads that look rows up at the same time: cores, or on a server the requests that come together. */
export function threadsAt({ cluster }: Pick<ResolvedSimulation, "cluster">): number {
  return cluster.servers === 0 ? cluster.cores : Math.min(cluster.cores, cluster.workers);
}
