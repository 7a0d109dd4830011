/**
 * What more ranks are worth: speed-up and efficiency against the fewest, time in messages, machines that they had.
 *
 * @module
 */

import { pointText } from "../../base/matrix.ts";
import { type ClusterRecord, isDeterministic, type QualityRecord, type SampleRecord } from "../../scenarios/record.ts";
import { type Estimate, estimate, mapEstimate } from "../statistics/bootstrap.ts";
import { compared } from "../statistics/pairing.ts";
import { mean } from "../../base/statistics.ts";
import type { RankScaling } from "./summary_types.ts";

/** Samples of a case, and its name. */
interface Group {
  readonly name: string;
  readonly samples: readonly SampleRecord[];
}

type OverRanks = SampleRecord & { readonly cluster: ClusterRecord };

function trainersOf({ cluster: { ranks } }: OverRanks): number {
  return ranks.filter(({ trains }) => trains).length;
}

function overRanks({ samples }: Group): OverRanks[] {
  return samples.filter((one): one is OverRanks => one.cluster !== undefined && !one.virtual);
}

type Point = SampleRecord["point"];

/** A point but for ranks. */
function withoutRanks(point: Point): string {
  return pointText(Object.fromEntries(Object.entries(point).filter(([field]) => !field.startsWith("cluster."))));
}

/** Configuration, kind and point but for ranks: cases that differ in those alone have the same. */
function elsewhere({ samples: [first] }: Group): string {
  const { configuration, point, evidence } = first as SampleRecord;
  return JSON.stringify([configuration, withoutRanks(point), evidence]);
}

/** The AUC of a case's own run or, in step, of one with any number of ranks in step, whose rows are the same. */
function aucOf(first: SampleRecord, qualities: readonly QualityRecord[]): RankScaling["auc"] {
  const own = (text: (point: Point) => string) => qualities.find(({ point = {} }) => text(point) === text(first.point));
  const inStep = isDeterministic(first) ? qualities.filter(isDeterministic) : [];
  const found = own(pointText) ??
    inStep.find(({ point = {} }) => withoutRanks(point) === withoutRanks(first.point));
  return found !== undefined && isDeterministic(found) === isDeterministic(first) ? found.auc : undefined;
}

/** How many updates the counted steps of all samples missed; undefined in step. */
function staleness(samples: readonly OverRanks[]): RankScaling["staleness"] {
  const [first] = samples;
  if (first?.cluster.staleness === undefined) return undefined;
  const { bound } = first.cluster.staleness;
  const counts = Array.from(
    { length: bound + 1 },
    (_, missed) => samples.reduce((sum, { cluster }) => sum + (cluster.staleness?.missed[missed] ?? 0), 0),
  );
  const steps = counts.reduce((sum, count) => sum + count, 0);
  return {
    bound,
    mean: counts.reduce((sum, count, missed) => sum + count * missed, 0) / steps,
    most: counts.findLastIndex((count) => count > 0),
    shares: counts.map((count) => count / steps),
  };
}

/** Share of the counted steps that each rank that trains took; undefined in step. */
function shares(samples: readonly OverRanks[]): RankScaling["shares"] {
  const [first] = samples;
  if (first?.cluster.staleness === undefined) return undefined;
  const taken = first.cluster.ranks.filter(({ trains }) => trains).map(({ rank }) =>
    samples.reduce((sum, { cluster }) => sum + (cluster.ranks[rank]?.steps ?? 0), 0)
  );
  const all = taken.reduce((sum, count) => sum + count, 0);
  return taken.map((count) => count / all);
}

/** Seconds of a step that ranks were in messages, waited or moved bytes, mean over them. */
function meanSeconds({ cluster: { ranks }, stepNs }: OverRanks, of: "messageNs" | "waitingNs" | "movingNs"): number {
  return mean(ranks.map((rank) => rank[of] / 1e9 / stepNs.length));
}

/**
 * What the ranks of a case are worth.
 *
 * @param group The case.
 * @param groups All cases, among which is the one with the fewest ranks that train.
 * @param qualities Runs that give an AUC.
 * @param rateOf Samples per second of a sample.
 * @param seed Seeds resampling, by figure.
 * @returns Undefined without ranks.
 */
export function rankScaling(
  group: Group,
  groups: readonly Group[],
  qualities: readonly QualityRecord[],
  rateOf: (sample: SampleRecord) => number,
  seed: (figure: string) => string,
): RankScaling | undefined {
  const samples = overRanks(group);
  const [first] = samples;
  if (first === undefined) return undefined;
  const trainers = trainersOf(first);
  const others = groups.filter((other) => overRanks(other).length > 0 && elsewhere(other) === elsewhere(group));
  const fewest = others.toSorted((a, b) => size(a) - size(b) || all(a) - all(b) || bound(a) - bound(b))[0];
  const speedUp = fewest === undefined || fewest === group
    ? undefined
    : compared(samples, overRanks(fewest), rateOf, "rate", seed("speed-up"));
  const ideal = fewest === undefined ? 1 : trainers / size(fewest);
  const { layout, launcher, library, ranks } = first.cluster;
  const seconds = (figure: string, of: (one: OverRanks) => number): Estimate | undefined =>
    samples.every((one) => of(one) > 0) ? estimate(samples.map(of), "positive", seed(figure)) : undefined;
  return {
    ranks: ranks.length,
    trainers,
    layout,
    launcher,
    library,
    hosts: new Set(ranks.map(({ host }) => host)).size,
    sharedMachine: samples.some(({ cluster }) => cluster.sharedMachine),
    fewest: fewest?.name,
    speedUp,
    efficiency: speedUp === undefined ? undefined : mapEstimate(speedUp, (value) => value / ideal),
    messages: seconds("messages", (one) => meanSeconds(one, "messageNs")),
    waiting: seconds("waiting", (one) => meanSeconds(one, "waitingNs")),
    moving: seconds("moving", (one) => meanSeconds(one, "movingNs")),
    staleness: staleness(samples),
    shares: shares(samples),
    auc: aucOf(first, qualities),
    sentBytes: mean(
      samples.map(({ cluster, stepNs }) =>
        cluster.ranks.reduce((sum, rank) => sum + rank.sentBytes, 0) / stepNs.length
      ),
    ),
  };
}

/** How stale steps may be; in step before asynchronous ones of staleness 0. */
function bound(group: Group): number {
  return overRanks(group)[0]?.cluster.staleness?.bound ?? -1;
}

function size(group: Group): number {
  const [first] = overRanks(group);
  return first === undefined ? Infinity : trainersOf(first);
}

function all(group: Group): number {
  return overRanks(group)[0]?.cluster.ranks.length ?? Infinity;
}
