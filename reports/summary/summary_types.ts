/**
 * The one model behind every report: HTML, Markdown, CSV, JSON and terminal print these numbers and no others, so they
 * agree. Made by {@linkcode summarise}, a pure function of the result and the price book.
 *
 * @module
 */

import type {
  Auc,
  DataRecord,
  EndRecord,
  Evidence,
  FailedRecord,
  FilterRecord,
  MachineRecord,
  ModelBand,
  ModelLimit,
  Phase,
  TierRecord,
} from "../../scenarios/record.ts";
import type { CheckpointKind } from "../../scenarios/scenario.ts";
import type { AskedQuestion } from "../../models/simulation/record.ts";
import type { Finding, Grade } from "./findings.ts";
import type { Holding } from "./holding.ts";
import type { ScenarioView } from "./scenario_view.ts";
import type { Estimate } from "../statistics/bootstrap.ts";
import type { Steadiness } from "../statistics/steady.ts";
import type { BillPart, Boundary } from "../../models/costs/bill.ts";
import type { CauseShare, Claim } from "../../models/costs/claim/claim.ts";
import type { ClaimInput, Flip, TornadoBar } from "../../models/costs/claim/sensitivity.ts";
import type { Need, Offer } from "../../models/costs/cost_model.ts";
import type { Instance, PriceItem } from "../../models/costs/price_book.ts";
import type { LinkUse } from "./link.ts";
import type { SampleWork } from "../../models/costs/traffic.ts";

/** Times of a training step. */
export interface StepTimes {
  /** Seconds; mean over processes of each process's quantile. */
  readonly p50: Estimate;
  /** 95 % quantile, as above. */
  readonly p95: Estimate;
  /** 99 % quantile, as above. */
  readonly p99: Estimate;
  /** 99.9 % quantile, as above; undefined where a process counted fewer than 1,000 steps, which is fewer than it takes. */
  readonly p999: Estimate | undefined;
  /** Counted steps of all processes. */
  readonly steps: number;
  /** How the steps are distributed, and how they went over the run. */
  readonly course: StepCourse;
}

/** Distribution and course of the steps of a case. */
export interface StepCourse {
  /** Steps of all processes by time: bin `b` holds 2^(b/16) to 2^((b+1)/16) seconds. Empty bins are left out. */
  readonly histogram: readonly { readonly bin: number; readonly count: number }[];
  /** Steps beyond Tukey's outer fence, three interquartile ranges above the third quartile of all steps. */
  readonly outliers: {
    readonly count: number;
    /** Seconds. */
    readonly fence: number;
    /** Five at most, the slowest first; the number of a step counts those of the warm-up. */
    readonly slowest: readonly { readonly sample: string; readonly step: number; readonly seconds: number }[];
  };
  /** Median over processes and over the steps of a place, 60 places at most, by the mean number of their steps. */
  readonly course: readonly { readonly step: number; readonly seconds: number }[];
  /** The step from which on the course is steady; undefined where it never is, or has fewer than 20 steps. */
  readonly steadyFrom: number | undefined;
  /**
   * How each process with 20 steps or more went, and from which step on it was steady (undefined: never), by change points. All
   * of them stay in every figure.
   */
  readonly processes: readonly {
    readonly sample: string;
    readonly kind: Steadiness;
    readonly from: number | undefined;
  }[];
}

/** Share of accesses that the first tier answered. */
export interface HitRatio {
  /** 0 to 1. */
  readonly ratio: Estimate;
  /** Shares of the same denominator that the second tier, the third, … answered; empty where there is no such tier. */
  readonly below: readonly number[];
  /** What the share is of. */
  readonly denominator: string;
  /** Share of the same denominator that were new rows, neither hit nor miss; undefined where it does not apply. */
  readonly created: number | undefined;
}

/** Time a step spends in a phase. */
export interface PhaseTime {
  /** `other` is the rest of the step that no phase claims. */
  readonly phase: Phase | "other";
  /** Mean seconds a step. */
  readonly seconds: number;
  /** Share of the step, 0 to 1. */
  readonly share: number;
}

