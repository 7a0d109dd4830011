/**
 * What a claim hangs on: how far each of its inputs moves it over its range (a tornado), and where each would turn it
 * around (its flip value).
 *
 * @module
 */

import { type Claim, claimedSaving, type ClaimSide, type Range } from "./claim.ts";

/** Range of a price whose source states none: an assumption. */
const PRICE_RANGE = 0.2;
/** Range of a time without an interval: an assumption. */
const TIME_RANGE = 0.2;

/** Name of the input that is the price of a side's machine. */
export function priceInput(side: ClaimSide): string {
  return `price of a ${side.name} machine`;
}

/** An input of a claim. */
export interface ClaimInput {
  /** What it is, in words: `price of a DRAM machine`. */
  readonly name: string;
  /** Unit of the value and its range; `×` is a plain ratio. */
  readonly unit: string;
  /** The value that the claim is made with. */
  readonly value: number;
  /** How far it may be from that value. */
  readonly range: Range;
  /** Where the range is from. */
  readonly why: string;
  /** The claim with another value. */
  readonly change: (value: number) => Claim;
}

/** The inputs of a claim. @param ranges Stated ranges by name of the input, where one is known. */
export function claimInputs(claim: Claim, ranges: Readonly<Record<string, Range>> = {}): ClaimInput[] {
  const { a, b, inside, outside, timeRatio, sign = "$" } = claim;
  const side = (of: "a" | "b"): ClaimInput[] => {
    const { name, price, machines, overBuy } = claim[of];
    const [priceName, countName] = [priceInput(claim[of]), `${name} machines`];
    return [
      input(priceName, `${sign}/h`, price, (value) => ({ ...claim, [of]: { ...claim[of], price: value } })),
      {
        name: countName,
        unit: "machines",
        value: machines,
        range: ranges[countName] ?? { low: Math.max(1, machines - 1), high: machines + 1 },
        why: ranges[countName] === undefined ? "one fewer, one more" : "stated range",
        // Memory that is needed stays; what is bought follows the count.
        change: (value) => ({
          ...claim,
          [of]: { ...claim[of], machines: value, overBuy: overBuy * value / machines },
        }),
      },
    ];
  };
  const input = (name: string, unit: string, value: number, change: (value: number) => Claim): ClaimInput => ({
    name,
    unit,
    value,
    range: ranges[name] ?? { low: value * (1 - PRICE_RANGE), high: value * (1 + PRICE_RANGE) },
    why: ranges[name] === undefined ? "± 20 %, an assumption" : "stated range",
    change,
  });
  const ratio = b.time / a.time;
  return [
    ...side("a"),
    ...side("b"),
    {
      name: `time of ${b.name} ÷ time of ${a.name}`,
      unit: "×",
      value: ratio,
      range: timeRatio ?? { low: ratio * (1 - TIME_RANGE), high: ratio * (1 + TIME_RANGE) },
      why: timeRatio === undefined ? "± 20 %, an assumption: no interval is known" : "95 % interval of the samples",
      change: (value) => withTime(claim, value),
    },
    {
      name: "what both sides pay beside these machines",
      unit: `${sign}/h`,
      value: inside,
      range: { low: 0, high: inside + outside },
      why: outside === 0 ? "nothing to all that is in the bill" : "nothing to everything that was left out",
      change: (value) => ({ ...claim, inside: value, outside: inside + outside - value }),
    },
  ];
}

/** A bar of a tornado. */
export interface TornadoBar {
  /** The input that is moved over its range, all others as they are. */
  readonly input: ClaimInput;
  /** The saving at the ends of the range of the input. */
  readonly atLow: number;
  /** The saving at the upper end, as a share of the cost of A. */
  readonly atHigh: number;
  /** Points between them. */
  readonly width: number;
}

/** The saving at the ends of each input's range, the widest bar first. */
export function tornado(inputs: readonly ClaimInput[]): TornadoBar[] {
  return inputs.map((input) => {
    const [atLow, atHigh] = [input.range.low, input.range.high].map((value) => claimedSaving(input.change(value))) as [
      number,
      number,
    ];
    return { input, atLow, atHigh, width: Math.abs(atHigh - atLow) };
  }).sort((a, b) => b.width - a.width);
}

/** Where an input turns a claim around. */
export interface Flip {
  /** The input that is moved, all others as they are. */
  readonly input: ClaimInput;
  /** The value at which both sides cost the same; undefined if there is none above 0. */
  readonly value: number | undefined;
  /** The same at the ends of the interval of the time ratio; undefined without an interval, or where an end has none. */
  readonly interval: Range | undefined;
  /** True if B is cheaper at higher values. */
  readonly cheaperAbove: boolean | undefined;
}

/**
 * The value of each input at which the saving is nothing, all others as they are; in the cost of a side every input is
 * linear, so it is exact: both costs are lines, and they cross once or never.
 */
export function flips(claim: Claim, inputs: (claim: Claim) => readonly ClaimInput[] = claimInputs): Flip[] {
  const { timeRatio } = claim;
  const at = (ratio: number): (number | undefined)[] => inputs(withTime(claim, ratio)).map(crossing);
  const [low, high] = timeRatio === undefined ? [] : [at(timeRatio.low), at(timeRatio.high)];
  return inputs(claim).map((input, i) => {
    const value = crossing(input);
    const [first, second] = [low?.[i], high?.[i]];
    const isTime = input.unit === "×";
    const interval = isTime || value === undefined || first === undefined || second === undefined
      ? undefined
      : { low: Math.min(first, second), high: Math.max(first, second) };
    const cheaperAbove = value === undefined ? undefined : claimedSaving(input.change(value * 1.01)) > 0;
    return { input, value, interval, cheaperAbove };
  });
}

/** The same claim with another time of B ÷ time of A. */
function withTime(claim: Claim, ratio: number): Claim {
  return { ...claim, b: { ...claim.b, time: claim.a.time * ratio } };
}

function crossing({ change }: ClaimInput): number | undefined {
  const difference = (value: number): number => {
    const { a, b, inside } = change(value);
    return (b.price * b.machines + inside) * b.time - (a.price * a.machines + inside) * a.time;
  };
  const [zero, one] = [difference(0), difference(1)];
  const value = zero / (zero - one);
  return Number.isFinite(value) && value > 0 ? value : undefined;
}
