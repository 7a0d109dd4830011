/**
 * What a page carries beside its records so that it can be made again: the price book and the other options.
 *
 * @module
 */

import { html, Markup, scriptJson } from "../html/markup.ts";
import type { SummaryOptions } from "../summary.ts";
import { defaultPriceBook, type PriceBook } from "../tco/price_book.ts";

const PRICES = /<script type="application\/x-ndjson" id="prices">\n([^<]*?)\n?<\/script>/;
const OPTIONS = /<script type="application\/json" id="options">([^<]*)<\/script>/;

/** Options as a page carries them: one JSON object, and the price book row by row. */
export function carriedOptions({ prices = defaultPriceBook(), ...options }: SummaryOptions): Markup {
  const lines = Object.entries(prices).flatMap(([list, rows]: [string, unknown]): object[] =>
    Array.isArray(rows) ? rows.map((row: unknown) => ({ list, row })) : [{ field: list, value: rows }]
  );
  const book = new Markup(lines.map((line) => `${scriptJson(line).text}\n`).join(""));
  return html`<script type="application/json" id="options">${scriptJson(options)}</script>
<script type="application/x-ndjson" id="prices">
${book}</script>`;
}

/**
 * The options that a page carries, with its price book.
 *
 * @param page A page whose sums were compared.
 * @returns Undefined for a page of an early version, which carries none.
 */
export function readOptions(page: string): (SummaryOptions & { readonly prices: PriceBook }) | undefined {
  const [options, lines] = [OPTIONS.exec(page)?.[1], PRICES.exec(page)?.[1]];
  if (options === undefined || lines === undefined) return undefined;
  const book: Record<string, unknown> = {};
  // A list without a row has no line, and is a list all the same.
  for (const [list, rows] of Object.entries(defaultPriceBook())) if (Array.isArray(rows)) book[list] = [];
  for (const line of lines.split("\n").filter((text) => text !== "")) {
    const { list, row, field, value } = JSON.parse(line) as Record<string, unknown>;
    if (typeof list === "string") book[list] = [...(book[list] as unknown[] | undefined) ?? [], row];
    else if (typeof field === "string") book[field] = value;
  }
  return { ...JSON.parse(options) as SummaryOptions, prices: book as unknown as PriceBook };
}
