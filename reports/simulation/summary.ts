/**
 * The one model of a simulation's report, which page, terminal, Markdown, CSV and JSON print.
 *
 * @module
 */

import {
  coverageOf,
  isReproduced,
  orderOf,
  type PublishedDeviation,
  publishedDeviations,
  relativeOf,
} from "../../models/simulation/deviations.ts";
import {
  type ExplanationRecord,
  NULL_NAMES,
  NULL_WORDS,
  type NullName,
  type SimulatedRecord,
  type SimulationResult,
} from "../../models/simulation/record.ts";
import { bookOf, type SummaryOptions } from "../summary/prices.ts";
import { type CaseMoney, driveWrites, namesMachines, type NoMoney, studyMoney, type WinPrice } from "./money.ts";
import { moneySentences, type MoneyTerms } from "./money_words.ts";
import { pricesIn } from "../../models/costs/machine_cost.ts";
import { DOLLARS } from "../../models/costs/currency.ts";
import type { PriceBook } from "../../models/costs/price_book.ts";
import { rowRulePrices, rowRuleText } from "../../models/costs/row_rule.ts";
import { rowBytes } from "../../models/simulation/native_options.ts";
import { listText } from "../text/format.ts";
import { answersOf } from "./answer.ts";
import { missText, targetSentence } from "./target_words.ts";

/** A published figure and what the simulation says. */
export interface Deviation extends PublishedDeviation {
  /** The case that it is compared with: configuration and point. */
  readonly case: string;
}

/** How many figures no null model meets, and how many each of them does. */
export interface NullCounts {
  /** Met, and by no null model that concerns them. */
  readonly reproduced: number;
  /** Met, and missed by at least one null model: the figure feels what that one takes away. */
  readonly caught: number;
  /** Met by the null model, too. */
  readonly metBy: Readonly<Record<NullName, number>>;
}

/** A case in its study. */
export interface StudyCase extends SimulatedRecord {
  /** Time per sample, that of the study's first case being 1. */
  readonly relative: number;
  /** What tells it from the study's other cases. */
  readonly label: string;
  /** What it costs, or why that is not known; absent where the simulation names no machine. */
  readonly money?: CaseMoney | (NoMoney & { readonly win?: WinPrice });
  /** Writes of a server's drives in a day, as multiples of their capacity; absent without drives of a known size. */
  readonly driveWrites?: number;
  /** Why it misses the target; absent where it meets it, or there is none. */
  readonly missesTarget?: string;
}

/** Cases of one study. */
export interface StudySummary {
  /** Heads its part of the report. */
  readonly name: string;
  /** Its cases in the order they ran; the first is the unit of `relative`. */
  readonly cases: readonly StudyCase[];
}

/** A simulation's report. */
export interface SimulationSummary {
  /** Kind of evidence of every figure in it. */
  readonly evidence: "simulated";
  /** Name of the simulation. */
  readonly name: string;
  /** What it shows, in a sentence or two. */
  readonly about: string;
  /** When it ran, ISO 8601 in UTC. */
  readonly started: string;
  /** Seed of the spread of counts and of sampled placements. */
  readonly seed: number;
  /** Version of each part that the figures depend on, by its name. */
  readonly versions: Readonly<Record<string, string>>;
  /** SHA-256 (hex) of the simulation with every default filled in. */
  readonly digest: string;
  /** How money is written and what it is of; absent where the simulation names no machine. */
  readonly money?: MoneyTerms & { readonly currency: string; readonly asOf: string };
  /** What the figures rest on, as pairs of a name and words: tables, batch, machines, network, computing, overlap. */
  readonly assumptions: readonly (readonly [string, string])[];
  /** The studies in the order of the simulation. */
  readonly studies: readonly StudySummary[];
  /** Differences between two cases, taken apart; seconds a sample. */
  readonly explanations: readonly ExplanationRecord[];
  /** Every published figure beside the simulated one. */
  readonly deviations: readonly Deviation[];
  /** Of the figures that calibrate nothing. */
  readonly accuracy?: {
    readonly figures: number;
    readonly within: number;
    readonly meanAbsolute: number;
    readonly worst: Deviation;
    /** Of those that are met: how many no null model meets, and how many each of them does; absent if none was run. */
    readonly nulls?: NullCounts;
    /** Of pairs of cases that differ by more than a tenth in what is published, the share that is in the same order. */
    readonly order?: { readonly pairs: number; readonly same: number };
    /** Of the relative figures that set no parameter and have a band: how many lie in their 90 % bands. */
    readonly coverage?: { readonly figures: number; readonly covered: number };
    /** Figures that are relative to another case, and how many of them set no parameter; absent where none is. */
    readonly relative?: { readonly figures: number; readonly free: number };
  };
  /** What the figures say: the fastest of each study, and how well published figures are met. */
  readonly sentences: readonly string[];
  /** What must be known to read the figures: that they are simulated, and why a band is missing. */
  readonly cautions: readonly string[];
}

