/**
 * The index page over a folder of reports: one file beside them, in their style, that fetches nothing.
 *
 * @module
 */

import { kindsText, kindText } from "../summary/kind.ts";
import { significant } from "../../base/numbers.ts";
import { countText, rateText } from "../text/format.ts";
import { html, Markup, scriptJson } from "../text/markup.ts";
import { pageHead } from "../html/page_head.ts";
import { themeCss } from "../html/palette.ts";
import { type Cell, figure, kind, table } from "../html/parts.ts";
import reportSheet from "../html/style.css" with { type: "text" };
import type { Summary } from "../summary/summary_types.ts";
import type { SimulationSummary } from "../simulation/summary.ts";
import clientScript from "./client.js" with { type: "text" };
import type { UnreadableReport } from "./collect.ts";
import { FEWEST_FOR_CHANGE } from "../statistics/change_points.ts";
import { type History, type HistoryPoint, LEAST_CHANGE } from "./history.ts";
import { minuteOf, trendsOf } from "./page_data.ts";
import sheet from "./style.css" with { type: "text" };

/** A row of the index. */
interface IndexEntry {
  /** Where the report is, from the index page, as a URL. */
  readonly href: string;
  /** Its figures. */
  readonly summary: Summary;
  /** Its root hash; undefined in reports of early versions. */
  readonly root: string | undefined;
}

/** A row of the index that is a simulation's. */
interface SimulationEntry {
  /** Where the page is, from the index page, as a URL. */
  readonly href: string;
  /** Its figures. */
  readonly summary: SimulationSummary;
  /** Its root hash. */
  readonly root: string | undefined;
}

/** What the index page shows. */
interface IndexContent {
  /** The newest first. */
  readonly entries: readonly IndexEntry[];
  /** Simulations, the newest first. */
  readonly simulations: readonly SimulationEntry[];
  /** Reports that were left out, and why. */
  readonly unreadable: readonly UnreadableReport[];
  /** Runs that can be compared; those of a single run show no trend. */
  readonly histories: readonly History[];
  /** Title of the page. */
  readonly title: string;
}

/** Renders the index page. Pure: it says nothing of when or where it was made. */
export function renderIndex({ entries, simulations, unreadable, histories, title }: IndexContent): string {
  const style = new Markup(themeCss() + reportSheet + sheet);
  const script = new Markup(clientScript);
  const shown = histories.filter(({ reports }) => reports.length > 1);
  return html`
    <!DOCTYPE html>
    <html lang="en">
      ${pageHead({ title, style, script })}
      <body>
        <header>
          <p class="eyebrow">tierbench</p>
          <h1>${title}</h1>
          <p class="about">${countText(entries.length, "report")}${simulations.length === 0
            ? ""
            : ` and ${
              countText(simulations.length, "simulation")
            }`}, the newest first. Each is one file that carries its data;
            <code>tierbench rerun</code> runs it again.</p>
        </header>
        <main>
        ${shown.map(trendOf)}
        ${listOf(entries)}
        ${simulations.length === 0 ? undefined : simulationsOf(simulations)}
        ${unreadable.length === 0 ? undefined : leftOut(unreadable)}
        </main>
        <footer>Figures are those of the reports, at the prices they were made with.</footer>
        <script type="application/json" id="trends">${scriptJson(trendsOf(shown))}</script>
        <script>${script}</script>
      </body>
    </html>
  `.text;
}

const COLUMNS = ["report", "verdict", "run, UTC", "machine", "kind", "root hash"] as const;

function listOf(entries: readonly IndexEntry[]): Markup {
  const rows = entries.map(({ href, summary, root }) => {
    const { cpu, cpus } = summary.machine;
    const kinds = [...Map.groupBy(summary.cases, kindText).values()].flatMap(([one]) => one ?? []);
    return html`
      <tr>
        <th scope="row"><a href="${href}"><span>${summary.scenario.name}</span></a></th>
        <td class="words verdict">${summary.verdict.headline}.</td>
        <td class="words">${minuteOf(summary.started)}</td>
        <td class="words">${cpu}, ${countText(cpus, "CPU")}</td>
        <td class="words">${kinds.length === 0 ? "–" : kinds.map((one) =>
          html`
            ${kind(one)}
          `
        )}</td>
        <td class="words"><code>${root?.slice(0, 12) ?? "–"}</code></td>
      </tr>
    `;
  });
  return html`
    <section aria-labelledby="reports">
      <h2 id="reports">Reports</h2>
      <div class="scroll" role="region" tabindex="0" aria-label="List of reports">
        <table class="sortable">
          <caption>Reports, the newest first</caption>
          <thead>
            <tr>${COLUMNS.map((title, i) =>
              html`
                <th scope="col" ${new Markup(i === 0 ? "" : ' class="words"')}>${title}</th>
              `
            )}</tr>
          </thead>
          <tbody>${rows}</tbody>
        </table>
      </div>
    </section>
  `;
}

