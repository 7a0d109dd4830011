/**
 * What the planner is asked and what it answers: tables, machines with their tiers, a target; and plans, the cheapest
 * first, with the reasons of those that lost. Pure data, so that the browser and the command line use the same.
 *
 * @module
 */

import type { MachineLine } from "../costs/machine_cost.ts";
import type { AskedQuestion } from "../simulation/record.ts";

/** A tier of a machine. */
export interface PlanTier {
  /** `DRAM`, `PMEM`, `CXL`, `SSD`: unique in its machine. */
  readonly name: string;
  /** Media model that its times come from. */
  readonly medium: string;
  /** Bytes of one machine that tables may use. */
  readonly bytes: number;
  /** Devices of the medium side by side: drives, expanders. */
  readonly devices: number;
  /** Whether rows are records in files (SSD) and not memory. */
  readonly records: boolean;
  /** Rows take a multiple of so many bytes, as in a simulation of the medium's mode. Default 1. */
  readonly round?: number;
  /** Whether the kernel can spread pages over it and move them: DRAM, or a NUMA node of CXL memory. Default false. */
  readonly pages?: boolean;
  /** Seconds for one row of so many bytes, all threads of the machine reading. */
  readonly readSeconds: (rowBytes: number) => number;
  /** The same for writing. */
  readonly writeSeconds: (rowBytes: number) => number;
  /**
   * 90 % band of its times, as factors; undefined where the medium is not calibrated, which the plan says.
   */
  readonly band: { readonly low: number; readonly high: number } | undefined;
  /** Why there is no band: what was asked beyond what the medium's model was calibrated on. */
  readonly outside?: string;
}

/** A machine that can be rented or owned. */
export interface PlanMachine {
  /** Provider and shape. */
  readonly name: string;
  /** An hour of one. */
  readonly pricePerHour: number;
  /** When the price was seen. */
  readonly priceDate: string;
  /** That it is old, or that its memory is not sold new any more. */
  readonly priceNote?: string;
  /** What an hour of one is made of; the lines add up to `pricePerHour`. Absent: it is one price. */
  readonly lines?: readonly MachineLine[];
  /** What one costs to buy; absent where it is rented. */
  readonly purchase?: number;
  /** Mean watts of one; absent where no source states them. */
  readonly watts?: number;
  /** An hour of its power, of one that is bought. */
  readonly energyPerHour?: number;
  /** Bytes that its drives hold; absent where it has none, or none are stated. */
  readonly nvmeBytes?: number;
  /** Its tiers, fastest first. */
  readonly tiers: readonly PlanTier[];
  /** Its cores: rows are looked up and updated by them. */
  readonly cores: number;
  /** Bytes a second of its network in each direction; undefined: not known, and not in the plan's times. */
  readonly networkBytesPerSecond: number | undefined;
}

/** A table of the model. */
export interface PlanTable {
  /** Its name. */
  readonly name: string;
  /** Tables that are alike and placed alike, of which everything here is the sum. Default 1. */
  readonly count?: number;
  /** Rows. */
  readonly rows: number;
  /** Bytes of a row: weights and optimizer slots, padded. */
  readonly rowBytes: number;
  /** Bytes of the weights alone: what is sent to a worker and back. */
  readonly weightBytes: number;
  /** Keys of it that a sample has, on average. */
  readonly lookups: number;
  /** Different rows of it that a step touches, all workers and all hosts together. */
  readonly distinctPerStep: number;
  /** Different rows of one worker's batch: each worker pulls its own. */
  readonly distinctPerWorker: number;
  /** Variance of that number. */
  readonly variancePerWorker: number;
  /** Share of these that are not among the `rows` that are kept: 1 at 0 rows, 0 at all, never rising. */
  readonly missRatio: (rows: number) => number;
  /**
   * Share of `distinctPerStep` that is not in the first tier where the kernel keeps the hottest pages there, by the share of
   * all pages that it holds; absent: kernel tiering is not planned.
   */
  readonly pageMissRatio?: (share: number) => number;
}

/** Bytes beside rows, all in the first tier, if it is memory. */
export interface PlanOverhead {
  /** For a row in memory that can leave its tier: index, policy, key and flags. */
  readonly memoryRow: number;
  /** For a row that is a record in a file. */
  readonly recordRow: number;
}

