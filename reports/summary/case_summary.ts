/**
 * Samples of one case to its figures.
 *
 * @module
 */

import { linkOf } from "./link.ts";
import { kindOf, kindText } from "./kind.ts";
import { isDeterministic, PHASES, type Result, type SampleRecord } from "../../scenarios/record.ts";
import { checkpointCost, durability } from "./checkpoint_cost.ts";
import { rankScaling } from "./rank_scaling.ts";
import { embeddingSeconds, embeddingTime } from "./embedding_time.ts";
import type {
  CacheCurve,
  CaseSummary,
  Comparison,
  HitRatio,
  PhaseTime,
  StepTimes,
  Summary,
  TierTraffic,
} from "./summary_types.ts";
import { holdingOf } from "./holding.ts";
import { stepCourse } from "./step_course.ts";
import { viewScenario } from "./scenario_view.ts";
import { type Estimate, estimate, mapEstimate } from "../statistics/bootstrap.ts";
import { comparedRates, rateOf, sameRounds } from "../statistics/pairing.ts";
import { pointText } from "../../base/matrix.ts";
import { mean, quantileOfSorted } from "../../base/statistics.ts";

/** Samples that belong together, in file order. */
export interface Group {
  readonly name: string;
  readonly samples: readonly SampleRecord[];
  /** Samples that repeat the case (A/A), of the same kind. */
  readonly again: readonly SampleRecord[];
}

/** A case before it is priced. */
export type UnpricedCase = Omit<CaseSummary, "cost" | "costMissing">;

/**
 * Groups samples by case, and by kind of evidence: the kinds are never averaged together. Matrix points keep the order
 * in which the file first shows them, configurations that of the scenario.
 */
export function groupSamples(result: Result): Group[] {
  const groups = new Map<string, SampleRecord[]>();
  const points: string[] = [];
  const kinds = new Map<string, Set<string>>();
  for (const sample of result.samples) {
    const key = JSON.stringify([sample.case, kindText(kindOf(sample))]);
    groups.set(key, [...groups.get(key) ?? [], sample]);
    points.push(JSON.stringify(sample.point));
    kinds.set(sample.case, (kinds.get(sample.case) ?? new Set()).add(kindText(kindOf(sample))));
  }
  const order = viewScenario(result).configurations;
  return [...groups.values()]
    .map((samples) => {
      const first = samples[0] as SampleRecord;
      const mixed = (kinds.get(first.case)?.size ?? 0) > 1;
      const again = (result.again ?? []).filter((one) =>
        one.configuration === first.configuration && pointText(one.point) === pointText(first.point) &&
        kindText(kindOf(one)) === kindText(kindOf(first))
      );
      return { name: mixed ? `${first.case} (${kindText(kindOf(first))})` : first.case, samples, again, first };
    })
    .sort((a, b) =>
      points.indexOf(JSON.stringify(a.first.point)) - points.indexOf(JSON.stringify(b.first.point)) ||
      order.indexOf(a.first.configuration) - order.indexOf(b.first.configuration)
    )
    .map(({ name, samples, again }) => ({ name, samples, again }));
}

/** The matrix point of a group as a key. */
function pointKey(group: Group): string {
  return JSON.stringify((group.samples[0] as SampleRecord).point);
}

/** The case a group is compared with: DRAM at the same matrix point. */
export function baselineOf(result: Result, group: Group, groups: readonly Group[]): Group | undefined {
  const found = groups.find((other) =>
    pointKey(other) === pointKey(group) && holdingOf(result, other.samples[0] as SampleRecord) === "dram"
  );
  return found === group ? undefined : found;
}

/** Watts of the samples that measured their energy. */
function powerOf(samples: readonly SampleRecord[], seed: (figure: string) => string): CaseSummary["power"] {
  const metered = samples.flatMap(({ energy }) => energy ?? []);
  if (metered.length === 0) return undefined;
  const packages = metered.map(({ packageJoules, seconds }) => packageJoules / seconds);
  const memory = metered.flatMap(({ dramJoules, seconds }) => dramJoules === undefined ? [] : dramJoules / seconds);
  return {
    packages: estimate(packages, "linear", seed("watts of packages")),
    memory: memory.length < metered.length ? undefined : estimate(memory, "linear", seed("watts of memory")),
  };
}