const percent = (share: number) => `${(share * 100).toFixed(1)} %`;

function deviationsOf(result: SimulationResult): Deviation[] {
  return publishedDeviations(result).map(([one, { figure, ...rest }]) => ({
    figure,
    case: labelOf(one, new Set(Object.keys(one.point).length > 3 ? [] : Object.keys(one.point))),
    ...rest,
  }));
}

/** By which share a figure is off: an effect is told in points, of its baseline and itself together. */
function offBy({ of, deviation, published }: Deviation): number {
  return Math.abs(of === "extra-time" ? deviation / (1 + published) : deviation);
}

function accuracyOf(deviations: readonly Deviation[], { run }: SimulationResult): SimulationSummary["accuracy"] {
  const free = deviations.filter(({ calibrates }) => calibrates === undefined);
  const [first] = free;
  if (first === undefined) return undefined;
  const order = orderOf(deviations);
  const coverage = coverageOf(deviations), relative = relativeOf(run.scenario.published);
  return {
    figures: free.length,
    within: free.filter(({ within }) => within).length,
    meanAbsolute: free.reduce((sum, one) => sum + offBy(one), 0) / free.length,
    worst: free.reduce((worst, one) => offBy(one) > offBy(worst) ? one : worst, first),
    ...(free.every(({ nulls }) => nulls === undefined) ? {} : { nulls: nullsOf(free.filter(({ within }) => within)) }),
    ...(order === undefined ? {} : { order }),
    ...(coverage === undefined ? {} : { coverage }),
    ...(relative === undefined ? {} : { relative }),
  };
}

/** Which of the figures that are met a null model meets, too. */
function nullsOf(met: readonly Deviation[]): NullCounts {
  const metBy = NULL_NAMES.map((name) =>
    [name, met.filter(({ nulls }) => nulls?.some(({ model, within }) => model === name && within)).length] as const
  );
  return {
    reproduced: met.filter(isReproduced).length,
    caught: met.filter(({ nulls }) => nulls?.some(({ within }) => !within)).length,
    metBy: Object.fromEntries(metBy) as Record<NullName, number>,
  };
}

/** What makes a step's 90th and 99th percentile. */
function tailsText({ spread }: SimulationResult["run"]["scenario"]["compute"]): string {
  const dense = `the dense time varies by ${
    Number((spread * 100).toPrecision(3))
  } % from step to step and worker to worker`;
  return spread > 0
    ? `${dense}, a step's rows as their law draws them; media have no stalls`
    : "a step's rows vary as their law draws them; the dense time does not (compute.spread), and media have no stalls";
}

function assumptionsOf({ run: { scenario } }: SimulationResult): (readonly [string, string])[] {
  const { workload, compute, cluster, overlap } = scenario;
  const rows = workload.tables.reduce((sum, { rows, count }) => sum + rows * count, 0);
  const bytes = workload.tables.reduce(
    (sum, { rows, count, dim, dtype, slots }) => sum + rows * count * dim * (dtype === "f32" ? 4 : 2) * (1 + slots),
    0,
  );
  const machines = cluster.servers === 0
    ? `one machine of ${cluster.cores} cores`
    : `${cluster.workers} workers, ${cluster.workersPerHost} a machine, ${cluster.servers} parameter servers of ${cluster.cores} cores`;
  const network = cluster.network === undefined ? [] : [
    [
      "network",
      `${(cluster.network.bandwidth * 8 / 1e9).toFixed(0)} Gbit/s, ${cluster.network.latency * 1e6} us`,
    ] as const,
  ];
  return [
    ["tables", `${rows.toExponential(3)} rows, ${(bytes / 1e9).toPrecision(4)} GB of weights and states`],
    ["batch", `${workload.batch} samples a worker${workload.trains ? "" : ", serving only"}`],
    ["machines", machines],
    ...network,
    ["compute", compute.source],
    ["tails", tailsText(compute)],
    [
      "overlap",
      `${overlap.ahead} batches ahead, prefetch ${overlap.prefetch ? "on" : "off"}, asynchronous lookups ${
        overlap.async ? "on" : "off"
      }, ${overlap.microBatches} micro-batch${overlap.microBatches === 1 ? "" : "es"}`,
    ],
  ];
}

