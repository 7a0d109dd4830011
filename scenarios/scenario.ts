/**
 * The types of a scenario: as people write it and as it runs. What every field means and its default are in
 * `schema.ts`, from which editors, messages and documentation are fed.
 *
 * @module
 */

import type { Size } from "../base/bytes.ts";
import type { MatrixValue } from "../base/matrix.ts";
import type { EvictionPolicy } from "../ffi/options.ts";
import type { HbmLibrary, PmemLibrary, ScenarioStorage } from "../ffi/storage.ts";
import type { MachineCost } from "../models/costs/machine_cost.ts";
import type { Target } from "../models/simulation/target.ts";
import type { Optimisations } from "../models/workloads/training.ts";
import type { ResolvedWorkload, Workload } from "../models/workloads/workload.ts";
import type { RankCluster, ResolvedRankCluster } from "./cluster.ts";

export type { Size } from "../base/bytes.ts";
export type { MatrixPoint, MatrixValue } from "../base/matrix.ts";
export type * from "../models/workloads/row_filter.ts";
export type * from "../models/workloads/training.ts";
export type * from "../models/workloads/workload.ts";

/** What memory below DRAM can be: persistent memory modules, or memory behind CXL. */
export type TierMedium = "pmem" | "cxl";

/** The disk of a configuration, by its owner's word: a run measures it as it is, a simulation or a bill has to know. */
export interface Ssd {
  /** Media model of one drive, by name or path. */
  media: string;
  /** Drives that hold the directory together. Default 1. */
  devices?: number;
}

/** Who places the rows of a store that knows one memory only: the machine's firmware, or the kernel. */
export type MemoryPolicy = "memory-mode" | "weighted-interleave" | "kernel-tiering";

/**
 * How checkpoints are made: every row in files each time; what changed since the one before, after a first full one; or restore
 * points that stay in the last tier.
 */
export type CheckpointKind = "full" | "delta" | "in-place";

/** How the samples of a round share its time. */
export type Sampling = "auto" | "turns" | "processes";

/** One way to hold the embedding tables. */
export interface Configuration {
  /** One sentence for the report. */
  about?: string;
  /**
   * Tiers, fastest first. DRAM; PMEM_LIBPMEM (file of a DAX file system); PMEM_MEMKIND and PMEM_MBIND (PMEM or CXL
   * memory as a NUMA node); SSDHASH and LEVELDB (files on a disk); DRAM_PMEM, DRAM_SSDHASH, DRAM_LEVELDB, DRAM_PMEM_SSDHASH and
   * DRAM_PMEM_LEVELDB (hot rows in the first, the coldest in the last); HBM, and HBM_ before any with DRAM first.
   */
  storage: ScenarioStorage;
  /** What holds the PMEM tier of DRAM_PMEM, DRAM_PMEM_SSDHASH and DRAM_PMEM_LEVELDB. Required there. */
  pmem?: PmemLibrary;
  /** What holds the HBM tier: NUMA nodes of this machine's HBM, or the memory of an OpenCL device. Required with one. */
  hbm?: HbmLibrary;
  /** With `hbm` memkind or mbind: NUMA nodes of HBM, or "auto": those that firmware shows. Default "auto". */
  hbmNodes?: "auto" | number[];
  /** With `hbm` opencl: part of the name of the device or of its platform. Default: a GPU, or else any device. */
  hbmDevice?: string;
  /**
   * With `hbm` opencl: 0, the tier's share of the device is taken at opening; else it is sized from so many steps. Default 0.
   */
  hbmPoolSteps?: number;
  /**
   * With `hbm` opencl: bytes of the host's memory, like "1 GiB", in which the tier goes on where the device is full; they add
   * to its size. Default 0.
   */
  hbmHostBytes?: string | number;
  /**
   * libpmem: directory of the pool file, or "auto": a DAX file system of this machine. Without libpmem: what ssdPath is.
   * Default "auto".
   */
  path?: string;
  /**
   * SSDHASH and LEVELDB: directory on the disk to measure, or "auto": the project's cache folder. Each sample has a
   * folder of its own in it, removed at its end. Default "auto".
   */
  ssdPath?: string;
  /** SSDHASH and LEVELDB: what the disk is, for simulations of the same and for bills. */
  ssd?: Ssd;
  /**
   * memkind and mbind: NUMA nodes of the PMEM or CXL memory, or "auto": the nodes of this machine without CPUs. Default
   * "auto".
   */
  nodes?: "auto" | number[];
  /**
   * Bytes of each tier, fastest first; missing entries are 1 GiB. Default: an eighth of the tables' rows for HBM above
   * others, `dram` for DRAM above others, half of the rows for PMEM between, room for every row in the last.
   */
  size?: Size[];
  /** What counts against the sizes: everything the store holds, or padded rows only (DeepRec's way). Default "all". */
  sizeCounts?: "all" | "rows";
  /** Which rows leave a full tier; with several tiers only. Default "clock". */
  policy?: EvictionPolicy;
  /**
   * Background threads that move rows down; 0: the training threads do. With several tiers only. Default 1.
   */
  evictionThreads?: number;
  /**
   * With storage DRAM only. `memory-mode`: the machine's DRAM is a cache in front of PMEM. `weighted-interleave`: pages of
   * rows are spread over DRAM and slower nodes by the kernel's weights. `kernel-tiering`: the kernel moves hot pages to
   * DRAM and cold ones to slower nodes.
   */
  memory?: MemoryPolicy;
  /** `weighted-interleave`: pages in turn from each node of DRAM and from each slower node. Default [1, 4]. */
  weights?: number[];
  /**
   * What the memory below DRAM has to be: `pmem`, or `cxl` for memory behind CXL. Without it either is taken, PMEM first.
   */
  medium?: TierMedium;
  /**
   * Media model that a missing medium is emulated as. Default "cxl-type3-ddr4" where the medium is to be CXL memory, else
   * "optane-100-6x256".
   */
  media?: string;
  /**
   * How this configuration's checkpoints are made. `in-place`: its last tier, SSDHASH or PMEM over libpmem, outlives the process
   * and keeps them. Default: `checkpoint.kind`.
   */
  checkpoint?: CheckpointKind;
  /** What one machine costs that holds the tables. Default: the cheapest machines that hold the model of `cost.priceFor`. */
  machine?: MachineCost;
}

