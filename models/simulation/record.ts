/**
 * What a simulation writes and its report reads: a `result.jsonl` whose first line is a {@linkcode SimulationRunRecord}
 * and whose other lines are {@linkcode SimulatedRecord}s and {@linkcode ExplanationRecord}s. Everything a report prints
 * follows from them. Same simulation, same seed, same lines but for when it ran and on what.
 *
 * @module
 */

import type { BandWidth } from "../media/calibration/basis.ts";
import type { TraceReplay } from "./exact_hits.ts";
import type { HitsMethod, Metric, ResolvedSimulation } from "./simulation.ts";

/** A point of a study: dotted field to value. */
export type SimulatedPoint = Readonly<Record<string, string | number | boolean>>;

/** First line. */
export interface SimulationRunRecord {
  /** Tells it from the other lines of the file. */
  readonly type: "run";
  /** Tells it from a run on a machine. */
  readonly kind: "simulation";
  /** Version of the file's format. */
  readonly format: 1;
  /** When, ISO 8601 in UTC. */
  readonly started: string;
  /** The simulation that ran, every default filled in. */
  readonly scenario: ResolvedSimulation;
  /** SHA-256 (hex) of the canonical JSON of `scenario`. */
  readonly scenarioDigest: string;
  /** Version of each part that the figures depend on, by its name. */
  readonly versions: Readonly<Record<string, string>>;
}

/** Where the time of a step goes: seconds, on the way that made the steps end when they did. */
export interface TimePart {
  /** `lookup`, `dense`, ... */
  readonly kind: string;
  /** `work` of a core, `latency`, or what it was spent on. */
  readonly on: string;
  /** Seconds of a mean step. */
  readonly seconds: number;
}

/** A tier in a case. */
export interface TierTraffic {
  /** Media model. */
  readonly media: string;
  /** Bytes for rows; 0: whatever the tiers above do not hold. */
  readonly sizeBytes: number;
  /** Share of the distinct rows of a step that are there. Absent in Memory Mode, whose rows are everywhere. */
  readonly rowsShare?: number;
  /** Bytes a step, of one of the machines that hold rows. */
  readonly readBytes: number;
  /** Bytes written in a step by one of the machines that hold rows. */
  readonly writeBytes: number;
  /** Bytes a second that the media model gives for accesses like these, one machine. */
  readonly readLimit: number;
  /** Bytes a second that the media model gives for writes like these, all threads of one machine. */
  readonly writeLimit: number;
  /** Share of the time that it is taken, of the machine that uses it most. */
  readonly busy: number;
}

/** One thing that is not known exactly, and what it does to a case alone. */
export interface Doubt {
  /** A medium's reads or writes, a stated time or rate by its field, or the engine. */
  readonly of: string;
  /** It is this many times as large or as small as taken, at most: nine cases in ten. */
  readonly factor: number;
  /** Factor on the speed where everything else is as taken and this is at the end that slows down. */
  readonly slower: number;
  /** The same at the other end. */
  readonly faster: number;
}

/**
 * A 90 % band as factors on the speed, or why there is none: everything that is not known exactly drawn together, many
 * times (Monte Carlo).
 */
export type Band =
  | {
    readonly low: number;
    readonly high: number;
    /**
     * Factors on the speed, one a draw. Draw i of every case has the same errors of what the cases share, so that the
     * quotient of two cases' i-th draws is a draw of their ratio. Absent in results of versions that drew nothing.
     */
    readonly draws?: readonly number[];
    /** What the band is made of, the largest first. */
    readonly doubts?: readonly Doubt[];
  }
  | { readonly why: string };

/**
 * A question that the case asks a medium: random accesses of one kind (`sequential`: gathered for a drive), each direction
 * alone and at no load but its own. Reads and writes of one task, and tasks that share a medium, are put together by the
 * engine.
 */
export interface AskedQuestion {
  /** A media model: a name, or the path of a file. */
  readonly media: string;
  /** `load`, `nt-store`, `cached-store`, `flushed-store`. */
  readonly operation: "load" | "nt-store" | "cached-store" | "flushed-store";
  /** Bytes of an access. */
  readonly bytes: number;
  /** Threads that do such accesses at the same time. */
  readonly threads: number;
  /** Accesses that each keeps under way beyond what the media model gives it; 1 of memory. */
  readonly depth: number;
  /** Devices side by side. */
  readonly devices: number;
  /** NUMA hops. */
  readonly hops: number;
  /** Whether the hardware prefetchers are on. */
  readonly prefetch: boolean;
  /** Whether software asks for lines before it uses them; absent: not told. */
  readonly ahead?: boolean;
  /** Bytes that the accesses fall on. */
  readonly region: number;
  /** Whether they follow each other. */
  readonly sequential: boolean;
  /** Whether a fence follows each. */
  readonly fenced: boolean;
  /**
   * Figures that were asked the same way: published ones, or those that `tierbench calibrate` measured of a medium by path;
   * size and accesses under way within a factor of two, everything else equal but the region.
   */
  readonly figures: number;
  /** Figures of that operation, order, fence and hops at any size, threads and prefetchers, asked ahead or not. */
  readonly alike: number;
  /**
   * Whether the medium's family is validated for bandwidths of this operation and fence (docs/accuracy.md); absent of a
   * medium by path, which was measured, and in older records.
   */
  readonly validated?: boolean;
  /**
   * The 90 % band of such accesses inside the range that was compared, as a factor, and whose figures it is made of; absent
   * where the access was never compared, and in older records.
   */
  readonly band?: BandWidth;
}

