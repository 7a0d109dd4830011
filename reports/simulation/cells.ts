/**
 * The rows of the report's tables as text, the same for page, terminal and Markdown.
 *
 * @module
 */

import { type ExplanationRecord, NULL_WORDS, type SimulatedRecord } from "../../models/simulation/record.ts";
import { decimalBytesText } from "../../base/bytes.ts";
import { percentText, prefixed, significant } from "../../base/numbers.ts";
import { changeText } from "../text/format.ts";
import { QUESTION_COLUMNS, questionRows } from "../text/questions.ts";
import { bottleneck, type Deviation, type StudyCase, type StudySummary } from "./summary.ts";

/** A table: titles, rows of text. The first column, and those named, are words. */
export interface TextTable {
  readonly caption: string;
  readonly columns: readonly string[];
  readonly words: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

/** The 90 % band of a case's speed, or that there is none. */
function bandText({ band, samplesPerSecond }: SimulatedRecord): string {
  if ("why" in band) return "not calibrated";
  return `${prefixed(samplesPerSecond * band.low)} to ${prefixed(samplesPerSecond * band.high)}`;
}

/** Missed keys, and how they are known where no formula gave them. */
function missesText({ misses, hits }: SimulatedRecord): string {
  const share = percentText(misses.ofKeys);
  return hits === undefined || hits.method === "analytic" ? share : `${share} ${hits.method}`;
}

const milliseconds = (seconds: number) => significant(seconds * 1e3);

/** What a crash leaves of rows and weights, in few words: what checkpoints save, and how often. */
export function durabilityText({ checkpoint }: SimulatedRecord): string {
  if (checkpoint === undefined) return "nothing";
  return `${checkpoint.kind === "version" ? "versions" : "files"}, ${significant(checkpoint.every)} s`;
}

/** What checkpoints of a study's cases cost, and what going on after a crash takes; no rows where none makes them. */
export function checkpointTable({ name, cases }: StudySummary): TextTable {
  const saved: Readonly<Record<string, string>> = {
    incremental: "rows that changed, in files",
    version: "versions of rows in the last tier, dense weights in files",
  };
  return {
    caption: `Checkpoints of ${name}`,
    columns: ["case", "what is saved", "every, s", "training stops", "bytes written", "read to go on", "recovery, s"],
    words: ["what is saved"],
    rows: cases.flatMap(({ label, checkpoint }) =>
      checkpoint === undefined ? [] : [[
        label,
        saved[checkpoint.kind] ?? checkpoint.kind,
        significant(checkpoint.every),
        percentText(checkpoint.pause / checkpoint.every),
        decimalBytesText(checkpoint.bytes),
        checkpoint.recovery === undefined ? "–" : decimalBytesText(checkpoint.recovery.bytes),
        checkpoint.recovery === undefined ? "–" : significant(checkpoint.recovery.seconds),
      ]]
    ),
  };
}

/** Cost and speed of all cases of a study, the least that decides: the bill and the bottlenecks have tables of their own. */
export function worthTable({ name, cases }: StudySummary, sign: string | undefined): TextTable {
  const unit = cases[0];
  const cost = ({ money }: StudyCase): string =>
    money === undefined || !("perHour" in money) ? "no price" : significant(money.perMillion);
  const month = ({ money }: StudyCase): string =>
    money === undefined || !("perHour" in money) ? "–" : significant(money.perMonth);
  const priced = sign === undefined ? [] : [`${sign} per million samples`, `${sign} a month`];
  return {
    caption: `Cost and speed of ${name}`,
    columns: [
      "case",
      "kind",
      ...priced,
      "samples/s",
      "90 % band",
      `speed against ${unit?.label ?? "the first"}`,
      "step p99, ms",
      "missed keys",
    ],
    words: ["kind", "90 % band"],
    rows: cases.map((one) => [
      one.label,
      one.evidence,
      ...(sign === undefined ? [] : [cost(one), month(one)]),
      prefixed(one.samplesPerSecond),
      bandText(one),
      significant(1 / one.relative),
      milliseconds(one.step.p99),
      missesText(one),
    ]),
  };
}

/** Speed of all cases of a study. */
export function speedTable({ name, cases }: StudySummary): TextTable {
  return {
    caption: name,
    columns: [
      "case",
      "kind",
      "samples/s",
      "90 % band",
      "time, first = 1",
      "missed keys",
      "most time in",
      "step ms",
      "p99 ms",
      "left after a crash",
    ],
    words: ["kind", "90 % band", "most time in", "left after a crash"],
    rows: cases.map((one) => [
      one.label,
      one.evidence,
      prefixed(one.samplesPerSecond),
      bandText(one),
      significant(one.relative),
      missesText(one),
      bottleneck(one),
      milliseconds(one.step.mean),
      milliseconds(one.step.p99),
      durabilityText(one),
    ]),
  };
}

/** Bandwidth of every tier against its limit. */
export function tierTable({ name, cases }: StudySummary): TextTable {
  const rate = (bytes: number, one: SimulatedRecord) => `${decimalBytesText(bytes / one.step.mean)}/s`;
  return {
    caption: `Tiers of ${name}`,
    columns: ["case", "tier", "size", "rows of a step", "reads", "writes", "read limit", "write limit", "busy"],
    words: ["tier"],
    rows: cases.flatMap((one) =>
      one.tiers.map((tier) => [
        one.label,
        tier.media,
        tier.sizeBytes === 0 ? "the rest" : decimalBytesText(tier.sizeBytes),
        tier.rowsShare === undefined ? "by line" : percentText(tier.rowsShare),
        rate(tier.readBytes, one),
        rate(tier.writeBytes, one),
        `${decimalBytesText(tier.readLimit)}/s`,
        `${decimalBytesText(tier.writeLimit)}/s`,
        percentText(tier.busy),
      ])
    ),
  };
}

/** What the cases of a study asked the media, each question once, and the figures that back it. */
export function questionTable({ name, cases }: StudySummary): TextTable {
  return {
    caption: `Questions of ${name} to the media`,
    columns: QUESTION_COLUMNS.map(([title]) => title),
    words: QUESTION_COLUMNS.flatMap(([title, words]) => words ? [title] : []),
    rows: questionRows(cases.flatMap(({ questions = [] }) => questions)),
  };
}

/** Where the time goes. */
export function timeTable({ name, cases }: StudySummary): TextTable {
  return {
    caption: `Time of a step, ${name}`,
    columns: ["case", "part", "spent on", "ms", "share"],
    words: ["part", "spent on"],
    rows: cases.flatMap((one) =>
      one.parts.filter(({ seconds }) => seconds >= one.step.mean / 200).map(({ kind, on, seconds }) => [
        one.label,
        kind,
        on,
        milliseconds(seconds),
        percentText(seconds / one.step.mean),
      ])
    ),
  };
}

/** A difference and its parts. */
export function explanationTable({ from, to, fromTime, toTime, parts }: ExplanationRecord): TextTable {
  const share = (seconds: number) => changeText(seconds / fromTime);
  return {
    caption: `From ${from} to ${to}`,
    columns: ["part", "adds ns a sample", "of the time", "from → to"],
    words: ["from → to"],
    rows: [
      ...parts.map(({ part, seconds, says }) => [part, significant(seconds * 1e9), share(seconds), says]),
      ["all parts", significant((toTime - fromTime) * 1e9), share(toTime - fromTime), ""],
    ],
  };
}

/** The null models that meet a figure, too; what each says is in the JSON. */
function nullsText({ nulls }: Deviation): string {
  if (nulls === undefined) return "not run";
  const met = nulls.filter(({ within }) => within).map(({ model }) => NULL_WORDS[model]);
  return met.length > 0 ? met.join(", ") : nulls.length === 0 ? "no null model concerns it" : "no null model";
}

/** Deviations are shares of the published value; of extra times, differences. */
const unitOf = ({ of }: Deviation) => of === "extra-time" ? "points" : "%";

const valueText = ({ of }: Deviation, value: number) => of === "extra-time" ? percentText(value) : significant(value);

/** Published figures and deviations. */
export function deviationTable(deviations: readonly Deviation[]): TextTable {
  return {
    caption: "Published figures against simulated ones",
    columns: ["figure", "case", "deviation", "says", "also met by", "published", "simulated", "allowed", "of"],
    words: ["case", "of", "says", "also met by"],
    rows: deviations.map((one) => [
      one.figure,
      one.case,
      `${one.deviation < 0 ? "−" : "+"}${(Math.abs(one.deviation) * 100).toFixed(1)} ${unitOf(one)}`,
      one.calibrates === undefined ? one.within ? "met" : "missed" : `calibrated: ${one.calibrates}`,
      nullsText(one),
      valueText(one, one.published),
      valueText(one, one.simulated),
      `±${significant(one.tolerance * 100)} ${unitOf(one)}`,
      one.of,
    ]),
  };
}
