/**
 * The five-minute rule for the rows of a plan.
 *
 * @module
 */

import { currencySign, DOLLARS, inCurrency } from "../costs/currency.ts";
import { type PriceBook, pricesAsOf } from "../costs/price_book.ts";
import { rowRulePrices, rowRuleText } from "../costs/row_rule.ts";
import type { ResolvedPlanFile } from "./plan_file.ts";
import { planTables } from "./sizes.ts";

/** Bytes of a row of the plan, weights and slots; of several tables the mean. */
function meanRowBytes(file: ResolvedPlanFile): number {
  const tables = planTables(file);
  const [rows, bytes] = [1, 0].map((one) =>
    tables.reduce((sum, { rows, count, rowBytes }) => sum + rows * count * (one === 1 ? 1 : rowBytes), 0)
  ) as [number, number];
  return Math.round(bytes / rows);
}

/**
 * The rule in a sentence, without its full stop: how often a row must be read to belong in DRAM, and at which price that turns.
 *
 * @param file The plan.
 * @param book Prices.
 * @param date As of when.
 * @param currency What they are told in. Default: dollars.
 * @returns Undefined: the book has no price of memory or of a drive.
 */
export function planRowRule(
  file: ResolvedPlanFile,
  book: PriceBook,
  date: string,
  currency: string = DOLLARS,
): string | undefined {
  const prices = rowRulePrices(pricesAsOf(inCurrency(book, currency, date), date));
  return prices === undefined ? undefined : rowRuleText(prices, meanRowBytes(file), currencySign(currency));
}
