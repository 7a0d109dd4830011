/**
 * What a page carries beside its records so that it can be made again: the price book and the other options.
 *
 * @module
 */

import { html, Markup, scriptJson } from "../text/markup.ts";
import type { SummaryOptions } from "../summary/prices.ts";
import { defaultPriceBook } from "../../models/costs/default_prices.ts";
import type { PriceBook, PriceFile } from "../../models/costs/price_book.ts";
import { ownPriceLine, pageOptions, partOf, type PriceLine, priceLine } from "./page_schema.ts";

const PRICES = /<script type="application\/x-ndjson" id="prices">\n([^<]*?)\n?<\/script>/;
const OWN = /<script type="application\/x-ndjson" id="own-prices">\n([^<]*?)\n?<\/script>/;
const OPTIONS = /<script type="application\/json" id="options">([^<]*)<\/script>/;

/** Options as a page carries them: one JSON object, the price book row by row, the user's files line by line. */
export function carriedOptions({ prices = defaultPriceBook(), priceFiles = [], ...options }: SummaryOptions): Markup {
  const lines = Object.entries(prices).flatMap(([list, rows]: [string, unknown]): object[] =>
    Array.isArray(rows) ? rows.map((row: unknown) => ({ list, row })) : [{ field: list, value: rows }]
  );
  const own = priceFiles.flatMap(({ name, text }) => text.split("\n").map((line) => ({ file: name, text: line })));
  return html`<script type="application/json" id="options">${scriptJson(options)}</script>
${linesOf("prices", lines)}${own.length === 0 ? undefined : linesOf("own-prices", own)}`;
}

function linesOf(id: string, lines: readonly object[]): Markup {
  const text = lines.map((line) => `${scriptJson(line).text}\n`).join("");
  return new Markup(`<script type="application/x-ndjson" id="${id}">\n${text}</script>\n`);
}

/**
 * The options that a page carries, with its price book.
 *
 * @param page A page whose sums were compared.
 * @param name What messages call it.
 * @returns Undefined for a page of an early version, which carries none.
 * @throws {DamagedPageError} naming the part that cannot be used.
 */
export function readOptions(
  page: string,
  name: string,
): (SummaryOptions & { readonly prices: PriceBook }) | undefined {
  const [options, lines] = [OPTIONS.exec(page)?.[1], PRICES.exec(page)?.[1]];
  if (options === undefined || lines === undefined) return undefined;
  const book: Record<PriceLine["list"], unknown[]> = { instances: [], items: [] };
  for (const [i, line] of linesIn(lines)) {
    const { list, row } = partOf(priceLine, line, name, `line ${i + 1} of the price book`);
    book[list].push(row);
  }
  const own = ownFiles(OWN.exec(page)?.[1] ?? "", name);
  return {
    ...partOf(pageOptions, options, name, "the options"),
    prices: book as unknown as PriceBook,
    ...(own.length === 0 ? {} : { priceFiles: own }),
  };
}

/** The user's files of prices, from their lines. */
function ownFiles(lines: string, page: string): PriceFile[] {
  const files = new Map<string, string[]>();
  for (const [i, line] of linesIn(lines)) {
    const { file, text } = partOf(ownPriceLine, line, page, `line ${i + 1} of the user's prices`);
    files.set(file, [...files.get(file) ?? [], text]);
  }
  return [...files].map(([name, texts]) => ({ name, text: texts.join("\n") }));
}

/** Lines that are not empty, with their positions. */
function linesIn(text: string): [number, string][] {
  return [...text.split("\n").entries()].filter(([, line]) => line !== "");
}
