/**
 * What a run and its worker processes say to each other. The run writes one {@linkcode WorkerSpec} as a line to the
 * worker's standard input and keeps the pipe open: its end tells the worker that the run is gone. The worker writes
 * {@linkcode WorkerMessage}s, one JSON value a line, to its standard output.
 *
 * @module
 */

import type { Phase } from "./record.ts";
import type { StorageType } from "../ffi/options.ts";
import type { ResolvedInitializer } from "./scenario.ts";

/** Options of the store that a worker opens. */
export interface WorkerStore {
  readonly storage: StorageType;
  readonly pmem?: "libpmem" | "memkind";
  readonly path?: string;
  readonly size: readonly number[];
  readonly sizeCounts: "all" | "rows";
  readonly seed: number;
  /** Options passed through as they are: `emulate.*`, `memory_mode.*`. */
  readonly native: Readonly<Record<string, string>>;
}

/** Options of the trainer that a worker opens. */
export interface WorkerTrainer {
  readonly data: string;
  readonly batch: number;
  readonly dim: number;
  readonly hidden: readonly number[];
  readonly threads: number;
  readonly seed: number;
  readonly deepOptimizer: "adagrad" | "sgd";
  readonly deepLearningRate: number;
  readonly deepInitialAccumulator?: number;
  readonly wideLearningRate: number;
  readonly wideInitialAccumulator: number;
  readonly wideL1: number;
  readonly wideL2: number;
  readonly initializer: ResolvedInitializer;
}

/** What a worker is to do. */
export type WorkerSpec =
  & { readonly store: WorkerStore; readonly trainer: WorkerTrainer }
  & (
    | {
      /** Fill the tables, warm up, train and count. */
      readonly task: "speed";
      readonly warmup: number;
      readonly steps: number;
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

/** One tier at the end of a speed sample. */
export interface WorkerTier {
  readonly tier: number;
  readonly type: string;
  readonly medium: string;
  readonly limitBytes: number;
  readonly usedBytes: number;
  readonly purposes: Readonly<Record<string, number>>;
  readonly rows: number;
  readonly facts: Readonly<Record<string, string>>;
}

/** What a speed sample found. */
export interface SpeedOutcome {
  readonly task: "speed";
  readonly stepNs: readonly number[];
  readonly phaseNs: Readonly<Record<Phase, number>>;
  readonly loss: number;
  readonly statistics: Readonly<Record<string, number>>;
  readonly tiers: readonly WorkerTier[];
  readonly tableBytes: number;
  readonly digest: string;
}

/** What a quality run found. */
export interface QualityOutcome {
  readonly task: "quality";
  /** Steps trained. */
  readonly steps: number;
  readonly curve: readonly {
    readonly samples: number;
    readonly seconds: number;
    readonly logloss: number;
    readonly auc: number;
  }[];
  readonly testRows: number;
  readonly digest: string;
}

/** Part of a worker's run. */
export type WorkerPhase = "fill" | "warmup" | "train" | "evaluate";

/** One line of a worker. */
export type WorkerMessage =
  | { readonly type: "progress"; readonly phase: WorkerPhase; readonly done: number; readonly total: number }
  | { readonly type: "outcome"; readonly outcome: SpeedOutcome | QualityOutcome }
  | { readonly type: "error"; readonly message: string };
