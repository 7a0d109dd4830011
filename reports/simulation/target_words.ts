/**
 * Whether simulated cases meet the target, in words.
 *
 * @module
 */

import { prefixed, significant } from "../../base/numbers.ts";
import { amountIn, DOLLARS } from "../../models/costs/currency.ts";
import type { Prices } from "../../models/costs/machine_cost.ts";
import type { SimulatedRecord } from "../../models/simulation/record.ts";
import type { Target } from "../../models/simulation/target.ts";
import { listText } from "../text/format.ts";
import type { CaseMoney, NoMoney } from "./money.ts";

/** Why a case misses the target; undefined where it meets it, or nothing says what it costs. */
export function missText(
  { samplesPerSecond, p99Ms, dollarsPerHour }: Target,
  { samplesPerSecond: rate, step }: Pick<SimulatedRecord, "samplesPerSecond" | "step">,
  money: CaseMoney | NoMoney | undefined,
  prices: Prices | undefined,
): string | undefined {
  const misses: string[] = [];
  if (samplesPerSecond !== undefined && rate < samplesPerSecond) {
    misses.push(`${prefixed(rate)} of ${prefixed(samplesPerSecond)} samples/s`);
  }
  if (p99Ms !== undefined && step.p99 * 1e3 > p99Ms) {
    misses.push(`a p99 step of ${significant(step.p99 * 1e3)} ms, ${significant(p99Ms)} ms are asked for`);
  }
  if (dollarsPerHour !== undefined && prices !== undefined && money !== undefined && "perHour" in money) {
    const most = amountIn(prices.currency, dollarsPerHour, DOLLARS, prices.book, prices.date);
    const { perHour } = money.servers;
    if (perHour > most) {
      misses.push(`servers of ${significant(perHour)} ${prices.sign} an hour, ${significant(most)} are asked for`);
    }
  }
  return misses.length === 0 ? undefined : listText(misses);
}

/** Which cases of a study meet the target, in a sentence. */
export function targetSentence(
  name: string,
  cases: readonly { readonly label: string; readonly missesTarget?: string }[],
): string {
  const meeting = cases.filter(({ missesTarget }) => missesTarget === undefined).map(({ label }) => label);
  const missing = cases.flatMap(({ label, missesTarget }) =>
    missesTarget === undefined ? [] : [`${label} (${missesTarget})`]
  );
  const met = meeting.length === 0
    ? "nothing meets the target"
    : `${listText(meeting)} ${meeting.length === 1 ? "meets" : "meet"} the target`;
  return `${name}: ${met}${missing.length === 0 ? "" : `; missed by ${listText(missing)}`}`;
}
