/**
 * What the first tier holds under any policy: the store's own policy code, replayed on a model of the tables' law, or the law of
 * row caches.
 *
 * @module
 */

import { type CurveOptions, missRatioCurve, type PopularityLaw, popularityLaw } from "../../ffi/curve.ts";
import type { StepDemand } from "../../ffi/simulate.ts";
import { bucketsOf, placeBytes, tablesOf } from "./native_options.ts";
import { rowCacheMisses, type TierMisses } from "./row_cache.ts";
import { SEEN } from "./seen.ts";
import type { ResolvedSimulatedConfiguration, ResolvedSimulation, ResolvedTable } from "./simulation.ts";

function lawOf(table: ResolvedTable): PopularityLaw {
  const { law, rows } = table;
  if ("buckets" in law) return bucketsOf(table) as PopularityLaw;
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

/** Rows that the first tier has room for, and lookups of a step of all workers: what a replay needs. */
export function replayOf(
  simulation: ResolvedSimulation,
  { tiers }: ResolvedSimulatedConfiguration,
  demand: StepDemand,
): { readonly capacity: number; readonly batch: number } {
  const tables = tablesOf(simulation);
  const { cluster, workload } = simulation;
  const all = demand.tables.reduce((sum, table) => sum + table.all, 0);
  const bytes = all === 0
    ? 1
    : tables.reduce((sum, table, i) => sum + placeBytes(table) * (demand.tables[i]?.all ?? 0), 0) / all;
  const lookups = tables.reduce((sum, table) => sum + table.lookups, 0) * workload.batch * cluster.workers;
  return {
    capacity: Math.floor((tiers[0]?.size ?? 0) * Math.max(1, cluster.servers) / bytes),
    batch: Math.max(1, Math.round(lookups)),
  };
}

/** A demand that misses this share of its rows; tables keep the proportions of their misses under LRU. */
export function withMissRatio(demand: StepDemand, ratio: number): StepDemand {
  const all = demand.tables.reduce((sum, table) => sum + table.all, 0);
  if (all === 0) return demand;
  const lru = demand.tables.reduce((sum, table) => sum + (table.inTier[1] ?? 0), 0) / all;
  return {
    ...demand,
    tables: demand.tables.map((table) => {
      const missed = Math.min(table.all, lru === 0 ? table.all * ratio : (table.inTier[1] ?? 0) * ratio / lru);
      return { ...table, inTier: [table.all - missed, missed] };
    }),
  };
}

/**
 * What a first tier misses under its policy.
 *
 * @param curve A trace or a law, and how its curve is made.
 * @param rows That the tier has room for.
 * @param footprint Rows that are ever asked for, where batches repeat; a policy that keeps all of them misses nothing.
 */
export function tierMisses(
  { policy, ways }: Pick<ResolvedSimulatedConfiguration, "policy" | "ways">,
  curve: Omit<CurveOptions, "sizes" | "policy">,
  rows: number,
  footprint: number = Infinity,
): TierMisses {
  if (policy === "set-associative") return rowCacheMisses(curve, rows, ways, footprint);
  const { missRatios: [missRatio = 1], lookups } = missRatioCurve({ ...curve, policy, sizes: [rows] });
  return { missRatio: rows >= footprint ? 0 : missRatio, lookups };
}

/** Rows that batches ask for before they repeat, which stand behind those of {@linkcode SEEN}; infinite where they never do. */
export function footprintOf({ workload }: Pick<ResolvedSimulation, "workload">, demand: StepDemand): number {
  const { cycle = 0 } = workload;
  if (cycle === 0) return Infinity;
  return demand.tables.reduce((sum, { seen }) => sum + (seen[SEEN.length] ?? 0), 0);
}

/**
 * A demand whose rows in the first of two tiers are those of the configuration's policy, sampled or by its formula. Rows of
 * several sizes count with the mean size of a row that is asked for.
 *
 * @param demand The same under LRU.
 */
export function lawDemand(
  simulation: ResolvedSimulation,
  set: ResolvedSimulatedConfiguration,
  demand: StepDemand,
): StepDemand {
  if (demand.tables.every(({ all }) => all === 0)) return demand;
  const { capacity, batch } = replayOf(simulation, set, demand);
  const method = set.hits === "sampled" ? "sampled" : "analytic";
  const curve = { law: mixed(tablesOf(simulation)), method, batch, seed: simulation.seed } as const;
  return withMissRatio(demand, tierMisses(set, curve, capacity, footprintOf(simulation, demand)).missRatio);
}
