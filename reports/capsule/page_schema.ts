/**
 * The schemas of what a page carries beside its records: options, price book, the user's prices, checklist. A page may be a
 * stranger's: whatever it says is checked before anything reads it.
 *
 * @module
 */

import { BOUNDARIES, type Boundary } from "../../models/costs/bill.ts";
import { checked, figure, flag, listOf, maybe, object, positive, text, word } from "../../base/record_parts.ts";
import { oneOf } from "../../base/one_of.ts";
import * as v from "../../base/valibot.ts";
import { monthIndex } from "../../models/costs/dates.ts";
import { MEDIA, MONEY_UNITS, PLAIN_UNITS } from "../../models/costs/price_rows.ts";
import { DamagedPageError } from "./damaged_page.ts";

const date = v.pipe(
  text,
  v.check((found) => {
    try {
      return Number.isFinite(monthIndex(found, "first"));
    } catch {
      return false;
    }
  }, 'expected a date such as "2026-11"'),
);

const CURRENCY = 'expected a currency such as "EUR"';
const currency = v.pipe(v.string(CURRENCY), v.regex(/^[A-Z]{3}$/, CURRENCY));

const provenance = {
  from: date,
  to: date,
  region: text,
  source: text,
  mark: word("V", "M", "C"),
  note: text,
  file: text,
  own: flag,
  soldUntil: maybe(date),
  currency: maybe(currency),
  rate: maybe(positive),
};

const instance = object({
  provider: text,
  name: text,
  role: word("memory", "worker"),
  vcpus: maybe(figure),
  dramGib: maybe(figure),
  pmemGib: maybe(figure),
  networkGBs: maybe(figure),
  cxlGib: maybe(figure),
  hbmGib: maybe(figure),
  nvmeCount: maybe(figure),
  nvmeGB: maybe(figure),
  watts: maybe(figure),
  bought: maybe(object({ price: positive, lifeYears: positive, financing: figure })),
  pricePerHour: positive,
  ...provenance,
});

const item = v.pipe(
  object({
    item: text,
    medium: maybe(word(...MEDIA)),
    capacityGB: maybe(figure),
    value: positive,
    low: positive,
    high: positive,
    unit: word(...MONEY_UNITS, ...PLAIN_UNITS),
    ...provenance,
  }),
  v.check(({ low, value, high }) => low <= value && value <= high, 'expected "low" to "high" around "value"'),
);

/** A line of the price book: a row of a list. */
export type PriceLine = { readonly list: "instances" | "items"; readonly row: unknown };

/** The schema of such a line. */
export const priceLine: v.GenericSchema<PriceLine> = oneOf(
  [object({ list: word("instances", "items"), row: instance }), object({ list: v.literal("items"), row: item })],
  (line) => typeof line === "object" && line !== null && (line as { readonly list?: unknown }).list === "items" ? 1 : 0,
) as v.GenericSchema<PriceLine>;

/** A line of the user's prices. */
export const ownPriceLine: v.GenericSchema<{ file: string; text: string }> = object({ file: text, text });

/** The options of a report. */
export const pageOptions: v.GenericSchema<{ asOf?: string; boundary?: Boundary; currency?: string }> = object({
  asOf: v.exactOptional(date),
  boundary: v.exactOptional(word(...BOUNDARIES)),
  currency: v.exactOptional(currency),
});

/** What a contribution says beside its result. */
export const checklistPart: v.GenericSchema<{ format: 2 }> = object({
  format: v.literal(2),
  checklist: listOf(
    object({ id: text, title: text, status: word("ok", "not ok", "unknown"), found: text, next: maybe(text) }),
  ),
  questions: listOf(object({ id: text, question: text, answer: maybe(text) })),
  notes: listOf(text),
  removed: listOf(object({ where: text, what: text })),
});

/**
 * A part of a page as a value.
 *
 * @param page What messages call the page.
 * @param part What they call the part.
 * @throws {DamagedPageError} naming the part that is no JSON, or not what it should be.
 */
export function partOf<T>(schema: v.GenericSchema<T>, written: string, page: string, part: string): T {
  try {
    return checked(schema, JSON.parse(written)) as T;
  } catch (error) {
    if (!(error instanceof SyntaxError || error instanceof TypeError)) throw error;
    throw new DamagedPageError(page, part, `cannot be used: ${error.message}`);
  }
}