/** All figures of a group but its cost. */
export function summariseCase(result: Result, group: Group, groups: readonly Group[]): UnpricedCase {
  const { name, samples } = group;
  const baseline = baselineOf(result, group, groups);
  const first = samples[0] as SampleRecord;
  const last = samples[samples.length - 1] as SampleRecord;
  const seed = (figure: string): string => `${result.run.scenarioDigest} ${name} ${figure}`;
  const virtual = samples.some((sample) => sample.virtual);
  const baselineVirtual = baseline?.samples.some((sample) => sample.virtual) ?? false;
  const rates = samples.map(rateOf);
  const shown = virtual || baselineVirtual ? undefined : baseline;
  return {
    name,
    configuration: first.configuration,
    point: first.point,
    ...kindOf(first),
    holding: holdingOf(result, first),
    virtual,
    how: unique(samples.map((sample) => sample.how)),
    samples: samples.length,
    throughput: virtual ? undefined : estimate(rates, "rate", seed("throughput")),
    perProcess: virtual ? [] : samples.map((sample) => ({
      id: sample.id,
      sample: sample.sample,
      position: sample.position,
      rate: rateOf(sample),
    })),
    baseline: baseline?.name,
    relative: shown ? comparedRates(samples, shown.samples, shown.again, seed("relative")) : undefined,
    comparison: shown ? comparisonOf(samples, shown.samples) : undefined,
    step: virtual ? undefined : stepTimes(samples, seed),
    phases: virtual ? [] : phaseTimes(samples),
    embedding: virtual ? undefined : embeddingTime(samples, shown?.samples, seed),
    hits: hitRatio(samples, holdingOf(result, first) === "memory-mode", seed("hits")),
    traffic: virtual ? [] : trafficOf(samples),
    link: virtual ? undefined : linkOf(samples),
    work: virtual ? undefined : workOf(samples),
    cacheCurve: cacheCurve(result, samples),
    filter: last.filter,
    checkpoints: checkpointCost(group, groups, rateOf, result, seed),
    durability: durability(samples),
    scaling: rankScaling(group, groups, result.qualities, rateOf, seed),
    tiers: last.tiers,
    dramBytes: last.dramBytes,
    tableBytes: last.tableBytes,
    loss: estimate(samples.map((sample) => sample.loss), "linear", seed("loss")),
    power: virtual ? undefined : powerOf(samples, seed),
    batch: unique(samples.map((sample) => sample.batch)),
    threads: unique(samples.map((sample) => sample.threads)),
    seeds: unique(samples.map((sample) => sample.seed)),
    digests: unique(samples.map((sample) => sample.digest)),
    environment: last.environment,
  };
}

/**
 * Whether samples that trained the same steps on the same seed ended with the same rows, over all configurations that
 * have such samples; undefined if no two have.
 */
export function identicalRows(result: Result): Summary["identical"] {
  const groups = new Map<string, { configurations: Set<string>; digests: Set<string> }>();
  for (const sample of result.samples) {
    if (!isDeterministic(sample)) continue;
    const key = JSON.stringify([sample.point, sample.seed, sample.batch, sample.warmupSteps + sample.stepNs.length]);
    const group = groups.get(key) ?? { configurations: new Set(), digests: new Set() };
    group.configurations.add(sample.configuration);
    group.digests.add(sample.digest);
    groups.set(key, group);
  }
  const comparable = [...groups.values()].filter((group) => group.configurations.size > 1);
  if (comparable.length === 0) return undefined;
  const alike = new Set(comparable.flatMap((group) => [...group.configurations]));
  return {
    same: comparable.every((group) => group.digests.size === 1),
    configurations: [...new Set([...viewScenario(result).configurations, ...alike])].filter((name) => alike.has(name)),
  };
}

function comparisonOf(samples: readonly SampleRecord[], baseline: readonly SampleRecord[]): Comparison {
  return sameRounds(samples, baseline) ? "by round" : "independent";
}

/** Steps of a process of which a thousandth is one. */
const ENOUGH_FOR_P999 = 1000;

function stepTimes(samples: readonly SampleRecord[], seed: (figure: string) => string): StepTimes {
  const sorted = samples.map((sample) => Float64Array.from(sample.stepNs, (ns) => ns / 1e9).sort());
  const at = (p: number): Estimate =>
    estimate(sorted.map((steps) => quantileOfSorted(steps, p)), "positive", seed(`step p${p * 100}`));
  return {
    p50: at(0.5),
    p95: at(0.95),
    p99: at(0.99),
    p999: sorted.every(({ length }) => length >= ENOUGH_FOR_P999) ? at(0.999) : undefined,
    steps: samples.reduce((n, s) => n + s.stepNs.length, 0),
    course: stepCourse(samples),
  };
}

function phaseTimes(samples: readonly SampleRecord[]): PhaseTime[] {
  const step = mean(samples.map((sample) => sum(sample.stepNs) / sample.stepNs.length / 1e9));
  const phases: { phase: PhaseTime["phase"]; seconds: number }[] = PHASES.map((phase) => ({
    phase,
    seconds: mean(samples.map((sample) => sample.phaseNs[phase] / sample.stepNs.length / 1e9)),
  }));
  const rest = step - phases.reduce((total, { seconds }) => total + seconds, 0);
  phases.push({ phase: "other", seconds: Math.max(0, rest) });
  return phases.map(({ phase, seconds }) => ({ phase, seconds, share: seconds / step }));
}