/** What an ablation may turn on. */
export interface Switches extends Omit<Optimisations, "stageWhat"> {
  /** Fast mode as a switch. */
  deterministic?: boolean;
}

/** Kinds of cases beside the one without any switch. */
export type AblationCase = "alone" | "all" | "all-but-one";

/** Turns optimisations on, each alone and all together. */
export interface Ablation {
  /** The switches, and what each is when it is on. */
  switches: Switches;
  /** What runs beside "none". Default: all three. */
  cases?: AblationCase[];
}

/** Where a bill ends; each holds those before it. */
export type CostBoundary = "parameter-servers" | "workers" | "storage" | "checkpoints";

/** How speed becomes money. */
export interface Cost {
  /** Rented machines, paid by the hour, or servers that are bought. Default "cloud". */
  model?: "cloud" | "owned";
  /** Date of the prices. Default "2026-11". */
  prices?: string;
  /** Own files of prices, whose rows win over those of the price book. */
  priceFiles?: string[];
  /** What is in the bill. Default "checkpoints", the whole bill. */
  boundary?: CostBoundary;
  /** What the job has beside parameter servers, for the wider boundaries. */
  bill?: CostBill;
  /** Size of the tables that are priced. Default "500 GB". */
  priceFor?: Size;
}

/** What a job has beside parameter servers. */
export interface CostBill {
  /** Training workers. Default 1. */
  workers?: number;
  /** A worker: a machine of the price book, or $ an hour. Default "p4d.24xlarge". */
  worker?: string | number;
  /** Training data that is kept. Default "1 TB". */
  data?: Size;
  /** Checkpoints that are kept. Default 2. */
  checkpoints?: number;
}

/** {@linkcode Cost} with every default filled in: paths are absolute, sizes in bytes. */
export interface ResolvedCost {
  /** Rented machines, paid by the hour, or servers that are bought. */
  readonly model: "cloud" | "owned";
  /** Date of the prices: `2026-11`. */
  readonly prices: string;
  /** Absent without any. */
  readonly priceFiles?: string[];
  /** What is in the bill. */
  readonly boundary: CostBoundary;
  /**
   * What the job has beside parameter servers: workers, the machine or $ an hour of each, bytes of training data,
   * checkpoints that are kept.
   */
  readonly bill: {
    readonly workers: number;
    readonly worker: string | number;
    readonly data: number;
    readonly checkpoints: number;
  };
  /** Bytes of the tables that are priced. */
  readonly priceFor: number;
}

