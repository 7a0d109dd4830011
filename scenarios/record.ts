/**
 * What a run writes and a report reads: `result.jsonl`, one JSON value a line. The first line is a
 * {@linkcode RunRecord}; every later line a {@linkcode SampleRecord} or a {@linkcode QualityRecord}. Lines are only
 * ever appended, so an interrupted run leaves complete records. Everything a report prints can be recomputed from
 * this file and the price book.
 *
 * @module
 */

import type { Phase } from "../base/phases.ts";
import type { MachineRecord } from "../machines/inventory/machine_record.ts";
import type { BandBasis } from "../models/media/calibration/basis.ts";
import type { DataRecord } from "../models/workloads/data.ts";
import type { CheckpointKind, ResolvedScenario } from "./scenario.ts";
import type { AskedQuestion } from "../models/simulation/record.ts";

export { type Phase, PHASES } from "../base/phases.ts";
export type { MachineRecord } from "../machines/inventory/machine_record.ts";
export type { DataRecord } from "../models/workloads/data.ts";

/** How a figure was obtained. The three are never mixed in one comparison without saying so. */
export type Evidence = "measured" | "emulated" | "simulated";

/** A medium that nothing on the machine proves, and what it is by the word of the machine's owner. */
export interface Vouched {
  /** A media model's name, or that of a family of models: `optane-200`. */
  readonly medium: string;
  /** Whose word it is. */
  readonly by: "owner";
  /** What the machine itself shows of the medium. */
  readonly shows: string;
}

/** First line of a result file. */
export interface RunRecord {
  /** What kind of line this is. */
  readonly type: "run";
  /** Version of this format. */
  readonly format: 1;
  /** When the run began, ISO 8601 in UTC. */
  readonly started: string;
  /** What was run, every default filled in. */
  readonly scenario: ResolvedScenario;
  /** SHA-256 (hex) of the canonical JSON of `scenario`; a resumed run must have the same. */
  readonly scenarioDigest: string;
  /** Where it ran. */
  readonly machine: MachineRecord;
  /** Versions of tierbench, the native library, Deno, V8, TypeScript, libdnnl, libpmem, memkind: name to version. */
  readonly versions: Readonly<Record<string, string>>;
  /** The data the samples train on. */
  readonly data: DataRecord;
  /** Switches of the scenario's ablation that this machine does not have, and why; absent if there are none. */
  readonly leftOut?: readonly { readonly switch: string; readonly why: string }[];
  /** The scenario's own files of prices, with their text, so that the result can be priced anywhere; absent without. */
  readonly priceFiles?: readonly { readonly name: string; readonly text: string }[];
  /**
   * How far from published figures each media model that a case is slowed to was found to be, by its name; empty for a model
   * without a published figure. Absent without emulated cases, and in results of earlier versions.
   */
  readonly modelBands?: Readonly<Record<string, readonly ModelBand[]>>;
  /** Which share of a run this is, and how many samples it plans; absent of a whole run. */
  readonly shard?: { readonly index: number; readonly of: number; readonly samples: number };
  /** The shares that this result was joined of; absent where it was not. */
  readonly merged?: {
    /** Shares of the run. */
    readonly of: number;
    /** Those that are here: when each began, on which CPU, and how many of its samples are missing. */
    readonly shards: readonly {
      readonly index: number;
      readonly started: string;
      readonly cpu: string;
      readonly missing: number;
    }[];
    /** Numbers of those that are not. */
    readonly lost: readonly number[];
  };
  /** Why no sample has `energy`; absent where the machine's counters can be read, and in results of earlier versions. */
  readonly energyMissing?: string;
  /** Configurations whose medium the owner vouched for (`--vouch`); absent if there are none. */
  readonly vouched?: readonly (Vouched & { readonly configuration: string })[];
}

