/**
 * The report page: one file that needs nothing else, from disk or from a server.
 *
 * @module
 */

import type { Result } from "../../scenarios/record.ts";
import { carriedOptions } from "../capsule/carried.ts";
import { ROOT_PLACE, seal } from "../capsule/seal.ts";
import type { SummaryOptions } from "../summary/prices.ts";
import { summarise } from "../summary/summary.ts";
import clientScript from "./client.js" with { type: "text" };
import { ablation } from "./ablation.ts";
import { claims } from "./claim.ts";
import { cost } from "./cost.ts";
import { focused } from "../summary/focus.ts";
import { embedding } from "./embedding.ts";
import { memory, quality, speed, time } from "./figures.ts";
import { html, Markup, recordLines, scriptJson } from "../text/markup.ts";
import { scaling } from "./scaling.ts";
import { pageHead } from "./page_head.ts";
import { answer, heading, overview, words } from "./overview.ts";
import { pageData } from "./page_data.ts";
import { themeCss } from "./palette.ts";
import { certainty, run } from "./provenance.ts";
import { whatIfSection } from "./what_if.ts";
import sheet from "./style.css" with { type: "text" };

/** Options of {@linkcode renderReport}. */
export type ReportOptions = SummaryOptions;

/** What a page says beyond its result. */
interface Addition {
  /** A section of its own. */
  readonly section: Markup;
  /** Data that the page carries before its records: a script of JSON. */
  readonly data: Markup;
}

/**
 * Renders a result as one self-contained HTML page: charts, their numbers as tables, the records themselves, the price
 * book, and a SHA-256 of every part. The page allows its own script and style by hash and nothing else, so it cannot
 * fetch anything. Pure: the same result and options give the same bytes at any time on every machine.
 *
 * @param result A parsed result file.
 * @returns The page.
 * @throws {RangeError} A number of the result cannot be reported; see {@linkcode summarise}.
 */
export function renderReport(result: Result, options: ReportOptions = {}): string {
  return renderPage(result, options);
}

/** {@linkcode renderReport} with an addition. */
export function renderPage(result: Result, options: ReportOptions, addition?: Addition): string {
  const summary = summarise(result, options);
  const style = new Markup(themeCss() + sheet);
  const script = new Markup(clientScript);
  const shown = focused(summary);
  const sections = [
    ablation(summary),
    overview(shown),
    words(summary.verdict),
    embedding(shown),
    speed(shown),
    scaling(shown),
    time(shown),
    memory(shown),
    quality(shown),
    cost(shown),
    whatIfSection(shown),
    claims(shown),
    certainty(shown),
    addition?.section,
    run(summary, result),
  ];
  const has = (id: string): boolean => sections.some((section) => section?.text.includes(` id="${id}"`) === true);
  const records = new Markup(`\n${recordLines(result).join("\n")}\n`);
  const page = html`
    <!DOCTYPE html>
    <html lang="en">
      ${pageHead({
        title: `${summary.scenario.name}: tierbench report`,
        style,
        script,
        sealedBy: summary.versions["tierbench"] ?? "",
      })}
      <body>
        ${heading(summary)}
        <main>
        ${answer(summary, has)}
        ${sections.flatMap((section) => section ?? [])}
        </main>
        <footer>Every figure follows from the records in this page and the price book; docs/how-numbers-are-made.md says how. SHA-256 of all parts of this page: ${ROOT_PLACE}; <code>tierbench verify</code> compares them. They show that nothing was changed since by accident; whoever changes a page can seal it anew, so only 32 digits or more of this hash from another place show that it is the same page.</footer>
        <script type="application/json" id="chart-data">${scriptJson(pageData(summary))}</script>${addition
          ?.data}${carriedOptions(options)}
        <script type="application/x-ndjson" id="result">${records}</script>
        <script>${script}</script>
          </body>
    </html>
  `.text;
  return seal(page);
}
