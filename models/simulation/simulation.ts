/**
 * The types of a simulation: a scenario that runs in virtual time. {@linkcode Simulation} is what people write,
 * {@linkcode ResolvedSimulation} is what runs, every default filled in; it is itself a valid simulation.
 *
 * @module
 */

import type { Size } from "../../base/bytes.ts";
import { EVICTION_POLICIES, type EvictionPolicy } from "../../base/policies.ts";
import type { MachineCost } from "../costs/machine_cost.ts";
import type { Target } from "./target.ts";
import type { MatrixPoint, MatrixValue } from "../../base/matrix.ts";
import type { TableOptimizer } from "../workloads/row_bytes.ts";
import type { WrittenTables } from "../workloads/table_forms.ts";

/** A duration such as `"150 s"`, `"20 ms"`, `"90 ns"`; a number is seconds. */
export type Duration = string | number;
/** Bytes a second such as `"400 MB/s"`, or bits a second such as `"30 Gbit/s"`; a number is bytes a second. */
export type Rate = string | number;

/** How popular the rows of a table are. */
export type Law =
  | { readonly s: number; readonly q?: number; readonly hitters?: readonly number[] }
  | {
    /** Rows and the weight of each; scaled to the table's rows, their shape kept. */
    readonly buckets: readonly (readonly [number, number])[];
    /** The profile that they are from. */
    readonly of?: LawOrigin;
  };

/** The table of a profile that a law is from. */
export interface LawOrigin {
  /** Name of the profile, or the path it was read from. */
  readonly profile: string;
  /** The table in it. */
  readonly table: string;
  /** What the profile says beside popularity, which is not simulated: `drift`, ... */
  readonly leftOut: readonly string[];
  /** How far keys made from the profile are known to miss the trace, where that is more than it should be. */
  readonly fault?: string;
}

/** A shipped profile by its name, or one by the path of its file; with the table in it, where it has several. */
export type SimulatedProfile = string | { readonly name: string; readonly table?: string };

/** Tables of a workload that are alike. */
export interface SimulatedTable {
  /** Names the table in the report; tables of one `count` share it. */
  readonly name: string;
  /** Tables that are like this one. Default 1. */
  readonly count?: number;
  /** Rows of one table. */
  readonly rows: number;
  /** Weights of a row. */
  readonly dim: number;
  /** Type of the weights; `"fp32"`, as plans have it, is `"f32"`. Default `"f32"`. */
  readonly dtype?: "f32" | "fp32" | "bf16";
  /** Optimizer states, each as wide as the weights: 1 for Adagrad, 2 for Adam. Default 1. */
  readonly slots?: number;
  /** Single 32-bit numbers of an optimizer beside them: 1 for row-wise Adagrad. Default 0. */
  readonly scalars?: number;
  /** What updates the rows, as plans have it; it says how many `slots` and `scalars` there are, and wins over them. */
  readonly optimizer?: TableOptimizer;
  /** Bytes that a row takes beside its weights and states: key, version, list pointers. Default 16. */
  readonly overhead?: number;
  /** Keys a sample has for this table, on average. Default 1. */
  readonly lookups?: number;
  /** How popular the rows are: which share of the keys each of them has; or `profile`. */
  readonly law?: Law;
  /** A shipped profile by name, or the path of one, whose law is scaled to the table's rows; or, as in plans, `{ s, q }`. */
  readonly profile?: SimulatedProfile | { readonly s: number; readonly q?: number };
}

/** A simulation as a file may write it: tables are a list, or by name as in plans. */
export type WrittenSimulation = Omit<Simulation, "workload"> & {
  readonly workload: Omit<Simulation["workload"], "tables"> & {
    readonly tables: WrittenTables<Omit<SimulatedTable, "name">>;
  };
};

/** What the dense part of a worker's step takes. */
export type DenseTime =
  | Duration
  | { readonly flopsPerSample: number; readonly gflops: number }
  | { readonly result: string; readonly configuration?: string };

