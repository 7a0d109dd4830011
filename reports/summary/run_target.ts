/**
 * Whether the cases of a run meet its target, in words that say no more than their intervals.
 *
 * @module
 */

import { prefixed, prefixFor, significant } from "../../base/numbers.ts";
import type { Estimate } from "../statistics/bootstrap.ts";
import { intervalText, listText } from "../text/format.ts";
import type { RunTarget } from "./scenario_view.ts";
import type { CaseSummary } from "./summary_types.ts";

/** What is known of a case and a bound. */
interface Told {
  readonly outcome: "met" | "missed" | "open";
  readonly text: string;
}

/** What a target is held against. */
export type TargetCase = Pick<CaseSummary, "name" | "virtual" | "throughput" | "step" | "cost" | "costMissing">;

/** `, 95 %: 11.8 to 12.3 k`. */
function ends(estimate: Estimate, factor: number, unit: string): string {
  const interval = intervalText(estimate, factor);
  if (interval === undefined) return ", one sample, no interval";
  return estimate.low === estimate.high ? `, ${interval}` : `, 95 %: ${interval}${unit}`;
}

/** An interval on one side of a bound tells; one that holds it, or none, does not. */
function told({ low, high }: Estimate, bound: number, asked: "at least" | "at most", text: string): Told {
  if (low === undefined || high === undefined) return { outcome: "open", text };
  const [met, missed] = asked === "at least" ? [low >= bound, high < bound] : [high <= bound, low > bound];
  return { outcome: met ? "met" : missed ? "missed" : "open", text };
}

function toldOf({ samplesPerSecond, p99Ms, perHour }: RunTarget, one: TargetCase, sign: string): Told[] {
  const withheld: Told = { outcome: "open", text: "its speed on a virtual medium says nothing" };
  const found: Told[] = [];
  if (samplesPerSecond !== undefined) {
    const { throughput: rate } = one;
    const { factor, prefix } = prefixFor(rate?.value ?? 1);
    const unit = prefix === "" ? "" : ` ${prefix}`;
    found.push(
      rate === undefined ? withheld : told(
        rate,
        samplesPerSecond,
        "at least",
        `${prefixed(rate.value)} samples/s${ends(rate, 1 / factor, unit)}`,
      ),
    );
  }
  if (p99Ms !== undefined) {
    const p99 = one.step?.p99;
    found.push(
      p99 === undefined
        ? withheld
        : told(p99, p99Ms / 1e3, "at most", `a p99 step of ${significant(p99.value * 1e3)} ms${ends(p99, 1e3, "")}`),
    );
  }
  if (perHour !== undefined) {
    const price = one.cost?.offer.pricePerHour;
    found.push(
      price === undefined
        ? { outcome: "open", text: "it has no price" }
        : { outcome: price <= perHour ? "met" : "missed", text: `machines of ${significant(price)} ${sign} an hour` },
    );
  }
  return found;
}

/** `10 k samples/s and a p99 step of at most 5 ms`. */
function askedText({ samplesPerSecond, p99Ms, perHour }: RunTarget, sign: string): string {
  return listText([
    ...(samplesPerSecond === undefined ? [] : [`${prefixed(samplesPerSecond)} samples/s`]),
    ...(p99Ms === undefined ? [] : [`a p99 step of at most ${significant(p99Ms)} ms`]),
    ...(perHour === undefined ? [] : [`machines of at most ${significant(perHour)} ${sign} an hour`]),
  ]);
}

/**
 * Which cases of a run meet its target, miss it, or cannot be told: those where an interval holds the bound, or that lack
 * what it is about.
 *
 * @param sign How amounts are written: `$`.
 */
export function runTargetSentence(target: RunTarget, cases: readonly TargetCase[], sign: string): string {
  const judged = cases.map((one) => {
    const all = toldOf(target, one, sign);
    const outcome = (["missed", "open"] as const).find((wanted) => all.some((each) => each.outcome === wanted)) ??
      "met";
    const texts = all.filter((each) => each.outcome === outcome).map(({ text }) => text);
    return { outcome, text: `${one.name} (${[...new Set(texts)].join("; ")})` };
  });
  const of = (wanted: Told["outcome"]) => judged.filter(({ outcome }) => outcome === wanted).map(({ text }) => text);
  const [met, missed, open] = [of("met"), of("missed"), of("open")];
  return [
    `The target of ${askedText(target, sign)} is met by ${met.length === 0 ? "no case" : listText(met)}`,
    ...(missed.length === 0 ? [] : [`missed by ${listText(missed)}`]),
    ...(open.length === 0 ? [] : [`cannot be told for ${listText(open)}`]),
  ].join("; ");
}
