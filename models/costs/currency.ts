/**
 * A price book in one currency. Rates are rows of the book like any price, dated and sourced, or stand in a row beside its
 * amount; none is known here.
 *
 * @module
 */

import {
  type Instance,
  MONEY_UNITS,
  type PriceBook,
  type PriceItem,
  pricesAsOf,
  type Provenance,
} from "./price_book.ts";

/** The currency that a row without one is in. */
export const DOLLARS = "USD";

/** Name of the item whose value is a currency's rate: `USD per EUR`. */
export function rateItem(currency: string): string {
  return `${DOLLARS} per ${currency}`;
}

/** How amounts of a currency are written: `$`, `EUR`. */
export function currencySign(currency: string): string {
  return currency === DOLLARS ? "$" : currency;
}

/**
 * The book with every amount in one currency.
 *
 * @param currency Three letters.
 * @param date Rates are those of this date: of each the latest that had begun.
 * @throws {RangeError} if a rate is needed that neither a row nor the book states by the date.
 *
 * @example
 * ```ts
 * import { inCurrency, parsePriceBook } from "../../mod.ts";
 *
 * const head = "item,medium,capacity_gb,value,low,high,unit,currency,from,to,region,source,mark,note\n";
 * const rate = "USD per EUR,,,1.25,,,ratio,,2026-01,2026-12,-,an invented rate,V,\n".replace(",-,", ",not stated,");
 * const drive = "NVMe drive,NVMe,30000,0.4,,,GB,EUR,2026-02,2026-02,our site,an offer,V,\n";
 * const book = parsePriceBook([{ name: "mine.csv", text: head + rate + drive }]);
 * console.log(inCurrency(book, "USD", "2026-11").items[1]?.value); // 0.5
 * ```
 */
export function inCurrency(book: PriceBook, currency: string, date: string): PriceBook {
  const rows: readonly Provenance[] = [...book.instances, ...book.items.filter(isMoney)];
  if (rows.every((row) => (row.currency ?? DOLLARS) === currency)) return book;
  const dated = pricesAsOf({ instances: [], items: book.items }, date);
  const factor = (row: Provenance): number => {
    const own = row.currency ?? DOLLARS;
    return own === currency ? 1 : dollarsPer(dated, own, date, row) / dollarsPer(dated, currency, date);
  };
  return {
    instances: book.instances.map((one) => converted(one, factor(one), currency)),
    items: book.items.map((item) => isMoney(item) ? convertedItem(item, factor(item), currency) : item),
    ...(book.quotes === undefined ? {} : { quotes: book.quotes }),
  };
}

/**
 * An amount in another currency.
 *
 * @param of The currency that it is in.
 * @throws {RangeError} as {@linkcode inCurrency}.
 */
export function amountIn(currency: string, amount: number, of: string, book: PriceBook, date: string): number {
  if (of === currency) return amount;
  const dated = pricesAsOf({ instances: [], items: book.items }, date);
  return amount * dollarsPer(dated, of, date) / dollarsPer(dated, currency, date);
}

/** US dollars for one of a currency: by the row that is in it, or by the book. */
function dollarsPer(dated: PriceBook, of: string, date: string, row?: Provenance): number {
  if (of === DOLLARS) return 1;
  const found = row?.rate ?? dated.items.find(({ item }) => item === rateItem(of))?.value;
  if (found !== undefined) return found;
  const asked = row === undefined ? `Cannot give costs in ${of}` : `Cannot use the ${of} prices in "${row.file}"`;
  throw new RangeError(
    `${asked}: no row says the rate by ${date}; add the item "${rateItem(of)}" (unit "ratio") with its date and ` +
      `source to a file of prices${row === undefined ? "" : ', or the column "rate" (US dollars for one)'}`,
  );
}

function isMoney({ unit }: PriceItem): boolean {
  return MONEY_UNITS.includes(unit);
}

function named(currency: string): Pick<Provenance, "currency"> {
  return currency === DOLLARS ? {} : { currency };
}

function converted({ currency: _, rate: __, ...one }: Instance, factor: number, currency: string): Instance {
  const { bought } = one;
  return {
    ...one,
    ...named(currency),
    ...(bought === undefined ? {} : { bought: { ...bought, price: bought.price * factor } }),
    pricePerHour: one.pricePerHour * factor,
  };
}

function convertedItem({ currency: _, rate: __, ...item }: PriceItem, factor: number, currency: string): PriceItem {
  return {
    ...item,
    ...named(currency),
    value: item.value * factor,
    low: item.low * factor,
    high: item.high * factor,
  };
}