/**
 * How a case was compared with its baseline. `by round`: both completed the same rounds, and each round's ratio is one
 * observation. `independent`: they did not, so their samples are resampled apart, which takes slow changes of the
 * machine for noise.
 */
export type Comparison = "by round" | "independent";

/** Time that a step spends on embeddings: lookup, update and eviction. */
export interface EmbeddingTime {
  /** Seconds a step. */
  readonly seconds: Estimate;
  /** Share of the step, 0 to 1. */
  readonly share: Estimate;
  /** Seconds ÷ those of the baseline; undefined for the baseline, without one, or where one of them is 0. */
  readonly relative: Estimate | undefined;
  /**
   * Speed ÷ that of the baseline if the dense layers took this part of their time and every other phase the time it
   * took: arithmetic on the measured phases, not a run. Empty where `relative` is undefined.
   */
  readonly lessDense: readonly { readonly part: number; readonly relative: Estimate }[];
}

/** What a case costs on priced machines. */
export interface CaseCost {
  /** Machines the case is priced on. */
  readonly offer: Offer;
  /** Memory the priced model needs. */
  readonly need: Need;
  /**
   * What it takes to own the machines, all of them: to buy, mean watts, months in which the cheapest rented machines that
   * hold the model cost as much as the purchase and its power. Absent where nothing of it is stated.
   */
  readonly owning: {
    readonly purchase?: number;
    readonly watts?: number;
    readonly payback?: { readonly months: number; readonly against: Offer };
  } | undefined;
  /** $ an hour of the bill: the machines of the offer, and what else the boundary holds. */
  readonly pricePerHour: number;
  /** $ per million samples; the interval is that of the throughput. */
  readonly perMillion: Estimate;
  /** Share saved against the baseline, negative if dearer; undefined for the baseline or without one. */
  readonly saved: Estimate | undefined;
  /** The case stays cheaper while the baseline's machines cost more than this multiple of their price. */
  readonly flip: Estimate | undefined;
  /** The same share if both sides could rent memory to the byte. */
  readonly savedWithoutOverBuy: number | undefined;
  /** Saving when the bill ends at each boundary; undefined where a part has no price, or without a baseline. */
  readonly savedWithin: readonly { readonly boundary: Boundary; readonly saved: Estimate | undefined }[];
  /** Saving when the bill holds parameter servers and a worker of so many $ an hour. */
  readonly savedWithWorker: readonly { readonly worker: number; readonly saved: number }[];
  /** Index and policy bytes ÷ row bytes in the run: scaled along with the rows. */
  readonly overhead: number;
  /** DRAM bytes ÷ row bytes in the run and on the priced machines; undefined where DRAM holds every row. */
  readonly dramShare: { readonly run: number; readonly priced: number } | undefined;
}

/** Bytes of rows that a tier below the first gave and took, over the counted steps' wall time. */
export interface TierTraffic {
  /** Position of the tier. */
  readonly tier: number;
  /** What held it. */
  readonly medium: string;
  /** Media model it was slowed to. */
  readonly emulates: string | undefined;
  /** Rows found there × bytes of a row, a second: computed from counters. */
  readonly readPerSecond: number;
  /** Bytes of rows written there, a second: counted. */
  readonly writtenPerSecond: number;
  /** What the media model gives, by the last sample, and the shares of it that were used; undefined where none is recorded. */
  readonly limit: (ModelLimit & { readonly readShare: number; readonly writeShare: number }) | undefined;
}

/** A media model that cases were slowed to. */
export interface ModelAccuracy {
  /** Its name. */
  readonly media: string;
  /** Names of the cases. */
  readonly cases: readonly string[];
  /** Whether it stands behind the modelled DRAM cache of Memory Mode, which is not calibrated. */
  readonly memoryMode: boolean;
  /** How far its figures are from published ones; empty if there are none. */
  readonly bands: readonly ModelBand[];
  /** What the cases asked it, each question once, and how many figures back each; empty where nobody recorded it. */
  readonly questions: readonly AskedQuestion[];
}

