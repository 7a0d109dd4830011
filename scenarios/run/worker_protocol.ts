/**
 * What a run and its worker processes say to each other. The run writes one {@linkcode WorkerSpec} as a line to the
 * worker's standard input and keeps the pipe open: its end tells the worker that the run is gone. A further line is
 * {@linkcode METRICS_LINE}, which asks what it counts, or the next turn of a worker that said it waits for one. The worker
 * writes {@linkcode WorkerMessage}s, one JSON value a line, to its standard output.
 *
 * @module
 */

import type { MetricFamily } from "../../base/open_metrics.ts";
import type { QualityRecord, RankRecord, SampleRecord, TierRecord } from "../record.ts";
import type { EvictionPolicy } from "../../ffi/options.ts";
import type { Mpi } from "../../ffi/ranks.ts";
import type { HbmLibrary, PmemLibrary, StorageType } from "../../ffi/storage.ts";
import type { TrainerOptions, TrainerTable } from "../../ffi/trainer.ts";
import type { ResolvedInitializer } from "../scenario.ts";

/** The line that asks a worker what its store and its trainer count. */
export const METRICS_LINE = "metrics";

/** Options of the store that a worker opens. */
export interface WorkerStore {
  readonly storage: StorageType;
  readonly pmem?: PmemLibrary;
  readonly pmemNodes?: readonly number[];
  readonly hbm?: HbmLibrary;
  readonly hbmNodes?: readonly number[];
  readonly hbmDevice?: string;
  readonly hbmPoolSteps?: number;
  readonly hbmHostBytes?: number;
  readonly path?: string;
  readonly ssdPath?: string;
  readonly size: readonly number[];
  readonly sizeCounts: "all" | "rows";
  readonly seed: number;
  readonly policy?: EvictionPolicy;
  readonly evictionThreads?: number;
  readonly trackChanges?: boolean;
  readonly persistent?: boolean;
  /** Options passed through as they are: `emulate.*`, `memory_mode.*`. */
  readonly native: Readonly<Record<string, string>>;
}

/** Options of the trainer that a worker opens: those of the library, with what a run always gives, as JSON carries it. */
export interface WorkerTrainer extends TrainerOptions {
  readonly batch: number;
  readonly threads: number;
  readonly seed: number;
  readonly tables: readonly TrainerTable[];
  readonly initializer: ResolvedInitializer;
}

/** Checkpoints that a worker makes: after every so many steps, in files of a folder or in the last tier. */
export type WorkerCheckpoints =
  | { readonly every: number; readonly kind: "full" | "delta"; readonly path: string }
  | { readonly every: number; readonly kind: "in-place" };

/** What a worker is to do. */
export type WorkerSpec =
  & {
    readonly store: WorkerStore;
    readonly trainer: WorkerTrainer;
    /** Files that it locks as long as it lives: its folders are its own, too, when the run is gone before it. */
    readonly owners?: readonly string[];
  }
  & (
    | {
      /** Fill the tables, warm up, train and count. */
      readonly task: "speed";
      readonly warmup: number;
      readonly steps: number;
      /** Checkpoints to write meanwhile, and where: after every so many steps. */
      readonly checkpoint?: WorkerCheckpoints;
      /**
       * Counted steps of a turn: before each it says so and waits for a line. Absent: it trains them in one piece. Not with
       * checkpoints, nor over ranks.
       */
      readonly turn?: number;
    }
    | {
      /** Train and score held-out rows along the way. */
      readonly task: "quality";
      readonly steps: number;
      readonly evaluations: number;
      readonly testData: string;
      /** Held-out rows to score each time. */
      readonly testRows: number;
      /** Seconds it may train and score; it ends with fewer steps if it needs more. Default: no limit. */
      readonly seconds?: number;
    }
  );

/** One tier at the end of a speed sample, as the store describes it. */
export type WorkerTier = Omit<TierRecord, "kind" | "ssd" | "emulates" | "modelLimit">;

/** What a speed sample found. */
export interface SpeedOutcome
  extends Pick<SampleRecord, "stepNs" | "phaseNs" | "loss" | "statistics" | "tableBytes" | "digest"> {
  readonly task: "speed";
  /** What the trainer says of itself. */
  readonly trainer: Readonly<Record<string, string>>;
  readonly tiers: readonly WorkerTier[];
  /** Every table: its weights a row, and the different rows of each counted step that took one, summed over the steps. */
  readonly tables: readonly { readonly dim: number; readonly distinct: number }[];
  /** Keys that wait for a row at the end, where tables count them. */
  readonly waitingKeys?: number;
  /** Checkpoints, where some were asked for. */
  readonly checkpoint?: NonNullable<SampleRecord["checkpoint"]>;
  /** Processor time that its threads took while it waited for its turns, nanoseconds; absent in one piece. */
  readonly waitingCpuNs?: number;
  /** What this rank sent in the counted steps; absent without ranks. */
  readonly exchange?: Pick<
    RankRecord,
    "messages" | "sentBytes" | "receivedBytes" | "messageNs" | "waitingNs" | "movingNs"
  >;
  /** Counted steps that ranks trained asynchronously: by rank, and by how many updates they missed; absent in step. */
  readonly asynchronous?: { readonly batches: readonly number[]; readonly missed: readonly number[] };
  /** All ranks and what started them; absent without ranks. */
  readonly cluster?: RankFacts;
}

/** What ranks said of themselves. */
export interface RankFacts {
  /** Name and version of the MPI. */
  readonly library: string;
  /** Every rank, in their order, with its outcome. */
  readonly ranks: readonly { readonly hello: RankHello; readonly outcome: SpeedOutcome }[];
}

/** What a rank says when it has joined. */
export interface RankHello extends Pick<RankRecord, "rank" | "host" | "machine"> {
  /** Its process on its host. */
  readonly pid: number;
  /** Name and version of the MPI. */
  readonly library: string;
}

/** What all ranks of a job are to do. */
export interface RankJob {
  /** The MPI that starts them; absent: one rank alone. */
  readonly mpi?: Mpi;
  /** How many of them, the last ones, only hold rows. */
  readonly servers: number;
  /** Of a rank that holds rows; its folders are within those named here. */
  readonly spec: WorkerSpec;
  /** Store of a rank that holds none. */
  readonly empty: WorkerStore;
}

/** What a quality run found. */
export interface QualityOutcome extends Pick<QualityRecord, "curve" | "testRows" | "digest"> {
  readonly task: "quality";
  /** Steps trained. */
  readonly steps: number;
  /** What the trainer says of itself. */
  readonly trainer: Readonly<Record<string, string>>;
}

/** Part of a worker's run. */
export type WorkerPhase = "fill" | "warmup" | "train" | "evaluate";

/** One line of a worker. */
export type WorkerMessage =
  | { readonly type: "progress"; readonly phase: WorkerPhase; readonly done: number; readonly total: number }
  | { readonly type: "outcome"; readonly outcome: SpeedOutcome | QualityOutcome }
  /** It waits for its next turn. */
  | { readonly type: "turn" }
  /** What its store and its trainer count, as it was asked; nothing where they are not open. */
  | { readonly type: "metrics"; readonly families: readonly MetricFamily[] }
  | { readonly type: "rank"; readonly hello: RankHello }
  /** `lost`: a message to or from another rank failed, so that the cause may be there. */
  | { readonly type: "error"; readonly message: string; readonly lost?: boolean };
