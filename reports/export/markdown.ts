/**
 * The summary as Markdown, for comments on pull requests and the summary page of a CI job.
 *
 * @module
 */

import { scaled, scalingCells, scalingColumns, sharedMachineText, undividedText } from "../summary/rank_words.ts";
import { shownText } from "../../base/shown.ts";
import { kindText } from "../summary/kind.ts";
import { significant } from "../../base/numbers.ts";
import { owningWords } from "../summary/owning_words.ts";
import { changeText, errorText, estimateText, rateText } from "../text/format.ts";
import { resultsText } from "../summary/ablation_words.ts";
import {
  CHECKPOINT_COLUMNS,
  checkpointCells,
  checkpointed,
  SIMULATED_COLUMNS,
  simulatedRows,
} from "../summary/checkpoint_words.ts";
import { FILTER_COLUMNS, filterCells, filtered } from "../summary/filter_words.ts";
import { focused } from "../summary/focus.ts";
import type { Summary } from "../summary/summary_types.ts";

/** Verdict, table and limits as GitHub-flavoured Markdown. */
export function toMarkdown(summary: Summary): string {
  const { headline, sentences, cautions } = summary.verdict;
  const list = (texts: readonly string[]): string[] => texts.map((text) => `- ${escapeMarkdown(text)}.`);
  const head = [
    "case",
    "kind",
    "samples/s (95 %)",
    "speed against DRAM",
    "embedding time against DRAM",
    "step p99, ms",
    "first-tier hits, %",
    `${summary.pricing?.sign ?? "$"} per million samples`,
    "cost against DRAM",
    "left after a crash",
  ];
  const rows = focused(summary).cases.map((one) => [
    one.name,
    kindText(one),
    one.throughput === undefined ? "withheld" : rateText(one.throughput),
    one.relative === undefined ? "–" : estimateText(one.relative),
    one.embedding?.relative === undefined ? "–" : estimateText(one.embedding.relative),
    one.step === undefined ? "–" : estimateText(one.step.p99, 1e3),
    one.hits === undefined ? "–" : estimateText(one.hits.ratio, 100),
    one.cost === undefined ? "–" : estimateText(one.cost.perMillion),
    one.cost?.saved === undefined ? "–" : changeText(-one.cost.saved.value),
    one.durability,
  ]);
  const line = (cells: readonly string[]): string => `| ${cells.map(escapeMarkdown).join(" | ")} |`;
  const table = rows.length === 0
    ? []
    : [line(head), `| ${head.map((_, i) => i < 2 ? "---" : "---:").join(" | ")} |`, ...rows.map(line), ""];
  return [
    `## ${escapeMarkdown(summary.scenario.name)}`,
    "",
    `**${escapeMarkdown(headline)}.**`,
    "",
    ...ablationTables(summary).flatMap(([title, head, ...lines]) => [
      `**${escapeMarkdown((title as string[])[0] as string)}**`,
      "",
      line(head as string[]),
      `| ${(head as string[]).map((_, i) => i === 0 || i === 3 ? "---" : "---:").join(" | ")} |`,
      ...lines.map(line),
      "",
    ]),
    ...table,
    ...countedTables(summary, line),
    ...list(sentences),
    ...(cautions.length === 0 ? [] : ["", "**What limits this answer**", "", ...list(cautions)]),
    "",
    `**What speaks against these figures: ${summary.grade}**`,
    "",
    ...summary.findings.map(({ code, severity, seen, advice }) =>
      `- \`${code}\` (${severity}) ${escapeMarkdown(`${seen}; ${advice}`)}.`
    ),
    ...(summary.failed.length === 0
      ? []
      : ["", "**Failed samples**", "", ...summary.failed.map((one) => `- ${escapeMarkdown(errorText(one))}`)]),
    ...folded("How it was priced", priced(summary)),
    "",
    escapeMarkdown(
      `Run ${summary.started} on ${summary.machine.cpu}, seed ${summary.scenario.seed}, scenario ` +
        `${summary.scenarioDigest.slice(0, 12)}, tierbench ${summary.versions["tierbench"] ?? "of unknown version"}.`,
    ),
    "",
  ].join("\n");
}

/** A table of cases under a title and columns; nothing without cases. */
function caseTable(
  title: string,
  columns: readonly string[],
  cases: readonly (readonly string[])[],
  line: (cells: readonly string[]) => string,
): string[] {
  if (cases.length === 0) return [];
  const rule = `| --- |${columns.map(() => " ---: |").join("")}`;
  return [`**${title}**`, "", line(["case", ...columns]), rule, ...cases.map(line), ""];
}

/** What admission and expiry did, and what checkpoints cost, where a case has either. */
function countedTables(summary: Summary, line: (cells: readonly string[]) => string): string[] {
  const { cases } = focused(summary);
  const filters = filtered(cases).map((one) => [one.name, ...filterCells(one.filter)]);
  const costs = checkpointed(cases).map((one) => [one.name, ...checkpointCells(one.checkpoints)]);
  const over = scaled(cases);
  const ranks = over.map((one) => [one.name, ...scalingCells(one, over, summary)]);
  return [
    ...caseTable("Admission and expiry, in the counted steps of the last sample", FILTER_COLUMNS, filters, line),
    ...caseTable("Checkpoints, against the same without", CHECKPOINT_COLUMNS, costs, line),
    ...caseTable("Checkpoints, simulated (deviation from measured)", SIMULATED_COLUMNS, simulatedRows(cases), line),
    ...caseTable("Ranks, against the fewest", scalingColumns(over), ranks, line),
    ...[sharedMachineText(cases) ?? [], undividedText(over) ?? []].flat().flatMap((sentence) => [`${sentence}.`, ""]),
  ];
}

/** What each optimisation is worth on every configuration: a title, the columns, the rows. */
function ablationTables({ ablation }: Summary): string[][][] {
  return (ablation?.groups ?? []).map(({ name, rows, ...kind }) => [
    [`${name}, ${kindText(kind)}`],
    ["optimisations", "samples/s (95 %)", "× none (95 %)", "results"],
    ...rows.map((row) => [
      row.label,
      row.throughput === undefined ? "withheld" : rateText(row.throughput),
      row.relative === undefined ? "–" : estimateText(row.relative),
      resultsText(row),
    ]),
  ]);
}

/** Machines, their prices, and how the run was scaled to them. */
function priced({ cases, pricing }: Summary): string[] {
  if (pricing === undefined) return [];
  const machines = cases.flatMap(({ name, cost }) =>
    cost === undefined ? [] : [
      `- ${escapeMarkdown(name)}: ${cost.offer.machines} × ${escapeMarkdown(cost.offer.instance.name)}, ${
        significant(cost.offer.pricePerHour)
      } ${pricing.sign}/h${owningWords(cost.owning, pricing.sign)}`,
    ]
  );
  return [
    escapeMarkdown(
      `Prices: ${pricing.provider}, ${pricing.dates}, the latest as of ${pricing.asOf}` +
        `${pricing.stale ? ": more than a year old" : ""}. ${pricing.scaling}`,
    ),
    "",
    ...machines,
  ];
}

/** Lines that unfold; nothing for no lines. */
function folded(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : ["", "<details>", `<summary>${title}</summary>`, "", ...lines, "", "</details>"];
}

/** Keeps bars, markup, references, links and line breaks of a text from being read as Markdown. */
export function escapeMarkdown(text: string): string {
  return shownText(text.replace(/\r\n|[\r\n]/g, " ")).replace(/[\\|*_`[\]~]/g, "\\$&").replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;");
}