/** Miss ratios by size of the first tier. */
export interface CacheCurve {
  /** Policy of the configuration. */
  readonly policy: string;
  /** What the bound is: `opt` knows the keys to come, `popular` how popular rows are. */
  readonly bound: string;
  /** `analytic`, `exact` or `sampled`. */
  readonly method: string;
  /** What the ratios are shares of. */
  readonly denominator: string;
  /** Lookups that come together, in which a row counts once. */
  readonly batch: number;
  /** Sizes as shares of all rows, rising, above 0. */
  readonly shares: readonly number[];
  /** Bytes of these caches. */
  readonly bytes: readonly number[];
  /** Miss ratios under the policy. */
  readonly misses: readonly number[];
  /** Miss ratios of the bound. */
  readonly bounds: readonly number[];
  /** The size that the case ran with, as a share of all rows. */
  readonly ranShare: number;
  /** Misses that its runs counted, as a share of the same denominator; undefined where they did not count it. */
  readonly counted: number | undefined;
}

/** What models say of a case's checkpoints. */
export interface SimulatedCheckpoints {
  /** Whether this case sets the rates at which bytes are written and read, so that its times are no test of the model. */
  readonly setsRates: boolean;
  /** Bytes that a sample writes for them. */
  readonly bytes: number;
  /** Seconds until the one in the middle is durable. */
  readonly durable: number;
  /** Seconds to go on from the newest. */
  readonly restore: number;
  /** Rows that the second and later points put down, each; undefined for files. */
  readonly rowsAgain: number | undefined;
  /** Seconds that training would stop for dense weights if it waited for them to be written, as PMEM-OE does. */
  readonly densePause: number;
}

/** What checkpoints cost a case. */
export interface CheckpointCost {
  /** How they are made: every row in files, what changed after a first full one, or points in the last tier. */
  readonly kind: CheckpointKind;
  /** Counted steps between two of them. */
  readonly every: number;
  /** Checkpoints of a sample, mean. */
  readonly count: number;
  /** Bytes that a sample wrote for them, mean. */
  readonly bytes: number;
  /** Bytes of a delta ÷ those of a full one, means; undefined unless there are both. */
  readonly deltaShare: number | undefined;
  /** Seconds that training stands still for one: the cut, and waiting for the one before. Median of a sample's. */
  readonly still: Estimate;
  /** Seconds from the cut until it is durable. Median of a sample's. */
  readonly durable: Estimate;
  /** Seconds to restore the newest. */
  readonly restore: Estimate;
  /** Bytes that this read, mean. */
  readonly restoredBytes: number;
  /** Rows that the second and later points put down, each, mean; undefined for files, and of a sample with one point. */
  readonly rowsAgain: number | undefined;
  /** Name of the case whose dumps of DRAM are reloaded at the same interval; undefined if there is none, or this is it. */
  readonly dump: string | undefined;
  /** Time until training can go on ÷ that of reloading that dump. */
  readonly toDump: Estimate | undefined;
  /** Name of the same case without checkpoints; undefined if there is none. */
  readonly without: string | undefined;
  /** Throughput ÷ that of the same case without. */
  readonly relative: Estimate | undefined;
  /** What models say of the same; undefined where the data is no law. */
  readonly simulated: SimulatedCheckpoints | undefined;
}

/** What the ranks of a case are worth. */
export interface RankScaling {
  /** Processes in all. */
  readonly ranks: number;
  /** How many of them train. */
  readonly trainers: number;
  /** Whether every rank holds rows, or the last ones. */
  readonly layout: "collocated" | "servers";
  /** What started them; `none`: one rank alone. */
  readonly launcher: "mpirun" | "srun" | "none";
  /** Name and version of the MPI. */
  readonly library: string;
  /** Machines that they had. */
  readonly hosts: number;
  /** Whether several ranks had one machine in some sample. */
  readonly sharedMachine: boolean;
  /** Name of the case with the fewest ranks that train, in step rather than asynchronously; it may be this one. */
  readonly fewest: string | undefined;
  /** Throughput ÷ that of the fewest; undefined for those. */
  readonly speedUp: Estimate | undefined;
  /** The same ÷ how many times as many ranks train. */
  readonly efficiency: Estimate | undefined;
  /** Seconds a step in messages, waiting included; mean over ranks. Undefined without messages. */
  readonly messages: Estimate | undefined;
  /** What of them ranks waited for others, message by message. */
  readonly waiting: Estimate | undefined;
  /** What of them moved bytes: the time of the last rank to come to a message. */
  readonly moving: Estimate | undefined;
  /** Of ranks that train asynchronously, the updates that their steps missed; undefined in step. */
  readonly staleness: {
    /** The most that they may. */
    readonly bound: number;
    /** The most that one did, and the mean over steps. */
    readonly most: number;
    readonly mean: number;
    /** Shares of steps that missed 0, 1, ... of them. */
    readonly shares: readonly number[];
  } | undefined;
  /** Of ranks that train asynchronously, which share of the steps each took; undefined in step. */
  readonly shares: readonly number[] | undefined;
  /** AUC of a longer run with such ranks; undefined without one, `null` if it is undefined. */
  readonly auc: Auc | undefined;
  /** Bytes that all ranks sent in a step, mean. */
  readonly sentBytes: number;
}

