/**
 * A simulation's report for a terminal, as Markdown, CSV and JSON.
 *
 * @module
 */

import { shownLines } from "../../base/shown.ts";
import { escapeMarkdown } from "../export/markdown.ts";
import { csvLine } from "../../models/costs/csv.ts";
import { wrap } from "../export/terminal.ts";
import {
  checkpointTable,
  deviationTable,
  durabilityText,
  explanationTable,
  speedTable,
  type TextTable,
} from "./cells.ts";
import { moneyTable, reasonText } from "./money_words.ts";
import { type SimulationSummary, type StudyCase, timeByKind } from "./summary.ts";

function tables(summary: SimulationSummary): TextTable[] {
  return [
    ...summary.studies.flatMap((study) => [
      speedTable(study),
      ...[checkpointTable(study)].filter(({ rows }) => rows.length > 0),
      ...(summary.money === undefined ? [] : [moneyTable(study.name, study.cases, summary.money)]),
    ]),
    ...summary.explanations.map(explanationTable),
    ...(summary.deviations.length === 0 ? [] : [deviationTable(summary.deviations)]),
  ];
}

function plain({ caption, columns, words, rows }: TextTable, width: number): string[] {
  const all = [columns, ...rows];
  const widths = columns.map((_, c) => Math.max(...all.map((row) => row[c]?.length ?? 0)));
  const shown = new Set(columns.keys());
  const total = () => [...shown].reduce((sum, c) => sum + (widths[c] ?? 0) + 2, -2);
  // What a narrow terminal does without: the last columns; the report has it all.
  for (let c = columns.length - 1; c > 2 && total() > width; c--) shown.delete(c);
  const left = new Set([columns[0], ...words]);
  return [
    ...wrap(`${caption}`, width, ""),
    ...all.map((row) =>
      row.map((text, c) => left.has(columns[c]) ? text.padEnd(widths[c] ?? 0) : text.padStart(widths[c] ?? 0))
        .filter((_, c) => shown.has(c)).join("  ").trimEnd()
    ),
    "",
  ];
}

/**
 * Tables and sentences, wrapped at a width.
 *
 * @param width Columns of the terminal. @default 120
 */
export function renderSimulationTerminal(given: SimulationSummary, width: number = 120): string {
  const summary = shownLines(given);
  return [
    ...tables(summary).flatMap((table) => plain(table, width)),
    ...summary.sentences.flatMap((sentence) => wrap(`${sentence}.`, width, "")),
    "",
    ...summary.cautions.flatMap((caution) => wrap(`${caution}.`, width, "note  ")),
  ].join("\n") + "\n";
}

function markdownTable({ caption, columns, rows }: TextTable): string {
  const line = (cells: readonly string[]) => `| ${cells.map(escapeMarkdown).join(" | ")} |`;
  return [`**${escapeMarkdown(caption)}**`, "", line(columns), line(columns.map(() => "---")), ...rows.map(line)].join(
    "\n",
  );
}

/** The report as Markdown. */
export function simulationMarkdown(summary: SimulationSummary): string {
  return [
    `# ${escapeMarkdown(summary.name)}`,
    escapeMarkdown(summary.about),
    ...summary.sentences.map((sentence) => `- ${escapeMarkdown(sentence)}.`),
    ...tables(summary).map(markdownTable),
    ...summary.cautions.map((caution) => `> ${escapeMarkdown(caution)}.`),
    `Seed ${summary.seed}, scenario ${escapeMarkdown(summary.digest.slice(0, 12))}.`,
  ].join("\n\n") + "\n";
}

/** One line a case, one column a number, unrounded, units in the header. */
export function simulationCsv({ studies, money }: SimulationSummary): string {
  const kinds = [
    ...new Set(studies.flatMap(({ cases }) => cases.flatMap((one) => timeByKind(one).map(([kind]) => kind)))),
  ];
  const header = [
    "study",
    "case",
    "configuration",
    "point",
    "kind",
    "samples_per_second",
    "band_low",
    "band_high",
    "step_seconds",
    "step_p50_seconds",
    "step_p99_seconds",
    "missed_share_of_keys",
    "missed_share_of_rows",
    "checkpoint_pause_seconds",
    "durability",
    "recovery_seconds",
    ...(money === undefined ? [] : MONEY_COLUMNS),
    ...kinds.map((kind) => `step_${kind.replaceAll("-", "_")}_seconds`),
  ];
  const lines = studies.flatMap(({ name, cases }) =>
    cases.map((one) => {
      const times = new Map(timeByKind(one));
      const [low, high] = "why" in one.band ? [undefined, undefined] : [one.band.low, one.band.high];
      return csvLine([
        name,
        one.case,
        one.configuration,
        JSON.stringify(one.point),
        one.evidence,
        one.samplesPerSecond,
        low === undefined ? undefined : low * one.samplesPerSecond,
        high === undefined ? undefined : high * one.samplesPerSecond,
        one.step.mean,
        one.step.p50,
        one.step.p99,
        one.misses.ofKeys,
        one.misses.ofRows,
        one.checkpoint?.pause,
        durabilityText(one),
        one.checkpoint?.recovery?.seconds,
        ...(money === undefined ? [] : moneyCells(one, money)),
        ...kinds.map((kind) => times.get(kind) ?? 0),
      ]);
    })
  );
  return [csvLine(header), ...lines].map((line) => line.replace(/\r?\n$/, "")).join("\r\n") + "\r\n";
}

const MONEY_COLUMNS = [
  "currency",
  "bill_ends_at",
  "per_hour",
  "per_million_samples",
  "per_million_samples_low",
  "per_million_samples_high",
  "per_month",
  "per_year",
  "watts",
  "purchase",
  "payback_months",
  "drive_writes_a_day",
  "servers",
  "trainers",
  "price_dates",
  "not_priced_because",
];

function moneyCells(
  { money, driveWrites }: StudyCase,
  { currency, sign, bill }: Terms,
): (string | number | undefined)[] {
  const paid = money !== undefined && "perHour" in money ? money : undefined;
  const machines = (of: { readonly count: number; readonly what: string } | undefined) =>
    of && `${of.count} x ${of.what}`;
  return [
    paid && currency,
    paid && (bill === "whole" ? "workers" : "parameter-servers"),
    paid?.perHour,
    paid?.perMillion,
    paid?.band?.low,
    paid?.band?.high,
    paid?.perMonth,
    paid?.perYear,
    paid?.watts,
    paid?.purchase,
    paid?.payback?.months,
    driveWrites,
    machines(paid?.servers),
    machines(paid?.trainers),
    paid?.dates.join("; "),
    money === undefined || "perHour" in money ? undefined : reasonText(money, sign),
  ];
}

type Terms = NonNullable<SimulationSummary["money"]>;

/** The report's model as JSON; tasks of steps are in `result.jsonl`. */
export function simulationJson(summary: SimulationSummary): string {
  return `${JSON.stringify(summary, (key, value: unknown) => key === "tasks" ? undefined : value, 2)}\n`;
}
