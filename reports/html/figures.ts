/**
 * Speed, time, bytes, hits and quality: a chart each, with its numbers.
 *
 * @module
 */

import { bytesText } from "../../base/bytes.ts";
import { percentText, prefixed, significant } from "../../base/numbers.ts";
import { countText, estimateText, listText } from "../text/format.ts";
import type { CaseSummary, StepCourse, Summary } from "../summary/summary_types.ts";
import { missCurve } from "./miss_curve.ts";
import { fastModeText, targetText } from "../summary/quality_words.ts";
import { html, type Markup } from "../text/markup.ts";
import { estimateCell, figure, kind, more, table } from "./parts.ts";
import { kindsText, kindText } from "../summary/kind.ts";
import { checkpoints } from "./checkpoints.ts";
import { filter } from "./filter.ts";
import { link } from "./link.ts";
import { traffic } from "./traffic.ts";
import { aucCell, aucText } from "../../scenarios/record.ts";

/** Throughput and step times. */
export function speed(summary: Summary): Markup | undefined {
  const cases = summary.cases.filter((one) => one.throughput !== undefined);
  if (cases.length === 0) return undefined;
  const rates = table(
    "Throughput",
    [
      { title: "case" },
      { title: "kind", words: true },
      { title: "samples/s" },
      { title: "against DRAM" },
      { title: "samples" },
      { title: "each process, samples/s", words: true },
    ],
    cases.map((one) => [
      one.name,
      kind(one),
      one.throughput === undefined ? "–" : estimateText(one.throughput),
      one.relative === undefined ? "–" : estimateText(one.relative),
      `${one.samples}`,
      one.perProcess.map(({ rate }) => significant(rate)).join(", "),
    ]),
  );
  const tails = cases.some((one) => one.step?.p999 !== undefined);
  const steps = figure(
    "steps",
    {
      title: "Times of a step",
      text:
        "How often a step took so long, every step of every process. Circles are the median, triangles the 95 %, diamonds " +
        "the 99 % quantile, means over processes; crosses are steps that stand out.",
      unit: "milliseconds a step",
      kinds: kindsText(cases),
    },
    html`
      ${table(
        "Time of a training step, milliseconds",
        [
          { title: "case" },
          { title: "kind", words: true },
          { title: "p50" },
          { title: "p95" },
          { title: "p99" },
          ...(tails ? [{ title: "p99.9" }] : []),
          { title: "steps" },
          { title: "outliers" },
          { title: "steady from step" },
        ],
        cases.map((one) => [
          one.name,
          kind(one),
          estimateCell(one.step?.p50, 1e3),
          estimateCell(one.step?.p95, 1e3),
          estimateCell(one.step?.p99, 1e3),
          ...(tails ? [estimateCell(one.step?.p999, 1e3)] : []),
          `${one.step?.steps ?? 0}`,
          `${one.step?.course.outliers.count ?? 0}`,
          one.step === undefined ? "" : steadyText(one.step.course),
        ]),
      )}${outliers(cases)}<p
        class="note">${tails
          ? ""
          : "p99.9 needs 1,000 steps a process. "}Outliers are beyond Tukey's outer fence, three interquartile ranges above the third quartile.</p>
    `,
  );
  const fewest = Math.min(...cases.map((one) => (one.step?.steps ?? 0) / one.samples));
  const few = fewest >= 100
    ? undefined
    : html`<p class="note">With ${
      countText(Math.floor(fewest), "step")
    } a process, p99 is the slowest step or near it.</p>`;
  return html`
    <section
      aria-labelledby="speed"><h2 id="speed" tabindex="-1">Speed</h2>${steps}${few}${course(cases)}${more(
        "samples a second of each process",
        rates,
      )}</section>
  `;
}

/** The steps that stand out, by name; nothing where none does. */
function outliers(cases: readonly CaseSummary[]): Markup | undefined {
  const named = cases.flatMap(({ name, step }) =>
    step === undefined ? [] : step.course.outliers.slowest.map((one) => [name, step, one] as const)
  );
  if (named.length === 0) return undefined;
  return table(
    "Steps that stand out, the five slowest of each case",
    [{ title: "case" }, { title: "sample", words: true }, { title: "step" }, { title: "ms" }, {
      title: "× the median",
    }],
    named.map(([name, { p50 }, { sample, step, seconds }]) => [
      name,
      sample,
      `${step}`,
      significant(seconds * 1e3),
      significant(seconds / p50.value),
    ]),
  );
}

/** From which step on a case is steady, and how many of its processes never are. */
function steadyText({ steadyFrom, processes }: StepCourse): string {
  const never = processes.filter(({ from }) => from === undefined).length;
  const text = steadyFrom === undefined ? "cannot be told" : `${steadyFrom}`;
  return never === 0 ? text : `${text} (${never} of ${processes.length} processes: never)`;
}