/** Power of the whole machine while it had a case's samples, by the processors' counters (RAPL): idle power is in it. */
export interface PowerUse {
  /** Watts of the processors' packages: the joules of a sample by the seconds of its process. */
  readonly packages: Estimate;
  /** Watts of memory; undefined where some sample's machine does not count it. */
  readonly memory: Estimate | undefined;
}

/** One case: a configuration at a matrix point, all its samples together. */
export interface CaseSummary {
  /** Unique in the report. */
  readonly name: string;
  /** Name of the configuration in the scenario. */
  readonly configuration: string;
  /** Matrix point: dotted field to value; empty without a matrix. */
  readonly point: Readonly<Record<string, string | number | boolean>>;
  /** How every figure of the case was obtained. */
  readonly evidence: Evidence;
  /** What the medium is by the word of the machine's owner; absent where it was verified, or stood in for. */
  readonly vouched?: string | undefined;
  /** How the rows are held: decides which machines can be priced. */
  readonly holding: Holding;
  /** True if a medium was virtual: speed and price are withheld. */
  readonly virtual: boolean;
  /** How the figures were obtained, one sentence each. */
  readonly how: readonly string[];
  /** Completed samples (processes). */
  readonly samples: number;
  /** Samples per second; withheld for virtual media. */
  readonly throughput: Estimate | undefined;
  /** Samples per second of each process, its round and its position in the run. */
  readonly perProcess: readonly {
    readonly id: string;
    readonly sample: number;
    readonly position: number;
    readonly rate: number;
  }[];
  /** Name of the case compared with: DRAM at the same matrix point. Undefined for that case and without one. */
  readonly baseline: string | undefined;
  /** Throughput ÷ that of the baseline. */
  readonly relative: Estimate | undefined;
  /** How `relative` and all other ratios to the baseline were made; undefined where there are none. */
  readonly comparison: Comparison | undefined;
  /** Times of a step; withheld for virtual media. */
  readonly step: StepTimes | undefined;
  /** Time split of a step; empty for virtual media. */
  readonly phases: readonly PhaseTime[];
  /** Time for embeddings; undefined for virtual media. */
  readonly embedding: EmbeddingTime | undefined;
  /** First-tier hits; undefined with one tier. */
  readonly hits: HitRatio | undefined;
  /** Bytes a second between the first tier and each below it; empty with one tier, and for virtual media. */
  readonly traffic: readonly TierTraffic[];
  /** Rows on a device behind a link; undefined without. */
  readonly link: LinkUse | undefined;
  /** What a sample asks of a server, counted in the samples; undefined in results that do not say, and for virtual media. */
  readonly work: (SampleWork & { readonly cpuSeconds: number }) | undefined;
  /** Miss ratios of caches of the case's rows; undefined where the run recorded none. */
  readonly cacheCurve: CacheCurve | undefined;
  /** What admission and expiry did in the last sample; undefined where no table has either. */
  readonly filter: FilterRecord | undefined;
  /** What checkpoints cost; undefined without, and for virtual media. */
  readonly checkpoints: CheckpointCost | undefined;
  /** What is left of rows and weights after a crash, in a few words. */
  readonly durability: string;
  /** What its ranks are worth; undefined without ranks, and for virtual media. */
  readonly scaling: RankScaling | undefined;
  /** Tiers of the last sample. */
  readonly tiers: readonly TierRecord[];
  /** Bytes of DRAM allowed for tables, of the last sample. */
  readonly dramBytes: number;
  /** Bytes of rows at the end, of the last sample. */
  readonly tableBytes: number;
  /** Mean logloss over the counted steps. */
  readonly loss: Estimate;
  /** Power of the machine while it had the samples; undefined where no sample measured it, and for virtual media. */
  readonly power: PowerUse | undefined;
  /** Batch sizes in the samples; one unless samples differ. */
  readonly batch: readonly number[];
  /** Threads in the samples. */
  readonly threads: readonly number[];
  /** Seeds in the samples. */
  readonly seeds: readonly number[];
  /** Digests (hex) of rows and dense parameters at the end. */
  readonly digests: readonly string[];
  /** Environment set for the process alone, of the last sample. */
  readonly environment: Readonly<Record<string, string>>;
  /** Cost, if it can be priced. */
  readonly cost: CaseCost | undefined;
  /** Why there is no cost. */
  readonly costMissing: string | undefined;
}