/** How wrong one kind of figure of a media model may be (`models/media/calibration/residuals.json`, `docs/accuracy.md`). */
export interface ModelBand {
  /** Which figures of the medium. */
  readonly kind: "latency" | "read" | "write" | "mixed";
  /** Those of one access alone (`nt-store`, `flushed-store, fenced`, …); absent: all of the kind. */
  readonly access?: string;
  /** 90 % of the published figures are within the model's divided by this and the model's times this. */
  readonly factor: number;
  /** Whose figures that was found with. */
  readonly basis: BandBasis;
  /** Published figures of the medium that were compared. */
  readonly points: number;
  /** Curves that they belong to. */
  readonly curves: number;
  /** Least and most bytes of an access in them. */
  readonly bytes: readonly [number, number];
  /** Least and most threads in them. */
  readonly threads: readonly [number, number];
}

/** What a media model gives to random accesses of a row's bytes by all threads of a run, with nothing beside them. */
export interface ModelLimit {
  /** Bytes a second if all are reads. */
  readonly readBytesPerSecond: number;
  /** Bytes a second if all are writes, made as the tier makes them. */
  readonly writeBytesPerSecond: number;
  /** Bytes of a row: the mean of the rows in the tier at the end, rounded. */
  readonly rowBytes: number;
  /** Threads. */
  readonly threads: number;
}

/**
 * Kinds of media: memory of the machine, persistent memory modules, memory behind CXL, a disk, memory of a GPU. A tier whose
 * name says PMEM may be any memory that is slower than DRAM, and what it costs depends on this.
 */
export type MediumKind = "dram" | "pmem" | "cxl" | "ssd" | "hbm";

/** What one tier of a configuration really was in a sample. */
export interface TierRecord {
  /** Position, fastest first. */
  readonly tier: number;
  /** `DRAM`, `PMEM_LIBPMEM`, `PMEM_MEMKIND`, `PMEM_MBIND`, `HBM_MEMKIND`, `HBM_MBIND`, `HBM_OPENCL`, `SSDHASH`, `LEVELDB`. */
  readonly type: string;
  /**
   * What kind of medium its figures are those of: the one that was measured, or the one that it was slowed to. Absent in
   * results of earlier versions.
   */
  readonly kind?: MediumKind;
  /** What held the bytes, e.g. `DRAM`, `tmpfs file`, `DRAM of node 0`, `fsdax`; of a tier on a disk, that disk. */
  readonly medium: string;
  /** Media model it was slowed to, if emulated; a tier without it was measured, also beside one that was not. */
  readonly emulates?: string;
  /**
   * What that model can give the tier. Absent for a tier without one or without rows, behind the modelled cache of Memory
   * Mode, and in results of earlier versions.
   */
  readonly modelLimit?: ModelLimit;
  /**
   * What the store asks that model for the tier's rows, and how many figures back each answer. Absent for a tier without one or
   * without rows, behind the modelled cache of Memory Mode, and in results of earlier versions.
   */
  readonly questions?: readonly AskedQuestion[];
  /** What the disk of the tier is by the scenario's word; absent where it says nothing. */
  readonly ssd?: { readonly media: string; readonly devices: number };
  /** Byte limit. */
  readonly limitBytes: number;
  /** Bytes used at the end. */
  readonly usedBytes: number;
  /** Bytes at the end by purpose: rows, index, policy, buffers, slack. */
  readonly purposes: Readonly<Record<string, number>>;
  /** Rows at the end. */
  readonly rows: number;
  /**
   * Other facts of `ts_store_describe`: path, is_pmem, forced, node, ... Of `HBM_OPENCL`: device, platform, driver, version,
   * and kind, which is `measured`, or `emulated` on a device that is a CPU; pool_bytes, pool_parts, pool_plan, pool_ns,
   * staging_bytes, host_bytes and host_ns of its memory.
   */
  readonly facts: Readonly<Record<string, string>>;
}

