/**
 * What verbs print with `--json`. These types are the one definition: verbs print values of them, and
 * `answers.schema.json`, which `tierbench schema --of <verb>` prints from, is made of them by `deno task schema`.
 *
 * @module
 */

import type {
  ApplyOutcome,
  AskAnswer,
  Baseline,
  CacheSize,
  CalibratedMachine,
  CaseClaim,
  CheckLine,
  CheckpointInfo,
  ClaimAnalysis,
  Damage,
  Diagnostic,
  DoctorReport,
  FittedProfile,
  HitSize,
  Inventory,
  MachineRecord,
  MeasuredSize,
  MediaModelsValidated,
  MissRatioCurve,
  Plan,
  PlanAnswer,
  PlanWin,
  PriceBook,
  PriceProblem,
  Profile,
  Refusal,
  ResultComparison,
  RunEvent,
  SimulatedPlan,
  SimulatedQuestion,
  SimulationComparison,
  SimulationSummary,
  StepCacheSize,
  StudyCase,
  StudySummary,
  Summary,
  TableSize,
  TorchRecTable,
  TraceFacts,
  UnreadableReport,
} from "../mod.ts";
import type { ToldVerb } from "./program_tree.ts";

/** `tierbench cache --step`: the smallest first tier of each configuration of a simulation. */
export interface StepCacheAnswer {
  /** Seconds of a step, at most. */
  readonly stepSeconds: number;
  /** The configurations. */
  readonly steps: readonly StepCacheSize[];
}

/** `tierbench cache --hit`: the smallest cache that hits often enough, for each policy. */
export interface CacheAnswer {
  /** Share of the lookups that was asked for. */
  readonly hit: number;
  /** Lookups that come together and count each row once. */
  readonly batch: number;
  /** Bytes of a row. */
  readonly rowBytes: number;
  /** Bytes that rows × hit ratio would ask for. */
  readonly rule: number;
  /** The caches. */
  readonly sizes: readonly (CacheSize & {
    /** Places of a set, of a set-associative cache; absent: a row may be anywhere. */
    readonly ways?: number;
    /** Bytes of the cache; null where none hits so often. */
    readonly bytes: number | null;
    /** Share of the lookups that a cache one GiB larger answers; null where none hits often enough. */
    readonly hitsOfOneGiBMore: number | null;
  })[];
}

/** `tierbench checkpoint compact`: what became of the checkpoints. */
export interface CompactedAnswer {
  /** Where they are. */
  readonly folder: string;
  /** How many are left. */
  readonly checkpoints: number;
  /** Bytes before. */
  readonly before: number;
  /** Bytes now. */
  readonly bytes: number;
}

/** `tierbench checkpoint verify`: whether every byte is what was written. */
export interface VerifiedAnswer {
  /** Where they are. */
  readonly folder: string;
  /** How many. */
  readonly checkpoints: number;
  /** Their bytes. */
  readonly bytes: number;
  /** True if no sum differs. */
  readonly whole: boolean;
  /** The first damage; absent if they are whole. */
  readonly problem?: string;
}

/** `tierbench curve`: the curve of the policy, and the best that any policy could do. */
export interface CurveAnswer {
  /** Bytes of a row. */
  readonly rowBytes: number;
  /** Misses under the policy. */
  readonly curve: MissRatioCurve;
  /** Misses of the best there can be, at the same sizes. */
  readonly optimum: MissRatioCurve;
}

/** `tierbench doctor`: the findings, every probed fact, and what the tools say. */
export interface DoctorAnswer extends DoctorReport {
  /** What was probed. */
  readonly machine: MachineRecord;
  /** What the tools say. */
  readonly inventory: Inventory;
}

/** What every `tierbench export` tells. */
interface ExportedFile {
  /** The file, or folder, that was written; absent without `--out`: no text is printed with `--json`. */
  readonly file?: string;
}