/** Time that is spent computing, and where these figures are from. */
export interface Compute {
  /** Time of the dense part of one worker's step, forward and backward. */
  readonly dense: DenseTime;
  /**
   * What computes it: the machine's cores, which lookups then wait for, or an accelerator beside them. Default
   * `"cores"`.
   */
  readonly on?: "cores" | "accelerator";
  /**
   * Coefficient of variation of `dense` from step to step and worker to worker (log-normal): all wait for the slowest.
   * Default 0: no model of tails in computing.
   */
  readonly spread?: number;
  /**
   * Time of a worker's step after its gradients have been sent, before it asks for rows again: the dense optimizer, the
   * framework. Default 0.
   */
  readonly rest?: Duration;
  /** Core time of reading one worker's batch. Default 0. */
  readonly parse?: Duration;
  /**
   * Core time of one key, for hashing it and finding its duplicates in the batch: of each lookup and each update, or with
   * servers of the worker that reads the batch, before it asks. Default 0.
   */
  readonly perKey?: Duration;
  /** Core time of one distinct row that is looked up, without its accesses to memory. Default 0. */
  readonly perRow?: Duration;
  /** Core time of one distinct row that is updated, without its accesses to memory. Default 0. */
  readonly perUpdate?: Duration;
  /**
   * Core time that such a row takes longer for each other thread that works at the same memory: locks, and lines that they
   * share. Default 0.
   */
  readonly perLock?: Duration;
  /**
   * Time that a message between a worker and a server, or between two in an all-reduce, holds each end of its link beside its
   * bytes: the gap of LogP. Default 0.
   */
  readonly perMessage?: Duration;
  /**
   * Where embeddings that were looked up and their gradients are, a row for each key: in the processor's caches, or written to
   * and read from the first tier, as a GPU does with a batch that its caches do not hold. Default `"caches"`.
   */
  readonly activations?: "caches" | "first-tier";
  /** Where these times are from: a measurement, a paper, an assumption. The report prints it. */
  readonly source: string;
}

/** How the trainer overlaps, as its options do. */
export interface Overlap {
  /** Batches that are read before their step begins; 0: each step reads its own first. Default 1. */
  readonly ahead?: number;
  /** Whether rows of the next batch are brought into the first tier during this step. Default false. */
  readonly prefetch?: boolean;
  /** Whether lookups of the next step run beside the dense part of this one. Default false. */
  readonly async?: boolean;
  /** Pieces that the dense part is cut into, so that lookups of one overlap with computing another. Default 1. */
  readonly microBatches?: number;
}

/** Machines that train together. */
export interface Cluster {
  /** Processes that train together, each with a batch of its own. Default 1. */
  readonly workers?: number;
  /** Workers that share one machine and its link. Default 1. */
  readonly workersPerHost?: number;
  /** Parameter servers that hold the tables; 0: the tables are in the memory of the training machine. Default 0. */
  readonly servers?: number;
  /** Cores of a machine that holds tables. Default 16. */
  readonly cores?: number;
  /** Threads of such a machine that move rows between tiers in the background. Default 1. */
  readonly backgroundThreads?: number;
  /** Threads of a worker that read batches ahead. Default 1. */
  readonly stageThreads?: number;
  /** The link of each machine: bandwidth of each direction, and latency of a message (default 10 us). */
  readonly network?: { readonly bandwidth: Rate; readonly latency?: Duration };
  /** Bytes of dense gradients that hosts exchange in a step. Default 0. */
  readonly allReduce?: Size;
}

/** A place where rows live. */
export interface SimulatedTier {
  /** Name of a media model in `models/media`. */
  readonly media: string;
  /** Bytes for rows; without it, whatever the tiers above do not hold. Only the last tier may go without. */
  readonly size?: Size;
  /**
   * How rows are written: ordinary stores, non-temporal ones (libpmem), or stores flushed line by line. Default: what
   * the configuration's mode does.
   */
  readonly store?: "cached" | "nt" | "flush";
  /** Rows take a multiple of this many bytes. Default: 256 in fsdax, Optane's media granule; 1 in every other mode. */
  readonly round?: number;
  /** Devices of the medium side by side: drives, expanders, sets of modules. Default 1. */
  readonly devices?: number;
  /** NUMA hops that remote accesses take. Default 0. */
  readonly hops?: number;
  /** Share of the accesses that are remote, 0 to 1. Default: 1 with hops, else 0. */
  readonly remote?: number;
  /**
   * Accesses that one core keeps under way beyond what the media model gives it. Default: 128 for the last tier of
   * mode `ssd`, else 1.
   */
  readonly depth?: number;
  /** Core time added to each read of a row, such as a system call or a page walk. Default 0. */
  readonly perRead?: Duration;
  /** Core time added to each write of a row. Default 0. */
  readonly perWrite?: Duration;
}