/** How many questions the cases asked the media, and how many of them nothing published backs. */
function questionsText(cases: readonly SimulatedRecord[]): string | undefined {
  const all = cases.flatMap(({ questions = [] }) => questions);
  const each = [...new Map(all.map((one) => [JSON.stringify(one), one])).values()];
  if (each.length === 0) return undefined;
  const backed = each.filter(({ figures }) => figures > 0).length, alike = each.filter(({ alike }) => alike > 0).length;
  return `${each.length} different ones, ${backed} of which figures back that were asked the same way, ${alike} figures of ` +
    "that access at other sizes, threads or prefetchers, or in plain loops where the engine asks ahead";
}

/** The share of a mean step that each kind of work has, largest first. */
export function timeByKind(one: Pick<SimulatedRecord, "parts">): (readonly [string, number])[] {
  const sums = new Map<string, number>();
  for (const { kind, seconds } of one.parts) sums.set(kind, (sums.get(kind) ?? 0) + seconds);
  return [...sums].sort((a, b) => b[1] - a[1]);
}

/** What most of a case's step waits for. */
export function bottleneck(one: Pick<SimulatedRecord, "parts" | "step">): string {
  const [first] = one.parts;
  return first === undefined
    ? "nothing"
    : `${first.kind}, ${first.on} (${(first.seconds / one.step.mean * 100).toFixed(0)} %)`;
}

/** What is published comes first, then what is compared. */
function sentencesOf(
  { run }: SimulationResult,
  studies: readonly StudySummary[],
  accuracy: SimulationSummary["accuracy"],
  terms: MoneyTerms | undefined,
): string[] {
  const money = terms === undefined ? [] : studies.flatMap(({ name, cases }) => moneySentences(name, cases, terms));
  const speeds = answersOf(studies.map((study) => {
    const baseline = run.scenario.studies.find(({ name }) => name === study.name)?.baseline;
    return { ...study, ...(baseline === undefined ? {} : { baseline }) };
  }));
  const targets = run.scenario.target === undefined
    ? []
    : studies.map(({ name, cases }) => targetSentence(name, cases));
  const sentences = [...money, ...targets, ...speeds];
  if (accuracy === undefined) return sentences;
  const { figures, within, meanAbsolute, worst, order, nulls, coverage, relative } = accuracy;
  const kept = order === undefined
    ? ""
    : `; order kept in ${order.same} of ${order.pairs} pairs that differ by more than 10 %`;
  return [
    `${within} of ${figures} published figures that calibrate nothing are met, off by ${
      percent(meanAbsolute)
    } on average, ` +
    `${percent(offBy(worst))} at most (${worst.figure}, ${worst.case})${kept}`,
    ...(nulls === undefined ? [] : [nullSentence(within, nulls)]),
    ...(coverage === undefined
      ? []
      : [`${coverage.covered} of ${coverage.figures} published relative figures lie in their 90 % bands`]),
    ...(relative === undefined
      ? []
      : [`${relative.free} of ${relative.figures} published relative figures set no parameter`]),
    ...sentences,
  ];
}

/** What is left of the figures that are met when those are taken off that a null model meets, too. */
function nullSentence(met: number, { reproduced, caught, metBy }: NullCounts): string {
  const by = NULL_NAMES.filter((name) => metBy[name] > 0).map((name) => `${metBy[name]} with ${NULL_WORDS[name]}`);
  const also = by.length === 0 ? "no null model meets any" : `null models meet ${listText(by)}`;
  return `${reproduced} of these ${met} are reproduced, that is met by nothing less, and ${caught} are missed by one ` +
    `null model at least: ${also}`;
}

function shortNumber(value: string | number | boolean): string {
  return typeof value === "number" && value >= 1e6 ? value.toExponential().replace("e+", "e") : `${value}`;
}

/** A case by its configuration and those fields of its point that are told, by the end of their names. */
function labelOf(one: Pick<SimulatedRecord, "configuration" | "point">, told?: ReadonlySet<string>): string {
  const fields = Object.entries(one.point).filter(([field]) => told === undefined || told.has(field));
  return [
    one.configuration,
    ...fields.map(([field, value]) => `${field.slice(field.lastIndexOf(".") + 1)}=${shortNumber(value)}`),
  ].join(" ");
}

/** What was left out of profiles, and traces that are unlike the laws beside them. */
function notesOf({ run: { scenario }, cases }: SimulationResult): string[] {
  const left = scenario.workload.tables.flatMap(({ name, law }) => {
    if (!("buckets" in law) || law.of === undefined) return [];
    const { profile, table, leftOut, fault } = law.of;
    const without = leftOut.length === 0 ? "" : `; what it says of ${leftOut.join(" and ")} is not simulated`;
    return [
      `Rows of ${name} are as popular as those of "${table}" in the profile "${profile}"${without}${
        fault === undefined ? "" : `. That profile is bad: ${fault}`
      }`,
    ];
  });
  const traces = cases.flatMap(({ case: label, rows, hits }) => {
    if (hits?.trace === undefined) return [];
    const off = hits.trace.rows / rows.all - 1;
    return Math.abs(off) < 0.1 ? [] : [
      `${label}: a step of the trace has ${hits.trace.rows.toPrecision(3)} distinct rows, the laws give ${
        rows.all.toPrecision(3)
      }: only its hit ratio is the trace's`,
    ];
  });
  return [...left, ...traces];
}

