/**
 * The answer in words. Says no more than the intervals allow.
 *
 * @module
 */

import { kindText } from "./kind.ts";
import { prefixed, significant } from "../../base/numbers.ts";
import { changeWords, countText, intervalText, listText, roughPercentText } from "../text/format.ts";
import type { CaseSummary, NoiseFloor, Summary, Verdict } from "./summary_types.ts";
import { ABLATION_FIELD } from "../../scenarios/ablation.ts";
import { ablationCautions, ablationSentences } from "./ablation_words.ts";
import { heldBackText } from "./held_back.ts";
import { type ModelError, modelError, savingWithin, speedWithin } from "./model_error.ts";
import { fastModeText, targetText } from "./quality_words.ts";
import type { Estimate } from "../statistics/bootstrap.ts";
import { mapEstimate } from "../statistics/bootstrap.ts";
import { difference, noiseStatement } from "../statistics/noise.ts";
import { runTargetSentence } from "./run_target.ts";
import { tiedInCost } from "./ties.ts";
import { aucText, type EndRecord } from "../../scenarios/record.ts";
import { billWords, type Boundary, WHOLE_BILL } from "../../models/costs/bill.ts";

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
  const worth = facts.ablation === undefined ? [] : ablationSentences(facts.ablation);
  if (worth.length > 0) {
    const [headline, ...sentences] = worth as [string, ...string[]];
    return {
      headline,
      sentences: [
        ...sentences,
        ...targetSentences(cases, facts),
        ...facts.floors.filter(({ repeated }) => repeated !== undefined).map(noiseSentence),
        ...qualitySentences(facts),
      ],
      cautions: cautions(facts),
    };
  }
  const points = [...new Set(cases.map((one) => JSON.stringify(one.point)))];
  const groups = points.map((point) => {
    const atPoint = cases.filter((one) => JSON.stringify(one.point) === point);
    const [answer, ...others] = pointVerdict(atPoint, facts).map(onceAtEnd) as [string, ...string[]];
    return ledByPoint([answer, ...targetSentences(atPoint, facts), ...others], atPoint[0] as CaseSummary);
  });
  const [first, ...rest] = groups as [string[], ...string[][]];
  return {
    headline: first[0] as string,
    sentences: [...first.slice(1), ...rest.flat(), ...qualitySentences(facts)],
    cautions: cautions(facts),
  };
}

/** Which cases meet the target, if there is one. */
function targetSentences(cases: readonly CaseSummary[], { scenario: { target }, pricing }: Facts): string[] {
  return target === undefined ? [] : [runTargetSentence(target, cases, pricing?.sign ?? "$")];
}

const NO_INTERVAL = " (one sample, no interval)";

/** Says once, at the end, what a sentence says of each of its figures: that there is no interval. */
function onceAtEnd(sentence: string): string {
  return sentence.includes(NO_INTERVAL) && !sentence.includes("95 %:")
    ? sentence.replaceAll(NO_INTERVAL, "") + NO_INTERVAL
    : sentence;
}

/** With a matrix, names the point once and first, instead of in the name of every case. */
function ledByPoint(sentences: readonly string[], { name, configuration, ...one }: CaseSummary): string[] {
  if (!name.startsWith(`${configuration} `)) return [...sentences];
  const point = name.slice(configuration.length + 1).replace(`(${kindText(one)})`, "").trim();
  return point === ""
    ? [...sentences]
    : sentences.map((text) =>
      `At ${point}: ${text.replaceAll(` ${point}`, "").replace(/^(Embedding|The target)/, lowerFirst)}`
    );
}

/** An interval, and what the error of the emulation makes of it: `95 %: 11 to 15; with the error of its media model 9 to 21`. */
function withError(
  interval: string,
  within: (error: ModelError) => string,
  error: ReturnType<typeof modelError>,
): string {
  if (error === undefined) return interval;
  if (error === "unknown") return `${interval}; the error of the emulation is not known`;
  return `${interval}; with the error of its media model ${within(error).replace(/^95 %: /, "")}`;
}

/** That a difference is none any more where the error of the emulation is added to the ratio. */
function undone(within: (error: ModelError) => Estimate, error: ReturnType<typeof modelError>): string {
  if (error === undefined || error === "unknown") return "";
  const { low, high } = within(error);
  return low !== undefined && high !== undefined && low <= 1 && high >= 1
    ? ", which the error of the model could undo,"
    : "";
}

