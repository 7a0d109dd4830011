/**
 * The report page: one file that needs nothing else, from disk or from a server.
 *
 * @module
 */

import { createHash } from "node:crypto";
import type { Result } from "../../scenarios/record.ts";
import { summarise, type SummaryOptions } from "../summary.ts";
import clientScript from "./client.js" with { type: "text" };
import { cost } from "./cost.ts";
import { embedding } from "./embedding.ts";
import { memory, quality, speed, time } from "./figures.ts";
import { html, Markup, scriptJson } from "./markup.ts";
import { answer, heading, overview, words } from "./overview.ts";
import { pageData } from "./page_data.ts";
import { themeCss } from "./palette.ts";
import { certainty, run } from "./provenance.ts";
import sheet from "./style.css" with { type: "text" };

/** Options of {@linkcode renderReport}. */
export type ReportOptions = SummaryOptions;

/**
 * Renders a result as one self-contained HTML page: charts, their numbers as tables, and the records themselves.
 * The page allows its own script and style by hash and nothing else, so it cannot fetch anything.
 *
 * @param result A parsed result file.
 * @returns The page.
 * @throws {RangeError} A number of the result cannot be reported; see {@linkcode summarise}.
 */
export function renderReport(result: Result, options: ReportOptions = {}): string {
  const summary = summarise(result, options);
  const style = new Markup(themeCss() + sheet);
  const script = new Markup(clientScript);
  const policy = [
    "default-src 'none'",
    `script-src ${hashOf(script)}`,
    `style-src ${hashOf(style)}`,
    "img-src data:",
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
  const sections = [
    overview(summary),
    words(summary),
    embedding(summary),
    speed(summary),
    time(summary),
    memory(summary),
    quality(summary),
    cost(summary),
    certainty(summary),
    run(summary, result),
  ];
  const has = (id: string): boolean => sections.some((section) => section?.text.includes(` id="${id}"`) === true);
  const records = { run: result.run, samples: result.samples, failed: result.failed, quality: result.quality };
  return html`
    <!DOCTYPE html>
    <html lang="en">
      <head>
        <meta charset="utf-8">
        <meta http-equiv="Content-Security-Policy" content="${policy}">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <meta name="color-scheme" content="light dark">
        <meta name="generator" content="tierbench ${summary.versions["tierbench"] ?? ""}">
        <title>${summary.scenario.name}: tierbench report</title>
        <link rel="icon" href="data:,">
        <style>${style}</style>
      </head>
      <body>
        ${heading(summary)}
        <main>
        ${answer(summary, has)}
        ${sections.flatMap((section) => section ?? [])}
        </main>
        <footer>Every figure follows from the records in this page and the price book; docs/how-numbers-are-made.md says how.</footer>
        <script type="application/json" id="chart-data">${scriptJson(pageData(summary))}</script>
        <script type="application/json" id="result">${scriptJson(records)}</script>
        <script>${script}</script>
          </body>
    </html>
  `.text;
}

function hashOf(inline: Markup): string {
  return `'sha256-${createHash("sha256").update(inline.text).digest("base64")}'`;
}