/** What is asked for: at least one of the three. */
export interface PlanTarget {
  /** Training samples a second, at least. */
  readonly samplesPerSecond?: number | undefined;
  /** Seconds of the slowest step in a hundred, at most. */
  readonly p99StepSeconds?: number | undefined;
  /** US dollars an hour, at most. */
  readonly dollarsPerHour?: number | undefined;
}

/** What is in the bill beside the machines that hold the tables, and how amounts are written. */
export interface PlanBill {
  /** `$`, `EUR`. */
  readonly sign: string;
  /** An hour of everything else in the bill; the same for every machine. */
  readonly commonPerHour: number;
  /** What costs are of, in words. */
  readonly of: string;
  /** What else is in it: `1 × p4d.24xlarge`; absent: nothing. */
  readonly trainers?: string;
}

/**
 * Who places the rows of a table. `in place`, `cached`: the store, which leaves them where they are or brings them up to the
 * first tier when they are used. `interleaved`: the kernel deals pages out by weights (weighted interleave). `kernel tiering`: it
 * promotes hot pages (NUMA balancing) and demotes cold ones. The kernel's ways are for all tables of a machine.
 */
export type PlacedKind = "in place" | "cached" | "interleaved" | "kernel tiering";

/** A table where it is placed. */
export interface PlacedTable {
  /** The table. */
  readonly table: PlanTable;
  /** Who places its rows. */
  readonly kind: PlacedKind;
  /** Share of the step's different rows that each tier answers. */
  readonly answered: readonly number[];
  /** Bytes of one host, by tier. */
  readonly bytes: readonly number[];
}

/** What a step costs, in seconds. What it waits for is beside one another in part, so that these do not add up. */
export interface PlanStep {
  /** From the end of a step to the end of the next. */
  readonly seconds: number;
  /** The dense layers. */
  readonly compute: number;
  /** What is held longest of a host's cores and media. */
  readonly memory: number;
  /** What is held longest of the links. */
  readonly network: number;
  /** Bytes over the network, of all machines. */
  readonly networkBytes: number;
  /** Bytes of records that are written to drives, of all machines. */
  readonly recordBytes: number;
  /** Bytes that are read and written in each tier, of all machines: of a tier behind a link, what goes over it. */
  readonly tierBytes: readonly { readonly read: number; readonly written: number }[];
}

/**
 * What a step costs on so many machines of a shape. `late`: standard deviations by which numbers of rows are above the
 * expected ones. `factors`: on the time of each tier's accesses.
 */
export type PlanStepModel = (
  machine: PlanMachine,
  hosts: number,
  placed: readonly PlacedTable[],
  how?: { readonly late?: number; readonly factors?: readonly number[] },
) => PlanStep;

/** What a band is made of. */
export interface PlanBand {
  /** Factor on the seconds of a step that one in twenty is below. */
  readonly low: number;
  /** Factor that one in twenty is above. */
  readonly high: number;
  /** What is not known exactly, each with its own range and what it does alone to the seconds of a step; the widest first. */
  readonly doubts: readonly {
    readonly of: string;
    readonly range: number;
    readonly low: number;
    readonly high: number;
  }[];
}

/**
 * How wrong the seconds of a step may be, everything that is not known exactly drawn together; undefined where a tier that is
 * used is not calibrated. `late` as in {@linkcode PlanStepModel}.
 */
export type PlanBandModel = (
  machine: PlanMachine,
  hosts: number,
  placed: readonly PlacedTable[],
  late: number,
) => PlanBand | undefined;

/** A plan in virtual time. */
export interface SimulatedPlan {
  /** Seconds of a step, mean. */
  readonly stepSeconds: number;
  /** Training samples a second of all workers. */
  readonly samplesPerSecond: number;
  /** Share by which the planner's step is longer. */
  readonly apart: number;
}

/** Runs a plan in virtual time; undefined: the engine does not have what it asks for. */
export type PlanSimulator = (plan: Plan) => SimulatedPlan | undefined;

/** What a step of a plan asks the media, and how many figures were asked the same way; the least backed first. */
export type PlanQuestions = (plan: Plan) => Promise<readonly AskedQuestion[]>;

