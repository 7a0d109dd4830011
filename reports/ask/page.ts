/**
 * The page of an answer: one file that needs nothing else and runs no script. Answer, chart and table come first; below are
 * what it costs, how sure it is, what would turn it, what to measure, and the sums.
 *
 * @module
 */

import type { Asked } from "../../models/planning/ask/ask.ts";
import { ROOT_PLACE, seal } from "../capsule/seal.ts";
import { pageHead } from "../html/page_head.ts";
import { themeCss } from "../html/palette.ts";
import { header, table } from "../html/parts.ts";
import sheet from "../html/style.css" with { type: "text" };
import { CHART_CSS } from "../simulation/charts.ts";
import { html, Markup, scriptJson } from "../text/markup.ts";
import { WAYS_CSS, waysChart } from "./chart.ts";
import {
  type AskTable,
  assumptionsTable,
  billTable,
  headline,
  leftTable,
  measures,
  owningTable,
  placementsTable,
  placementTable,
  sentences,
  sumsTable,
  sureTable,
  turnsTable,
  wayBars,
  waysTable,
} from "./words.ts";

/** What a page is made of beside the answer. */
export interface AskPage {
  /** Text of the plan file. */
  readonly plan: string;
  /** The command that asks again. */
  readonly command: string;
  /** Version of tierbench. */
  readonly version: string;
}

function shown({ caption, columns, rows }: AskTable): Markup {
  return table(
    caption,
    columns.map(({ title, words }) => ({ title, ...(words === true ? { words } : {}) })),
    rows.map((row) => row.map((cell) => typeof cell === "string" ? cell : html`${cell[0]}<small>${cell[1]}</small>`)),
  );
}

/** Renders an answer as one self-contained HTML page. It allows its own style by hash and nothing else. */
export function renderAsk(asked: Asked, { plan, command, version }: AskPage): string {
  const { file, answer, doubts, left } = asked;
  const bars = wayBars(asked);
  const style = new Markup(themeCss() + sheet + CHART_CSS + WAYS_CSS);
  const facts = [
    ["kind", "simulated"],
    ["prices as of", file.prices],
    ["machines tried", `${answer.losers.length + (answer.best === undefined ? 0 : 1)}`],
  ] as const;
  const about = file.about === "" ? "Where the tables should live, what that costs, and how sure it is." : file.about;
  return seal(
    html`
      <!DOCTYPE html>
      <html lang="en">
        ${pageHead({ title: `${file.name}: tierbench answer`, style, sealedBy: version })}
        <body>
          ${header("answer", { name: file.name, about }, facts)}
          <main>
            <section id="answer" class="first">
              <div class="answer words">
                <h2>Answer</h2>
                <p class="headline">${headline(asked)}</p>
                <ul>${sentences(asked).map((one) => html`<li>${one}</li>`)}</ul>
              </div>
              ${bars.length === 0 ? undefined : waysChart(bars, answer.bill?.sign ?? "$")}
              ${shown(waysTable(asked))}
            </section>
            <section id="costs">
              <h2>What it costs</h2>
              ${shown(billTable(asked))}
              ${shown(owningTable(asked))}
            </section>
            <section id="sure">
              <h2>How sure it is</h2>
              ${doubts.length === 0
                ? html`<p>No band, and no missing one, can turn the order: every way holds at the bad end of its own.</p>`
                : html`<ul>${doubts.map(({ text }) => html`<li>Cannot be told: ${text}.</li>`)}</ul>`}
              ${shown(sureTable(asked))}
              <p class="note">Bands are the 90 % bands of media models (docs/accuracy.md). Dense layers, network and prices have none: they are as stated.</p>
            </section>
            <section id="turns">
              <h2>What would turn it around</h2>
              ${asked.turns.length === 0
                ? html`<p>Nothing wins, so that nothing can be turned.</p>`
                : shown(turnsTable(asked))}
            </section>
            <section id="measure">
              <h2>What to rent for a day to be sure</h2>
              <ul>${measures(asked).map(({ text, command, run }) =>
                html`<li>${text}. There: <code>${command}</code>${
                  run === undefined ? "" : html`; <code>${run}</code> trains over it`
                }.</li>`
              )}</ul>
              <p>Then ask again with what was measured: <code>${command} --medium NAME=reports/out/calibration-DATE/FILE.jsonc</code></p>
            </section>
            <section id="rows">
              <h2>Where the rows are</h2>
              ${answer.best === undefined ? undefined : shown(placementTable(answer.best))}
              ${asked.placements.length === 0 ? undefined : shown(placementsTable(asked))}
              ${answer.best === undefined ? undefined : shown(sumsTable(asked))}
            </section>
            <section id="asked">
              <h2>What was asked</h2>
              ${shown(assumptionsTable(asked))}
              ${left.length === 0
                ? undefined
                : html`<details><summary>Other machines, and why not</summary>${shown(leftTable(asked))}</details>`}
              <details><summary>The plan file</summary><pre tabindex="0">${plan}</pre></details>
            </section>
          </main>
          <footer>Every figure follows from the plan file in this page and the prices of the date; docs/planner.md says how. SHA-256 of all parts of this page: ${ROOT_PLACE}; <code>tierbench verify</code> compares them.</footer>
          <script type="application/json" id="plan">${scriptJson(plan)}</script>
        </body>
      </html>
    `.text,
  );
}