/** When samples write checkpoints, and which. */
export interface CheckpointSchedule {
  /** Steps between two of them, or, below 1, that share of the counted steps. Default "none". */
  interval?: "none" | number;
  /** Every row each time, or, after a first full one, what changed since the one before. Default "full". */
  kind?: "full" | "delta";
  /** Directory on the disk that they are written to, or "auto": the project's cache folder. Default "auto". */
  path?: string;
}

/** A scenario as written. */
export interface Scenario {
  /** Where editors find the schema of this file. */
  $schema?: string;
  /** Version of the scenario format. Default 1. */
  version?: 1;
  /** Names the run and its folder of results. */
  name: string;
  /** What the scenario shows, in a sentence or two. */
  about?: string;
  /** What is trained. */
  workload?: Workload;
  /** The ways to hold the embedding tables that are compared, by name. */
  configurations: Record<string, Configuration>;
  /**
   * DRAM of every configuration with a tier below DRAM, at most a quarter of the bytes of the tables' rows, or "auto": exactly a
   * quarter, rounded down to 64 KiB. Default "auto".
   */
  dram?: Size | "auto";
  /** Samples of each case, each in its own process; 3 at least. Default 3. */
  repetitions?: number;
  /**
   * How the samples of a round share its time. `processes`: one process after the other. `turns`: all at once, a few steps each
   * in turn, so that what else the machine does meets all alike. `auto`: in turns where they fit into memory together and the
   * first round shows that this is the more precise. Default "auto".
   */
  sampling?: Sampling;
  /** Whether a repeated contender runs in every round, which shows how far a case is from itself (A/A). Default true. */
  aa?: boolean;
  /** Wall time of the whole run, which sizes "auto" steps. Default "150 s". */
  budget?: string | number;
  /** The longer run that gives the AUC; once, since rows are equal to the bit on all configurations. */
  quality?: { samples?: number | "auto"; evaluations?: number; testRows?: number; targetAuc?: number };
  /** Checkpoints that samples write while they train. Default: none. */
  checkpoint?: CheckpointSchedule;
  /** Processes that train one model together. Default: one process without ranks. */
  cluster?: RankCluster;
  /** What must be met; the report says which cases meet it. Default: nothing. */
  target?: Target;
  /** How speed becomes money. */
  cost?: Cost;
  /** Fields to vary, as "workload.batch": [512, 2048]; the run has a case for every combination. */
  matrix?: Record<string, MatrixValue[]>;
  /** What each optimisation is worth: a case without any, with each alone, with all, with all but each. */
  ablation?: Ablation;
  /** Seed of data, initial values, batches and order. Default 0. */
  seed?: number;
  /**
   * What becomes of a configuration whose medium is not here: emulated and named so, an error, or left out. Default
   * "emulate".
   */
  whenUnavailable?: "emulate" | "error" | "skip";
}