/** The prices of a simulation's machines; undefined where it names none. */
function pricesOf({ run: { scenario, started } }: SimulationResult, options: SummaryOptions) {
  if (!namesMachines(scenario)) return undefined;
  const asOf = options.asOf ?? scenario.cost?.prices ?? started.slice(0, 7);
  const currency = options.currency ?? DOLLARS;
  const { written, book } = bookOf([], asOf, options);
  const prices = pricesIn(written, book, currency, asOf);
  const bill = options.boundary === "parameter-servers" ? "servers" as const : "whole" as const;
  return { prices, bill, terms: { sign: prices.sign, bill, currency, asOf } };
}

/** How often a row must be read to belong in DRAM; nothing where the book has no price of memory or of a drive. */
function rowRuleOf({ run: { scenario: { workload: { tables } } } }: SimulationResult, book: PriceBook, sign: string) {
  const prices = rowRulePrices(book), rows = tables.reduce((sum, { rows, count }) => sum + rows * count, 0);
  const bytes = tables.reduce((sum, table) => sum + table.rows * table.count * rowBytes(table), 0);
  return prices === undefined ? [] : [rowRuleText(prices, Math.round(bytes / rows), sign)];
}

function moneyText(terms: SimulationSummary["money"]): string {
  if (terms === undefined) return "no price: no configuration says what its machine is (configurations.X.machine)";
  return `${
    terms.bill === "whole" ? "servers and trainers" : "servers alone"
  }, in ${terms.currency}, prices as of ${terms.asOf}`;
}

/**
 * The report's model of a simulation.
 *
 * @param options Prices of the machines that the simulation names.
 * @throws {RangeError} if a rate is needed that no price file states, or a row of one cannot be used.
 */
export function summariseSimulation(result: SimulationResult, options: SummaryOptions = {}): SimulationSummary {
  const { run, cases, explanations } = result;
  const priced = pricesOf(result, options);
  const names = [...new Set(cases.map(({ study }) => study))];
  const studies = names.map((name) => {
    const own = cases.filter(({ study }) => study === name);
    const unit = own[0]?.samplesPerSecond ?? 1;
    const varied = new Set(
      Object.keys(own[0]?.point ?? {}).filter((field) => new Set(own.map(({ point }) => point[field])).size > 1),
    );
    const costs = priced && studyMoney(result, own, priced.prices, priced.bill);
    return {
      name,
      cases: own.map((one, i) => {
        const writes = priced && driveWrites(run.scenario, one, priced.prices);
        const { target } = run.scenario;
        const misses = target && missText(target, one, costs?.[i], priced?.prices);
        return {
          ...one,
          relative: unit / one.samplesPerSecond,
          label: labelOf(one, varied),
          ...(costs?.[i] === undefined ? {} : { money: costs[i] }),
          ...(writes === undefined ? {} : { driveWrites: writes }),
          ...(misses === undefined ? {} : { missesTarget: misses }),
        };
      }),
    };
  });
  const deviations = deviationsOf(result);
  const accuracy = accuracyOf(deviations, result);
  const why = [...new Set(cases.flatMap(({ band }) => "why" in band ? [band.why] : []))];
  const asked = questionsText(result.cases);
  return {
    evidence: "simulated",
    name: run.scenario.name,
    about: run.scenario.about,
    started: run.started,
    seed: run.scenario.seed,
    versions: run.versions,
    digest: run.scenarioDigest,
    ...(priced === undefined ? {} : { money: priced.terms }),
    assumptions: [
      ...assumptionsOf(result),
      ...(asked === undefined ? [] : [["questions to media", asked] as const]),
      ["money", moneyText(priced?.terms)],
    ],
    studies,
    explanations,
    deviations,
    ...(accuracy === undefined ? {} : { accuracy }),
    sentences: [
      ...sentencesOf(result, studies, accuracy, priced?.terms),
      ...(priced === undefined ? [] : rowRuleOf(result, priced.prices.dated, priced.terms.sign)),
    ],
    cautions: [
      "Every figure is simulated: virtual time over media models, nothing was measured on this machine",
      ...why,
      ...notesOf(result),
    ],
  };
}