/** Step times over the run, and from where on they are steady. */
function course(cases: readonly CaseSummary[]): Markup {
  return more(
    "step times over the run, and from where on they are steady",
    html`
      ${figure(
        "course",
        {
          title: "Step times over the run",
          text:
            "Median over processes. The larger shape on a line marks where its steady state begins, by change points; a line " +
            "without one has none, or is too short to tell.",
          unit: "milliseconds a step, number of the step",
          kinds: kindsText(cases),
        },
        table(
          "Step times over the run, milliseconds",
          [{ title: "case" }, { title: "first steps" }, { title: "median" }, { title: "last steps" }, {
            title: "steady from step",
          }],
          cases.flatMap(({ name, step }) =>
            step === undefined ? [] : [[
              name,
              significant((step.course.course[0]?.seconds ?? NaN) * 1e3),
              significant(step.p50.value * 1e3),
              significant((step.course.course.at(-1)?.seconds ?? NaN) * 1e3),
              steadyText(step.course),
            ]]
          ),
        ),
      )}${steadiness(cases)}
    `,
  );
}

/** How each process went, where not all are flat: nothing of them is left out. */
function steadiness(cases: readonly CaseSummary[]): Markup | undefined {
  const unsteady = cases.flatMap(({ name, step }) =>
    (step?.course.processes ?? []).filter(({ kind }) => kind !== "flat").map((one) => [name, one] as const)
  );
  if (unsteady.length === 0) return undefined;
  return table(
    "Processes whose level changes by more than 3 %, all of whose steps count",
    [{ title: "case" }, { title: "sample", words: true }, { title: "how it went", words: true }, {
      title: "steady from step",
    }],
    unsteady.map(([name, { sample, kind, from }]) => [name, sample, kind, from === undefined ? "never" : `${from}`]),
  );
}

/** Time split by phase. */
export function time(summary: Summary): Markup | undefined {
  const cases = summary.cases.filter((one) => one.phases.length > 0);
  const phases = cases[0]?.phases.map(({ phase }) => phase);
  if (phases === undefined) return undefined;
  const chart = figure(
    "phases",
    {
      title: "Time of a step by phase",
      text: "Mean over steps and processes. Emulated media wait inside lookup, update and eviction. Other is what no " +
        "phase claims.",
      unit: "milliseconds a step",
      kinds: kindsText(cases),
    },
    table(
      "Time of a step by phase, milliseconds and share",
      [{ title: "case" }, { title: "kind", words: true }, ...phases.map((phase) => ({ title: phase }))],
      cases.map((one) => [
        one.name,
        kind(one),
        ...one.phases.map(({ seconds, share }) =>
          html`${significant(seconds * 1e3)}<small>${percentText(share)}</small>`
        ),
      ]),
    ),
  );
  return html`<section aria-labelledby="time"><h2 id="time" tabindex="-1">Where time goes</h2>${chart}</section>`;
}

/** Types whose name says PMEM, as DeepRec has it, and whose rows may be on any node without CPUs, one of CXL memory, too. */
const NODE_MEMORY: Readonly<Record<string, string>> = { PMEM_MBIND: "node (mbind)", PMEM_MEMKIND: "node (memkind)" };

/** Bytes per tier, hits of the first. */
export function memory(summary: Summary): Markup | undefined {
  const { cases } = summary;
  const tiers = cases.flatMap((one) => one.tiers.map((tier) => ({ one, tier })));
  if (tiers.length === 0) return undefined;
  const purposes = [...new Set(tiers.flatMap(({ tier }) => Object.keys(tier.purposes)))];
  const bytes = figure(
    "tiers",
    {
      title: "Bytes per tier by purpose",
      text: "At the end of the last sample. Slack is reserved space without rows.",
      unit: "MiB",
      kinds: kindsText(cases),
    },
    table(
      "Bytes per tier by purpose",
      [
        { title: "case, tier" },
        { title: "storage type", words: true },
        { title: "medium", words: true },
        { title: "rows" },
        ...purposes.map((purpose) => ({ title: `${purpose}, bytes` })),
        { title: "used" },
        { title: "limit" },
      ],
      tiers.map(({ one, tier }) => [
        `${one.name}, tier ${tier.tier}`,
        NODE_MEMORY[tier.type] ?? tier.type,
        tier.medium + (tier.emulates === undefined ? "" : `, as ${tier.emulates}`),
        significant(tier.rows),
        ...purposes.map((purpose) => bytesText(tier.purposes[purpose] ?? 0)),
        bytesText(tier.usedBytes),
        bytesText(tier.limitBytes),
      ]),
    ),
  );
  const hit = cases.filter((one) => one.hits !== undefined);
  const below = ["second", "third", "fourth"].slice(0, Math.max(0, ...hit.map((one) => one.hits?.below.length ?? 0)));
  const hits = hit.length === 0 ? undefined : more(
    "what the first tier answers, in percent",
    html`<p class="note">Ratios compare only where they are shares of the same thing; the table says of what.</p>${
      table(
        "First-tier hit ratio, percent",
        [
          { title: "case" },
          { title: "kind", words: true },
          { title: "hits" },
          ...below.map((tier) => ({ title: `${tier} tier` })),
          { title: "new rows" },
          { title: "share of", words: true },
        ],
        hit.map((one) => [
          one.name,
          kind(one),
          estimateCell(one.hits?.ratio, 100),
          ...below.map((_, i) => one.hits?.below[i] === undefined ? "–" : significant(one.hits.below[i] * 100)),
          one.hits?.created === undefined ? "–" : significant(one.hits.created * 100),
          one.hits?.denominator ?? "–",
        ]),
      )
    }`,
  );
  return html`
    <section
      aria-labelledby="memory"><h2 id="memory" tabindex="-1">Where the bytes are, and what the first tier answers</h2>
    ${bytes}${link(cases)}${filter(cases)}${checkpoints(cases)}${hits}${missCurve(summary)}${traffic(cases)}</section>
  `;
}

