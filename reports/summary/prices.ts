/**
 * The prices that a report is made with: one set of options for runs and simulations.
 *
 * @module
 */

import type { Boundary } from "../../models/costs/bill.ts";
import { DOLLARS, inCurrency } from "../../models/costs/currency.ts";
import { defaultPriceBook } from "../../models/costs/default_prices.ts";
import { type PriceBook, type PriceFile, withOwnPrices } from "../../models/costs/price_book.ts";

/** Options of `summarise` and `summariseSimulation`. */
export interface SummaryOptions {
  /** Prices to use. @default the book that ships with tierbench */
  readonly prices?: PriceBook;
  /** The user's files of prices: their rows win over the book's, and over those that the result carries. */
  readonly priceFiles?: readonly PriceFile[];
  /** Prices as of this date, such as `2026-11`. @default the scenario's */
  readonly asOf?: string;
  /** Where the bill ends. @default the scenario's */
  readonly boundary?: Boundary;
  /** Currency of every cost, such as `EUR`; its rate is a row of the prices. @default USD */
  readonly currency?: string;
}

/**
 * The book, the files that a result carries, those of the options: later ones win.
 *
 * @param carried Files of the result.
 * @param date As of when; of rates, too.
 * @returns As it is written, and in the currency of the options.
 * @throws {RangeError} if a row of a file cannot be used, or a rate is needed that none states.
 */
export function bookOf(
  carried: readonly PriceFile[],
  date: string,
  { prices, priceFiles = [], currency = DOLLARS }: SummaryOptions,
): { readonly written: PriceBook; readonly book: PriceBook } {
  const names = new Set(priceFiles.map(({ name }) => name));
  const files = [...carried.filter(({ name }) => !names.has(name)), ...priceFiles];
  const book = prices ?? defaultPriceBook();
  const written = files.length === 0 ? book : withOwnPrices(book, files);
  return { written, book: inCurrency(written, currency, date) };
}
