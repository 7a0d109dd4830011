/**
 * The first screen: what ran, the answer, cost against speed, the table of all cases.
 *
 * @module
 */

import { kindsText } from "../summary/kind.ts";
import { changeText, countText, listText } from "../text/format.ts";
import type { CaseSummary, Summary, Verdict } from "../summary/summary_types.ts";
import { html, type Markup } from "../text/markup.ts";
import { type Cell, estimateCell, figure, header, kind, more, rateCell, table } from "./parts.ts";

/** Title and facts of the run. */
export function heading(summary: Summary): Markup {
  const samples = summary.cases.reduce((total, one) => total + one.samples, 0);
  return header("report", summary.scenario, [
    ["run", summary.started.slice(0, 16).replace("T", " ") + " UTC"],
    ["machine", `${summary.machine.cpu}, ${countText(summary.machine.cpus, "CPU")}`],
    ["samples", `${samples} of ${countText(summary.cases.length, "case")}`],
    ["seed", summary.scenario.seed],
  ]);
}

/** A section that can be linked to. */
export interface Place {
  /** Its id. */
  readonly id: string;
  /** Text of the link. */
  readonly title: string;
}

/** The first two sentences of a run's answer, and where to read on: three questions, then every section of the page. */
export function answer({ verdict }: Summary, has: (id: string) => boolean): Markup {
  const there = (places: readonly Place[]): Place[] => places.filter(({ id }) => has(id));
  return verdictOf(verdict, there(QUESTIONS), there(SECTIONS));
}

/** The first two sentences of an answer, and links: to questions, then to sections. */
export function verdictOf(
  { headline, sentences: [second] }: Verdict,
  questions: readonly Place[],
  sections: readonly Place[],
): Markup {
  const links = (places: readonly Place[]): Markup[] =>
    places.map(({ id, title }) => html`<li><a href="#${id}">${title}</a></li>`);
  return html`
    <div class="answer">
      <h2 class="eyebrow">Verdict</h2>
      <p class="headline">${quietIntervals(headline)}.</p>
      ${second === undefined ? undefined : html`<p class="second">${quietIntervals(second)}.</p>`}
      ${questions.length === 0 ? undefined : html`
        <nav aria-label="Answers below">
          <ul>${links(questions)}</ul>
        </nav>
      `}
      <nav class="sections" aria-label="Sections">
        <ul>${links(sections)}</ul>
      </nav>
    </div>
  `;
}

const QUESTIONS: readonly Place[] = [
  { id: "change", title: "What would change this" },
  { id: "time", title: "Where time goes" },
  { id: "sure", title: "How sure is this" },
];

const SECTIONS: readonly Place[] = [
  { id: "ablation-worth", title: "Optimisations" },
  { id: "embedding-work", title: "Embedding work" },
  { id: "speed", title: "Speed" },
  { id: "memory", title: "Memory" },
  { id: "quality", title: "Quality" },
  { id: "cost", title: "Cost" },
  { id: "what-if", title: "What if" },
  { id: "claims", title: "Savings" },
  { id: "contribution", title: "Contribution" },
  { id: "run", title: "The run" },
];

/** Sentences of a list that are read at first. */
const AT_FIRST = 3;

/** The rest of an answer, whose first two sentences stand above, and what limits it. */
export function words({ cautions, sentences: [, ...sentences] }: Verdict): Markup | undefined {
  const list = (texts: readonly string[]): Markup =>
    html`<ul>${texts.map((text) => html`<li>${quietIntervals(text)}.</li>`)}</ul>`;
  const column = (title: string, texts: readonly string[], rest: string): Markup | undefined =>
    texts.length === 0
      ? undefined
      : html`<div><h2>${title}</h2>${list(texts.slice(0, AT_FIRST))}${
        texts.length <= AT_FIRST ? undefined : more(rest, list(texts.slice(AT_FIRST)))
      }</div>`;
  if (sentences.length + cautions.length === 0) return undefined;
  return html`<section class="words two">${column("What else was seen", sentences, "what else was seen")}${
    column("What limits this answer", cautions, "what limits this answer")
  }</section>`;
}

