/**
 * The answer in words. Says no more than the intervals allow.
 *
 * @module
 */

import { countText, intervalText, listText, prefixed, significant } from "./format.ts";
import type { CaseSummary, Summary, Verdict } from "./model.ts";
import type { Estimate } from "./statistics/bootstrap.ts";
import { mapEstimate } from "./statistics/bootstrap.ts";
import { difference, noiseStatement } from "./statistics/noise.ts";

/** What the verdict is made from: everything but itself. */
export type Facts = Omit<Summary, "verdict">;

/** Words for a summary. */
export function verdict(facts: Facts): Verdict {
  const { cases } = facts;
  if (cases.length === 0) {
    const failed = facts.failed.length;
    return {
      headline: "No sample completed, so there is nothing to compare",
      sentences: [],
      cautions: failed === 0 ? [] : [`${countText(failed, "sample")} failed; see the errors`],
    };
  }
  const points = [...new Set(cases.map((one) => JSON.stringify(one.point)))];
  const groups = points.map((point) => pointVerdict(cases.filter((one) => JSON.stringify(one.point) === point), facts));
  const [first, ...rest] = groups as [string[], ...string[][]];
  return {
    headline: first[0] as string,
    sentences: [...first.slice(1), ...rest.flat(), ...qualitySentences(facts)],
    cautions: cautions(facts),
  };
}

/** Speed of a case against its baseline: `is 13.6 % slower than dram (95 %: 11.9 to 15.2)`. */
export function speedText(one: CaseSummary, baseline: string): string {
  const ratio = one.relative;
  if (ratio === undefined) return `is not compared with ${baseline}`;
  const kind = difference(ratio);
  if (kind === "none") {
    return `shows no difference in speed from ${baseline} (95 %: ${intervalText(percent(ratio, 1, -1))} % faster)`;
  }
  const slower = ratio.value < 1;
  const change = slower ? percent(ratio, -1, 1) : percent(ratio, 1, -1);
  return `is ${significant(change.value)} % ${slower ? "slower" : "faster"} than ${baseline} (${
    kind === "unknown" ? "one sample, no interval" : `95 %: ${intervalText(change)}`
  })`;
}

/** Cost of a case against its baseline: `25 % cheaper per sample (95 %: 23 to 27)`. */
export function costText(saved: Estimate): string {
  const change = saved.value >= 0 ? percent(saved, 1, 0) : percent(saved, -1, 0);
  const word = saved.value >= 0 ? "cheaper" : "dearer";
  if (saved.low === undefined || saved.high === undefined) {
    return `${significant(change.value)} % ${word} per sample (one sample, no interval)`;
  }
  if (saved.low <= 0 && saved.high >= 0) {
    return `shows no difference in cost per sample (95 %: ${intervalText(percent(saved, 1, 0))} % saved)`;
  }
  return `${significant(change.value)} % ${word} per sample (95 %: ${intervalText(change)})`;
}

/** 100 · (sign · value + offset), as an estimate. */
function percent(of: Estimate, sign: 1 | -1, offset: number): Estimate {
  return mapEstimate(of, (v) => 100 * (sign * v + offset));
}

function pointVerdict(cases: readonly CaseSummary[], facts: Facts): string[] {
  const others = cases.filter((one) => one.relative !== undefined);
  const [first] = cases as [CaseSummary];
  if (others.length === 0) return [aloneText(cases, first)];
  const baseline = cases.find((one) => one.name === others[0]?.baseline) as CaseSummary;
  const ranked = [...others].sort((a, b) => rank(a) - rank(b));
  const sentences = ranked.map((one, i) => caseSentence(one, baseline, facts, i === 0));
  const best = ranked[0] as CaseSummary;
  const saved = best.cost?.saved;
  if (saved?.low !== undefined && saved.value < 0 && (saved.high as number) < 0) {
    sentences[0] = `${kinded(baseline)} is the cheapest: ${sentences[0]}`;
  }
  const flip = flipSentence(best, facts);
  return flip === undefined ? sentences : [sentences[0] as string, flip, ...sentences.slice(1)];
}

/** Cheapest first; without prices, fastest first. */
function rank(one: CaseSummary): number {
  return one.cost?.perMillion.value ?? 1e9 - (one.relative?.value ?? 0);
}

function aloneText(cases: readonly CaseSummary[], first: CaseSummary): string {
  const shown = cases.filter((one) => one.throughput !== undefined);
  if (shown.length === 0) return `${first.name} ran on a virtual medium: it works there, and its speed says nothing`;
  return shown.map((one) => {
    const rate = one.throughput as Estimate;
    return `${kinded(one)} trains ${prefixed(rate.value)} samples/s`;
  }).join("; ") + "; there is no DRAM case to compare with";
}