/** The quality run. */
export interface QualitySummary {
  /** Configuration it ran on. */
  readonly configuration: string;
  /** Kind of evidence of its times. */
  readonly evidence: Evidence;
  /** What the medium is by the word of the machine's owner; absent where it was verified, or stood in for. */
  readonly vouched?: string | undefined;
  /** Samples trained. */
  readonly samples: number;
  /** AUC on held-out rows at the end; `null` if it is undefined. */
  readonly auc: Auc;
  /** Logloss on held-out rows at the end. */
  readonly logloss: number;
  /** Held-out rows. */
  readonly testRows: number;
  /** Best reachable AUC, of the planted model. */
  readonly plantedAuc: number | undefined;
  /** Points along the run: samples trained, seconds (withheld for virtual media), logloss, AUC. */
  readonly curve: readonly {
    readonly samples: number;
    readonly seconds: number | undefined;
    /** Of them in training; undefined in results of earlier versions. */
    readonly trainSeconds: number | undefined;
    readonly logloss: number;
    readonly auc: Auc;
  }[];
  /** When the AUC that the scenario names was reached; undefined if it names none. */
  readonly target: TargetAuc | undefined;
  /**
   * The same on other cases, computed: samples to the AUC ÷ throughput. Only where the rows are equal to the bit and the AUC
   * was reached.
   */
  readonly targetElsewhere: readonly {
    readonly case: string;
    readonly evidence: Evidence;
    /** What the medium is by the word of the machine's owner; absent where it was verified, or stood in for. */
    readonly vouched?: string | undefined;
    readonly seconds: Estimate;
  }[];
  /** The fast mode against the deterministic one, if it was the fast mode. */
  readonly fastMode: FastMode | undefined;
}

/** When a quality run reached an AUC. Seconds are those spent training, without scoring. */
export type TargetAuc =
  | {
    readonly auc: number;
    /** By a straight line between two points of the curve. */
    readonly reached: "interpolated";
    readonly samples: number;
    readonly seconds: number;
    /** Samples at the two points. */
    readonly between: readonly [number, number];
  }
  | {
    readonly auc: number;
    /** The first point of the curve was above it: samples and seconds are upper limits. */
    readonly reached: "before the first point";
    readonly samples: number;
    readonly seconds: number;
  }
  | {
    readonly auc: number;
    /** Not within the run. */
    readonly reached: "not";
    /** Best AUC of the run; `null` if it is undefined. */
    readonly best: Auc;
    /** Samples of the run. */
    readonly samples: number;
  };

/** The fast mode beside the deterministic one, after the same samples. */
export interface FastMode {
  /** AUC in deterministic mode; `null` if it is undefined. */
  readonly auc: Auc;
  /** Logloss in deterministic mode. */
  readonly logloss: number;
  /** AUC of the fast mode less that; `null` if one of them is undefined. */
  readonly aucChange: number | null;
  /** Logloss of the fast mode less that. */
  readonly loglossChange: number;
  /** Seconds of training in fast and in deterministic mode; undefined in results of earlier versions. */
  readonly seconds: { readonly fast: number; readonly deterministic: number } | undefined;
  /** Whether rows and dense parameters ended equal to the bit all the same. */
  readonly sameRows: boolean;
}

