/**
 * Words for figures as every report prints them: with their interval, and for what changed.
 *
 * @module
 */

import { decimalsFor, fixed, prefixFor, significant } from "../../base/numbers.ts";
import type { Estimate } from "../statistics/bootstrap.ts";

/**
 * The ends of an interval: `11.9 to 15.2`; undefined without an interval.
 *
 * @param decimals Of both ends. Default: those that show the largest number to three digits.
 */
export function intervalText(estimate: Estimate, factor: number = 1, decimals?: number): string | undefined {
  if (estimate.low === undefined || estimate.high === undefined) return undefined;
  // What is the same to the bit in every sample, as the loss of a deterministic run, has no interval.
  if (estimate.low === estimate.high) return `the same in all ${estimate.samples}`;
  const largest = Math.max(...[estimate.value, estimate.low, estimate.high].map(Math.abs));
  const places = decimals ?? decimalsFor(largest * factor);
  return `${fixed(estimate.low * factor, places)} to ${fixed(estimate.high * factor, places)}`;
}

/** A value and its interval: `52.9 (52.0 to 53.8)`, or `52.9 (one sample)`. */
export function estimateText(estimate: Estimate, factor: number = 1): string {
  const interval = intervalText(estimate, factor) ?? "one sample";
  return `${significant(estimate.value * factor)} (${interval})`;
}

/** A rate and its interval in one prefix: `52.9 k (52.0 to 53.8)`. */
export function rateText(estimate: Estimate): string {
  const { factor, prefix } = prefixFor(estimate.value);
  const interval = intervalText(estimate, 1 / factor) ?? "one sample";
  return `${significant(estimate.value / factor)}${prefix === "" ? "" : ` ${prefix}`} (${interval})`;
}

/** Percent in words: two digits, whole from 10 on: `38 %`, `7.6 %`, `0.13 %`. Without sign. */
export function roughPercentText(share: number): string {
  const percent = Math.abs(share) * 100;
  return `${percent >= 9.95 ? fixed(percent, 0) : significant(percent, 2)} %`;
}

/** A change in words: how much, and its interval. */
interface ChangeWords {
  /** `38 % cheaper` */
  readonly amount: string;
  /** `95 %: 34 to 41`, or `95 %: 5 % dearer to 6 % cheaper` where the interval holds no change. */
  readonly interval: string;
}

/**
 * A change in words, in percent with as many decimals as its interval allows: none when it is 5 points wide or more,
 * and three significant digits at most.
 *
 * @param change Share by which it is more (above 0) or less (below 0).
 * @param more Word for more: `faster`.
 * @param less Word for less: `slower`.
 */
export function changeWords(change: Estimate, more: string, less: string): ChangeWords {
  const { value, low, high } = change;
  const word = (share: number): string => share < 0 ? less : more;
  if (low === undefined || high === undefined) {
    return { amount: `${roughPercentText(value)} ${word(value)}`, interval: "one sample, no interval" };
  }
  const crosses = low <= 0 && high >= 0;
  const width = 100 * (high - low);
  const tiny = !crosses && 100 * Math.min(Math.abs(low), Math.abs(high)) < 0.5;
  const worth = width >= 5 ? (tiny ? 1 : 0) : width >= 0.5 ? 1 : 2;
  const decimals = Math.min(worth, decimalsFor(100 * Math.max(Math.abs(low), Math.abs(high))));
  const percent = (share: number): string => fixed(Math.abs(share) * 100, decimals);
  const [from, to] = Math.abs(low) <= Math.abs(high) ? [low, high] : [high, low];
  return {
    amount: `${percent(value)} % ${word(value)}`,
    interval: crosses
      ? `95 %: ${percent(low)} % ${less} to ${percent(high)} % ${more}`
      : `95 %: ${percent(from)} to ${percent(to)}`,
  };
}

/** A saving or slow-down with sign: `−25 %`, `+3 %`. */
export function changeText(share: number): string {
  const percent = Math.round(share * 100);
  return percent === 0 ? "±0 %" : percent < 0 ? `−${-percent} %` : `+${percent} %`;
}

/** `a`, `a and b`, `a, b and c`. */
export function listText(items: readonly string[]): string {
  if (items.length < 2) return items[0] ?? "";
  return `${items.slice(0, -1).join(", ")} and ${items[items.length - 1]}`;
}

/** A count and its noun: `1 sample`, `3 samples`. */
export function countText(count: number, noun: string): string {
  return `${fixed(count, 0)} ${noun}${count === 1 ? "" : "s"}`;
}

/** The error of a failed sample, led by its id unless it names it already. */
export function errorText(failed: { readonly id: string; readonly error: string }): string {
  return failed.error.startsWith(`${failed.id}:`) ? failed.error : `${failed.id}: ${failed.error}`;
}