/** Speed of a case against its baseline: `is 13 % slower than dram (95 %: 11 to 15)`. */
function speedText(one: CaseSummary, baseline: string, error: ReturnType<typeof modelError>): string {
  const ratio = one.relative;
  if (ratio === undefined) return `is not compared with ${baseline}`;
  const change = (of: Estimate) => changeWords(mapEstimate(of, (v) => v - 1), "faster", "slower");
  const { amount, interval: noise } = change(ratio);
  const interval = withError(noise, (by) => change(speedWithin(ratio, by)).interval, error);
  if (difference(ratio) !== "none") {
    return `is ${amount} than ${baseline} (${interval})${undone((by) => speedWithin(ratio, by), error)}`;
  }
  const held = heldBackText(ratio);
  if (held !== undefined) return `is ${amount} than ${baseline} (${interval}), ${held}: no difference is claimed,`;
  return near(ratio)
    ? `is as fast as ${baseline} within the noise (${interval})`
    : `is neither clearly slower nor clearly faster than ${baseline} (${interval})`;
}

/** Cost of a case against its baseline: `38 % cheaper per sample (95 %: 32 to 43)`. */
function costText(saved: Estimate, error?: ReturnType<typeof modelError>): string {
  const { amount, interval: noise } = changeWords(saved, "cheaper", "dearer");
  // That nothing is known is said once, of the speed.
  const known = error === "unknown" ? undefined : error;
  const interval = withError(noise, (by) => changeWords(savingWithin(saved, by), "cheaper", "dearer").interval, known);
  const held = heldBackText(costRatio(saved));
  if (held !== undefined) return `${amount} per sample (${interval}), ${held}: no difference is claimed`;
  return costDifference(saved) === "none"
    ? `neither clearly cheaper nor clearly dearer per sample (${interval})`
    : `${amount} per sample (${interval})${undone((by) => costRatio(savingWithin(saved, by)), error)}`;
}

/** Whether an interval that holds 1 stays so near to it that "as fast as" is fair: within a tenth. */
function near(ratio: Estimate): boolean {
  return ratio.low !== undefined && ratio.high !== undefined && ratio.low >= 0.9 && ratio.high <= 1.1;
}

/** A saving as the ratio of costs, with its test. */
function costRatio(saved: Estimate): Estimate {
  const { test } = saved;
  return { ...mapEstimate(saved, (v) => 1 - v), ...(test === undefined ? {} : { test }) };
}

/** Whether a saving is told apart from none. */
function costDifference(saved: Estimate): ReturnType<typeof difference> {
  return difference(costRatio(saved));
}

function pointVerdict(cases: readonly CaseSummary[], facts: Facts): string[] {
  const others = cases.filter((one) => one.relative !== undefined);
  if (others.length === 0) return [aloneText(cases)];
  const baseline = cases.find((one) => one.name === others[0]?.baseline) as CaseSummary;
  const ranked = [...others].sort((a, b) => rank(a) - rank(b));
  const sentences = ranked.map((one, i) => caseSentence(one, baseline, facts, i === 0));
  const best = ranked[0] as CaseSummary;
  const saved = best.cost?.saved;
  if (saved?.low !== undefined && saved.value < 0 && (saved.high as number) < 0) {
    sentences[0] = `${kinded(baseline)} is the cheapest: ${sentences[0]}`;
  }
  const [headline, ...rest] = sentences as [string, ...string[]];
  const beside = [
    boundarySentence(best, facts),
    embeddingSentence(ranked, baseline),
    tieSentence(best, ranked, facts),
    flipSentence(best, facts),
  ];
  const floor = facts.floors.find(({ point }) => JSON.stringify(point) === JSON.stringify(best.point));
  return [
    headline,
    ...beside.flatMap((text) => text ?? []),
    ...rest,
    ...(floor === undefined ? [] : [noiseSentence(floor)]),
  ];
}

/** The run's own noise: what a case that ran twice differs from itself, and below what nothing is called a difference. */
function noiseSentence({ factor, repeated }: NoiseFloor): string {
  const least = `differences in speed below ${roughPercentText(factor - 1)} are not called real`;
  if (repeated === undefined) return `No case was repeated; by the noise between processes, ${least}`;
  const { amount, interval } = changeWords(mapEstimate(repeated.ratio, (v) => v - 1), "faster", "slower");
  return `${repeated.case}, run twice in every round, was ${amount} the second time (${interval}): ${least}`;
}

/** Cheapest first; without prices, fastest first. */
function rank(one: CaseSummary): number {
  return one.cost?.perMillion.value ?? 1e9 - (one.relative?.value ?? 0);
}

function aloneText(cases: readonly CaseSummary[]): string {
  const shown = cases.filter((one) => one.throughput !== undefined);
  if (shown.length === 0) {
    return `${listText(cases.map((one) => one.name))} ran on a virtual medium: that works, and its speed says nothing`;
  }
  const rates = shown.map((one) => `${kinded(one)} trains ${prefixed((one.throughput as Estimate).value)} samples/s`);
  const why = cases.every((one) => one.holding === "dram")
    ? "there is no other case to compare with"
    : cases.some((one) => one.holding === "dram")
    ? "DRAM is not compared, since its medium or that of the others is virtual"
    : "there is no DRAM case to compare with";
  return `${rates.join("; ")}; ${why}`;
}