/** What a system's software adds. */
export interface Software {
  /**
   * With servers: rows move between tiers while requests are served, or in the gap between pull and push. Default
   * `"critical"`.
   */
  readonly maintenance?: "critical" | "gap";
  /**
   * Time of keeping a row in order (its place in a list, its version), once a step for each different row: of servers by the
   * threads that `maintenance` says, on one machine by those that look rows up, where there is more than one tier. Default 0.
   */
  readonly upkeep?: Duration;
  /**
   * Core time of telling the policy that a key was looked up, for each key of a lookup (of a request, where there are servers),
   * repeated ones included, where the store places rows in more than one tier. Default 0.
   */
  readonly track?: Duration;
  /**
   * Core time of bringing a row up from a lower tier, and of the one that leaves for it, beside their accesses to memory:
   * policy, lock, places. Default 0.
   */
  readonly miss?: Duration;
  /**
   * Rows that a thread waits for at the same time: 1 for software that follows one row's pointers before the next one's.
   * Default 0: as many as the medium's lines in flight allow, as stores do that look a batch up ahead.
   */
  readonly rowsInFlight?: number;
  /** Time that a row needs under a lock that all requests of a server share; with maintenance `"gap"` none is taken. Default 0. */
  readonly lock?: Duration;
  /** Whether that lock is held while missed rows are brought up; with one tier, while rows are read and written. Default false. */
  readonly lockMisses?: boolean;
  /** Share by which each further worker lengthens the time under the lock. Default 0. */
  readonly lockContention?: number;
}

/** How a checkpoint is made. */
export interface Checkpoint {
  /**
   * `none`: there is none. `incremental`: training stops while rows that changed since the last one are written. `version`: rows are written
   * again when they are touched next, and only dense weights stop training.
   */
  readonly kind: "none" | "incremental" | "version";
  /** Time from one checkpoint to the next. Default 20 min. */
  readonly every?: Duration;
  /** Rate at which rows or dense weights are written. Default 1 GB/s. */
  readonly bandwidth?: Rate;
  /** Bytes of dense weights with their optimizer states. Default 0. */
  readonly dense?: Size;
}

/** Which rows leave a full tier: a policy of our store, or the least recently used of a set of places (a GPU's row cache). */
export type SimulatedPolicy = EvictionPolicy | "set-associative";
/** Every {@linkcode SimulatedPolicy}. */
export const SIMULATED_POLICIES: readonly SimulatedPolicy[] = [...EVICTION_POLICIES, "set-associative"];

/** Policies whose misses follow from a law without a replay. */
export const FORMULA_POLICIES: ReadonlySet<SimulatedPolicy> = new Set(["lru", "lfu", "set-associative"]);

/** A way to know what the first tier holds: a formula, the store's own policy code on a sample, or replay of a trace. */
export type HitsMethod = "analytic" | "sampled" | "exact";
/** Every {@linkcode HitsMethod}. */
export const HITS_METHODS: readonly HitsMethod[] = ["analytic", "sampled", "exact"];

/** A way in which memory can be set up. */
export type Mode = "dram" | "fsdax" | "kmem-dax" | "memory-mode" | "cxl" | "ssd" | "hbm";
/** Every {@linkcode Mode}. */
export const MODES: readonly Mode[] = ["dram", "fsdax", "kmem-dax", "memory-mode", "cxl", "ssd", "hbm"];

/** Who decides which rows are in which tier. */
export type Placement = "rows" | "pages" | "lines" | "interleave";

/** One way to hold the tables. */
export interface SimulatedConfiguration {
  /** One sentence for the report. */
  readonly about?: string;
  /** How the machine's memory is set up; gives tiers their defaults of `store`, `round` and `depth`. */
  readonly mode: Mode;
  /** Where rows live, fastest first; 1 to 4. */
  readonly tiers: readonly SimulatedTier[];
  /** Which rows leave a full tier. Default `"lru"`. */
  readonly policy?: SimulatedPolicy;
  /** Places of a set of a set-associative first tier. Default 32, as in FBGEMM's row cache. */
  readonly ways?: number;
  /** How it is known what the first tier holds. */
  readonly hits?: HitsMethod;
  /** Who decides what is in the first tier; `interleave`: nobody, pages are dealt out by `weights`. */
  readonly placement?: Placement;
  /** With `interleave`: pages that each tier gets in turn, as Linux's weighted interleaving. Default: 1 each. */
  readonly weights?: readonly number[];
  /**
   * Pages of the last tier: bytes (default 4 KiB), whether they are physically contiguous (default false), time of a
   * first touch (`fault`, default 0), and the steps trained before, which have touched pages (`trained`, default
   * 100000).
   */
  readonly pages?: {
    readonly bytes?: Size;
    readonly contiguous?: boolean;
    readonly fault?: Duration;
    readonly trained?: number;
  };
  /**
   * NUMA balancing: address space scanned a second, kernel time of a page that moves, and the time within which a
   * page must be touched again to move up (default 1 s).
   */
  readonly migration?: { readonly scan: Rate; readonly perPage: Duration; readonly within?: Duration };
  /** What the system's software adds to its memory accesses. Default: nothing. */
  readonly software?: Software;
  /** How rows and weights are saved. Default: not at all. */
  readonly checkpoint?: Checkpoint;
  /** What one parameter server costs, or without servers the machine that trains; without it there is no price. */
  readonly machine?: MachineCost;
}

