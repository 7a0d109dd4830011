/**
 * A comparison for a terminal, as Markdown and as JSON.
 *
 * @module
 */

import { shownLines } from "../../base/shown.ts";
import { kindText } from "../summary/kind.ts";
import { escapeMarkdown } from "../export/markdown.ts";
import { significant } from "../../base/numbers.ts";
import { estimateText, rateText, roughPercentText } from "../text/format.ts";
import { wrap } from "../export/terminal.ts";
import type { ComparedCase, ComparedResult, ResultComparison } from "./comparison.ts";

const HEAD = ["case", "kind", "first, samples/s", "second, samples/s", "ratio (95 %)", "q", "noise floor", "verdict"];

function cells(one: ComparedCase): string[] {
  return [
    one.case,
    one.evidence === undefined ? "unlike" : kindText({ evidence: one.evidence, vouched: one.vouched }),
    one.a === undefined ? "–" : rateText(one.a),
    one.b === undefined ? "–" : rateText(one.b),
    one.ratio === undefined ? "–" : estimateText(one.ratio),
    one.q === undefined ? "–" : one.q < 0.001 ? "< 0.001" : significant(one.q, 2),
    one.floor === undefined ? "–" : roughPercentText(one.floor - 1),
    one.why === undefined ? one.verdict : `${one.verdict}: ${one.why}`,
  ];
}

function resultText({ name, scenario, started, cpu, version }: ComparedResult): string {
  return `${name}: ${scenario}, ${started.slice(0, 16).replace("T", " ")} UTC, ${cpu}, tierbench ${version}`;
}

/**
 * A comparison for a terminal.
 *
 * @param width Columns of the terminal. @default 120
 */
export function renderComparison(comparison: ResultComparison, width: number = 120): string {
  const { a, b, cases, unlike, checks, headline, gate, cautions, onlyA, onlyB } = shownLines(comparison);
  const rows = [HEAD, ...cases.map(cells)];
  const widths = HEAD.map((_, c) => Math.max(...rows.map((row) => (row[c] ?? "").length)));
  const only = (label: string, names: readonly string[]): string[] =>
    names.length === 0 ? [] : wrap(names.join(", "), width, label);
  return [
    ...wrap(resultText(a), width, "first   "),
    ...wrap(resultText(b), width, "second  "),
    "",
    ...rows.map((row) => row.map((cell, c) => cell.padEnd(widths[c] ?? 0)).join("  ").trimEnd()),
    "",
    ...wrap(`${headline}.`, width, ""),
    ...wrap(`${gate.sentence}.`, width, "gate    "),
    ...cautions.flatMap((caution) => wrap(`${caution}.`, width, "note    ")),
    ...only("only in the first   ", onlyA),
    ...only("only in the second  ", onlyB),
    ...unlike.flatMap(({ what, a, b }) => wrap(`${what}: ${a} against ${b}`, width, "unlike  ")),
    ...checks.flatMap(({ what, status, found }) => wrap(`${what}: ${found}`, width, `${status.padEnd(14)}  `)),
    "",
  ].join("\n");
}

/**
 * A comparison as GitHub-flavoured Markdown, for a comment on a pull request.
 *
 * @param title Heading of the text. @default "Compared with the baseline"
 */
export function comparisonMarkdown(comparison: ResultComparison, title: string = "Compared with the baseline"): string {
  const { a, b, cases, unlike, checks, headline, gate, cautions, onlyA, onlyB } = comparison;
  const line = (row: readonly string[]): string => `| ${row.map(escapeMarkdown).join(" | ")} |`;
  const list = (texts: readonly string[]): string[] => texts.map((text) => `- ${escapeMarkdown(text)}`);
  const folded = (heading: string, texts: readonly string[]): string[] =>
    texts.length === 0 ? [] : ["<details>", `<summary>${heading}</summary>`, "", ...list(texts), "", "</details>", ""];
  return [
    `### ${escapeMarkdown(title)}`,
    "",
    `**${escapeMarkdown(headline)}.**`,
    "",
    ...(cases.length === 0 ? [] : [
      line(HEAD),
      `| ${HEAD.map((_, i) => i > 1 && i < 7 ? "---:" : "---").join(" | ")} |`,
      ...cases.map((one) => line(cells(one))),
      "",
    ]),
    ...list([
      `Gate: ${gate.sentence}.`,
      ...cautions.map((text) => `${text}.`),
      ...(onlyA.length === 0 ? [] : [`Only in the first: ${onlyA.join(", ")}.`]),
      ...(onlyB.length === 0 ? [] : [`Only in the second: ${onlyB.join(", ")}.`]),
    ]),
    "",
    ...folded("What is unlike", unlike.map(({ what, a, b }) => `${what}: ${a} against ${b}`)),
    ...folded("What ought to be equal", checks.map(({ what, status, found }) => `${what}: ${status}; ${found}`)),
    `First: ${escapeMarkdown(resultText(a))}. Second: ${escapeMarkdown(resultText(b))}.`,
    "",
  ].join("\n");
}

/** A comparison as JSON, indented; absent values are left out. */
export function comparisonJson(comparison: ResultComparison): string {
  return JSON.stringify(comparison, null, 2) + "\n";
}