/** Everything the planner needs. */
export interface PlanRequest {
  /** The tables of the model; each is placed by itself. */
  readonly tables: readonly PlanTable[];
  /** Machines that may hold them; one plan uses machines of one kind. */
  readonly machines: readonly PlanMachine[];
  /** What a plan must meet. */
  readonly target: PlanTarget;
  /** Training samples a step, all workers together. */
  readonly samplesPerStep: number;
  /** What a step costs. */
  readonly step: PlanStepModel;
  /** How wrong that may be. */
  readonly band: PlanBandModel;
  /** Bytes that a row takes beside its own. */
  readonly overhead: PlanOverhead;
  /** Machines of one shape at most. */
  readonly maxHosts: number;
  /** What is in the bill. Default: nothing beside the machines, in dollars. */
  readonly bill?: PlanBill;
}

/** Where the rows of a table are. Shares of the table's rows by tier, fastest first; they add up to 1. */
export interface Placement {
  /** Name of the table. */
  readonly table: string;
  /** Who places them. */
  readonly kind: PlacedKind;
  /** Share of the table's rows that live in each tier, 0 to 1. */
  readonly shares: readonly number[];
  /** Share of the step's different rows that each tier answers. */
  readonly answered: readonly number[];
  /** Bytes of all hosts, by tier, overhead included. */
  readonly bytes: readonly number[];
  /** Seconds of its accesses in a step on one host, one after the other: what tables were placed by. */
  readonly seconds: number;
}

/** A value with its 90 % band, worked out when it is asked for; `undefined` ends: some tier is not calibrated. */
export interface Banded {
  /** The model's figure, in the unit of the field that holds it. */
  readonly value: number;
  /** Lower end of the band, in the same unit. */
  readonly low: number | undefined;
  /** Upper end of the band, in the same unit. */
  readonly high: number | undefined;
}

/** So many machines of one shape, with the best placement found on them. */
export interface Plan {
  /** The kind of machine; all hosts are of it. */
  readonly machine: PlanMachine;
  /** How many of them hold the tables, each the same part. */
  readonly hosts: number;
  /** An hour of all hosts. */
  readonly pricePerHour: number;
  /** An hour of the bill: the hosts, and what else is in it. */
  readonly billPerHour: number;
  /** The tables as the step model takes them. */
  readonly placed: readonly PlacedTable[];
  /** Where the rows of each table are. */
  readonly placements: readonly Placement[];
  /** What a step takes, and how long what it waits for is held. */
  readonly step: PlanStep;
  /** Seconds of a step, mean. */
  readonly stepSeconds: Banded;
  /** Seconds of the slowest step in a hundred, from the spread of misses alone. */
  readonly p99StepSeconds: Banded;
  /** Training samples a second of all workers: the samples of a step over its mean seconds. */
  readonly samplesPerSecond: Banded;
  /** What a million samples costs, of the bill. */
  readonly dollarsPerMillionSamples: Banded;
  /** What the band of a step is made of, worked out when it is asked for; undefined: some tier is not calibrated. */
  readonly band: PlanBand | undefined;
  /** Bytes of one host that are used, by tier. */
  readonly usedBytes: readonly number[];
}

/** A machine that does not win, and why. */
export interface Loser {
  /** The machine that does not win. */
  readonly machine: PlanMachine;
  /** Its best plan; undefined where it cannot hold the tables. */
  readonly plan: Plan | undefined;
  /** One sentence. */
  readonly why: string;
}

/** Why it cannot be told that a plan wins. */
export interface PlanDoubt {
  /** The machine that may miss the target, or do better than the winner. */
  readonly machine: string;
  /** How many of it. */
  readonly hosts: number;
  /** `misses`: the winner may miss the target. `cheaper`: another may meet it for less. `faster`: it may be faster. */
  readonly turns: "misses" | "cheaper" | "faster";
  /** Media whose error, or missing band, it is; to be measured. */
  readonly media: readonly string[];
  /** One sentence, with what to measure. */
  readonly text: string;
}

/** The answer. */
export interface PlanAnswer {
  /** What costs are of; absent where the request says nothing of it. */
  readonly bill?: PlanBill;
  /** The cheapest that meets the target; with a budget alone, the fastest within it. Undefined: none does. */
  readonly best: Plan | undefined;
  /** Why it cannot be told that it wins: bands, or their absence, that can turn the order. Empty: it can. */
  readonly doubts: readonly PlanDoubt[];
  /** The best machines with rows placed in other ways, the fastest first; empty where there is only one. */
  readonly otherwise: readonly Plan[];
  /** Every other machine, with the reason that it is not chosen. */
  readonly losers: readonly Loser[];
}
