/**
 * What a run tells while it goes on.
 *
 * @module
 */

import type {
  DataRecord,
  Evidence,
  FailedRecord,
  MachineRecord,
  QualityRecord,
  SampleRecord,
  Vouched,
} from "../record.ts";
import type { WorkerPhase } from "./worker_protocol.ts";

/** One case as a plan shows it. */
export interface PlanLine {
  /** Name of the case. */
  readonly case: string;
  /** Absent if the case is left out. */
  readonly evidence?: Evidence;
  /** Whose word says what is measured; absent where the medium is verified or stood in for. */
  readonly vouched?: Vouched;
  /** How its figures are obtained, or why it is left out. */
  readonly how: string;
  /** Why it is not measured. */
  readonly missing?: string;
}

/** Something that happened in a run. */
export type RunEvent =
  | { readonly type: "machine"; readonly machine: MachineRecord }
  | {
    readonly type: "plan";
    readonly name: string;
    readonly lines: readonly PlanLine[];
    readonly repetitions: number;
    readonly budget: number;
    readonly seed: number;
  }
  | { readonly type: "data-progress"; readonly what: string; readonly done: number; readonly total: number }
  | { readonly type: "data"; readonly data: DataRecord; readonly reused: boolean; readonly seconds: number }
  | { readonly type: "sizing"; readonly case: string }
  /** Once, when everything is sized: samples in all, steps of each point, seconds to go. */
  | { readonly type: "sized"; readonly samples: number; readonly steps: readonly number[]; readonly seconds: number }
  | {
    readonly type: "progress";
    /** `fsdax#2` or `quality`. */
    readonly id: string;
    /** Position of the sample, of how many; the quality run comes after them. */
    readonly position: number;
    readonly samples: number;
    readonly phase: WorkerPhase;
    readonly done: number;
    readonly total: number;
    /** Training samples per second in this phase; undefined in other phases. */
    readonly rate: number | undefined;
    /** Seconds left of the whole run; undefined until one sample tells. */
    readonly secondsLeft: number | undefined;
  }
  | { readonly type: "sample"; readonly record: SampleRecord; readonly samples: number }
  | { readonly type: "failed"; readonly record: FailedRecord }
  | { readonly type: "quality"; readonly record: QualityRecord }
  | { readonly type: "notice"; readonly message: string };
