/**
 * What the first tier holds under any policy: the store's own policy code, replayed on a model of the tables' law.
 *
 * @module
 */

import { missRatioCurve, type PopularityLaw, popularityLaw } from "../../ffi/curve.ts";
import type { StepDemand } from "../../ffi/simulate.ts";
import { placeBytes, tablesOf } from "./native_options.ts";
import type { ResolvedSimulatedConfiguration, ResolvedSimulation, ResolvedTable } from "./simulation.ts";

function lawOf({ law, rows }: ResolvedTable): PopularityLaw {
  if ("buckets" in law) {
    return {
      rows: BigUint64Array.from(law.buckets, ([n]) => BigInt(n)),
      weights: Float64Array.from(law.buckets, ([, weight]) => weight),
    };
  }
  return popularityLaw({ rows, s: law.s, q: law.q ?? 0, heavyHitters: law.hitters ?? [] });
}

/** The tables as one law: each with its share of the lookups. */
function mixed(tables: readonly ResolvedTable[]): PopularityLaw {
  const laws = tables.filter(({ lookups }) => lookups > 0).map((table) => {
    const { rows, weights } = lawOf(table);
    const total = weights.reduce((sum, weight, i) => sum + weight * Number(rows[i] ?? 0n), 0);
    return { rows: [...rows], weights: [...weights].map((weight) => weight / total * table.lookups) };
  });
  return {
    rows: BigUint64Array.from(laws.flatMap(({ rows }) => rows)),
    weights: Float64Array.from(laws.flatMap(({ weights }) => weights)),
  };
}

/**
 * A demand whose rows in the first of two tiers are those of a replay of the configuration's policy. Tables keep the
 * proportions of their misses under LRU; rows of several sizes count with the mean size of a row that is asked for.
 *
 * @param demand The same under LRU.
 */
export function sampledDemand(
  simulation: ResolvedSimulation,
  { policy, tiers }: ResolvedSimulatedConfiguration,
  demand: StepDemand,
): StepDemand {
  const tables = tablesOf(simulation);
  const all = demand.tables.reduce((sum, table) => sum + table.all, 0);
  if (all === 0) return demand;
  const { cluster, workload, seed } = simulation;
  const bytes = tables.reduce((sum, table, i) => sum + placeBytes(table) * (demand.tables[i]?.all ?? 0), 0) / all;
  const capacity = Math.floor((tiers[0]?.size ?? 0) * Math.max(1, cluster.servers) / bytes);
  const batch = Math.round(tables.reduce((sum, { lookups }) => sum + lookups, 0) * workload.batch * cluster.workers);
  const { missRatios: [ratio = 1] } = missRatioCurve({
    law: mixed(tables),
    policy,
    method: "sampled",
    batch: Math.max(1, batch),
    sizes: [capacity],
    seed,
  });
  const lru = demand.tables.reduce((sum, table) => sum + (table.inTier[1] ?? 0), 0) / all;
  return {
    ...demand,
    tables: demand.tables.map((table) => {
      const missed = Math.min(table.all, lru === 0 ? table.all * ratio : (table.inTier[1] ?? 0) * ratio / lru);
      return { ...table, inTier: [table.all - missed, missed] };
    }),
  };
}