/** Simulations: what they answer first; they ran in virtual time, on no machine. */
function simulationsOf(entries: readonly SimulationEntry[]): Markup {
  return html`<section aria-labelledby="simulations"><h2 id="simulations">Simulations</h2>${
    table(
      "Simulations, the newest first",
      [
        { title: "simulation" },
        { title: "answer", words: true },
        { title: "run, UTC", words: true },
        { title: "kind", words: true },
        { title: "root hash", words: true },
      ],
      entries.map(({ href, summary, root }): Cell[] => [
        html`<a href="${href}">${summary.name}</a>`,
        summary.sentences[0] === undefined ? "–" : `${summary.sentences[0]}.`,
        minuteOf(summary.started),
        kind({ evidence: "simulated" }),
        html`<code>${root?.slice(0, 12) ?? "–"}</code>`,
      ]),
    )
  }</section>`;
}

/** The runs of one scenario on one machine. */
function trendOf({ reports, lines }: History, index: number): Markup {
  const newest = reports[reports.length - 1]?.summary as Summary;
  const id = `trend-${index}`;
  const shown = lines.filter(({ points }) => points.some(({ rate }) => rate !== undefined));
  const kinds = kindsText(shown.map((line) => ({ ...line, name: line.case })));
  const rows = reports.map(({ summary }, run): Cell[] => [
    minuteOf(summary.started),
    summary.versions["tierbench"] ?? "unknown",
    ...shown.map(({ points }) => pointCell(points[run])),
  ]).reverse();
  const heading = `${newest.scenario.name} on ${newest.machine.cpu}`;
  return html`
    <section
      aria-labelledby="${id}-title"><h2 id="${id}-title">History of ${heading}</h2>${figure(
        id,
        {
          title: `Throughput over ${countText(reports.length, "run")} of ${heading}, ${
            countText(newest.machine.cpus, "CPU")
          }`,
          text:
            "Runs from left to right, whiskers are 95 % intervals. A triangle above a point: faster than the run before; " +
            "below it: slower, by the rule of tierbench compare. One mark is weak evidence: the machine may have changed. " +
            "A broken line before a run: a change point of the case of its colour, from which on it stayed another.",
          unit: "thousand samples/s",
          kinds,
        },
        table(
          `Throughput of ${heading}, samples/s, the newest first`,
          [{ title: "run, UTC" }, { title: "tierbench", words: true }, ...shown.map((line) => ({ title: line.case }))],
          rows,
        ),
      )}${changeList(reports, shown)}</section>
  `;
}

const HOW_CHANGES = `E-divisive, p at most 0.01, at least ${LEAST_CHANGE * 100} %`;

/** Where cases changed for good, the newest first; or that none did, or that there are too few runs to tell. */
function changeList(reports: History["reports"], lines: History["lines"]): Markup {
  const judged = lines.filter(({ changes }) => changes !== undefined);
  if (judged.length === 0) {
    return html`<p class="note">Change points are looked for from ${countText(FEWEST_FOR_CHANGE, "run")} on.</p>`;
  }
  const runText = (run: number): string => {
    const { summary } = reports[run] as History["reports"][number];
    const { commit } = summary.versions;
    return minuteOf(summary.started) + (commit === undefined ? "" : `, commit ${commit}`);
  };
  const found = judged.flatMap((line) => (line.changes ?? []).map((change) => ({ ...change, name: line.case })))
    .sort((a, b) => b.run - a.run);
  const fewer = lines.length - judged.length;
  const rest = fewer === 0 ? "" : ` ${countText(fewer, "case")} of fewer than ${FEWEST_FOR_CHANGE} runs not judged.`;
  if (found.length === 0) {
    return html`<p class="note">No change points (${HOW_CHANGES}) in ${countText(judged.length, "case")}.${rest}</p>`;
  }
  return html`${
    table(
      `Change points (${HOW_CHANGES}), the newest first`,
      [
        { title: "case" },
        { title: "from the run of", words: true },
        { title: "the run before", words: true },
        { title: "speed ÷ before" },
        { title: "p" },
      ],
      found.map(({ name, run, before, ratio, p }): Cell[] => [
        name,
        runText(run),
        runText(before),
        `× ${significant(ratio)}`,
        significant(p),
      ]),
    )
  }${rest === "" ? undefined : html`<p class="note">${rest.trim()}</p>`}`;
}

function pointCell(point: HistoryPoint | undefined): Cell {
  if (point?.rate === undefined) return "–";
  const { rate, change, ratio } = point;
  const changed = change === "faster" || change === "slower"
    ? html`<small>${change === "faster" ? "▲" : "▼"} ${change}: × ${significant(ratio?.value ?? 1)}</small>`
    : undefined;
  return html`${rateText(rate)}${changed}`;
}

function leftOut(unreadable: readonly UnreadableReport[]): Markup {
  return html`<section aria-labelledby="left-out"><h2 id="left-out">Left out</h2>${
    table(
      "Reports that cannot be read, and why",
      [{ title: "file" }, { title: "error", words: true }],
      unreadable.map(({ path, error }) => [path, error]),
    )
  }</section>`;
}