/** `tierbench export`: what the other tool is told. */
export type ExportAnswer =
  & ExportedFile
  & ({
    /** For TorchRec's planner. */
    readonly tool: "torchrec" | "torchrec-yaml";
    /** Name of the plan. */
    readonly plan: string;
    /** Each table as it is told. */
    readonly tables: readonly (Omit<TorchRecTable, "histogram"> & { readonly histogram: readonly number[] })[];
  } | {
    /** FBGEMM's JSON of tables. */
    readonly tool: "eeg";
    /** Name of the plan. */
    readonly plan: string;
    /** What was left out or stands for something else, sentence by sentence. */
    readonly lost: readonly string[];
  } | {
    /** FBGEMM's benchmark. */
    readonly tool: "tbe";
    /** Name of the plan. */
    readonly plan: string;
    /** Its runs. */
    readonly commands: readonly {
      /** What is measured. */
      readonly about: string;
      /** The words behind the benchmark's script; `--tbe-config` is the script's own. */
      readonly words: readonly string[];
    }[];
    /** What was left out or stands for something else, sentence by sentence. */
    readonly lost: readonly string[];
  } | {
    /** MLPerf's log lines. */
    readonly tool: "mllog";
    /** Name of the scenario. */
    readonly scenario: string;
    /** A log for each run. */
    readonly logs: readonly {
      /** Its name in the folder of `--out`. */
      readonly file: string;
      /** What ran. */
      readonly id: string;
      /** How many lines. */
      readonly lines: number;
    }[];
    /** What was left out, sentence by sentence. */
    readonly lost: readonly string[];
  });

/** `tierbench init`: the file that was written. */
export interface InitAnswer {
  /** Its path, as it was given. */
  readonly file: string;
  /** What it is. */
  readonly kind: "run" | "simulation" | "plan";
  /** The command that uses it. */
  readonly next: string;
}

/** `tierbench install`: the files that it wrote or removed. */
export interface InstallAnswer {
  /** Files written. */
  readonly written: readonly string[];
  /** Files removed. */
  readonly removed: readonly string[];
  /** Whether shells find the command: its folder is in PATH. */
  readonly inPath: boolean;
}

/** One entry of `tierbench list`. */
export interface ListedScenario {
  /** What `tierbench run` takes. */
  readonly name: string;
  /** What it shows. */
  readonly about: string;
  /** The file. */
  readonly file: string;
}

/** A report that was written. */
export interface WrittenReport {
  /** Its page. */
  readonly report: string;
  /** What it says. */
  readonly summary: Summary;
}

/** `tierbench plan`: the planner's whole answer. */
export interface PlanVerbAnswer extends PlanAnswer {
  /** With `--simulate`: the best plan and the runner-up in virtual time; no figures where the engine lacks something. */
  readonly simulated?: readonly ({ readonly machine: string; readonly hosts: number } & Partial<SimulatedPlan>)[];
  /** What a step asks the media, the least backed first. */
  readonly questions: readonly SimulatedQuestion[];
  /** Machines without a price, and up to which one each would win. */
  readonly unpriced: readonly {
    readonly name: string;
    readonly why: string;
    readonly win?: Omit<PlanWin, "plan">;
  }[];
  /** The five-minute rule for its rows, in a sentence; absent where memory or a drive has no price. */
  readonly rowRule?: string;
}

/** A shipped profile, of `tierbench profile --list`. */
export interface ListedProfile {
  /** What `--profile` takes. */
  readonly name: string;
  /** What it is of. */
  readonly about: string;
  /** What stands behind it: `measured`, `published`, … */
  readonly mark: Profile["origin"]["mark"];
}

/** `tierbench provision`: plan, outcome and checks. */
export interface ProvisionAnswer {
  /** The steps, or why there is no way. */
  readonly plan: Plan | Refusal;
  /** With `--apply` or `--undo`: how it ended. */
  readonly outcome?: ApplyOutcome;
  /** With `--check`: what was checked. */
  readonly checks?: readonly CheckLine[];
}

/** `tierbench publish`: the pages that were written. */
export interface PublishAnswer {
  /** The index page. */
  readonly index: string;
  /** The summary for pull requests. */
  readonly summary: string;
  /** The badge; absent without a report. */
  readonly badge?: string;
  /** Paths of the reports under the folder, the newest first. */
  readonly reports: readonly string[];
  /** Paths of the simulations, the newest first. */
  readonly simulations: readonly string[];
  /** Runs of one scenario on one machine, the oldest first. */
  readonly histories: readonly (readonly string[])[];
  /** Reports that were left out, and why. */
  readonly unreadable: readonly UnreadableReport[];
}

