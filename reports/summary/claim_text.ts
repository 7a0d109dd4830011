/**
 * Claims and the price book as plain text, for the terminal.
 *
 * @module
 */

import { currencySign, DOLLARS } from "../../models/costs/currency.ts";
import { shownLines } from "../../base/shown.ts";
import { percentText, significant } from "../../base/numbers.ts";
import { estimateText, listText } from "../text/format.ts";
import type { CaseClaim, PlainInput } from "./summary_types.ts";
import type { BillPart } from "../../models/costs/bill.ts";
import { type Claim, claimedSaving } from "../../models/costs/claim/claim.ts";
import { dateText, isStale, type PriceBook, pricesAsOf, type Provenance } from "../../models/costs/price_book.ts";

/** What a claim is printed from. */
export type ClaimAnalysis = Pick<CaseClaim, "claim" | "causes" | "tornado" | "flips">;

/** Percentage points with sign: `+31.3`, `−4.0`. */
export function pointsText(share: number): string {
  const points = (Math.abs(share) * 100).toFixed(1);
  return points === "0.0" ? "0.0" : `${share < 0 ? "−" : "+"}${points}`;
}

/** A saving in percent with sign: `42.0 %`, `−16.1 %`. */
export function savingText(share: number): string {
  const percent = (Math.abs(share) * 100).toFixed(1);
  return `${share < 0 && percent !== "0.0" ? "−" : ""}${percent} %`;
}

/** A side in words: `2 × ecs.r6e.13xlarge at 3.04 $/h`. */
export function sideText({ machines, machine, price }: Claim["a"], sign = "$"): string {
  return `${machines} × ${machine} at ${significant(price)} ${sign}/h`;
}

/** A value of an input with its unit. */
export function inputText(input: PlainInput, value: number): string {
  if (input.unit === "×") return `× ${significant(value)}`;
  const text = input.unit === "machines" && Number.isInteger(value) ? `${value}` : significant(value);
  return `${text} ${text === "1" && input.unit === "machines" ? "machine" : input.unit}`;
}

/** When B is the cheaper one, in words. */
export function flipText(
  { input, value, interval, cheaperAbove }: ClaimAnalysis["flips"][number],
  claim: Claim,
): string {
  if (value === undefined) return "at no value above 0";
  const ends = interval === undefined ? "" : ` (95 %: ${significant(interval.low)} to ${significant(interval.high)})`;
  const side = cheaperAbove === true ? "above" : "below";
  return `${claim.b.name} is cheaper ${side} ${inputText(input, value)}${ends}`;
}

/**
 * A claim taken apart, as text for a terminal.
 *
 * @param analysis Of `analyseClaim`, or a report's.
 * @param head What is known of where it comes from, a line each.
 */
export function renderClaim(analysis: ClaimAnalysis, head: readonly string[] = []): string {
  const { claim, causes, tornado, flips } = shownLines(analysis);
  const total = claimedSaving(claim);
  const lines = [
    claim.name,
    ...head.map((line) => `  ${line}`),
    "",
    `  ${claim.a.name}: ${sideText(claim.a, claim.sign)}; ${claim.b.name}: ${sideText(claim.b, claim.sign)}, time × ${
      significant(claim.b.time / claim.a.time)
    }`,
    `  saving ${savingText(total)}`,
    "",
    "  What it comes from, percentage points:",
    ...rows([
      ["Shapley", "if last", "saving without", "", ""],
      ...causes.map((one) => [
        pointsText(one.points),
        pointsText(one.last),
        savingText(one.without),
        one.text,
        one.change,
      ]),
      [pointsText(causes.reduce((sum, { points }) => sum + points, 0)), "", "", "sum: the saving", ""],
    ]),
    "",
    "  How far each input moves it, the widest first:",
    ...rows(
      tornado.map(({ input, atLow, atHigh }) => [
        savingText(atLow),
        "to",
        savingText(atHigh),
        input.name,
        `${inputText(input, input.range.low)} to ${inputText(input, input.range.high)}: ${input.why}`,
      ]),
    ),
    "",
    "  Where each input turns it around, the others as they are:",
    ...rows(flips.map((flip) => [flip.input.name, inputText(flip.input, flip.input.value), flipText(flip, claim)])),
  ];
  return `${lines.join("\n")}\n`;
}