/** One case. */
export interface SimulatedRecord {
  /** Tells it from the other lines of the file. */
  readonly type: "simulated";
  /** Kind of evidence: virtual time over media models. */
  readonly evidence: "simulated";
  /** Unique in the file: configuration and point. */
  readonly case: string;
  /** Name of the study that the case is in. */
  readonly study: string;
  /** Name of the configuration in the simulation. */
  readonly configuration: string;
  /** Values of the study's fields, by dotted name. */
  readonly point: SimulatedPoint;
  /** How the configuration sets memory up: `fsdax`, `memory-mode`, ... */
  readonly mode: string;
  /** All workers together, checkpoints counted. */
  readonly samplesPerSecond: number;
  /** The 90 % band of `samplesPerSecond`, as factors on it. */
  readonly band: Band;
  /** Seconds. */
  readonly step: { readonly mean: number; readonly p50: number; readonly p90: number; readonly p99: number };
  /** Seconds of a mean step; their sum is `step.mean`. */
  readonly parts: readonly TimePart[];
  /** Cores, links and devices: how many places each has, and the share of them that was taken, 0 to 1. */
  readonly resources: readonly { readonly name: string; readonly places: number; readonly busy: number }[];
  /** What the media were asked, the least backed first; absent in results of versions that did not say. */
  readonly questions?: readonly AskedQuestion[];
  /** Traffic of each tier, fastest first. */
  readonly tiers: readonly TierTraffic[];
  /** Distinct rows a step, one worker's and all workers'; keys a step of all. */
  readonly rows: { readonly worker: number; readonly all: number; readonly keys: number };
  /** Distinct rows a step that were not in the first tier, as a share of keys and of distinct rows. */
  readonly misses: { readonly ofKeys: number; readonly ofRows: number };
  /** How it is known what the first tier holds. Absent where the store does not place rows, and with one tier. */
  readonly hits?: {
    readonly method: HitsMethod;
    readonly trace?: TraceReplay;
  };
  /** Memory Mode: shares of row accesses. */
  readonly lines?: Readonly<Record<string, number>>;
  /** Bytes over the network a step. */
  readonly netBytes: number;
  /** What checkpoints cost; absent if none are made. */
  readonly checkpoint?: {
    readonly kind: string;
    /** Seconds that training stops, and from one checkpoint to the next. */
    readonly pause: number;
    readonly every: number;
    readonly bytes: number;
    /** Bytes that all machines read to go on after a crash, and seconds; absent in results of versions that did not say. */
    readonly recovery?: { readonly bytes: number; readonly seconds: number };
  };
  /** Tasks of the last step: kind, actor, start and end in seconds. */
  readonly tasks: readonly (readonly [string, number, number, number])[];
}

/** A difference between two cases, taken apart. */
export interface ExplanationRecord {
  /** Tells it from the other lines of the file. */
  readonly type: "explanation";
  /** Name of the case that the difference starts from. */
  readonly from: string;
  /** Name of the case that it leads to. */
  readonly to: string;
  /** Seconds a sample of both. */
  readonly fromTime: number;
  /** Seconds a sample of `to`. */
  readonly toTime: number;
  /** What each part adds, seconds a sample; their sum is `toTime - fromTime`. Shapley values: the mean over all orders. */
  readonly parts: readonly { readonly part: string; readonly seconds: number; readonly says: string }[];
}

/**
 * A null model, which takes away what a figure is about: every medium is DRAM, every tier but the last a hundredth of its size,
 * every row as popular as every other, software that takes no lock and keeps nothing in order.
 */
export type NullName = "dram" | "small-cache" | "uniform-keys" | "free-software";
/** Every {@linkcode NullName}. */
export const NULL_NAMES: readonly NullName[] = ["dram", "small-cache", "uniform-keys", "free-software"];

/** What a null model takes away, in words. */
export const NULL_WORDS: Readonly<Record<NullName, string>> = {
  "dram": "all DRAM",
  "small-cache": "a hundredth of the cache",
  "uniform-keys": "uniform keys",
  "free-software": "software that costs nothing",
};

/** What a case that a published figure speaks of comes to under a null model that changes something of it. */
export interface NullRecord extends Pick<SimulatedRecord, "case" | "samplesPerSecond" | "misses"> {
  /** Tells it from the other lines of the file. */
  readonly type: "null";
  /** Which. */
  readonly model: NullName;
  /** Seconds of a mean step. */
  readonly step: Pick<SimulatedRecord["step"], "mean">;
}

/** Any line. */
export type SimulationRecord = SimulationRunRecord | SimulatedRecord | ExplanationRecord | NullRecord;

/** A whole result. */
export interface SimulationResult {
  /** First line: what ran, when, with which versions. */
  readonly run: SimulationRunRecord;
  /** Every case, in the order of the file. */
  readonly cases: readonly SimulatedRecord[];
  /** Every difference that was taken apart, in the order of the file. */
  readonly explanations: readonly ExplanationRecord[];
  /** Null models of the cases that published figures speak of; absent where none was run. */
  readonly nulls?: readonly NullRecord[];
}

/** The name of a case. */
export function caseName(configuration: string, point: SimulatedPoint): string {
  return [configuration, ...Object.entries(point).map(([field, value]) => `${field}=${value}`)].join(" ");
}

/** What a published figure speaks of, in a case. */
export function metricOf(one: Pick<NullRecord, "samplesPerSecond" | "misses" | "step">, metric: Metric): number {
  if (metric === "miss-rate") return one.misses.ofKeys;
  if (metric === "step-time") return one.step.mean;
  return metric === "samples-per-second" ? one.samplesPerSecond : 1 / one.samplesPerSecond;
}