/** The AUC of the longer run; logloss and seconds in its table; the time to the AUC that the scenario names. */
export function quality(summary: Summary): Markup | undefined {
  const run = summary.quality;
  if (run === undefined) return undefined;
  const timed = run.curve.every((at) => at.trainSeconds !== undefined);
  const numbers = table(
    "Quality on held-out rows along the run",
    [
      { title: "samples trained" },
      ...(timed ? [{ title: "seconds of training" }] : []),
      { title: timed ? "seconds with scoring" : "seconds" },
      { title: "AUC" },
      { title: "logloss" },
    ],
    run.curve.map((at) => [
      significant(at.samples),
      ...(at.trainSeconds === undefined ? [] : [significant(at.trainSeconds)]),
      at.seconds === undefined ? "–" : significant(at.seconds),
      aucCell(at.auc),
      at.logloss.toFixed(4),
    ]),
  );
  // Without an AUC there is nothing to draw of it: the logloss is drawn, and the table's column says why.
  const what = run.auc === null ? "logloss" : "AUC";
  const planted = run.plantedAuc === undefined
    ? ""
    : ` Dashed: ${run.plantedAuc.toFixed(4)}, the AUC of the model that made the labels, the best reachable.`;
  const target = run.target === undefined ? "" : ` Dotted: the target, ${run.target.auc}.`;
  const chart = figure(
    what.toLowerCase(),
    {
      title: `${what} against samples trained`,
      text: `On held-out rows.${run.auc === null ? "" : planted + target}`,
      unit: `${what} against samples`,
      kinds: `Run on ${run.configuration}, ${kindText(run)}`,
    },
    numbers,
  );
  return html`
    <section aria-labelledby="quality">
      <h2 id="quality" tabindex="-1">Quality</h2>
      <p class="note">${summary.identical?.same === true
        ? `${
          listText(summary.identical.configurations)
        } end with the same rows to the bit, so one longer run gives the quality of all.`
        : "One longer run gives the quality."} It reaches ${aucText(run.auc)} and logloss ${run.logloss.toFixed(
          4,
        )} on ${significant(run.testRows)} held-out rows.${fastText(summary)}</p>
      ${chart}
      ${targetTable(summary)}
    </section>
  `;
}

/** What the fast mode changed. */
function fastText({ quality: run }: Summary): string {
  if (run?.fastMode === undefined) return "";
  return ` ${fastModeText(run.fastMode)}.`;
}

/** Time to the AUC that the scenario names. */
function targetTable({ quality: run }: Summary): Markup | undefined {
  const target = run?.target;
  if (run === undefined || target === undefined) return undefined;
  const heading = html`
    <h3>Time to AUC ${target.auc}</h3>
    <p class="note">${targetText(target)}.</p>
  `;
  if (target.reached === "not") return heading;
  const limit = target.reached === "interpolated" ? "" : "at most ";
  return html`${heading}${
    table(
      `Time to AUC ${target.auc}`,
      [{ title: "case" }, { title: "kind", words: true }, { title: "seconds" }, { title: "how", words: true }],
      [
        [
          `quality run on ${run.configuration}`,
          kind(run),
          `${limit}${significant(target.seconds)}`,
          "seconds of training up to there, without scoring; rows are created on the way",
        ],
        ...run.targetElsewhere.map((one) => [
          one.case,
          kind(one),
          html`${limit}${estimateCell(one.seconds)}`,
          `computed: ${prefixed(target.samples)} samples ÷ the samples/s of the case, whose rows are equal to the bit`,
        ]),
      ],
    )
  }`;
}