/** One way to hold the embedding tables, every default filled in that does not depend on the machine or the data. */
export interface ResolvedConfiguration {
  /** One sentence for the report. */
  readonly about: string;
  /**
   * Tiers, fastest first. DRAM; PMEM_LIBPMEM (file of a DAX file system); PMEM_MEMKIND and PMEM_MBIND (PMEM or CXL
   * memory as a NUMA node); SSDHASH and LEVELDB (files on a disk); DRAM_PMEM, DRAM_SSDHASH, DRAM_LEVELDB, DRAM_PMEM_SSDHASH and
   * DRAM_PMEM_LEVELDB (hot rows in the first, the coldest in the last); HBM, and HBM_ before any with DRAM first.
   */
  readonly storage: ScenarioStorage;
  /** Where PMEM is a tier among several. */
  readonly pmem?: PmemLibrary;
  /** What holds the HBM tier; absent without one. */
  readonly hbm?: HbmLibrary;
  /** NUMA nodes of HBM; absent but where memkind or mbind holds it. */
  readonly hbmNodes?: "auto" | readonly number[];
  /** Part of the name of the OpenCL device, or of its platform; absent: a GPU, or else any. */
  readonly hbmDevice?: string;
  /** Steps from which an OpenCL device's pool is sized; absent: it has the tier's size at once. */
  readonly hbmPoolSteps?: number;
  /** Bytes of the host's memory that the pool may go on in; absent: none. */
  readonly hbmHostBytes?: number;
  /** Where libpmem is used: a directory or `auto`. */
  readonly path?: string;
  /** Where SSDHASH or LEVELDB is a tier: a directory or `auto`. */
  readonly ssdPath?: string;
  /** What the disk is, if the scenario says it. */
  readonly ssd?: { readonly media: string; readonly devices: number };
  /** Where memkind or mbind is used. */
  readonly nodes?: "auto" | readonly number[];
  /** Bytes of each tier, if the scenario gave them. */
  readonly size?: readonly number[];
  /** What counts against the sizes: everything the store holds, or padded rows only (DeepRec's way). */
  readonly sizeCounts: "all" | "rows";
  /** Which rows leave a full tier; absent with one tier. */
  readonly policy?: EvictionPolicy;
  /** Background threads that move rows down; absent with one tier. */
  readonly evictionThreads?: number;
  /** Who places rows over DRAM and what is below it, other than the store. With storage DRAM only. */
  readonly memory?: MemoryPolicy;
  /** Where pages are interleaved: pages in turn from each node of DRAM and from each slower node. */
  readonly weights?: readonly number[];
  /** What the memory below DRAM has to be; absent: PMEM or CXL memory. */
  readonly medium?: TierMedium;
  /** Media model that a missing medium is emulated as; absent without PMEM. */
  readonly media?: string;
  /** How its checkpoints are made, if it is another way than the scenario's. */
  readonly checkpoint?: CheckpointKind;
  /** What one machine costs that holds the tables; absent: the cheapest machines are priced. */
  readonly machine?: MachineCost;
}

/** A scenario with every default filled in: plain JSON, sizes in bytes, durations in seconds. */
export interface ResolvedScenario {
  /** Version of the scenario format. */
  readonly version: 1;
  /** Names the run and its folder of results. */
  readonly name: string;
  /** What the scenario shows, in a sentence or two. */
  readonly about: string;
  /** What is trained. */
  readonly workload: ResolvedWorkload;
  /** The ways to hold the embedding tables that are compared, by name. */
  readonly configurations: Readonly<Record<string, ResolvedConfiguration>>;
  /** Bytes; `auto` until the data is known. */
  readonly dram: number | "auto";
  /** Samples of each case, each in its own process; 3 at least. */
  readonly repetitions: number;
  /** How the samples of a round share its time; absent: `auto`. */
  readonly sampling?: Exclude<Sampling, "auto">;
  /** False: no contender is repeated (A/A), so the run's noise floor rests on its cases alone. */
  readonly aa?: false;
  /** Seconds. */
  readonly budget: number;
  /** The longer run that gives the AUC; once, since rows are equal to the bit on all configurations. */
  readonly quality: {
    /** `auto`: every training row once, or as many as half the budget allows; 0: no such run. */
    readonly samples: number | "auto";
    readonly evaluations: number;
    /** 0 is all. */
    readonly testRows: number;
    /** AUC whose time is a result, if the scenario asks for it. */
    readonly targetAuc?: number;
  };
  /** Checkpoints that samples write while they train; absent where the scenario says nothing of them. */
  readonly checkpoint?: Readonly<Required<CheckpointSchedule>>;
  /** Processes that train one model together; absent: one process without ranks. */
  readonly cluster?: ResolvedRankCluster;
  /** What must be met; absent: nothing. */
  readonly target?: Target;
  /** How speed becomes money. */
  readonly cost: ResolvedCost;
  /** Fields to vary, as "workload.batch": [512, 2048]; the run has a case for every combination. */
  readonly matrix: Readonly<Record<string, readonly MatrixValue[]>>;
  /** What each optimisation is worth, if the scenario asks. */
  readonly ablation?: { readonly switches: Readonly<Switches>; readonly cases: readonly AblationCase[] };
  /** Seed of data, initial values, batches and order. */
  readonly seed: number;
  /** What becomes of a configuration whose medium is not here: emulated and named so, an error, or left out. */
  readonly whenUnavailable: "emulate" | "error" | "skip";
}