/** Which sample of a run a record is about. */
export interface SampleIdentity {
  /** What kind of line this is. */
  readonly type: "sample";
  /** Unique in the file: `<configuration>[<matrix point>]#<n>`. */
  readonly id: string;
  /** Configuration name in the scenario, with its matrix point, e.g. `fsdax` or `fsdax workload.batch=512`. */
  readonly case: string;
  /** Name of the configuration in the scenario. */
  readonly configuration: string;
  /** Matrix point of the case: dotted field to value; empty without a matrix. */
  readonly point: Readonly<Record<string, string | number | boolean>>;
  /** Sample number in the case, from 1. */
  readonly sample: number;
  /**
   * True of a repeated contender: the configuration once more in the same round, under the name `<case> (again)`, so that the
   * run shows how far a case is from itself (A/A). Absent of all others.
   */
  readonly again?: true;
  /** Position in the randomised order of the whole run, from 1. */
  readonly position: number;
  /** When it began, ISO 8601 in UTC. */
  readonly started: string;
}

/**
 * What a step sends over a network to servers that hold the rows, and back: computed by `ts_step_cost` for the rows that the
 * sample's steps had. Means of the counted steps.
 */
export interface WireRecord {
  /** Different rows of a step, of all tables. */
  readonly distinctRows: number;
  /** Bytes to the servers, all together: keys of the pull, keys and gradients of the push. */
  readonly toServers: number;
  /** Bytes from them: rows of the pull. */
  readonly fromServers: number;
}

/** What admission and expiry did in a sample. */
export interface FilterRecord {
  /** Rows that keys got in the counted steps. */
  readonly admitted: number;
  /** Lookups in the counted steps that were answered with the default value, each key once a call. */
  readonly refused: number;
  /** Rows that were removed in the counted steps since they had expired. */
  readonly expired: number;
  /** Keys at the end that were looked up and have no row yet; absent where no table counts them one by one. */
  readonly waiting?: number;
}

/** What checkpoints cost a sample. */
export interface CheckpointRecord {
  /** Steps between two cuts; the counted steps end with one if they are a multiple of it. */
  readonly every: number;
  /** Each of them, in their order. */
  readonly written: readonly {
    /** Counted steps before its cut. */
    readonly step: number;
    /** What it is: a first one in files is full. */
    readonly kind: CheckpointKind;
    /** Nanoseconds that training waited for the one before to be durable; part of that step's time in `stepNs`. */
    readonly waitedNs: number;
    /** Nanoseconds that training stood still for the cut; part of that step's time, too. */
    readonly cutNs: number;
    /** Nanoseconds from the beginning of the cut until it was durable. */
    readonly durableNs: number;
    /** Bytes of its files; of one in place those of the rows that were put down for it, and of the file beside. */
    readonly bytes: number;
    /**
     * Rows that were put down for it, of one in place: those above the last tier that changed since they were last put down. Of
     * the second and later ones these are what checkpoints write beyond what leaves the upper tiers anyway; absent of files.
     */
    readonly rows?: number;
  }[];
  /** Nanoseconds to restore the newest into a store and a trainer that were opened anew; in place, to take it up (`resume`). */
  readonly restoreNs: number;
  /** Bytes that this read: of the newest and of what it stands on; in place, those of the last tier's files, at most. */
  readonly restoredBytes: number;
}

/** One of the processes that trained a model together. */
export interface RankRecord {
  /** Its number, from 0. */
  readonly rank: number;
  /** Name of its machine. */
  readonly host: string;
  /** What that machine is. */
  readonly machine: {
    readonly cpu: string;
    readonly cpus: number;
    readonly memoryBytes: number;
    readonly kernel: string;
  };
  /** Whether it trains. */
  readonly trains: boolean;
  /** Its tiers, fastest first; empty if it holds no rows. */
  readonly tiers: readonly TierRecord[];
  /** Bytes of its rows at the end. */
  readonly tableBytes: number;
  /** Wall time of the counted steps on it, nanoseconds. */
  readonly stepsNs: number;
  /** Of asynchronous ones, how many it took itself. */
  readonly steps?: number;
  /** Messages of the counted steps. */
  readonly messages: number;
  /** Bytes that it sent to other ranks in them. */
  readonly sentBytes: number;
  /** Bytes that it received from other ranks. */
  readonly receivedBytes: number;
  /** Nanoseconds in messages, waiting for other ranks included. */
  readonly messageNs: number;
  /**
   * Of them, what each message took it longer than the rank that it took the shortest: the last to come waits for nobody. Of
   * messages of all ranks alone, which asynchronous steps have none of.
   */
  readonly waitingNs: number;
  /** And what it took that rank. */
  readonly movingNs: number;
}

