/**
 * An answer for a terminal and for machines.
 *
 * @module
 */

import type { Asked } from "../../models/planning/ask/ask.ts";
import { askAnswer } from "./answer.ts";
import {
  type AskTable,
  headline,
  measures,
  owningTable,
  placementLines,
  sentences,
  turnText,
  waysTable,
} from "./words.ts";

/** Lines of at most so many letters, the first after a word of its own. */
function block(name: string, texts: readonly string[], width: number): string {
  const indent = 9;
  return texts.map((text, i) => {
    const lines: string[] = [];
    let line = (i === 0 ? name : "").padEnd(indent);
    for (const word of text.split(" ")) {
      if (line.length + word.length > width && line.trim() !== "" && line.length > indent) {
        lines.push(line.trimEnd());
        line = " ".repeat(indent);
      }
      line += `${word} `;
    }
    return [...lines, line.trimEnd()].join("\n");
  }).join("\n");
}

function columns({ columns, rows }: AskTable, only: readonly number[]): string[] {
  const cells = [
    columns.map(({ title }) => title),
    ...rows.map((row) => row.map((cell) => typeof cell === "string" ? cell : cell[0])),
  ]
    .map((row) => only.map((i) => row[i] ?? ""));
  const widths = only.map((_, c) => Math.max(...cells.map((row) => (row[c] ?? "").length)));
  return cells.map((row) => `  ${row.map((cell, c) => cell.padEnd(widths[c] ?? 0)).join("  ").trimEnd()}`);
}

/** Turns as lines: those that there are, then what does not turn it. */
function turnLines(asked: Asked): string[] {
  const turned = asked.turns.filter(({ at }) => at !== undefined).map((turn) => {
    const [what, now, at, then] = turnText(turn, asked);
    return `${what}: at ${at} (now ${now}) ${then}`;
  });
  const kept = asked.turns.filter(({ at }) => at === undefined).map((turn) => {
    const [what, , far] = turnText(turn, asked);
    return `${what} (${far})`;
  });
  return [...turned, ...(kept.length === 0 ? [] : [`the same wins: ${kept.join("; ")}`])];
}

/** An answer as plain text: the sentences, the ways, what would turn it, what to measure. */
export function askText(asked: Asked, width: number): string {
  const wide = Math.max(60, Math.min(width, 120));
  const parts: readonly (readonly [string, readonly string[]])[] = [
    ["sure", asked.doubts.map(({ text }) => `cannot be told: ${text}`)],
    ["rows", placementLines(asked)],
    ["turns", turnLines(asked)],
    [
      "measure",
      measures(asked).map(({ text, command, run }) =>
        `${text}; there: ${command}${run === undefined ? "" : `, ${run}`}`
      ),
    ],
  ];
  return [
    block("answer", [headline(asked), ...sentences(asked)], wide),
    "",
    ...columns(waysTable(asked), [0, 1, 2, 3, 4, 5]),
    "",
    ...columns(owningTable(asked), [0, 1, 2, 3, 4]),
    "",
    ...parts.filter(([, lines]) => lines.length > 0).map(([name, lines]) => block(name, lines, wide)),
    "",
  ].join("\n");
}

/** An answer for machines. Amounts are in `currency`; an hour's unless they say otherwise. */
export function askJson(asked: Asked, currency: string): string {
  return `${JSON.stringify(askAnswer(asked, currency), undefined, 2)}\n`;
}