/** Money: as of when, and what trains. */
export interface SimulationCost {
  /** Date of the prices. Default: when the simulation ran. */
  readonly prices?: string;
  /** What a machine of `workersPerHost` workers costs, beside the servers. */
  readonly trainers?: MachineCost;
}

/** What is published, to compare with. */
export interface Published {
  /** Name of the figure or table in the source. */
  readonly figure: string;
  /** What the value measures. */
  readonly of: Metric;
  /** Configuration of the case that it is compared with. */
  readonly configuration: string;
  /** Fields of that case, by dotted name. Default: the simulation as written. */
  readonly at?: MatrixPoint;
  /**
   * What is published: seconds of `time` and `step-time`, a share of `miss-rate`, samples a second; a plain factor
   * with `relativeTo`. Of `extra-time`, the share by which it takes longer than that case.
   */
  readonly value: number;
  /** The value is a multiple of what this case has. */
  readonly relativeTo?: { readonly configuration: string; readonly at?: MatrixPoint };
  /** Where it is published. */
  readonly source: string;
  /** Share of the published value by which the simulated one may differ; of `extra-time`, the difference itself. */
  readonly tolerance: number;
  /** The parameter that was set by this very figure. */
  readonly calibrates?: string;
}

/**
 * What can be compared: seconds of a sample, samples a second, missed keys as a share of keys, seconds of a mean step; and by
 * which share a sample takes longer than in the case that the value is relative to, which is an effect and no level.
 */
export type Metric = "time" | "samples-per-second" | "miss-rate" | "step-time" | "extra-time";
/** Every {@linkcode Metric}. */
export const METRICS: readonly Metric[] = ["time", "samples-per-second", "miss-rate", "step-time", "extra-time"];

/** Fields of a simulation whose figures may have a range. */
export const RANGED_FIELDS = [
  "compute.dense",
  "compute.rest",
  "compute.parse",
  "compute.perKey",
  "compute.perRow",
  "compute.perUpdate",
  "compute.perLock",
  "compute.perMessage",
  "cluster.network.bandwidth",
  "cluster.network.latency",
  "software.lock",
  "software.upkeep",
  "software.track",
  "software.miss",
  "tiers.perRead",
  "tiers.perWrite",
  "pages.fault",
  "migration.perPage",
  "checkpoint.bandwidth",
] as const;
/** One of {@linkcode RANGED_FIELDS}; those of a configuration count for all configurations. */
export type RangedField = typeof RANGED_FIELDS[number];

/** Cases: some configurations at every combination of some fields. */
export interface Study {
  /** Heads its part of the report. */
  readonly name: string;
  /** Configurations in it. Default: all. */
  readonly configurations?: readonly string[];
  /**
   * Values by dotted field, such as `"cluster.workers": [4, 8]`; the study has a case for every combination. Default:
   * none.
   */
  readonly vary?: Readonly<Record<string, readonly MatrixValue[]>>;
  /** The configuration that others are told against. Default: the fastest. */
  readonly baseline?: string;
}