/** The processes of a sample that was trained over ranks. */
export interface ClusterRecord {
  /** Whether every rank holds rows, or the last ones, which do not train. */
  readonly layout: "collocated" | "servers";
  /** What started them; `none`: one rank alone. */
  readonly launcher: "mpirun" | "srun" | "none";
  /** Of ranks that train asynchronously; absent: in step. */
  readonly staleness?: {
    /** Of how many steps before it a step may miss the updates. */
    readonly bound: number;
    /** Counted steps that missed those of 0, 1, ... of them when they read rows or dense weights. */
    readonly missed: readonly number[];
  };
  /** Name and version of the MPI; `none` for one rank alone. */
  readonly library: string;
  /** Whether several ranks had one machine: their speed is not that of a cluster then. */
  readonly sharedMachine: boolean;
  /** All of them, in their order. */
  readonly ranks: readonly RankRecord[];
}

/**
 * What the machine did while a sample ran, or all samples of a round that trained in turns, by counters of its kernel; shares
 * are of the time of all processors.
 */
export interface ConditionsRecord {
  /** Time of the run itself and of its worker. */
  readonly ownShare: number;
  /** Time of everything else that this machine ran. */
  readonly othersShare: number;
  /** Time that a hypervisor gave to other guests (steal). */
  readonly stolenShare: number;
  /** Pages that went to or came from swap, of the whole machine. */
  readonly swappedPages: number;
  /** Pages that the kernel moved between NUMA nodes, of the whole machine. */
  readonly migratedPages: number;
  /**
   * Time in which a limit of the control group held its processes back ÷ wall time of the sample; absent where there is no
   * control group of version 2.
   */
  readonly throttledShare?: number;
  /** Bytes that block devices gave, of the whole machine; absent in results of earlier versions. */
  readonly readBytes?: number;
  /**
   * Settings of the kernel at its end that change speeds: `transparent_hugepage`, `numa_balancing`, `governor`, `boost`. What a
   * machine does not have is absent, and all of them are in results of earlier versions.
   */
  readonly settings?: Readonly<Record<string, string>>;
}

/**
 * What processors and memory of this machine used while a sample had it, idle power and everything else on the machine included,
 * by RAPL: a processor's own counters, whose figures are partly a model of the maker's.
 */
export interface EnergyRecord {
  /** Seconds that it was counted in: the process, without the turns of others. */
  readonly seconds: number;
  /** Joules of all packages: cores, caches and what is with them. */
  readonly packageJoules: number;
  /** Joules of the memory at them; absent where the processor does not count it. */
  readonly dramJoules?: number;
}

/** Whether rows follow from scenario and seed to the bit: not those of the fast mode, nor of steps that may be stale. */
export function isDeterministic({ trainer }: Pick<SampleRecord, "trainer"> | Pick<QualityRecord, "trainer">): boolean {
  return trainer?.["deterministic"] !== "0";
}

