/**
 * An answer for a terminal and for machines.
 *
 * @module
 */

import { missShare } from "../../models/planning/ask/turning.ts";
import { wayOf } from "../../models/planning/ask/ways.ts";
import type { Asked } from "../../models/planning/ask/ask.ts";
import type { Plan } from "../../models/planning/plan_types.ts";
import {
  type AskTable,
  billLines,
  headline,
  measures,
  owningOf,
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
  const { answer, ways, doubts, turns, simulated, placements, sure, left, file } = asked;
  const figures = (plan: Plan, priced: boolean) => ({
    machine: plan.machine.name,
    hosts: plan.hosts,
    billPerHour: plan.billPerHour,
    machinesPerHour: plan.pricePerHour,
    samplesPerSecond: plan.samplesPerSecond,
    stepSeconds: plan.stepSeconds,
    p99StepSeconds: plan.p99StepSeconds,
    perMillionSamples: plan.dollarsPerMillionSamples,
    missShare: missShare(plan),
    usedBytes: plan.usedBytes,
    bill: billLines(plan, answer),
    owning: owningOf(plan, priced, asked),
  });
  const document = {
    name: file.name,
    currency,
    headline: headline(asked),
    sentences: sentences(asked),
    bill: answer.bill,
    ways: ways.map(({ plan, win, ...way }) => {
      if (plan === undefined) return way;
      const { plan: _, ...most } = win ?? { plan };
      // A machine without a price has speeds and no amounts.
      const { billPerHour, machinesPerHour, perMillionSamples, bill, ...speeds } = figures(plan, win === undefined);
      return {
        ...way,
        ...speeds,
        ...(win === undefined ? { billPerHour, machinesPerHour, perMillionSamples, bill } : { win: most }),
      };
    }),
    doubts,
    ...(sure === undefined
      ? {}
      : { sure: { machine: sure.machine.name, hosts: sure.hosts, billPerHour: sure.billPerHour } }),
    ...(asked.rented === undefined ? {} : {
      rented: {
        machine: asked.rented.machine.name,
        hosts: asked.rented.hosts,
        machinesPerHour: asked.rented.pricePerHour,
        prices: asked.rented.machine.priceDate,
      },
    }),
    placements: placements.map(({ way, plans }) => ({
      way,
      plans: plans.map(([plan, of]) => ({
        kind: plan.placed[0]?.kind,
        answered: plan.placements[0]?.answered,
        samplesPerSecond: plan.samplesPerSecond,
        stepSeconds: plan.stepSeconds,
        simulated: of,
      })),
    })),
    simulated: simulated.map(([{ machine, hosts }, of]) => ({ machine: machine.name, hosts, ...of })),
    turns: turns.map(({ then, ...turn }) => ({
      ...turn,
      ...(then === undefined
        ? {}
        : { then: { way: wayOf(then.machine), machine: then.machine.name, hosts: then.hosts } }),
    })),
    measures: measures(asked),
    left: left.map(([machine, why]) => ({ machine, why })),
  };
  return `${JSON.stringify(document, undefined, 2)}\n`;
}
