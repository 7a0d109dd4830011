/**
 * What is recorded of the ranks of a sample.
 *
 * @module
 */

import { layoutOf } from "../cluster.ts";
import type { RankRecord, SampleRecord, TierRecord } from "../record.ts";
import type { PreparedCase } from "./prepare.ts";
import type { SpeedOutcome, WorkerTier } from "./worker_protocol.ts";

function sum(values: readonly number[]): number {
  return values.reduce((all, value) => all + value, 0);
}

function summed(parts: readonly Readonly<Record<string, number>>[]): Record<string, number> {
  const names = [...new Set(parts.flatMap((part) => Object.keys(part)))];
  return Object.fromEntries(names.map((name) => [name, sum(parts.map((part) => part[name] ?? 0))]));
}

/** The tiers of several ranks as one: their sums; facts are those of the first rank. */
function summedTiers(ranks: readonly (readonly WorkerTier[])[]): WorkerTier[] {
  const [first = []] = ranks;
  return first.map((tier, i) => {
    const parts = ranks.flatMap((tiers) => tiers[i] ?? []);
    return {
      ...tier,
      limitBytes: sum(parts.map(({ limitBytes }) => limitBytes)),
      usedBytes: sum(parts.map(({ usedBytes }) => usedBytes)),
      purposes: summed(parts.map(({ purposes }) => purposes)),
      rows: sum(parts.map(({ rows }) => rows)),
    };
  });
}

/** The tables of several ranks, each with the rows of all of them. */
function summedTables(ranks: readonly SpeedOutcome["tables"][]): SpeedOutcome["tables"] {
  const [first = []] = ranks;
  return first.map(({ dim }, i) => ({ dim, distinct: sum(ranks.map((tables) => tables[i]?.distinct ?? 0)) }));
}

/** Outcomes of the ranks that hold rows: the servers', if there are any. */
function holding({ cluster }: SpeedOutcome): readonly SpeedOutcome[] {
  const outcomes = cluster?.ranks.map(({ outcome }) => outcome) ?? [];
  const rows = outcomes.filter(({ tiers }) => tiers.some((tier) => tier.rows > 0));
  return rows.length > 0 ? rows : outcomes;
}

/** The outcome of a sample with tiers and counters of all its ranks; of one without ranks as it is. */
export function summedOutcome(outcome: SpeedOutcome): SpeedOutcome {
  if (outcome.cluster === undefined) return outcome;
  const holders = holding(outcome);
  return {
    ...outcome,
    tiers: summedTiers(holders.map(({ tiers }) => tiers)),
    tables: summedTables(holders.map(({ tables }) => tables)),
    tableBytes: sum(holders.map(({ tableBytes }) => tableBytes)),
    statistics: summed(holders.map(({ statistics }) => statistics)),
  };
}

/**
 * What a record says of the ranks.
 *
 * @param tiersOf Records of a rank's tiers.
 */
export async function clusterRecord(
  outcome: SpeedOutcome,
  { ranks: start, scenario: { cluster } }: PreparedCase,
  tiersOf: (tiers: readonly WorkerTier[]) => Promise<TierRecord[]>,
): Promise<Pick<SampleRecord, "cluster">> {
  if (outcome.cluster === undefined || start === undefined || cluster === undefined) return {};
  const { ranks, library } = outcome.cluster;
  const holders = holding(outcome);
  const records = await Promise.all(ranks.map(async ({ hello, outcome: one }): Promise<RankRecord> => {
    const holds = holders.includes(one);
    const { messages = 0, sentBytes = 0, receivedBytes = 0, messageNs = 0, waitingNs = 0, movingNs = 0 } =
      one.exchange ?? {};
    return {
      rank: hello.rank,
      host: hello.host,
      machine: hello.machine,
      trains: hello.rank < cluster.ranks - cluster.servers,
      tiers: holds ? await tiersOf(one.tiers) : [],
      tableBytes: holds ? one.tableBytes : 0,
      stepsNs: sum(one.stepNs),
      ...(outcome.asynchronous === undefined ? {} : { steps: outcome.asynchronous.batches[hello.rank] ?? 0 }),
      messages,
      sentBytes,
      receivedBytes,
      messageNs,
      waitingNs,
      movingNs,
    };
  }));
  const hosts = new Set(records.map(({ host }) => host));
  return {
    cluster: {
      layout: layoutOf(cluster),
      launcher: start.launcher,
      ...(outcome.asynchronous === undefined || cluster.staleness === undefined
        ? {}
        : { staleness: { bound: cluster.staleness, missed: outcome.asynchronous.missed } }),
      library,
      sharedMachine: hosts.size < records.length,
      ranks: records,
    },
  };
}