/** A line of `tierbench run --json`. Lines of other types may be added. */
export type RunLine =
  | RunEvent
  | { readonly type: "summary"; readonly report: string; readonly summary: Summary }
  | { readonly type: "comparison"; readonly comparison: ResultComparison };

/** What a simulation prints: its report's model, without tasks of steps, which are in `result.jsonl`. */
export interface SimulationAnswer extends Omit<SimulationSummary, "studies"> {
  /** The studies in the order of the simulation. */
  readonly studies: readonly (Omit<StudySummary, "cases"> & { readonly cases: readonly Omit<StudyCase, "tasks">[] })[];
}

/** A table of `tierbench size`. */
export interface SizedTableAnswer extends TableSize {
  /** How many tables are alike; everything here is their sum. */
  readonly count: number;
}

/** A file of `tierbench validate`. */
export interface ValidatedFile {
  /** Its path. */
  readonly file: string;
  /** What is wrong with it; empty if nothing is. */
  readonly problems: readonly Diagnostic[];
}

/** A page of `tierbench verify`. */
export type VerifiedPage = { readonly file: string; readonly error: string } | {
  /** Its path. */
  readonly file: string;
  /** Its root hash; null if it carries no sums. */
  readonly root: string | null;
  /** How many parts it has. */
  readonly parts: number;
  /** Which of them differ from their sums. */
  readonly damage: readonly Damage[];
};

/** `tierbench --version`. */
export interface VersionAnswer {
  /** Of the suite. */
  readonly tierbench: string;
  /** Of the native library. */
  readonly libtierstore: string;
  /** Of the runtime. */
  readonly deno: string;
  /** Of its engine. */
  readonly v8: string;
  /** Of its compiler. */
  readonly typescript: string;
}

/** What each verb prints with `--json`, by the verb's name; `run` prints a line each, a simulation its summary. */
export interface Answers {
  readonly ask: AskAnswer;
  readonly baselines: readonly Baseline[];
  readonly cache: CacheAnswer | StepCacheAnswer;
  readonly calibrate: CalibratedMachine;
  readonly checkpoint: readonly CheckpointInfo[] | CompactedAnswer | VerifiedAnswer;
  readonly claim: readonly (CaseClaim | ClaimAnalysis)[];
  readonly compare: ResultComparison | SimulationComparison;
  readonly curve: CurveAnswer;
  readonly doctor: DoctorAnswer;
  readonly export: ExportAnswer;
  readonly init: InitAnswer;
  readonly inspect: TraceFacts;
  readonly install: InstallAnswer;
  readonly list: readonly ListedScenario[];
  readonly manual: readonly ToldVerb[];
  readonly merge: WrittenReport;
  readonly plan: PlanVerbAnswer;
  readonly prices: PriceBook | readonly PriceProblem[];
  readonly profile: readonly ListedProfile[] | Pick<FittedProfile, "tables" | "fidelity" | "zipf"> | Profile;
  readonly provision: ProvisionAnswer;
  readonly publish: PublishAnswer;
  readonly reanalyse: Summary | SimulationAnswer;
  readonly report: Summary | SimulationAnswer;
  readonly rerun: ResultComparison | SimulationComparison;
  readonly run: RunLine | SimulationAnswer;
  readonly size: readonly SizedTableAnswer[] | readonly MeasuredSize[] | {
    readonly tables: readonly SizedTableAnswer[];
    readonly hits: readonly HitSize[];
  };
  readonly validate: readonly ValidatedFile[];
  readonly "validate-models": MediaModelsValidated;
  readonly verify: readonly VerifiedPage[];
  readonly version: VersionAnswer;
}

/** A verb's answer as text, indented. */
export function answerText<V extends keyof Answers>(_verb: V, answer: Answers[V]): string {
  return `${JSON.stringify(answer, undefined, 2)}\n`;
}
