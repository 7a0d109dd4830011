/**
 * A planner's answer as plain text: the machines, where each table is, how sure the figures are, why the others lost.
 *
 * @module
 */

import { shownLines } from "../../base/shown.ts";
import { bytesText } from "../../base/bytes.ts";
import { HOURS_PER_MONTH } from "../costs/bill.ts";
import { HOURS_PER_YEAR } from "../costs/owned.ts";
import { percentText, prefixed, significant } from "../../base/numbers.ts";
import { accessText, questionBandText, validatedText } from "../simulation/questions.ts";
import type { AskedQuestion } from "../simulation/record.ts";
import { weightsOf } from "./by_kernel.ts";
import type { HitSize } from "./hit_sizes.ts";
import type { Banded, Plan, PlanAnswer, PlanBand, PlanBill, PlanTier, SimulatedPlan } from "./plan_types.ts";

/** Lines of an answer. */
export function planText(answer: PlanAnswer): string {
  const { best, doubts, losers, bill, otherwise } = shownLines(answer);
  const lines = best === undefined ? ["No machine meets the target."] : bestLines(best, doubts, bill);
  if (otherwise.length > 0) lines.push("", "rows placed otherwise, on the same machines");
  for (const { placed, samplesPerSecond } of otherwise) {
    const { kind = "in place", answered = [] } = placed[0] ?? {};
    const how = kind === "interleaved"
      ? `by the kernel's weighted interleave, ${weightsOf(answered).join(" : ")}`
      : kind === "kernel tiering"
      ? "by the kernel's tiering, at best: pages as if it knew how often each is used"
      : "by the store, row by row";
    lines.push(`  ${how}: ${bandedText(samplesPerSecond, (value) => `${prefixed(value)} samples/s`)}`);
  }
  if (losers.length > 0) lines.push("", best === undefined ? "why" : "why not");
  const width = Math.max(0, ...losers.map(({ machine }) => machine.name.length));
  for (const { machine, why } of losers) lines.push(`  ${machine.name.padEnd(width)}  ${why}`);
  return `${lines.join("\n")}\n`;
}

/** Lines of what hit ratios take of a memory. */
export function hitSizesText(sizes: readonly HitSize[], medium: string): string {
  const head = [
    "hits a step",
    "rows",
    "bytes",
    "of all rows",
    `devices of ${medium}`,
    "link a step, each way",
    "link a second",
  ];
  const rows = sizes.map((one) => [
    percentText(one.hits),
    Math.round(one.rows).toLocaleString("en-US"),
    bytesText(one.bytes),
    percentText(one.share),
    one.devices === undefined ? "its file says no capacity" : String(one.devices),
    bytesText(one.linkBytes),
    one.linkBytesPerSecond === undefined ? "no target of samples a second" : `${bytesText(one.linkBytesPerSecond)}/s`,
  ]);
  return `${columns([head, ...rows]).join("\n")}\n`;
}

/** Lines of plans in virtual time, beside what the planner says of them. */
export function simulatedText(plans: readonly (readonly [Plan, SimulatedPlan | undefined])[]): string {
  const lines = plans.map(([{ machine, hosts, stepSeconds, samplesPerSecond }, simulated]) => {
    const name = `${hosts} × ${machine.name}`;
    if (simulated === undefined) {
      return [name, "not in virtual time: with several machines the engine moves no embeddings beside dense layers"];
    }
    const ms = (seconds: number): string => `${significant(seconds * 1e3)} ms`;
    return [
      name,
      `planned ${ms(stepSeconds.value)} a step, ${prefixed(samplesPerSecond.value)} samples/s`,
      `simulated ${ms(simulated.stepSeconds)}, ${prefixed(simulated.samplesPerSecond)} samples/s`,
      `${(Math.abs(simulated.apart) * 100).toFixed(1)} % apart`,
    ];
  });
  return `\nin virtual time\n${columns(lines).map((line) => `  ${line}`).join("\n")}\n`;
}