/** That parts of a job have no price and therefore count as nothing outside the bill; undefined if all have one. */
export function unpricedText(bill: readonly BillPart[]): string | undefined {
  const missing = bill.filter(({ perHour }) => perHour === undefined).map(({ what }) => what);
  if (missing.length === 0) return undefined;
  return `Without a price by this date, and so as nothing outside the bill: ${listText(missing)}.`;
}

/** How a price book is printed. */
export interface PriceTextOptions {
  /** Prices as of this date. */
  readonly asOf: string;
  /** Marks what is old, amber in a terminal. Default: as it is. */
  readonly amber?: (text: string) => string;
}

/** A price book as of a date: every item with its value, date, mark and source; old ones are marked. */
export function renderPrices(book: PriceBook, { asOf, amber = (text) => text }: PriceTextOptions): string {
  const dated = pricesAsOf(book, asOf);
  const all: readonly Provenance[] = [...dated.instances, ...dated.items];
  const origin = (price: Provenance): string[] => [
    `${dateText(price)}${isStale(price, asOf) ? ", over a year old" : ""}`,
    price.mark,
    `${price.own ? `your file ${price.file}: ` : ""}${price.source}`,
  ];
  const old = (price: Provenance) => (line: string): string => isStale(price, asOf) ? amber(line) : line;
  const machines = rows(
    dated.instances.map((one) => [
      `${one.provider} ${one.name}`,
      `${significant(one.pricePerHour)} ${currencySign(one.currency ?? DOLLARS)}/h`,
      ...origin(one),
    ]),
  ).map((line, i) => old(dated.instances[i] as Provenance)(line));
  const items = rows(
    dated.items.map((item) => [item.item, `${rangeText(item)}`, ...origin(item)]),
  ).map((line, i) => old(dated.items[i] as Provenance)(line));
  const stale = all.filter((price) => isStale(price, asOf)).length;
  const files = [...new Set(all.filter(({ own }) => own).map(({ file }) => file))];
  const summary = `${all.length} prices as of ${asOf}, ${stale} of them over a year old` +
    (files.length === 0 ? "" : `; rows of ${listText(files)} come before those of the book`);
  return ["Machines", ...machines, "", "Everything else", ...items, "", summary, ""].join("\n");
}

/** `4.25 $/GB (4 to 4.5)`, `1.54`, `8 %`. */
export function rangeText({ value, low, high, unit, currency = DOLLARS }: PriceBook["items"][number]): string {
  const range = low === high
    ? ""
    : ` (${
      unit === "share" ? `${percentText(low)} to ${percentText(high)}` : `${significant(low)} to ${significant(high)}`
    })`;
  if (unit === "share") return `${percentText(value)}${range}`;
  if (unit === "ratio") return `× ${significant(value)}${range}`;
  if (unit === "W" || unit === "years") return `${significant(value)} ${unit}${range}`;
  return `${significant(value)} ${currencySign(currency)}/${unit}${range}`;
}

/** Cells in columns, each row a line. */
function rows(cells: readonly (readonly string[])[]): string[] {
  const columns = Math.max(0, ...cells.map((row) => row.length));
  const widths = Array.from({ length: columns }, (_, i) => Math.max(...cells.map((row) => (row[i] ?? "").length)));
  return cells.map((row) => `    ${row.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join("  ")}`.trimEnd());
}

/** A saving with its interval in percent. */
export function savedText(claim: CaseClaim): string {
  return `${estimateText(claim.saved, 100)} %`;
}