/** A simulation as written. */
export interface Simulation {
  /** Where editors find the schema of this file. */
  readonly $schema?: string;
  /** Runs in virtual time instead of on this machine. */
  readonly kind: "simulation";
  /** Version of the format. Default 1. */
  readonly version?: 1;
  /** Names the run and its folder of results. */
  readonly name: string;
  /** What it shows, in a sentence or two. */
  readonly about?: string;
  /** Seed of the spread of counts and of sampled placements. Default 0. */
  readonly seed?: number;
  /** Steps of each case that are counted. Default 64. */
  readonly steps?: number;
  /** Steps of each case before those that are counted. Default 8. */
  readonly warmup?: number;
  /**
   * Samples of a worker's step, whether rows are updated (default true; false is serving), the embedding tables, and the
   * path of a trace with the keys of all tables, for configurations whose hits are exact; `cycle`: after so many steps the same
   * batches come again, as in benchmarks that make some and repeat them (default 0: never).
   */
  readonly workload: {
    readonly batch: number;
    readonly trains?: boolean;
    readonly tables: readonly SimulatedTable[];
    readonly trace?: string;
    readonly cycle?: number;
  };
  /** Time of computing, with its source. */
  readonly compute: Compute;
  /**
   * Path of a file of prices that `tierbench calibrate` wrote, from the folder of this simulation: what our store costs beside
   * its accesses, `perKey`, `perRow` and `perUpdate` of `compute`, `track`, `upkeep` and `miss` of configurations whose rows the store
   * places, each with its range, where they are not stated.
   */
  readonly software?: string;
  /**
   * How exactly stated figures are known: a factor above 1 that the true one is within, up and down, nine times in ten; 1
   * is exact. Defaults: `DEFAULT_RANGES` in `models/simulation/uncertainty.ts`, 1.1 to 2.
   */
  readonly ranges?: Readonly<Partial<Record<RangedField, number>>>;
  /** What overlaps with what, as the trainer's options have it. */
  readonly overlap?: Overlap;
  /** Machines and threads. Default: one machine that trains and holds the tables. */
  readonly cluster?: Cluster;
  /** The ways to hold the tables that are compared, by name. */
  readonly configurations: Readonly<Record<string, SimulatedConfiguration>>;
  /** What machines cost; those of the configurations say theirs. */
  readonly cost?: SimulationCost;
  /** What must be met, as in plans: the report says which configurations do, and the cheapest of those. */
  readonly target?: Target;
  /** Which cases there are. Default: one study of all configurations. */
  readonly studies?: readonly Study[];
  /** Differences between two configurations that are taken apart into what each part of the set-up adds. */
  readonly explain?: readonly { readonly from: string; readonly to: string; readonly at?: MatrixPoint }[];
  /** Published figures that the cases are compared with. */
  readonly published?: readonly Published[];
}

/** A table with every default filled in. Bytes of rows follow from it. */
export type ResolvedTable =
  & Required<Omit<SimulatedTable, "profile" | "optimizer" | "dtype">>
  & { readonly dtype: "f32" | "bf16" };

/** A tier with every default filled in. Sizes in bytes, times in seconds. */
export interface ResolvedTier {
  /** Name of a media model in `models/media`. */
  readonly media: string;
  /** 0: whatever the tiers above do not hold. */
  readonly size: number;
  /** How rows are written: ordinary stores, non-temporal ones, or stores flushed line by line. */
  readonly store: "cached" | "nt" | "flush";
  /** Rows take a multiple of this many bytes. */
  readonly round: number;
  /** Devices of the medium side by side. */
  readonly devices: number;
  /** NUMA hops that remote accesses take. */
  readonly hops: number;
  /** Share of the accesses that are remote, 0 to 1. */
  readonly remote: number;
  /** Accesses that one core keeps under way beyond what the media model gives it. */
  readonly depth: number;
  /** Core seconds added to each read of a row. */
  readonly perRead: number;
  /** Core seconds added to each write of a row. */
  readonly perWrite: number;
}