function caseSentence(
  one: CaseSummary,
  baseline: CaseSummary,
  facts: Facts,
  first: boolean,
): string {
  const error = one.relative?.low === undefined ? undefined : modelError(one, baseline, facts.models);
  const speed = speedText(one, first ? kinded(baseline) : baseline.name, error);
  const cost = one.cost;
  if (cost?.saved === undefined) {
    const why = one.costMissing === undefined ? "" : ` (not priced: ${lowerFirst(one.costMissing)})`;
    return `${kinded(one)} ${speed}${why}`;
  }
  const ratio = one.relative as Estimate;
  const slower = ratio.value < 1 && difference(ratio) !== "none";
  const price = costText(cost.saved, error);
  const link = slower && costDifference(cost.saved) !== "none" && cost.saved.value > 0 ? "but" : "and";
  return `${kinded(one)} ${speed} ${link} ${price}${
    first ? `; ${amountText(cost, facts)}${billText(facts)}${pricesText(facts)}` : ""
  }`;
}

/** Which other cases cost the same as far as was seen. */
function tieSentence(best: CaseSummary, cases: readonly CaseSummary[], facts: Facts): string | undefined {
  const tied = tiedInCost(best, cases, facts.scenarioDigest);
  if (tied.length === 0) return undefined;
  return `${listText(tied)} cannot be told apart from ${best.name} by cost`;
}

/** `0.0882 $ a million samples`. */
function amountText({ perMillion }: NonNullable<CaseSummary["cost"]>, { pricing }: Facts): string {
  return `${significant(perMillion.value)} ${pricing?.sign ?? "$"} a million samples`;
}

/** What the costs are of. */
function billText({ pricing }: Facts): string {
  return pricing === undefined ? "" : ` ${billWords(pricing.boundary)}`;
}

/** How much of the bill the workers are, and what is left of a saving without them, or with them. */
function boundarySentence(one: CaseSummary, { pricing }: Facts): string | undefined {
  const { cost } = one;
  if (cost?.saved === undefined || pricing === undefined) return undefined;
  const other: Boundary = pricing.boundary === "parameter-servers" ? WHOLE_BILL : "parameter-servers";
  const saved = cost.savedWithin.find(({ boundary }) => boundary === other)?.saved;
  const workers = pricing.bill.find(({ boundary }) => boundary === "workers");
  if (saved === undefined || workers?.perHour === undefined) return undefined;
  const share = workers.perHour /
    (cost.offer.pricePerHour + pricing.bill.reduce((sum, p) => sum + (p.perHour ?? 0), 0));
  return `${workers.what} ${workers.what.startsWith("1 ") ? "is" : "are"} ${
    roughPercentText(share)
  } of its whole bill; ` +
    `${billWords(other)} ${one.name} is ${costText(saved)}`;
}

/** Of when the prices are, and that they are old if they are. */
function pricesText(facts: Facts): string {
  const { pricing } = facts;
  if (pricing === undefined) return "";
  const ended = pricing.ended.length === 0 ? "" : ` (${pricing.ended.join("; ")})`;
  return ` at ${pricing.stale ? "the old prices of" : "prices of"} ${pricing.dates}${ended}`;
}

/** Until which price of the DRAM machines the case stays the cheaper one. */
function flipSentence(one: CaseSummary, facts: Facts): string | undefined {
  const { flip, saved } = one.cost ?? {};
  if (flip === undefined || saved === undefined || facts.pricing === undefined || (saved.low ?? -1) <= 0) {
    return undefined;
  }
  const interval = intervalText(mapEstimate(flip, (v) => 100 * v), 1, 0);
  return `${one.name} stays cheaper until DRAM machines cost ${roughPercentText(flip.value)} of their price or less ` +
    `(95 %: ${interval}), the price of its own machine unchanged`;
}

