/**
 * The work of a simulation, estimated before anything of it starts.
 *
 * @module
 */

import { atPoint, matrixPoints } from "../../base/matrix.ts";
import { differingParts } from "./explain.ts";
import { placeBytes } from "./native_options.ts";
import { publishedCases } from "./null_models.ts";
import { caseName, NULL_NAMES } from "./record.ts";
import { fillSimulation } from "./resolve.ts";
import type { ResolvedSimulatedConfiguration, ResolvedSimulation, Simulation } from "./simulation.ts";

/*
 * Seconds on one core of an AMD EPYC (user and system time of the process, November 2026), measured as the time of a case
 * less that of the same case with its demand known. They are rounded up; another core is slower or faster by a small factor.
 */

/**
 * A step of one worker at one server or micro-batch, with what a case repeats: at the ends of its band, and once it is known
 * how long a step is. One pass of `terabyte` takes 3 us of these, a case with all it repeats up to six.
 */
const STEP = 30e-6;
/** Sampling Memory Mode: 200,000 rows, 0.05 s, and 0.017 s for each row that shares a place; more than 256 are not drawn. */
const LINES = { least: 0.05, rival: 0.017, most: 256 };
/** A replay of hits on a model of the law: 0.1 s to 0.5 s over policies, sizes of the first tier and skew. */
const REPLAY = 0.5;

/** An exact replay of a trace, a byte of its file: 0.1 us to 0.3 us a key, which takes 8 bytes there or fewer. */
const TRACE_BYTE = 5e-8;

/** Seconds of working out what the first tier holds. */
function demandSeconds(
  { workload, cluster }: ResolvedSimulation,
  set: ResolvedSimulatedConfiguration,
  traceBytes: number,
): number {
  if (set.placement !== "lines") {
    return set.hits === "sampled" ? REPLAY : set.hits === "exact" ? traceBytes * TRACE_BYTE : 0;
  }
  const bytes = workload.tables.reduce((sum, table) => sum + table.rows * table.count * placeBytes(table), 0);
  const cache = (set.tiers[0]?.size ?? 0) * Math.max(1, cluster.servers);
  return LINES.least + LINES.rival * Math.min(LINES.most, cache > 0 ? bytes / cache : LINES.most);
}

/** What {@linkcode demandSeconds} depends on: cases that share it work it out once. */
function demandKey(
  { workload, cluster: { workers, servers } }: ResolvedSimulation,
  set: ResolvedSimulatedConfiguration,
) {
  const { tiers, placement, hits, policy, pages } = set;
  return JSON.stringify([workload, workers, servers, tiers, placement, hits, policy, pages.contiguous]);
}

/** Seconds of the steps of a case. */
function stepSeconds({ steps, warmup, cluster, overlap }: ResolvedSimulation): number {
  return (steps + warmup) * cluster.workers * (Math.max(1, cluster.servers) + overlap.microBatches) * STEP;
}

/**
 * Seconds that one core would need for a valid simulation, roughly: every case's steps, sampling of Memory Mode and replays
 * of hits, and what is between two configurations that are explained.
 *
 * @param traceBytes Bytes of the trace that is replayed for hits that are exact.
 */
export function estimatedSeconds(simulation: Simulation, traceBytes: number = 0): number {
  const { tables } = simulation.workload;
  // How popular rows are changes nothing here, and profiles are not read yet.
  const filled = (written: Simulation) => {
    const workload = { ...written.workload, tables: written.workload.tables.map(withLaw) };
    return fillSimulation({ ...written, workload }, ".");
  };
  const withLaw = (table: typeof tables[number]) => ({ ...table, law: table.law ?? { s: 1 } });
  const demands = new Map<string, number>();
  let seconds = 0;
  const one = filled(simulation);
  const named = publishedCases(one);
  for (const { configurations, vary } of one.studies) {
    for (const point of matrixPoints(vary)) {
      const at = filled(atPoint(simulation, point));
      for (const name of configurations) {
        const set = at.configurations[name];
        if (set === undefined) continue;
        // A null model takes as long as a pass of the case itself, a third with what that repeats.
        const passes = named.has(caseName(name, point)) ? 1 + NULL_NAMES.length / 3 : 1;
        seconds += stepSeconds(at) * passes;
        demands.set(demandKey(at, set), demandSeconds(at, set, traceBytes));
      }
    }
  }
  for (const { from, to, at: point } of one.explain) {
    const at = filled(atPoint(simulation, point));
    const [first, last] = [at.configurations[from], at.configurations[to]];
    if (first === undefined || last === undefined) continue;
    // Each part as in the first or as in the last; no band.
    const between = 2 ** differingParts(first, last).length;
    const demand = Math.max(demandSeconds(at, first, traceBytes), demandSeconds(at, last, traceBytes));
    seconds += between * (stepSeconds(at) / 3 + demand / 2);
  }
  return [...demands.values()].reduce((sum, demand) => sum + demand, seconds);
}