function caseSentence(one: CaseSummary, baseline: CaseSummary, facts: Facts, first: boolean): string {
  const speed = speedText(one, first ? kinded(baseline) : baseline.name);
  const cost = one.cost;
  if (cost?.saved === undefined) {
    const why = one.costMissing === undefined ? "" : ` (not priced: ${lowerFirst(one.costMissing)})`;
    return `${kinded(one)} ${speed}${why}`;
  }
  const link = difference(one.relative as Estimate) === "below" && cost.saved.value > 0 ? "but" : "and";
  const prices = first ? ` at prices of ${facts.pricing?.dates}` : "";
  const price = costText(cost.saved);
  const verb = speed.startsWith("is ") || price.startsWith("shows ") ? "" : "is ";
  return `${kinded(one)} ${speed} ${link} ${verb}${price}${prices}`;
}

/** Until which price of the DRAM machines the case stays the cheaper one. */
function flipSentence(one: CaseSummary, facts: Facts): string | undefined {
  const { flip, saved } = one.cost ?? {};
  if (flip === undefined || saved === undefined || facts.pricing === undefined || (saved.low ?? -1) <= 0) {
    return undefined;
  }
  const interval = intervalText(flip);
  return `${one.name} stays cheaper while the DRAM machines cost more than ${
    significant(flip.value)
  } (95 %: ${interval}) ` +
    `of that price (${facts.pricing.provider})`;
}

/** `fsdax (emulated)`. */
function kinded(one: CaseSummary): string {
  return one.name.endsWith(`(${one.evidence})`) ? one.name : `${one.name} (${one.evidence})`;
}

function qualitySentences(facts: Facts): string[] {
  const sentences: string[] = [];
  if (facts.identical?.same === true) {
    sentences.push(`${listText(facts.identical.configurations)} ended with the same rows, to the bit`);
  }
  const quality = facts.quality;
  if (quality !== undefined) {
    const planted = quality.plantedAuc === undefined
      ? ""
      : `; the model that made the labels reaches ${quality.plantedAuc.toFixed(4)}`;
    sentences.push(`AUC ${quality.auc.toFixed(4)} after ${prefixed(quality.samples)} samples${planted}`);
  }
  return sentences;
}

function cautions(facts: Facts): string[] {
  const said: string[] = [];
  const named = (kind: CaseSummary["evidence"]): string[] =>
    configurations(facts.cases.filter((one) => one.evidence === kind && !one.virtual));
  const [emulated, simulated, virtual] = [
    named("emulated"),
    named("simulated"),
    configurations(facts.cases.filter((one) => one.virtual)),
  ];
  const lost = [...new Set(facts.failed.map((one) => one.configuration))]
    .filter((name) => !facts.cases.some((one) => one.configuration === name));
  if (lost.length > 0) {
    said.push(
      `${listText(lost)}: no sample completed, so nothing above speaks of ${lost.length === 1 ? "it" : "them"}`,
    );
  }
  if (emulated.length > 0) {
    said.push(
      `${
        listText(emulated)
      }: emulated. Real code ran on a faster medium, slowed to a media model; the interval holds ` +
        "the noise of the runs, not the error of the model",
    );
  }
  if (simulated.length > 0) said.push(`${listText(simulated)}: simulated in virtual time; no such medium was used`);
  if (virtual.length > 0) said.push(`${listText(virtual)}: on a virtual medium, so speed and price are withheld`);
  if (facts.identical?.same === false) {
    said.push(
      "Rows differ between samples that should agree to the bit: do not trust this result before that is explained",
    );
  }
  const noise = noiseStatement(facts.cases.map((one) => one.samples));
  if (noise !== undefined) said.push(noise.replace(/\.$/, ""));
  if (facts.pricing?.stale === true) {
    said.push(
      `The machines are priced as of ${facts.pricing.dates}, the latest this price book holds by ${facts.pricing.asOf}: ` +
        "more than a year old. Memory prices have moved a lot since",
    );
  }
  if (facts.failed.length > 0) {
    said.push(
      `${countText(facts.failed.length, "sample")} failed and ${
        facts.failed.length === 1 ? "is" : "are"
      } left out; the errors are listed`,
    );
  }
  return said;
}

function configurations(cases: readonly CaseSummary[]): string[] {
  return [...new Set(cases.map((one) => one.configuration))];
}

function lowerFirst(text: string): string {
  return text.slice(0, 1).toLowerCase() + text.slice(1);
}
