/**
 * Which tier a row belongs to by its heat and the price of memory: the row rule over a range of prices.
 *
 * @module
 */

import type { CaseSummary, Pricing } from "./summary_types.ts";
import { type RowRulePrices, rowRulePrices, rowRuleSeconds } from "../../models/costs/row_rule.ts";

/** Multiples of today's price of memory. */
export const PRICE_RATIOS: readonly number[] = [0.25, 0.35, 0.5, 0.7, 1, 1.4, 2, 2.8, 4];
/** Row sizes beside the run's, bytes. */
const OTHER_ROWS: readonly number[] = [512, 4096];

/** The map. */
export interface BreakEvenMap extends RowRulePrices {
  /** Per row size: seconds between two lookups at which memory and drive cost the same, for each of the ratios. */
  readonly lines: readonly { readonly rowBytes: number; readonly seconds: readonly number[] }[];
}

/** The map at the prices of a report; undefined where the book has no price of a drive or of memory by its date. */
export function breakEvenMap(cases: readonly CaseSummary[], pricing: Pricing): BreakEvenMap | undefined {
  const prices = rowRulePrices(pricing), own = ownRowBytes(cases);
  if (prices === undefined || own === undefined) return undefined;
  const sizes = [...new Set([own, ...OTHER_ROWS])].sort((a, b) => a - b);
  return {
    ...prices,
    lines: sizes.map((rowBytes) => ({
      rowBytes,
      seconds: PRICE_RATIOS.map((ratio) => rowRuleSeconds(prices, rowBytes, ratio)),
    })),
  };
}

/** Bytes of a row as the run held it, optimizer slots and padding included. */
export function ownRowBytes(cases: readonly CaseSummary[]): number | undefined {
  for (const { tiers } of cases) {
    const rows = tiers.reduce((sum, tier) => sum + tier.rows, 0);
    const bytes = tiers.reduce((sum, { purposes }) => sum + (purposes["rows"] ?? 0), 0);
    if (rows > 0 && bytes > 0) return Math.round(bytes / rows);
  }
  return undefined;
}
