/**
 * The types of a simulation: a scenario that runs in virtual time. {@linkcode Simulation} is what people write,
 * {@linkcode ResolvedSimulation} is what runs, every default filled in; it is itself a valid simulation.
 *
 * @module
 */

import type { MatrixPoint, MatrixValue, Size } from "../scenario.ts";

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
  readonly profile: string;
  readonly table: string;
  /** What the profile says beside popularity, which is not simulated: `drift`, ... */
  readonly leftOut: readonly string[];
}

/** A shipped profile by its name, or one by the path of its file; with the table in it, where it has several. */
export type SimulatedProfile = string | { readonly name: string; readonly table?: string };

/** Tables of a workload that are alike. */
export interface SimulatedTable {
  readonly name: string;
  /** Tables that are like this one. Default 1. */
  readonly count?: number;
  readonly rows: number;
  readonly dim: number;
  /** Default `"f32"`. */
  readonly dtype?: "f32" | "bf16";
  /** Optimizer states, each as wide as the weights: 1 for Adagrad, 2 for Adam. Default 1. */
  readonly slots?: number;
  /** Bytes that a row takes beside its weights and states: key, version, list pointers. Default 16. */
  readonly overhead?: number;
  /** Keys a sample has for this table, on average. */
  readonly lookups: number;
  /** How popular its rows are; or `profile`. */
  readonly law?: Law;
  readonly profile?: SimulatedProfile;
}

/** What the dense part of a worker's step takes. */
export type DenseTime =
  | Duration
  | { readonly flopsPerSample: number; readonly gflops: number }
  | { readonly result: string; readonly configuration?: string };

/** Time that is spent computing, and where these figures are from. */
export interface Compute {
  readonly dense: DenseTime;
  readonly on?: "cores" | "accelerator";
  readonly parse?: Duration;
  readonly perKey?: Duration;
  readonly perRow?: Duration;
  readonly perUpdate?: Duration;
  readonly source: string;
}

/** How the trainer overlaps, as its options do. */
export interface Overlap {
  readonly ahead?: number;
  readonly prefetch?: boolean;
  readonly async?: boolean;
  readonly microBatches?: number;
}

/** Machines that train together. */
export interface Cluster {
  readonly workers?: number;
  readonly workersPerHost?: number;
  readonly servers?: number;
  readonly cores?: number;
  readonly backgroundThreads?: number;
  readonly stageThreads?: number;
  readonly network?: { readonly bandwidth: Rate; readonly latency?: Duration };
  readonly allReduce?: Size;
}

/** A place where rows live. */
export interface SimulatedTier {
  readonly media: string;
  readonly size?: Size;
  readonly store?: "cached" | "nt" | "flush";
  readonly round?: number;
  readonly hops?: number;
  readonly remote?: number;
  readonly depth?: number;
  readonly perRead?: Duration;
  readonly perWrite?: Duration;
}

/** What a system's software adds. */
export interface Software {
  readonly maintenance?: "critical" | "gap";
  readonly lock?: Duration;
  readonly lockMisses?: boolean;
  readonly lockContention?: number;
}

/** How a checkpoint is made. */
export interface Checkpoint {
  readonly kind: "none" | "incremental" | "version";
  readonly every?: Duration;
  readonly bandwidth?: Rate;
  readonly dense?: Size;
}

/** Policies of a store. */
export const SIMULATED_POLICIES = ["lru", "lfu", "clock", "s3fifo", "sieve", "tinylfu"] as const;
/** One of {@linkcode SIMULATED_POLICIES}. */
export type SimulatedPolicy = (typeof SIMULATED_POLICIES)[number];

/** Ways to know what the first tier holds. */
export const HITS_METHODS = ["analytic", "sampled", "exact"] as const;
/** One of {@linkcode HITS_METHODS}. */
export type HitsMethod = (typeof HITS_METHODS)[number];

/** Ways in which memory can be set up. */
export const MODES = ["dram", "fsdax", "kmem-dax", "memory-mode", "cxl", "ssd", "hbm"] as const;
/** One of {@linkcode MODES}. */
export type Mode = (typeof MODES)[number];

/** One way to hold the tables. */
export interface SimulatedConfiguration {
  readonly about?: string;
  readonly mode: Mode;
  readonly tiers: readonly SimulatedTier[];
  readonly policy?: SimulatedPolicy;
  /** How it is known what the first tier holds. */
  readonly hits?: HitsMethod;
  /** Who decides what is in the first tier. */
  readonly placement?: "rows" | "pages" | "lines";
  readonly pages?: {
    readonly bytes?: Size;
    readonly contiguous?: boolean;
    readonly fault?: Duration;
    readonly trained?: number;
  };
  readonly migration?: { readonly scan: Rate; readonly perPage: Duration; readonly within?: Duration };
  readonly software?: Software;
  readonly checkpoint?: Checkpoint;
}