/** One speed sample: one worker process, or the ranks of one job, one configuration. */
export interface SampleRecord extends SampleIdentity {
  /** Whether it completed. */
  readonly status: "completed";
  /** How its figures were obtained. */
  readonly evidence: Evidence;
  /** Whose word says what was measured; absent where the medium was verified, or stood in for. */
  readonly vouched?: Vouched;
  /** One sentence: how the figure was obtained. */
  readonly how: string;
  /** Seed of the run's initial values and batches. */
  readonly seed: number;
  /** Wall time of the whole process, seconds. */
  readonly processSeconds: number;
  /**
   * Where the samples of its round trained in turns: counted steps of a turn; seconds of its turns, of its start and its end
   * too; and nanoseconds of processor time that its threads took between them. Absent where it had the machine all the time.
   */
  readonly turns?: { readonly steps: number; readonly seconds: number; readonly waitingCpuNs: number };
  /** Training samples a step. */
  readonly batch: number;
  /** Compute threads. */
  readonly threads: number;
  /** Steps before `stepNs` that are not counted. */
  readonly warmupSteps: number;
  /** Wall time of every counted step, nanoseconds. */
  readonly stepNs: readonly number[];
  /** Nanoseconds per phase over the counted steps. */
  readonly phaseNs: Readonly<Record<Phase, number>>;
  /** Mean logloss over the counted steps. */
  readonly loss: number;
  /**
   * What the trainer says of itself (`ts_trainer_describe`): model, kernels, what was staged, page faults, share of old
   * rows. Absent in results of earlier versions.
   */
  readonly trainer?: Readonly<Record<string, string>>;
  /** Store counters over the counted steps, by name (`ts_statistics_names`). */
  readonly statistics: Readonly<Record<string, number>>;
  /** What the machine used meanwhile; absent where it cannot be read, and in results of earlier versions. */
  readonly energy?: EnergyRecord;
  /** What a step would send to servers; absent where no row took a step, and in results of earlier versions. */
  readonly wire?: WireRecord;
  /** What admission and expiry did; absent where no table has either, and in results of earlier versions. */
  readonly filter?: FilterRecord;
  /** What checkpoints cost; absent without, and in results of earlier versions. */
  readonly checkpoint?: CheckpointRecord;
  /**
   * The ranks that trained it; absent without. `tiers`, `tableBytes` and `statistics` are then sums over them, times those of
   * rank 0.
   */
  readonly cluster?: ClusterRecord;
  /** Its tiers, fastest first. */
  readonly tiers: readonly TierRecord[];
  /** Bytes of DRAM the configuration was allowed for tables: first-tier limit, or the modelled DRAM cache. */
  readonly dramBytes: number;
  /** Bytes of rows in the tables at the end. */
  readonly tableBytes: number;
  /** Digest (hex) of all rows and dense parameters at the end: equal across configurations with equal steps. */
  readonly digest: string;
  /** Environment variables set for this process alone. */
  readonly environment: Readonly<Record<string, string>>;
  /**
   * Bytes by which its environment is longer, drawn for each sample: how long that is moves stack and heap, and so speeds, by
   * some percent (Mytkowicz et al., ASPLOS 2009). Absent over ranks, and in results of earlier versions.
   */
  readonly padding?: number;
  /** What else the machine did meanwhile; absent where its kernel does not count it, and in results of earlier versions. */
  readonly conditions?: ConditionsRecord;
  /**
   * True if the medium may be virtual (a guest's NVDIMM): the code path is that of a measurement, the evidence
   * `emulated`, and no speed or price may be shown. Files of earlier versions say `measured` there.
   */
  readonly virtual: boolean;
}

/** A sample that did not complete. Kept, so that a report can say so. */
export interface FailedRecord extends SampleIdentity {
  /** Whether it completed. */
  readonly status: "failed";
  /** What was asked, what was found, what to do. */
  readonly error: string;
}

/**
 * An area under the ROC curve. `null` where it is undefined: the rows that were scored have labels of one class, so that there
 * is no pair that a score could order.
 */
export type Auc = number | null;

/** Why an AUC is not defined. */
export const NO_AUC = "labels of one class";

/** `AUC 0.7512`, or `AUC not defined (labels of one class)`. */
export function aucText(auc: Auc): string {
  return auc === null ? `AUC not defined (${NO_AUC})` : `AUC ${auc.toFixed(4)}`;
}

/** The same for a cell of a column of AUCs: `0.7512`, or `not defined`. */
export function aucCell(auc: Auc): string {
  return auc === null ? "not defined" : auc.toFixed(4);
}

/**
 * A longer run that gives the AUC: once per scenario, since rows are bit-identical on all configurations; in an ablation
 * once for every of its variants that ends with other rows; and once more in deterministic mode beside the fast one.
 */