/** What the rows' place does to the part of a step that touches rows. */
function embeddingSentence(cases: readonly CaseSummary[], baseline: CaseSummary): string | undefined {
  const own = baseline.embedding;
  const others = cases.filter((one) => one.embedding?.relative !== undefined);
  if (own === undefined || others.length === 0) return undefined;
  const ratioOf = (one: CaseSummary): Estimate => (one.embedding as { relative: Estimate }).relative;
  const interval = (one: CaseSummary): string => {
    const ends = intervalText(ratioOf(one));
    return ends === undefined ? "one sample, no interval" : `95 %: ${ends}`;
  };
  const apart = others.filter((one) => difference(ratioOf(one)) !== "none").map((one, i) =>
    `${significant(ratioOf(one).value)}${i === 0 ? " times as long" : ""} in ${one.name} (${interval(one)})`
  );
  const same = others.filter((one) => difference(ratioOf(one)) === "none").map((one) =>
    `${one.name} (${significant(ratioOf(one).value)} times, ${interval(one)})`
  );
  const found = [
    ...(apart.length === 0 ? [] : [`it takes ${listText(apart)}`]),
    ...(same.length === 0 ? [] : [`no clear difference in ${listText(same)}`]),
  ].join("; ");
  return `Embedding work (lookup, update, eviction) is ${
    roughPercentText(own.share.value)
  } of a ${baseline.name} step: ` +
    found;
}

/** `fsdax (emulated)`, `fsdax (measured, medium vouched for by the owner: optane-200)`. */
function kinded(one: CaseSummary): string {
  const kind = kindText(one);
  return one.name.endsWith(`(${kind})`) ? one.name : `${one.name} (${kind})`;
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
    sentences.push(`${aucText(quality.auc)} after ${prefixed(quality.samples)} samples${planted}`);
    if (quality.target !== undefined) sentences.push(targetText(quality.target));
    if (quality.fastMode !== undefined) sentences.push(fastModeText(quality.fastMode));
  }
  return sentences;
}

/** `5 rounds were precise enough: …`. */
function endText({ rounds, why, words }: EndRecord): string {
  const ended = why === "enough"
    ? "were precise enough"
    : why === "budget"
    ? "used the budget"
    : "are as many as a run takes";
  return `${countText(rounds, "round")} ${ended}: ${words}`;
}

function cautions(facts: Facts): string[] {
  const said: string[] = [];
  const named = (kind: CaseSummary["evidence"]): string[] =>
    configurations(facts.cases.filter((one) => one.evidence === kind && !one.virtual));
  const hidden = hiddenText(facts.cases.filter(({ point }) => (point[ABLATION_FIELD] ?? "none") === "none"));
  const [simulated, virtual] = [
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
  const onCpu = configurations(facts.cases.filter(({ link }) => link?.kind === "emulated"));
  if (onCpu.length > 0) {
    said.push(
      `${
        listText(onCpu)
      }: emulated. Rows took the way to a GPU and back on an OpenCL device that is a CPU; bytes and ` +
        "transfers are a GPU's, times are not",
    );
  }
  const slowed = configurations(
    facts.cases.filter((one) =>
      one.evidence === "emulated" && !one.virtual &&
      (one.link === undefined || one.tiers.some(({ emulates }) => emulates !== undefined))
    ),
  );
  if (slowed.length > 0) {
    said.push(
      `${
        listText(slowed)
      }: emulated. Real code ran on a faster medium, slowed to a media model. An interval of 95 % holds the ` +
        "noise of the runs; the error of the model beside it is what rows take longer than in DRAM, by the widest 90 % band " +
        "of the model",
    );
  }
  for (const [medium, cases] of Map.groupBy(facts.cases, ({ vouched }) => vouched)) {
    if (medium === undefined) continue;
    said.push(
      `${
        listText(configurations(cases))
      }: that the medium is ${medium} is the word of the machine's owner; the machine ` +
        "itself does not prove it",
    );
  }
  if (hidden !== undefined) said.push(hidden);
  if (simulated.length > 0) said.push(`${listText(simulated)}: simulated in virtual time; no such medium was used`);
  if (virtual.length > 0) said.push(`${listText(virtual)}: on a virtual medium, so speed and price are withheld`);
  if (facts.identical?.same === false) {
    said.push(
      "Rows differ between samples that should agree to the bit: do not trust this result before that is explained",
    );
  }
  if (facts.ablation !== undefined) said.push(...ablationCautions(facts.ablation));
  if (facts.end !== undefined) said.push(endText(facts.end));
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

/** That the whole step says little about embeddings where another phase fills it. */
function hiddenText(cases: readonly CaseSummary[]): string | undefined {
  const compared = cases.find((one) => one.embedding?.relative !== undefined);
  const baseline = cases.find((one) => one.name === compared?.baseline);
  const dense = baseline?.phases.find(({ phase }) => phase === "dense")?.share ?? 0;
  if (baseline === undefined || dense < 0.8) return undefined;
  return `Dense layers fill ${
    roughPercentText(dense)
  } of a step of ${baseline.name} here, so the speed of the whole step ` +
    "hides most of what the place of the rows does. With faster dense layers the embedding work would decide";
}

function configurations(cases: readonly CaseSummary[]): string[] {
  return [...new Set(cases.map((one) => one.configuration))];
}

function lowerFirst(text: string): string {
  return text.slice(0, 1).toLowerCase() + text.slice(1);
}