/** One variant of an ablation on one configuration. */
export interface AblationRow {
  /** `none`, `stage`, `all`, `all-but-stage`. */
  readonly variant: string;
  /** The same in words: `smartStage (with stage)`, `all but stage`. */
  readonly label: string;
  /** Which of the kinds it is. */
  readonly kind: "none" | "alone" | "all" | "all-but-one";
  /** The switch that is on alone, or off alone. */
  readonly switch: string | undefined;
  /** Name of its case. */
  readonly case: string;
  /** Samples per second; withheld for virtual media. */
  readonly throughput: Estimate | undefined;
  /** Throughput ÷ that of "none" on the same configuration; by round where both completed the same. */
  readonly relative: Estimate | undefined;
  /** Whether rows and dense parameters are those of "none" to the bit; undefined if that cannot be compared. */
  readonly keepsResults: boolean | undefined;
  /** AUC on held-out rows after the samples of the quality run, its own or of a variant with the same rows; `null` if it is undefined. */
  readonly auc: Auc | undefined;
  /** Logloss, as above. */
  readonly logloss: number | undefined;
  /** AUC less that of "none"; undefined if one of them is. */
  readonly aucChange: number | undefined;
  /** Share of looked-up rows that lacked an update (asynchronous embedding); undefined where rows are never old. */
  readonly staleShare: number | undefined;
  /** Minor page faults a step, warm-up included; undefined in results of earlier versions. */
  readonly faultsPerStep: number | undefined;
  /** What was prepared ahead: input, lookup, nothing; undefined without a stage. */
  readonly staged: string | undefined;
}

/** The variants on one configuration at one point of the matrix. */
export interface AblationGroup {
  /** Name of the configuration, with its point of the matrix if there is one. */
  readonly name: string;
  /** Name of the configuration. */
  readonly configuration: string;
  /** How its figures were obtained. */
  readonly evidence: Evidence;
  /** What the medium is by the word of the machine's owner; absent where it was verified, or stood in for. */
  readonly vouched?: string | undefined;
  /** "none" first, then each switch alone, all, all but each. */
  readonly rows: readonly AblationRow[];
}

/** What each optimisation is worth. */
export interface AblationSummary {
  /** The switches, and what each is on and off. */
  readonly switches: readonly { readonly name: string; readonly on: string; readonly off: string }[];
  /** Switches that the machine does not have. */
  readonly leftOut: readonly { readonly name: string; readonly why: string }[];
  /** Samples after which the AUCs were taken; undefined without a quality run. */
  readonly qualitySamples: number | undefined;
  /** Per memory configuration. */
  readonly groups: readonly AblationGroup[];
}

/** How the cases were priced. */
export interface Pricing {
  /** Prices as of this date. */
  readonly asOf: string;
  /** Whose machines: one provider, so that like is compared with like. */
  readonly provider: string;
  /** Dates of the prices used, in words. */
  readonly dates: string;
  /** True if a used price is more than twelve months older than `asOf`. */
  readonly stale: boolean;
  /** How machines are paid: `cloud` or `owned`. */
  readonly model: string;
  /** What is in the bill. */
  readonly boundary: Boundary;
  /** Currency of every amount: `USD`, `EUR`. */
  readonly currency: string;
  /** How its amounts are written: `$`, `EUR`. */
  readonly sign: string;
  /** Machines and items in use that are not sold new any more, a sentence each. */
  readonly ended: readonly string[];
  /** What the job has beside parameter servers: in the bill as far as the boundary goes. */
  readonly bill: readonly BillPart[];
  /** $ an hour of these parts that are in the bill. */
  readonly common: number;
  /** Names of the user's files of which rows are in the book. */
  readonly ownFiles: readonly string[];
  /** Bytes of rows of the model priced. */
  readonly modelBytes: number;
  /** Share of a machine's memory that tables may use. */
  readonly usableShare: number;
  /** How the run was scaled to the priced size, in words. */
  readonly scaling: string;
  /** All machines in the price book as of the date. */
  readonly instances: readonly Instance[];
  /** All other prices as of the date. */
  readonly items: readonly PriceItem[];
  /** Cheapest offers of other providers, where they have one. */
  readonly otherOffers: readonly { readonly case: string; readonly offer: Offer }[];
}

