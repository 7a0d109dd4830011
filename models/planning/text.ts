/**
 * A planner's answer as plain text: the machines, where each table is, how sure the figures are, why the others lost.
 *
 * @module
 */

import { shownLines } from "../../base/shown.ts";
import { bytesText } from "../../base/bytes.ts";
import { percentText, prefixed, significant } from "../../base/numbers.ts";
import type { Banded, Plan, PlanAnswer, PlanTier } from "./plan_types.ts";

/** Lines of an answer. */
export function planText(answer: PlanAnswer): string {
  const { best, losers } = shownLines(answer);
  const lines = best === undefined ? ["No machine meets the target."] : bestLines(best);
  if (losers.length > 0) lines.push("", best === undefined ? "why" : "why not");
  const width = Math.max(0, ...losers.map(({ machine }) => machine.name.length));
  for (const { machine, why } of losers) lines.push(`  ${machine.name.padEnd(width)}  ${why}`);
  return `${lines.join("\n")}\n`;
}

function bestLines(best: Plan): string[] {
  const { machine, hosts, step, placements, usedBytes } = best;
  const ms = (of: Banded): string => bandedText(of, (value) => `${significant(value * 1e3)} ms`);
  const rows = placements.map(({ table, kind, shares, answered, bytes, seconds }) => [
    table,
    kind,
    machine.tiers.map(({ name }, k) => (shares[k] ?? 0) > 0 ? `${percentText(shares[k] ?? 0)} ${name}` : undefined)
      .filter((text) => text !== undefined).join(", "),
    machine.tiers.map(({ name }, k) => (answered[k] ?? 0) > 0 ? `${percentText(answered[k] ?? 0)} ${name}` : undefined)
      .filter((text) => text !== undefined).join(", "),
    bytesText(bytes.reduce((a, b) => a + b)),
    `${significant(seconds * 1e3)} ms`,
  ]);
  return [
    `best     ${hosts} × ${machine.name}, ${
      significant(best.pricePerHour)
    } $ an hour at prices of ${machine.priceDate}   simulated`,
    `speed    ${bandedText(best.samplesPerSecond, (value) => `${prefixed(value)} samples/s`)}`,
    `step     ${ms(best.stepSeconds)}, p99 ${ms(best.p99StepSeconds)}: dense layers ${
      significant(step.compute * 1e3)
    } ms, ` +
    `memory ${significant(step.memory * 1e3)} ms, network ${
      machine.networkBytesPerSecond === undefined ? "not known" : `${significant(step.network * 1e3)} ms`
    }`,
    `cost     ${bandedText(best.dollarsPerMillionSamples, (value) => `${significant(value)} $`)} a million samples`,
    `memory   ${machine.tiers.map((tier, k) => tierText(tier, usedBytes[k] ?? 0)).join(", ")} of each machine`,
    ...machine.tiers.flatMap(({ name, outside }) =>
      outside === undefined ? [] : [`note     ${name} is not calibrated: ${outside}`]
    ),
    "",
    ...columns([["table", "placement", "rows are in", "answered by", "bytes", "time a step"], ...rows]),
  ];
}

function tierText({ name, bytes, band }: PlanTier, used: number): string {
  return `${bytesText(used)} of ${bytesText(bytes)} ${name}${band === undefined ? " (not calibrated)" : ""}`;
}

function bandedText({ value, low, high }: Banded, text: (value: number) => string): string {
  if (low === undefined || high === undefined) return `${text(value)} (not calibrated)`;
  return `${text(value)} (90 %: ${significant(low / value * 100)} to ${significant(high / value * 100)} % of it)`;
}

function columns(rows: readonly (readonly string[])[]): string[] {
  const widths = rows[0]?.map((_, c) => Math.max(...rows.map((row) => (row[c] ?? "").length))) ?? [];
  return rows.map((row) => row.map((cell, c) => cell.padEnd(widths[c] ?? 0)).join("  ").trimEnd());
}