/** What is published, to compare with. */
export interface Published {
  readonly figure: string;
  readonly of: Metric;
  readonly configuration: string;
  readonly at?: MatrixPoint;
  readonly value: number;
  /** The value is a multiple of what this case has. */
  readonly relativeTo?: { readonly configuration: string; readonly at?: MatrixPoint };
  readonly source: string;
  /** Share of the published value by which the simulated one may differ. */
  readonly tolerance: number;
  /** The parameter that was set by this very figure. */
  readonly calibrates?: string;
}

/** What can be compared. */
export const METRICS = ["time", "samples-per-second", "miss-rate", "step-time"] as const;
/** One of {@linkcode METRICS}. */
export type Metric = (typeof METRICS)[number];

/** Cases: some configurations at every combination of some fields. */
export interface Study {
  readonly name: string;
  readonly configurations?: readonly string[];
  readonly vary?: Readonly<Record<string, readonly MatrixValue[]>>;
  /** The configuration that others are told against. Default: the fastest. */
  readonly baseline?: string;
}

/** A simulation as written. */
export interface Simulation {
  readonly $schema?: string;
  readonly kind: "simulation";
  readonly version?: 1;
  readonly name: string;
  readonly about?: string;
  readonly seed?: number;
  readonly steps?: number;
  readonly warmup?: number;
  readonly workload: {
    readonly batch: number;
    readonly trains?: boolean;
    readonly tables: readonly SimulatedTable[];
    /** Keys of all tables, for configurations whose hits are exact. */
    readonly trace?: string;
  };
  readonly compute: Compute;
  readonly overlap?: Overlap;
  readonly cluster?: Cluster;
  readonly configurations: Readonly<Record<string, SimulatedConfiguration>>;
  readonly studies?: readonly Study[];
  readonly explain?: readonly { readonly from: string; readonly to: string; readonly at?: MatrixPoint }[];
  readonly published?: readonly Published[];
}

/** A table with every default filled in. Bytes of rows follow from it. */
export type ResolvedTable = Required<Omit<SimulatedTable, "profile">>;

/** A tier with every default filled in. Sizes in bytes, times in seconds. */
export interface ResolvedTier {
  readonly media: string;
  /** 0: whatever the tiers above do not hold. */
  readonly size: number;
  readonly store: "cached" | "nt" | "flush";
  readonly round: number;
  readonly hops: number;
  readonly remote: number;
  readonly depth: number;
  readonly perRead: number;
  readonly perWrite: number;
}

/** A configuration with every default filled in. Durations in seconds, sizes in bytes. */
export interface ResolvedSimulatedConfiguration {
  readonly about: string;
  readonly mode: Mode;
  readonly tiers: readonly ResolvedTier[];
  readonly policy: SimulatedPolicy;
  readonly hits: HitsMethod;
  readonly placement: "rows" | "pages" | "lines";
  readonly pages: {
    readonly bytes: number;
    readonly contiguous: boolean;
    readonly fault: number;
    readonly trained: number;
  };
  readonly migration?: { readonly scan: number; readonly perPage: number; readonly within: number };
  readonly software: Required<Omit<Software, "lock">> & { readonly lock: number };
  readonly checkpoint: {
    readonly kind: "none" | "incremental" | "version";
    readonly every: number;
    readonly bandwidth: number;
    readonly dense: number;
  };
}

/** A simulation with every default filled in. Durations in seconds, sizes in bytes, rates in bytes a second. */
export interface ResolvedSimulation {
  readonly kind: "simulation";
  readonly version: 1;
  readonly name: string;
  readonly about: string;
  readonly seed: number;
  readonly steps: number;
  readonly warmup: number;
  readonly workload: {
    readonly batch: number;
    readonly trains: boolean;
    readonly tables: readonly ResolvedTable[];
    readonly trace?: string;
  };
  readonly compute: {
    readonly dense: number | Exclude<DenseTime, Duration>;
    readonly on: "cores" | "accelerator";
    readonly parse: number;
    readonly perKey: number;
    readonly perRow: number;
    readonly perUpdate: number;
    readonly source: string;
  };
  readonly overlap: Required<Overlap>;
  readonly cluster: Required<Omit<Cluster, "network" | "allReduce">> & {
    readonly network?: { readonly bandwidth: number; readonly latency: number };
    readonly allReduce: number;
  };
  readonly configurations: Readonly<Record<string, ResolvedSimulatedConfiguration>>;
  readonly studies: readonly (Required<Omit<Study, "baseline">> & Pick<Study, "baseline">)[];
  readonly explain: readonly { readonly from: string; readonly to: string; readonly at: MatrixPoint }[];
  readonly published: readonly Published[];
}
