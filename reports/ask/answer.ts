/**
 * An answer as programs take it: `tierbench ask --json`. Amounts are in its currency, an hour's unless a field says otherwise.
 *
 * @module
 */

import { missShare, type Turn } from "../../models/planning/ask/turning.ts";
import { type Way, wayOf } from "../../models/planning/ask/ways.ts";
import type { Asked } from "../../models/planning/ask/ask.ts";
import type { PlanWin } from "../../models/planning/bill.ts";
import type { Banded, PlacedKind, Plan, PlanBill, PlanDoubt, SimulatedPlan } from "../../models/planning/plan_types.ts";
import {
  type BillLine,
  billLines,
  headline,
  type Measure,
  measures,
  type Owning,
  owningOf,
  sentences,
} from "./words.ts";

/** A way to hold the tables; figures are absent where no machines of this way hold them. */
export interface AskAnswerWay extends Omit<Way, "plan" | "win"> {
  /** The best machine of this way. */
  readonly machine?: string;
  /** How many of it. */
  readonly hosts?: number;
  /** An hour of the whole bill; absent where the machine has no price. */
  readonly billPerHour?: number;
  /** An hour of the machines that hold the tables; absent where the machine has no price. */
  readonly machinesPerHour?: number;
  /** What a million samples costs, of the bill; absent where the machine has no price. */
  readonly perMillionSamples?: Banded;
  /** What the bill is made of; absent where the machine has no price. */
  readonly bill?: readonly BillLine[];
  /** Training samples a second of all workers. */
  readonly samplesPerSecond?: Banded;
  /** Seconds of a step, mean. */
  readonly stepSeconds?: Banded;
  /** Seconds of the slowest step in a hundred. */
  readonly p99StepSeconds?: Banded;
  /** Share of a step's different rows that the first tier does not have. */
  readonly missShare?: number;
  /** Bytes of one host that are used, by tier. */
  readonly usedBytes?: readonly number[];
  /** What it takes to own the machines. */
  readonly owning?: Owning;
  /** Of a machine without a price: at most what it may cost to win. */
  readonly win?: Omit<PlanWin, "plan">;
}

/** An answer to a question. */
export interface AskAnswer {
  /** Name of the plan file. */
  readonly name: string;
  /** What amounts are in: `USD`. */
  readonly currency: string;
  /** The answer in one sentence. */
  readonly headline: string;
  /** What more there is to say of it. */
  readonly sentences: readonly string[];
  /** What costs are of. */
  readonly bill?: PlanBill | undefined;
  /** The ways to hold the tables, the best first. */
  readonly ways: readonly AskAnswerWay[];
  /** Doubts that another way wins, or that the best one meets the target. */
  readonly doubts: readonly PlanDoubt[];
  /** As many of the best machines as meet the target with every medium at the slow end of its band. */
  readonly sure?: { readonly machine: string; readonly hosts: number; readonly billPerHour: number };
  /** The cheapest machines for rent that meet the target, and when their price was seen. */
  readonly rented?: {
    readonly machine: string;
    readonly hosts: number;
    readonly machinesPerHour: number;
    readonly prices: string;
  };
  /** Of each way with DRAM and CXL memory: the same machines by who places the rows, the fastest first. */
  readonly placements: readonly {
    readonly way: string;
    readonly plans: readonly {
      readonly kind: PlacedKind | undefined;
      readonly answered: readonly number[] | undefined;
      readonly samplesPerSecond: Banded;
      readonly stepSeconds: Banded;
      readonly simulated: SimulatedPlan | undefined;
    }[];
  }[];
  /** The best and the next way in virtual time; without figures where the engine does not have what a plan asks for. */
  readonly simulated: readonly ({ readonly machine: string; readonly hosts: number } & Partial<SimulatedPlan>)[];
  /** What would turn it around, and what wins there. */
  readonly turns: readonly (Omit<Turn, "then"> & {
    readonly then?: { readonly way: string; readonly machine: string; readonly hosts: number };
  })[];
  /** What to measure to be sure. */
  readonly measures: readonly Measure[];
  /** Machines that are in no way, and why. */
  readonly left: readonly { readonly machine: string; readonly why: string }[];
}

/** An answer for programs. */
export function askAnswer(asked: Asked, currency: string): AskAnswer {
  const { answer, ways, doubts, turns, simulated, placements, sure, left, file } = asked;
  const figures = (plan: Plan, priced: boolean) => ({
    machine: plan.machine.name,
    hosts: plan.hosts,
    billPerHour: plan.billPerHour,
    machinesPerHour: plan.pricePerHour,
    samplesPerSecond: plan.samplesPerSecond,
    stepSeconds: plan.stepSeconds,
    p99StepSeconds: plan.p99StepSeconds,
    perMillionSamples: plan.dollarsPerMillionSamples,
    missShare: missShare(plan),
    usedBytes: plan.usedBytes,
    bill: billLines(plan, answer),
    owning: owningOf(plan, priced, asked),
  });
  return {
    name: file.name,
    currency,
    headline: headline(asked),
    sentences: sentences(asked),
    bill: answer.bill,
    ways: ways.map(({ plan, win, ...way }) => {
      if (plan === undefined) return way;
      const { plan: _, ...most } = win ?? { plan };
      // A machine without a price has speeds and no amounts.
      const { billPerHour, machinesPerHour, perMillionSamples, bill, ...speeds } = figures(plan, win === undefined);
      return {
        ...way,
        ...speeds,
        ...(win === undefined ? { billPerHour, machinesPerHour, perMillionSamples, bill } : { win: most }),
      };
    }),
    doubts,
    ...(sure === undefined
      ? {}
      : { sure: { machine: sure.machine.name, hosts: sure.hosts, billPerHour: sure.billPerHour } }),
    ...(asked.rented === undefined ? {} : {
      rented: {
        machine: asked.rented.machine.name,
        hosts: asked.rented.hosts,
        machinesPerHour: asked.rented.pricePerHour,
        prices: asked.rented.machine.priceDate,
      },
    }),
    placements: placements.map(({ way, plans }) => ({
      way,
      plans: plans.map(([plan, of]) => ({
        kind: plan.placed[0]?.kind,
        answered: plan.placements[0]?.answered,
        samplesPerSecond: plan.samplesPerSecond,
        stepSeconds: plan.stepSeconds,
        simulated: of,
      })),
    })),
    simulated: simulated.map(([{ machine, hosts }, of]) => ({ machine: machine.name, hosts, ...of })),
    turns: turns.map(({ then, ...turn }) => ({
      ...turn,
      ...(then === undefined
        ? {}
        : { then: { way: wayOf(then.machine), machine: then.machine.name, hosts: then.hosts } }),
    })),
    measures: measures(asked),
    left: left.map(([machine, why]) => ({ machine, why })),
  };
}