/** Sets intervals in quieter type, and keeps numbers and their percent signs on one line. */
function quietIntervals(text: string): Markup[] {
  return text.replaceAll(" %", "\u00a0%").split(/(\([^()]*9[05]\u00a0%: [^()]*\))/).map((part, i) =>
    i % 2 === 0 ? html`${part}` : html`<span class="ci">${part}</span>`
  );
}

/** Cost against speed, and all cases in one table. */
export function overview(summary: Summary): Markup | undefined {
  const { cases } = summary;
  if (cases.length === 0) return undefined;
  const sign = summary.pricing?.sign ?? "$";
  const priced = cases.filter((one) => one.cost !== undefined && one.throughput !== undefined);
  const numbers = summaryTable(summary);
  const body = priced.length === 0 ? numbers : figure(
    "value",
    {
      title: "Cost against speed",
      text:
        "Down is cheaper, right is faster; whiskers are 95 % intervals. The dashed line joins the cases that no other " +
        "beats in both.",
      unit: `${sign} per million samples, thousand samples/s`,
      kinds: kindsText(priced),
    },
    numbers,
    false,
  );
  return html`
    <section class="first"
      aria-labelledby="overview"><h2 id="overview" tabindex="-1">${priced.length === 0
        ? "All cases"
        : "Is it worth it?"}</h2>${body}${more(
          "how to read the chart and the table",
          html`<p class="note">Circles are measured, triangles emulated, squares simulated. Whiskers leave the chart where they are
      very wide. Small figures are 95 % bootstrap intervals over samples; a sample is one process.${
            comparisonText(cases)
          }</p>`,
        )}${oldPrices(summary)}</section>
  `;
}

/** How ratios to DRAM were made. */
export function comparisonText(cases: readonly CaseSummary[]): string {
  const named = (how: CaseSummary["comparison"]): string[] =>
    cases.filter((one) => one.comparison === how).map((one) => one.name);
  const [rounds, apart] = [named("by round"), named("independent")];
  if (rounds.length + apart.length === 0) return "";
  const all = apart.length === 0;
  return (rounds.length === 0
    ? ""
    : ` Against DRAM${all ? "" : `, ${listText(rounds)}`}: samples are compared round by round, so that slow changes ` +
      "of the machine cancel; intervals of cases can overlap though their ratio is clear.") +
    (all ? "" : ` ${listText(apart)}: not every round is complete on both sides, so the samples are compared as ` +
      "independent groups.");
}

function oldPrices({ pricing }: Summary): Markup | undefined {
  return pricing?.stale !== true ? undefined : html`
    <p class="note warn">Prices are of ${pricing.dates}: over a year older than ${pricing.asOf}.</p>
  `;
}

function summaryTable(summary: Summary): Markup {
  const sign = summary.pricing?.sign ?? "$";
  return table(
    "Speed, hits and cost of every case",
    [
      { title: "case" },
      { title: "kind", words: true },
      { title: `${sign} per million samples` },
      { title: "cost against DRAM" },
      { title: "samples/s" },
      { title: "speed against DRAM" },
      { title: "embedding time against DRAM" },
      { title: "step p99, ms" },
      { title: "first-tier hits, %" },
      { title: "left after a crash", words: true },
    ],
    summary.cases.map((one): Cell[] => [
      one.name,
      kind(one),
      estimateCell(one.cost?.perMillion),
      one.cost?.saved === undefined ? "–" : changeText(-one.cost.saved.value),
      rateCell(one.throughput),
      one.relative === undefined ? "–" : estimateCell(one.relative),
      estimateCell(one.embedding?.relative),
      estimateCell(one.step?.p99, 1e3),
      estimateCell(one.hits?.ratio, 100),
      one.durability,
    ]),
    true,
  );
}
