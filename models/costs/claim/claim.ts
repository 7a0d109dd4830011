/**
 * A claim that B costs less than A, in the terms it can be doubted by: price of a byte, time, the sizes machines come in
 * (of A and of B), and what is in the bill.
 *
 * With u the price of holding the model if memory were sold to the byte, o the memory bought ÷ needed, t the time of a
 * unit of work, c what both sides pay beside their memory machines:
 *
 *     cost = (u · o + c) · t        saving = 1 − cost of B ÷ cost of A
 *
 * A cause that is absent is neutral: B has the price or the time of A, a side buys to the byte, the bill holds everything.
 * Without any cause both sides cost the same, so the terms of all causes add up to the saving.
 *
 * @module
 */

import { shapley } from "../../../base/shapley.ts";

/** One side of a claim. */
export interface ClaimSide {
  /** `DRAM`. */
  readonly name: string;
  /** What is rented: `ecs.r6e.13xlarge`. */
  readonly machine: string;
  /** $ an hour of one machine. */
  readonly price: number;
  /** How many. */
  readonly machines: number;
  /** Memory bought ÷ memory needed, where the rows are. */
  readonly overBuy: number;
  /** Time of a unit of work: hours of an epoch, or relative to the other side. */
  readonly time: number;
}

/** An interval, or a range that somebody states. */
export interface Range {
  /** Lower end, in the unit of what it is a range of. */
  readonly low: number;
  /** Upper end, in the same unit. */
  readonly high: number;
}

/** A claim that B saves money against A. */
export interface Claim {
  /** `PMem against DRAM`. */
  readonly name: string;
  /** The side that is said to cost more: what the saving is a share of. */
  readonly a: ClaimSide;
  /** The side that is said to save money. */
  readonly b: ClaimSide;
  /** $ an hour within the bill that both sides pay beside these machines. */
  readonly inside: number;
  /** $ an hour that both pay and that the bill leaves out. */
  readonly outside: number;
  /** Time of B ÷ time of A: 95 % interval of the samples; undefined if none is known. */
  readonly timeRatio: Range | undefined;
  /** How amounts are written. Default `$`. */
  readonly sign?: string;
}

/** What a saving may come from. */
export type Cause = "unit price" | "time" | "sizes of A" | "sizes of B" | "boundary";
/** Every {@linkcode Cause}. */
export const CAUSES: readonly Cause[] = ["unit price", "time", "sizes of A", "sizes of B", "boundary"];

/** A cause in words that name the sides. */
function causeText(cause: Cause, { a, b }: Claim): string {
  switch (cause) {
    case "unit price":
      return `price of holding the model to the byte: ${b.name} instead of ${a.name}`;
    case "time":
      return `time of the work: ${b.name} instead of ${a.name}`;
    case "sizes of A":
      return `${a.name} machines come in sizes`;
    case "sizes of B":
      return `${b.name} machines come in sizes`;
    case "boundary":
      return "parts of the job that are left out of the bill";
  }
}

/** $ an hour for the model if the side's memory were sold to the byte. */
function toTheByte({ price, machines, overBuy }: ClaimSide): number {
  return price * machines / overBuy;
}

/** The saving with some causes present and the others neutral. */
export function savingWith({ a, b, inside, outside }: Claim, present: ReadonlySet<Cause>): number {
  const common = inside + (present.has("boundary") ? 0 : outside);
  const unitA = toTheByte(a);
  const unitB = present.has("unit price") ? toTheByte(b) : unitA;
  const costA = (unitA * (present.has("sizes of A") ? a.overBuy : 1) + common) * a.time;
  const costB = (unitB * (present.has("sizes of B") ? b.overBuy : 1) + common) *
    (present.has("time") ? b.time : a.time);
  return 1 - costB / costA;
}

/** The saving as claimed: all causes present. */
export function claimedSaving(claim: Claim): number {
  return savingWith(claim, new Set(CAUSES));
}

/** What a cause has to do with a saving. */
export interface CauseShare {
  /** The cause. */
  readonly cause: Cause;
  /** The cause in words that name both sides. */
  readonly text: string;
  /** Its value on side A (or without it), and on side B (or with it), in words. */
  readonly change: string;
  /** Shapley value: these add up to the saving. */
  readonly points: number;
  /** What it adds when all others are there already. */
  readonly last: number;
  /** The saving that would be left without it. */
  readonly without: number;
}

/** Every cause of a saving; the points add up to it. */
export function takeApart(claim: Claim): CauseShare[] {
  const value = (present: ReadonlySet<Cause>): number => savingWith(claim, present);
  const points = shapley(CAUSES, value);
  const total = claimedSaving(claim);
  return CAUSES.map((cause) => {
    const without = value(new Set(CAUSES.filter((other) => other !== cause)));
    return {
      cause,
      text: causeText(cause, claim),
      change: changeText(cause, claim),
      points: points[cause],
      last: total - without,
      without,
    };
  });
}

function changeText(cause: Cause, claim: Claim): string {
  const { a, b, inside, outside, sign = "$" } = claim;
  switch (cause) {
    case "unit price":
      return `${digits(toTheByte(a))} to ${digits(toTheByte(b))} ${sign}/h`;
    case "time":
      return `× ${digits(b.time / a.time)}`;
    case "sizes of A":
      return `bought ÷ needed: ${digits(a.overBuy)}`;
    case "sizes of B":
      return `bought ÷ needed: ${digits(b.overBuy)}`;
    case "boundary":
      return outside === 0
        ? "nothing is left out"
        : `${digits(inside)} of ${digits(inside + outside)} ${sign}/h are in the bill`;
  }
}

function digits(value: number): number {
  return Number(value.toPrecision(3));
}
