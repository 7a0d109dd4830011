/**
 * The summary for a terminal: a table and the verdict, as plain text.
 *
 * @module
 */

import { resultsText, timesText } from "../summary/ablation_words.ts";
import { percentText, prefixed, prefixFor, significant } from "../../base/numbers.ts";
import { changeText, countText, errorText, intervalText } from "../text/format.ts";
import {
  CHECKPOINT_COLUMNS,
  checkpointCells,
  checkpointed,
  SIMULATED_COLUMNS,
  simulatedRows,
} from "../summary/checkpoint_words.ts";
import { scaled, scalingCells, scalingColumns, sharedMachineText, undividedText } from "../summary/rank_words.ts";
import { FILTER_COLUMNS, filterCells, filtered } from "../summary/filter_words.ts";
import type { AblationRow, AblationSummary, CaseSummary, Summary } from "../summary/summary_types.ts";
import type { Estimate } from "../statistics/bootstrap.ts";
import { aucCell } from "../../scenarios/record.ts";
import { shownLines } from "../../base/shown.ts";

/**
 * Table of all cases and the verdict, wrapped at a width.
 *
 * @param given From {@linkcode summarise}.
 * @param width Columns of the terminal. @default 120
 */
export function renderTerminal(given: Summary, width: number = 120): string {
  const summary = shownLines(given);
  const { headline, sentences, cautions } = summary.verdict;
  const ranks = scaled(summary.cases);
  const shared = [sharedMachineText(summary.cases) ?? [], undividedText(ranks) ?? []].flat();
  const lines = [
    ...(summary.ablation === undefined ? terminalTable(summary, width) : ablationTable(summary.ablation, width)),
    ...rowTable(
      "counted steps",
      FILTER_COLUMNS,
      filtered(summary.cases).map((one) => [one.name, ...filterCells(one.filter)]),
    ),
    ...rowTable(
      "checkpoints",
      CHECKPOINT_COLUMNS,
      checkpointed(summary.cases).map((one) => [one.name, ...checkpointCells(one.checkpoints)]),
    ),
    ...rowTable("checkpoints, simulated", SIMULATED_COLUMNS, simulatedRows(summary.cases)),
    ...rowTable(
      "ranks",
      scalingColumns(ranks),
      ranks.map((one) => [one.name, ...scalingCells(one, ranks, summary)]),
    ),
    "",
    ...wrap(`${headline}.`, width, ""),
    ...sentences.flatMap((sentence) => wrap(`${sentence}.`, width, "")),
    ...(cautions.length === 0 ? [] : [""]),
    ...cautions.flatMap((caution) => wrap(`${caution}.`, width, "note  ")),
    ...wrap(findingsLine(summary), width, `${summary.grade}  `),
    ...shared.flatMap((sentence) => wrap(`${sentence}.`, width, "note  ")),
    ...summary.failed.flatMap((one) => wrap(errorText(one), width, "failed  ")),
  ];
  return lines.join("\n").replace(/^\n+/, "") + "\n";
}

/** Which rules found something, in how many cases; the report has the rest. */
function findingsLine({ findings }: Summary): string {
  if (findings.length === 0) return "nothing that the suite looks for speaks against these figures";
  const codes = findings.map(({ code, cases }) =>
    cases.length === 0 ? code : `${code} (${countText(cases.length, "case")})`
  );
  return `${codes.join(", ")}: the report says what was seen and what to do`;
}

const COLUMNS = [
  "configuration",
  "kind",
  "samples/s",
  "95 %",
  "embedding",
  "step p99",
  "first-tier hits",
  "AUC",
  "money/M samples",
  "cost",
  "after a crash",
] as const;

/** What a narrow terminal does without, first to go first; the report has it all. */
const DISPENSABLE: readonly (typeof COLUMNS)[number][] = ["after a crash", "step p99", "first-tier hits", "AUC"];

function terminalTable(summary: Summary, width: number): string[] {
  if (summary.cases.length === 0) return [];
  const money = `${summary.pricing?.sign ?? "$"}/M samples`;
  const rows = [
    COLUMNS.map((one) => one === "money/M samples" ? money : one),
    ...summary.cases.map((one) => cells(one, summary)),
  ];
  const widths = COLUMNS.map((_, c) => Math.max(...rows.map((row) => (row[c] ?? "").length)));
  const shown = new Set(COLUMNS.keys());
  const total = () => [...shown].reduce((sum, c) => sum + (widths[c] ?? 0) + 2, -2);
  for (const column of DISPENSABLE) if (total() > width) shown.delete(COLUMNS.indexOf(column));
  return rows.map((row) =>
    row.map((text, c) => c < 2 ? text.padEnd(widths[c] ?? 0) : text.padStart(widths[c] ?? 0))
      .filter((_, c) => shown.has(c)).join("  ").trimEnd()
  );
}