/** A configuration with every default filled in. Durations in seconds, sizes in bytes. */
export interface ResolvedSimulatedConfiguration {
  /** One sentence for the report; empty if none is written. */
  readonly about: string;
  /** How the machine's memory is set up. */
  readonly mode: Mode;
  /** Where rows live, fastest first; 1 to 4. */
  readonly tiers: readonly ResolvedTier[];
  /** Which rows leave a full tier. */
  readonly policy: SimulatedPolicy;
  /** Places of a set of a set-associative first tier; absent: 32. */
  readonly ways?: number;
  /** How it is known what the first tier holds. */
  readonly hits: HitsMethod;
  /**
   * Who decides what is in the first tier: the store by row, the kernel by page, Memory Mode by cache line; or nobody, where
   * pages are interleaved.
   */
  readonly placement: Placement;
  /** With `interleave`: pages that each tier gets in turn. */
  readonly weights?: readonly number[];
  /**
   * Pages of the last tier: their bytes, whether they are contiguous, seconds of a first touch, steps trained before.
   */
  readonly pages: {
    readonly bytes: number;
    readonly contiguous: boolean;
    readonly fault: number;
    readonly trained: number;
  };
  /**
   * NUMA balancing: bytes scanned a second, seconds of a page that moves, seconds within which a page must be touched
   * again to move up. Absent: pages stay.
   */
  readonly migration?: { readonly scan: number; readonly perPage: number; readonly within: number };
  /** What the system's software adds to its memory accesses; `lock`, `upkeep` and `miss` in seconds a row, `track` a key. */
  readonly software: Required<Omit<Software, "lock" | "upkeep" | "track" | "miss">> & {
    readonly lock: number;
    readonly upkeep: number;
    readonly track: number;
    readonly miss: number;
  };
  /** How rows and weights are saved: seconds between checkpoints, bytes a second, bytes of dense weights. */
  readonly checkpoint: {
    readonly kind: "none" | "incremental" | "version";
    readonly every: number;
    readonly bandwidth: number;
    readonly dense: number;
  };
  /** What one parameter server costs, or the machine that trains; absent if nothing is written. */
  readonly machine?: MachineCost;
}

/** A simulation with every default filled in. Durations in seconds, sizes in bytes, rates in bytes a second. */
export interface ResolvedSimulation {
  /** Runs in virtual time instead of on a machine. */
  readonly kind: "simulation";
  /** Version of the format. */
  readonly version: 1;
  /** Names the run and its folder of results. */
  readonly name: string;
  /** What it shows; empty if nothing is written. */
  readonly about: string;
  /** Seed of the spread of counts and of sampled placements. */
  readonly seed: number;
  /** Steps of each case that are counted. */
  readonly steps: number;
  /** Steps of each case before those that are counted. */
  readonly warmup: number;
  /** Samples of a worker's step, whether rows are updated, the embedding tables, and the absolute path of a trace. */
  readonly workload: {
    readonly batch: number;
    readonly trains: boolean;
    readonly tables: readonly ResolvedTable[];
    readonly trace?: string;
    readonly cycle?: number;
  };
  /**
   * Core seconds of computing, with their source; `dense` is seconds, or operations with a rate, or the absolute path
   * of a measured run.
   */
  readonly compute: {
    readonly dense: number | Exclude<DenseTime, Duration>;
    readonly on: "cores" | "accelerator";
    readonly spread: number;
    readonly rest: number;
    readonly parse: number;
    readonly perKey: number;
    readonly perRow: number;
    readonly perUpdate: number;
    readonly perLock: number;
    readonly perMessage: number;
    readonly activations?: "caches" | "first-tier";
    readonly source: string;
  };
  /** How exactly stated figures are known, where the simulation says so. */
  readonly ranges: Readonly<Partial<Record<RangedField, number>>>;
  /** What overlaps with what. */
  readonly overlap: Required<Overlap>;
  /** Machines and threads; bandwidth in bytes a second, latency in seconds, `allReduce` in bytes a step. */
  readonly cluster: Required<Omit<Cluster, "network" | "allReduce">> & {
    readonly network?: { readonly bandwidth: number; readonly latency: number };
    readonly allReduce: number;
  };
  /** The ways to hold the tables that are compared, by name. */
  readonly configurations: Readonly<Record<string, ResolvedSimulatedConfiguration>>;
  /** What machines cost; absent if nothing is written. */
  readonly cost?: SimulationCost;
  /** What must be met; absent if nothing is written. */
  readonly target?: Target;
  /** Which cases there are; each study names its configurations, the values of its fields, and perhaps a baseline. */
  readonly studies: readonly (Required<Omit<Study, "baseline">> & Pick<Study, "baseline">)[];
  /** Pairs of configurations, at a point, whose difference is taken apart. */
  readonly explain: readonly { readonly from: string; readonly to: string; readonly at: MatrixPoint }[];
  /** Published figures that the cases are compared with. */
  readonly published: readonly Published[];
}

/** Share of the pages that each tier has where they are interleaved; undefined where they are not. */
export function pageShares({ weights }: Pick<ResolvedSimulatedConfiguration, "weights">): number[] | undefined {
  const all = weights?.reduce((sum, weight) => sum + weight, 0) ?? 1;
  return weights?.map((weight) => weight / all);
}
