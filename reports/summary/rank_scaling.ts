/**
 * What more ranks are worth: speed-up and efficiency against the fewest, time in messages, machines that they had.
 *
 * @module
 */

import { pointText } from "../../base/matrix.ts";
import type { ClusterRecord, SampleRecord } from "../../scenarios/record.ts";
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

/** Configuration, kind and point but for ranks: cases that differ in those alone have the same. */
function elsewhere({ samples: [first] }: Group): string {
  const { configuration, point, evidence } = first as SampleRecord;
  const others = Object.entries(point).filter(([field]) => !field.startsWith("cluster."));
  return JSON.stringify([configuration, pointText(Object.fromEntries(others)), evidence]);
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
 * @param rateOf Samples per second of a sample.
 * @param seed Seeds resampling, by figure.
 * @returns Undefined without ranks.
 */
export function rankScaling(
  group: Group,
  groups: readonly Group[],
  rateOf: (sample: SampleRecord) => number,
  seed: (figure: string) => string,
): RankScaling | undefined {
  const samples = overRanks(group);
  const [first] = samples;
  if (first === undefined) return undefined;
  const trainers = trainersOf(first);
  const others = groups.filter((other) => overRanks(other).length > 0 && elsewhere(other) === elsewhere(group));
  const fewest = others.toSorted((a, b) => size(a) - size(b) || all(a) - all(b))[0];
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
    sentBytes: mean(
      samples.map(({ cluster, stepNs }) =>
        cluster.ranks.reduce((sum, rank) => sum + rank.sentBytes, 0) / stepNs.length
      ),
    ),
  };
}

function size(group: Group): number {
  const [first] = overRanks(group);
  return first === undefined ? Infinity : trainersOf(first);
}

function all(group: Group): number {
  return overRanks(group)[0]?.cluster.ranks.length ?? Infinity;
}
