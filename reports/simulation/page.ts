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
import { verdictOf, words } from "../html/overview.ts";
import { header, kind, more, table } from "../html/parts.ts";
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
  worthTable,
} from "./cells.ts";
import { carriedOptions } from "../capsule/carried.ts";
import type { SummaryOptions } from "../summary/prices.ts";
import { moneyTable } from "./money_words.ts";
import { CHART_CSS, timeChart, timelineChart, worthChart } from "./charts.ts";
import { type SimulationSummary, summariseSimulation } from "./summary.ts";

function tableOf({ caption, columns, words, rows }: TextTable, cards: boolean = false): Markup {
  const marked = columns.indexOf("kind");
  return table(
    caption,
    columns.map((title, i) => ({ title, words: i === 0 || words.includes(title) })),
    rows.map((row) => row.map((text, i) => i === marked ? kind({ evidence: "simulated" }) : text)),
    cards,
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

/** Cost and speed of a study: a chart, a table. */
function worth(one: SimulationSummary["studies"][number], { money }: SimulationSummary): Markup {
  return html`
    <p class="note">Squares are simulated; bars through them are 90 % bands, of what has one.</p>
    ${worthChart(one.cases, money?.sign)}
    ${tableOf(worthTable(one, money?.sign), true)}
    ${more(
      `bill, bands and bottlenecks of ${one.name}`,
      html`${money === undefined ? undefined : tableOf(moneyTable(one.name, one.cases, money))}${
        tableOf({ ...speedTable(one), caption: `Speed and bottlenecks of ${one.name}` })
      }`,
    )}
  `;
}

/** What lies behind the figures of a study: time, bandwidth, checkpoints, questions, a step. */
function behind(one: SimulationSummary["studies"][number]): Markup {
  const slowest = [...one.cases].sort((a, b) => a.samplesPerSecond - b.samplesPerSecond)[0];
  return html`${
    more(
      `where the time of a step goes in ${one.name}`,
      html`
        <p>The tasks on the way that made the step end when it did; their sum is the step. Simulated.</p>
        ${timeChart(one.cases)}
        ${tableOf(timeTable(one))}
        ${slowest === undefined || slowest.tasks.length === 0 ? undefined : html`
          <h3>One step in virtual time: ${slowest.label}</h3>
          ${timelineChart(one.name, slowest)}
        `}
      `,
    )
  }${
    more(
      `bandwidth against its limit in ${one.name}`,
      html`
        <p>Limits are what the media model gives all threads for accesses of this size; bytes are those of one machine; a row counts in the tier where a step finds it.</p>
        ${tableOf(tierTable(one))}
      `,
    )
  }${checkpoints(one)}${asked(one)}`;
}

function study(one: SimulationSummary["studies"][number], i: number, summary: SimulationSummary): Markup {
  return html`
    <section aria-labelledby="study-${i}">
      <h2 id="study-${i}" tabindex="-1">${one.name}</h2>
      ${i === 0 ? undefined : worth(one, summary)}
      ${behind(one)}
    </section>
  `;
}

/** What checkpoints cost, and going on after a crash; nothing of studies without. */
function checkpoints(one: SimulationSummary["studies"][number]): Markup | undefined {
  const costs = checkpointTable(one);
  if (costs.rows.length === 0) return undefined;
  return more(
    `checkpoints of ${one.name}`,
    html`
      <p>To go on after a crash every row is read once: from files as fast as they are written, of versions as fast as the media model lets all threads of each server read the last tier in its order. Opening machines and rebuilding an index are not counted.</p>
      ${tableOf(costs)}
    `,
  );
}

/** What the media were asked, and what backs the answers; nothing of results that do not say. */
function asked(one: SimulationSummary["studies"][number]): Markup | undefined {
  const questions = questionTable(one);
  if (questions.rows.length === 0) return undefined;
  return more(
    `what the media were asked in ${one.name}, and how many figures back each`,
    html`<p>${QUESTIONS_NOTE}</p>${tableOf(questions)}`,
  );
}

function published(summary: SimulationSummary): Markup | undefined {
  if (summary.deviations.length === 0) return undefined;
  return html`
    <section aria-labelledby="published">
      <h2 id="published" tabindex="-1">Against what is published</h2>
      <p>A figure that calibrated a parameter says nothing about accuracy and is marked so; all others follow. Nor does one that a null model meets within the same tolerance, too: every medium DRAM, every cache a hundredth, every row equally popular.</p>
      ${tableOf(deviationTable(summary.deviations))}
    </section>
  `;
}

function explained(summary: SimulationSummary): Markup | undefined {
  if (summary.explanations.length === 0) return undefined;
  return html`
    <section aria-labelledby="explained">
      <h2 id="explained" tabindex="-1">Differences, part by part</h2>
      <p>Each part is switched in every order and gets the mean of what its switch changed (Shapley value), so the parts add up to the difference exactly.</p>
      ${summary.explanations.map((one) => more(`from ${one.from} to ${one.to}`, tableOf(explanationTable(one))))}
    </section>
  `;
}

function about(summary: SimulationSummary): Markup {
  return html`
    <section aria-labelledby="assumptions">
      <h2 id="assumptions" tabindex="-1">What was assumed</h2>
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
  const [headline = "Nothing was simulated", ...sentences] = summary.sentences;
  const verdict = { headline, sentences, cautions: summary.cautions };
  const places = [
    ...(summary.deviations.length === 0 ? [] : [{ id: "published", title: "Against what is published" }]),
    ...summary.studies.map(({ name }, i) => ({ id: `study-${i}`, title: name })),
    ...(summary.explanations.length === 0 ? [] : [{ id: "explained", title: "Differences, part by part" }]),
    { id: "assumptions", title: "What was assumed" },
  ];
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
            ${verdictOf(verdict, [], places)}
            <section class="first" aria-labelledby="overview">
              <h2 id="overview" tabindex="-1">Is it worth it? ${summary.studies[0]?.name}</h2>
              ${summary.studies.slice(0, 1).map((one) => worth(one, summary))}
            </section>
            ${words(verdict)}
            ${published(summary)}
            ${summary.studies.map((one, i) => study(one, i, summary))}
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
