/**
 * The page of a simulation: one file that needs nothing else and runs no script.
 *
 * @module
 */

import type { SimulationResult } from "../../models/simulation/record.ts";
import { ROOT_PLACE, seal } from "../capsule/seal.ts";
import { QUESTIONS_NOTE } from "../text/questions.ts";
import { html, Markup, scriptJson } from "../text/markup.ts";
import { pageHead } from "../html/page_head.ts";
import { themeCss } from "../html/palette.ts";
import { header, kind, table } from "../html/parts.ts";
import sheet from "../html/style.css" with { type: "text" };
import {
  checkpointTable,
  deviationTable,
  explanationTable,
  questionTable,
  speedTable,
  type TextTable,
  tierTable,
  timeTable,
} from "./cells.ts";
import { carriedOptions } from "../capsule/carried.ts";
import type { SummaryOptions } from "../summary/prices.ts";
import { moneyTable } from "./money_words.ts";
import { CHART_CSS, timeChart, timelineChart } from "./charts.ts";
import { type SimulationSummary, summariseSimulation } from "./summary.ts";

function tableOf({ caption, columns, words, rows }: TextTable): Markup {
  const marked = columns.indexOf("kind");
  return table(
    caption,
    columns.map((title, i) => ({ title, words: i === 0 || words.includes(title) })),
    rows.map((row) => row.map((text, i) => i === marked ? kind({ evidence: "simulated" }) : text)),
  );
}

function heading(summary: SimulationSummary): Markup {
  return header("simulation", summary, [
    ["run", `${summary.started.slice(0, 16).replace("T", " ")} UTC`],
    ["kind", "simulated, virtual time"],
    ["cases", `${summary.studies.reduce((sum, { cases }) => sum + cases.length, 0)}`],
    ["seed", `${summary.seed}`],
  ]);
}

function study(one: SimulationSummary["studies"][number], i: number, money: SimulationSummary["money"]): Markup {
  const slowest = [...one.cases].sort((a, b) => a.samplesPerSecond - b.samplesPerSecond)[0];
  return html`
    <section id="study-${i}">
      <h2>${one.name}</h2>
      ${money === undefined ? undefined : tableOf(moneyTable(one.name, one.cases, money))}
      ${tableOf(speedTable(one))}
      <h3>Where the time of a step goes</h3>
      <p>The tasks on the way that made the step end when it did; their sum is the step. Simulated.</p>
      ${timeChart(one.cases)}
      <details><summary>Numbers: time of a step, ${one.name}</summary>${tableOf(timeTable(one))}</details>
      <h3>Bandwidth against its limit</h3>
      <p>Limits are what the media model gives all threads for accesses of this size; bytes are those of one machine; a row counts in the tier where a step finds it.</p>
      ${tableOf(tierTable(one))}
      ${checkpoints(one)}
      ${asked(one)}
      ${slowest === undefined || slowest.tasks.length === 0 ? undefined : html`
        <h3>One step in virtual time: ${slowest.label}</h3>
        ${timelineChart(slowest)}
      `}
    </section>
  `;
}

/** What checkpoints cost, and going on after a crash; nothing of studies without. */
function checkpoints(one: SimulationSummary["studies"][number]): Markup | undefined {
  const costs = checkpointTable(one);
  if (costs.rows.length === 0) return undefined;
  return html`
    <p>To go on after a crash every row is read once: from files as fast as they are written, of versions as fast as the media model lets all threads of each server read the last tier in its order. Opening machines and rebuilding an index are not counted.</p>
    ${tableOf(costs)}
  `;
}

/** What the media were asked, and what backs the answers; nothing of results that do not say. */
function asked(one: SimulationSummary["studies"][number]): Markup | undefined {
  const questions = questionTable(one);
  if (questions.rows.length === 0) return undefined;
  return html`
    <details><summary>Questions: what the media were asked, and how many figures back each, ${one.name}</summary>
      <p>${QUESTIONS_NOTE}</p>
      ${tableOf(questions)}
    </details>
  `;
}

function published(summary: SimulationSummary): Markup | undefined {
  if (summary.deviations.length === 0) return undefined;
  return html`
    <section id="published">
      <h2>Against what is published</h2>
      <p>A figure that calibrated a parameter says nothing about accuracy and is marked so; all others follow. Nor does one that a null model meets within the same tolerance, too: every medium DRAM, every cache a hundredth, every row equally popular.</p>
      ${tableOf(deviationTable(summary.deviations))}
    </section>
  `;
}

function explained(summary: SimulationSummary): Markup | undefined {
  if (summary.explanations.length === 0) return undefined;
  return html`
    <section id="explained">
      <h2>Differences, part by part</h2>
      <p>Each part is switched in every order and gets the mean of what its switch changed (Shapley value), so the parts add up to the difference exactly.</p>
      ${summary.explanations.map((one) => tableOf(explanationTable(one)))}
    </section>
  `;
}

function about(summary: SimulationSummary): Markup {
  return html`
    <section id="assumptions">
      <h2>What was assumed</h2>
      ${table(
        "Assumptions of the simulation",
        [{ title: "what" }, { title: "value", words: true }],
        [...summary.assumptions, ["scenario", summary.digest], ...Object.entries(summary.versions)],
      )}
    </section>
  `;
}

/**
 * Renders a simulation as one self-contained HTML page. It allows its own style by hash and nothing else.
 *
 * @param result What a simulation came to.
 * @param options Prices of the machines that it names; the page carries them where it names any.
 */
export function renderSimulation(result: SimulationResult, options: SummaryOptions = {}): string {
  const summary = summariseSimulation(result, options);
  const style = new Markup(themeCss() + sheet + CHART_CSS);
  const records = [result.run, ...result.cases, ...result.explanations, ...result.nulls ?? []].map((record) =>
    scriptJson(record).text
  );
  return seal(
    html`
      <!DOCTYPE html>
      <html lang="en">
        ${pageHead({
          title: `${summary.name}: tierbench simulation`,
          style,
          sealedBy: summary.versions["tierbench"] ?? "",
        })}
        <body>
          ${heading(summary)}
          <main>
            <section id="answer">
              <h2>Answer</h2>
              <ul>${summary.sentences.map((sentence) => html`<li>${sentence}.</li>`)}</ul>
              <p>${summary.cautions.map((caution) =>
                html`
                  ${caution}.
                `
              )}</p>
            </section>
            ${published(summary)}
            ${summary.studies.map((one, i) => study(one, i, summary.money))}
            ${explained(summary)}
            ${about(summary)}
          </main>
          <footer>Every figure follows from the records in this page; docs/simulator.md says how. SHA-256 of all parts of this page: ${ROOT_PLACE}; <code>tierbench verify</code> compares them. They show that nothing was changed since by accident; whoever changes a page can seal it anew, so only 32 digits or more of this hash from another place show that it is the same page.</footer>
          ${summary.money === undefined ? undefined : carriedOptions(options)}
          <script type="application/x-ndjson" id="result">${new Markup(`\n${records.join("\n")}\n`)}</script>
        </body>
      </html>
    `.text,
  );
}