/** An input of a claim, without its function. */
export type PlainInput = Omit<ClaimInput, "change">;

/** A case's saving against DRAM taken apart. */
export interface CaseClaim {
  /** Name of the case. */
  readonly case: string;
  /** How its figures were obtained. */
  readonly evidence: Evidence;
  /** What the medium is by the word of the machine's owner; absent where it was verified, or stood in for. */
  readonly vouched?: string | undefined;
  /** The claim in the terms it is taken apart by. */
  readonly claim: Claim;
  /** Share saved. */
  readonly saved: Estimate;
  /** What it comes from; their points add up to it. */
  readonly causes: readonly CauseShare[];
  /** How far each input moves it, the widest first. */
  readonly tornado: readonly (Omit<TornadoBar, "input"> & { readonly input: PlainInput })[];
  /** Where each input turns it around. */
  readonly flips: readonly (Omit<Flip, "input"> & { readonly input: PlainInput })[];
}

/** How much noise alone may show at a point of the matrix: no smaller difference is called one. */
export interface NoiseFloor {
  /** Matrix point. */
  readonly point: Readonly<Record<string, string | number | boolean>>;
  /** A factor above 1: rates whose ratio is nearer to 1 are not told apart. */
  readonly factor: number;
  /** The same for the time of embedding work; undefined where some sample has none. */
  readonly embedding: number | undefined;
  /** What one case, repeated in every round, differs from itself (A/A): its rate ÷ its own; undefined if none was repeated. */
  readonly repeated: { readonly case: string; readonly ratio: Estimate } | undefined;
  /** Rounds. */
  readonly rounds: number;
}

/** The answer in words. */
export interface Verdict {
  /** The first thing to read. */
  readonly headline: string;
  /** What else holds, most important first. */
  readonly sentences: readonly string[];
  /** What limits the answer. */
  readonly cautions: readonly string[];
}

/** Everything a report prints. */
export interface Summary {
  /** What the report reads of the scenario. */
  readonly scenario: ScenarioView;
  /** When the run began, ISO 8601 in UTC. */
  readonly started: string;
  /** SHA-256 (hex) of the scenario. */
  readonly scenarioDigest: string;
  /** The machine of the run. */
  readonly machine: MachineRecord;
  /** Versions by name. */
  readonly versions: Readonly<Record<string, string>>;
  /** The data trained on. */
  readonly data: DataRecord;
  /** Every case, baseline and configurations in the order of the scenario. */
  readonly cases: readonly CaseSummary[];
  /** The media models of the cases; empty without any, and for results that did not record how far they are off. */
  readonly models: readonly ModelAccuracy[];
  /** Samples that did not complete: in no figure. */
  readonly failed: readonly FailedRecord[];
  /** The longer run that gives the AUC, if there was one. */
  readonly quality: QualitySummary | undefined;
  /** What each optimisation is worth, if the scenario asked. */
  readonly ablation: AblationSummary | undefined;
  /** Whether comparable samples ended with the same digest, and their configurations; undefined if none compare. */
  readonly identical: { readonly same: boolean; readonly configurations: readonly string[] } | undefined;
  /** Why the run took no further round; absent of a run of as many as its scenario says. */
  readonly end?: EndRecord;
  /** How cases were priced; undefined if none could be. */
  readonly pricing: Pricing | undefined;
  /** Savings taken apart, one a priced case that is compared. */
  readonly claims: readonly CaseClaim[];
  /** The noise floor of every point of the matrix whose cases ran in the same rounds. */
  readonly floors: readonly NoiseFloor[];
  /** What speaks against the figures, the worst first. */
  readonly findings: readonly Finding[];
  /** What the findings make of the run. */
  readonly grade: Grade;
  /** The answer in words. */
  readonly verdict: Verdict;
}