export interface QualityRecord {
  /** What kind of line this is. */
  readonly type: "quality";
  /** `quality` for the first, `quality[<matrix point>]` for others. Absent, as `quality`, in results of earlier versions. */
  readonly id?: string;
  /** Name of the configuration in the scenario. */
  readonly configuration: string;
  /** Matrix point of its case. Absent, as the first, in results of earlier versions. */
  readonly point?: Readonly<Record<string, string | number | boolean>>;
  /** Whether it ran in deterministic mode; absent, as true, in results of earlier versions. */
  readonly deterministic?: boolean;
  /** How its figures were obtained. */
  readonly evidence: Evidence;
  /** Whose word says what was measured, as in samples. */
  readonly vouched?: Vouched;
  /** When it began, ISO 8601 in UTC. */
  readonly started: string;
  /** Wall time of the whole process, seconds. */
  readonly seconds: number;
  /** Steps trained. */
  readonly steps: number;
  /** Training samples a step. */
  readonly batch: number;
  /**
   * Held-out points along the run: samples trained, seconds since its start, seconds of them spent training (absent in
   * results of earlier versions), logloss, AUC.
   */
  readonly curve: readonly {
    readonly samples: number;
    readonly seconds: number;
    readonly trainSeconds?: number;
    readonly logloss: number;
    readonly auc: Auc;
  }[];
  /** Logloss on the held-out rows at the end: last point of the curve. */
  readonly logloss: number;
  /** AUC on the held-out rows at the end. */
  readonly auc: Auc;
  /** Held-out rows. */
  readonly testRows: number;
  /** What the trainer says of itself, as in samples. */
  readonly trainer?: Readonly<Record<string, string>>;
  /** Digest (hex) of all rows and dense parameters at the end. */
  readonly digest: string;
}

/** What caches of other sizes would miss at a point of the matrix: computed from the law of the data. */
export interface CurveRecord {
  /** What kind of line this is. */
  readonly type: "curve";
  /** Matrix point. */
  readonly point: Readonly<Record<string, string | number | boolean>>;
  /** Policy of `misses`. */
  readonly policy: string;
  /** Policy of `bounds`: `popular` keeps the most popular rows, which is the best for independent draws. */
  readonly bound: string;
  /** `analytic`. */
  readonly method: string;
  /** What the ratios are shares of. */
  readonly denominator: string;
  /** Lookups that come together. */
  readonly batch: number;
  /** All rows. */
  readonly rows: number;
  /** Bytes of a row. */
  readonly rowBytes: number;
  /** Rows of each cache, rising, above 0. */
  readonly sizes: readonly number[];
  /** Miss ratios under the policy. */
  readonly misses: readonly number[];
  /** Miss ratios of the bound. */
  readonly bounds: readonly number[];
}

/** Why a run that goes on until its figures are precise enough took no further round. */
export interface EndRecord {
  /** What kind of line this is. */
  readonly type: "end";
  /** Rounds that were taken. */
  readonly rounds: number;
  /** `enough`: they are precise enough. `budget`: there was no time for another round. `most`: there are as many as a run takes. */
  readonly why: "enough" | "budget" | "most";
  /** How precise they are and what was asked for. */
  readonly words: string;
}

/** Any line of a result file. */
export type ResultRecord = RunRecord | SampleRecord | FailedRecord | QualityRecord | CurveRecord | EndRecord;

/** A parsed result file. */
export interface Result {
  /** The first line. */
  readonly run: RunRecord;
  /** Samples that completed. */
  readonly samples: readonly SampleRecord[];
  /** Of them, those of repeated contenders are kept apart here; absent where there are none. */
  readonly again?: readonly SampleRecord[];
  /** Samples that did not. */
  readonly failed: readonly FailedRecord[];
  /** The run that gives the AUC, if there is one: the first of `qualities`. */
  readonly quality: QualityRecord | undefined;
  /** Every run that gives an AUC. */
  readonly qualities: readonly QualityRecord[];
  /** Miss-ratio curves; absent in results of earlier versions, and where there are none. */
  readonly curves?: readonly CurveRecord[];
  /** Why it took no further round; absent of a run of as many as its scenario says. */
  readonly end?: EndRecord;
}