function hitRatio(samples: readonly SampleRecord[], memoryMode: boolean, seed: string): HitRatio | undefined {
  const count = (sample: SampleRecord, name: string): number => sample.statistics[name] ?? 0;
  if (memoryMode) {
    const lines = (sample: SampleRecord): number =>
      count(sample, "memory_mode_line_hits") + count(sample, "memory_mode_clean_misses") +
      count(sample, "memory_mode_dirty_misses");
    if (samples.some((sample) => lines(sample) === 0)) return undefined;
    return {
      ratio: clamped(estimate(samples.map((s) => count(s, "memory_mode_line_hits") / lines(s)), "linear", seed)),
      below: [],
      denominator: "64-byte lines of rows accessed, hits in the modelled DRAM cache",
      created: undefined,
    };
  }
  // Libraries before ABI version 2 counted a key once a batch.
  const distinct = samples.every((sample) => sample.statistics["lookup_distinct"] !== undefined);
  const all = distinct ? "lookup_distinct" : "lookup_keys";
  if (samples.some((sample) => sample.tiers.length < 2 || count(sample, all) === 0)) return undefined;
  const tiers = Math.max(...samples.map((sample) => sample.tiers.length));
  const share = (name: string): number[] => samples.map((s) => count(s, name) / count(s, all));
  return {
    ratio: clamped(estimate(share("tier0_hits"), "linear", seed)),
    below: Array.from({ length: tiers - 1 }, (_, i) => mean(share(`tier${i + 1}_hits`))),
    denominator: distinct
      ? "distinct keys of each batch, those of new rows included"
      : "looked-up keys, those of new rows included",
    created: mean(share("created")),
  };
}

/** Rows that the tiers below gave and took, in bytes a second; only where the run counted both. */
function trafficOf(samples: readonly SampleRecord[]): TierTraffic[] {
  const last = samples[samples.length - 1] as SampleRecord;
  const seconds = sum(samples.map(({ stepNs }) => sum(stepNs))) / 1e9;
  const total = (name: string): number => sum(samples.map(({ statistics }) => statistics[name] ?? 0));
  return last.tiers.slice(1).flatMap(({ tier, medium, emulates, modelLimit, rows, purposes }) => {
    const counted = samples.every(({ statistics }) => statistics[`tier${tier}_written`] !== undefined);
    if (!counted || rows === 0) return [];
    const rowBytes = (purposes["rows"] ?? 0) / rows;
    const readPerSecond = total(`tier${tier}_hits`) * rowBytes / seconds;
    const writtenPerSecond = total(`tier${tier}_written`) / seconds;
    const limit = modelLimit && {
      ...modelLimit,
      readShare: readPerSecond / modelLimit.readBytesPerSecond,
      writeShare: writtenPerSecond / modelLimit.writeBytesPerSecond,
    };
    return [{ tier, medium, emulates, readPerSecond, writtenPerSecond, limit }];
  });
}

/** The curve of the point of a case with more than one tier. */
function cacheCurve({ curves = [] }: Result, samples: readonly SampleRecord[]): CacheCurve | undefined {
  const last = samples[samples.length - 1] as SampleRecord;
  const found = curves.find(({ point }) => JSON.stringify(point) === JSON.stringify(last.point));
  if (found === undefined || last.tiers.length < 2) return undefined;
  const { sizes, misses, bounds, rows, rowBytes, policy, bound, method, denominator, batch } = found;
  const total = (of: (name: string) => boolean): number =>
    sum(samples.flatMap(({ statistics }) => Object.entries(statistics).map(([name, n]) => of(name) ? n : 0)));
  const distinct = total((name) => name === "update_distinct");
  const missed = total((name) => /^tier[1-9]_hits$/.test(name));
  return {
    policy,
    bound,
    method,
    denominator,
    batch,
    shares: sizes.map((size) => size / rows),
    bytes: sizes.map((size) => size * rowBytes),
    misses,
    bounds,
    ranShare: (last.tiers[0]?.rows ?? 0) / rows,
    counted: distinct === 0 ? undefined : Math.min(1, missed / distinct),
  };
}

/**
 * What a sample asks of a server: the bytes of the recorded step over its busier direction of the network, and the time of
 * the run's threads in the phases that touch rows. The rest of a step is the worker's: who rents servers does not buy
 * processors for its dense layers.
 */
function workOf(samples: readonly SampleRecord[]): UnpricedCase["work"] {
  const sent = samples.flatMap(({ wire, stepNs }) =>
    wire === undefined ? [] : [Math.max(wire.toServers, wire.fromServers) * stepNs.length]
  );
  if (sent.length < samples.length) return undefined;
  const trained = sum(samples.map(({ batch, stepNs }) => batch * stepNs.length));
  const cpuSeconds = sum(samples.map((one) => one.threads * one.stepNs.length * embeddingSeconds(one)));
  return { networkBytes: sum(sent) / trained, cpuSeconds: cpuSeconds / trained };
}

/** A share's interval cannot leave 0 to 1. */
function clamped(of: Estimate): Estimate {
  return mapEstimate(of, (v) => Math.min(1, Math.max(0, v)));
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

function unique<T>(values: readonly T[]): T[] {
  return [...new Set(values)];
}