/** A line a case under a title and columns; nothing without cases. */
function rowTable(title: string, columns: readonly string[], cases: readonly (readonly string[])[]): string[] {
  if (cases.length === 0) return [];
  const rows = [[title, ...columns], ...cases];
  const widths = rows[0]?.map((_, c) => Math.max(...rows.map((row) => row[c]?.length ?? 0))) ?? [];
  return [
    "",
    ...rows.map((row) =>
      row.map((text, c) => c === 0 ? text.padEnd(widths[c] ?? 0) : text.padStart(widths[c] ?? 0)).join("  ")
    ),
  ];
}

/** A line a variant: its ratio to none on every configuration, and what it does to results. */
function ablationTable({ groups }: AblationSummary, width: number): string[] {
  const labels = [...new Set(groups.flatMap(({ rows }) => rows.map(({ label }) => label)))];
  const ratio = (row: AblationRow | undefined): string[] => {
    if (row?.kind === "none" && row.throughput !== undefined) return [`${prefixed(row.throughput.value)}/s`, ""];
    const found = row?.relative;
    return found === undefined ? ["–", ""] : [timesText(found.value), intervalText(found) ?? "one sample"];
  };
  const rows = [
    ["optimisations", ...groups.flatMap(({ name }) => [name, "95 %"]), "results"],
    ...labels.map((label) => {
      const found = groups.map(({ rows }) => rows.find((row) => row.label === label));
      const one = found.find((row) => row !== undefined);
      return [label, ...found.flatMap(ratio), one === undefined ? "" : resultsText(one)];
    }),
  ];
  const last = (rows[0]?.length ?? 1) - 1;
  const widths = rows[0]?.map((_, c) => Math.max(...rows.map((row) => row[c]?.length ?? 0))) ?? [];
  const fits = widths.reduce((sum, one) => sum + one + 2, -2) <= width;
  return rows.map((row) =>
    row.map((text, c) => c === 0 || c === last ? text.padEnd(widths[c] ?? 0) : text.padStart(widths[c] ?? 0))
      .filter((_, c) => fits || c === 0 || c === last || c % 2 === 1).join("  ").trimEnd()
  );
}

function cells(one: CaseSummary, summary: Summary): string[] {
  const { throughput, embedding, step, hits, cost, scaling } = one;
  const same = summary.quality?.configuration === one.configuration ||
    (summary.identical?.same === true && summary.identical.configurations.includes(one.configuration));
  const auc = scaling?.staleness !== undefined ? scaling.auc : same ? summary.quality?.auc : undefined;
  const scale = prefixFor(throughput?.value ?? 1);
  const number = (of: Estimate | undefined, text: (value: number) => string): string =>
    of === undefined ? "–" : text(of.value);
  return [
    one.name,
    one.virtual
      ? `${one.evidence}, virtual`
      : one.vouched === undefined
      ? one.evidence
      : `${one.evidence}, ${one.vouched} vouched for`,
    number(throughput, (v) => `${significant(v / scale.factor)}${scale.prefix === "" ? "" : ` ${scale.prefix}`}`),
    throughput === undefined ? "–" : intervalText(throughput, 1 / scale.factor) ?? "one sample",
    number(embedding?.relative, (v) => `${significant(v)} ×`),
    number(step?.p99, (v) => `${significant(v * 1e3)} ms`),
    number(hits?.ratio, percentText),
    auc === undefined ? "–" : aucCell(auc),
    number(cost?.perMillion, significant),
    cost?.saved === undefined ? "" : changeText(-cost.saved.value),
    one.durability,
  ];
}

/** Breaks text at spaces; the first line begins with a label, the others are indented by its width. */
export function wrap(text: string, width: number, label: string): string[] {
  const room = Math.max(20, width - label.length);
  const lines: string[] = [];
  let line = "";
  for (const word of text.replaceAll(" %", "\u00a0%").split(" ").map((one) => one.replaceAll("\u00a0", " "))) {
    if (line !== "" && line.length + 1 + word.length > room) {
      lines.push(line);
      line = word;
    } else {
      line = line === "" ? word : `${line} ${word}`;
    }
  }
  lines.push(line);
  return lines.map((one, i) => (i === 0 ? label : " ".repeat(label.length)) + one);
}