/** Lines of what a plan asks the media. Figures that nobody measured the same way back nothing. */
export function planQuestionsText(questions: readonly AskedQuestion[]): string {
  const rows = questions.map((one) => [
    one.media,
    accessText(one),
    `${one.bytes} B`,
    `${one.threads} threads${one.depth === 1 ? "" : ` x ${one.depth}`}${
      one.devices === 1 ? "" : `, ${one.devices} devices`
    }`,
    String(one.figures),
    String(one.alike),
    validatedText(one),
    questionBandText(one),
  ]);
  const head = ["medium", "access", "size", "at once", "figures", "alike", "validated", "90 % band, made of"];
  return `\nwhat the media are asked, and figures measured the same way, or alike\n${
    columns([head, ...rows]).map((line) => `  ${line}`).join("\n")
  }\n`;
}

function bestLines(
  best: Plan,
  doubts: PlanAnswer["doubts"],
  { sign, of }: Omit<PlanBill, "commonPerHour"> = { sign: "$", of: "the machines that hold the tables alone" },
): string[] {
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
    ...doubts.map(({ text }) => `cannot be told: ${text}`),
    `${doubts.length === 0 ? "best " : "leads"}    ${significant(best.billPerHour)} ${sign} an hour, ${
      significant(best.billPerHour * HOURS_PER_MONTH)
    } a month, ${of}: ${hosts} × ${machine.name}, ${
      significant(best.pricePerHour)
    } ${sign} an hour of it at prices of ${machine.priceDate}${
      machine.priceNote === undefined ? "" : ` (${machine.priceNote})`
    }   simulated`,
    `speed    ${bandedText(best.samplesPerSecond, (value) => `${prefixed(value)} samples/s`)}`,
    `step     ${ms(best.stepSeconds)}, p99 ${ms(best.p99StepSeconds)}; dense layers ${
      significant(step.compute * 1e3)
    } ms, ` +
    `busiest of cores and memory ${significant(step.memory * 1e3)} ms, busiest link ${
      machine.networkBytesPerSecond === undefined ? "not known" : `${significant(step.network * 1e3)} ms`
    }`,
    `cost     ${
      bandedText(best.dollarsPerMillionSamples, (value) => `${significant(value)} ${sign}`)
    } a million samples; ${significant(best.billPerHour * HOURS_PER_YEAR)} ${sign} a year`,
    `memory   ${machine.tiers.map((tier, k) => tierText(tier, usedBytes[k] ?? 0)).join(", ")} of each machine`,
    `traffic  ${
      machine.tiers.map(({ name }, k) => {
        const { read = 0, written = 0 } = step.tierBytes[k] ?? {};
        return `${bytesText(read)} read and ${bytesText(written)} written in ${name}`;
      }).join(", ")
    } a step${hosts === 1 ? "" : ", of all machines"}`,
    ...machine.tiers.flatMap(({ name, outside }) =>
      outside === undefined ? [] : [`note     ${name} is not calibrated: ${outside}`]
    ),
    ...(best.band === undefined ? [] : [bandNote(best.band)]),
    "",
    ...columns([["table", "placement", "rows are in", "answered by", "bytes", "time a step"], ...rows]),
  ];
}

/** Things not known exactly that an answer names. */
const NAMED = 3;

/** What the band is made of: the widest, each with what it does alone. */
function bandNote({ doubts }: PlanBand): string {
  const shown = doubts.filter(({ low, high }) => high / low > 1.001).slice(0, NAMED);
  const text = shown.map(({ of, range, low, high }) =>
    `${of} (x ${significant(range)}) ${signed(low)} to ${signed(high)} %`
  );
  return `note     of a step's band, each alone: ${text.join("; ")}`;
}

/** A factor as per cent more or less. */
function signed(factor: number): string {
  return `${factor < 1 ? "−" : "+"}${significant(Math.abs(factor - 1) * 100, 2)}`;
}

function tierText({ name, bytes, band }: PlanTier, used: number): string {
  return `${bytesText(used)} of ${bytesText(bytes)} ${name}${band === undefined ? " (not calibrated)" : ""}`;
}

function bandedText({ value, low, high }: Banded, text: (value: number) => string): string {
  if (low === undefined || high === undefined) return `${text(value)} (not calibrated)`;
  return `${text(value)} (90 %: ${signed(low / value)} to ${signed(high / value)} %)`;
}

function columns(rows: readonly (readonly string[])[]): string[] {
  const widths = rows[0]?.map((_, c) => Math.max(...rows.map((row) => (row[c] ?? "").length))) ?? [];
  return rows.map((row) => row.map((cell, c) => cell.padEnd(widths[c] ?? 0)).join("  ").trimEnd());
}
