/**
 * One case in virtual time: demand, steps, checkpoints.
 *
 * @module
 */

import { simulate, type Simulated, simulateDemand, type StepDemand } from "../../ffi/simulate.ts";
import { stepCost } from "../../ffi/step_cost.ts";
import type { Media } from "../media/media.ts";
import { exactDemand, type TraceCache, type TraceReplay } from "./exact_hits.ts";
import { kernelExtras } from "./kernel_extras.ts";
import { lawDemand } from "./law_hits.ts";
import { between, SEEN } from "./seen.ts";
import {
  demandOptions,
  engineOptions,
  engineOptionsOn,
  placeBytes,
  rowBytes,
  type StepExtras,
  type Stretch,
  tablesOf,
} from "./native_options.ts";
import { pageShares, type ResolvedSimulatedConfiguration, type ResolvedSimulation } from "./simulation.ts";

/** What a case came to. Times in seconds. */
export interface CaseOutcome {
  readonly demand: StepDemand;
  readonly simulated: Simulated;
  readonly stepSeconds: number;
  readonly samplesPerSecond: number;
  readonly extras: StepExtras;
  /** The trace that was replayed. */
  readonly trace?: TraceReplay;
  readonly checkpoint?: { readonly pause: number; readonly every: number; readonly bytes: number };
}

/** A demand, and the trace that it was replayed from. */
interface KnownDemand {
  readonly demand: StepDemand;
  readonly trace?: TraceReplay;
}

/** Demands that were worked out before, by their options, and traces by their paths. */
export interface DemandCache {
  readonly demands: Map<string, KnownDemand>;
  readonly traces: TraceCache;
}

/** A cache for the cases of one run. */
export function demandCache(): DemandCache {
  return { demands: new Map(), traces: new Map() };
}

/** Whether batches repeat in front of a tier that keeps some of their rows. */
function repeats({ workload }: ResolvedSimulation, { tiers, placement }: ResolvedSimulatedConfiguration): boolean {
  return (workload.cycle ?? 0) > 0 && tiers.length === 2 && placement === "rows";
}

async function demandOf(
  simulation: ResolvedSimulation,
  set: ResolvedSimulatedConfiguration,
  threads: number,
  known: DemandCache,
): Promise<KnownDemand> {
  const { cycle = 0 } = simulation.workload;
  const options = demandOptions(simulation, set, cycle > 0 ? [...SEEN, cycle] : SEEN, threads);
  const key = JSON.stringify([
    options,
    set.hits,
    set.policy,
    set.ways,
    set.weights,
    simulation.workload.trace,
    simulation.workload.cycle,
  ]);
  const before = known.demands.get(key);
  if (before !== undefined) return before;
  const drawn = simulateDemand(options);
  // Pages that are dealt out: a row is in each tier as often as the tier has pages, popular or not.
  const shares = pageShares(set);
  const demand = shares === undefined ? drawn : {
    ...drawn,
    tables: drawn.tables.map((table) => ({ ...table, inTier: shares.map((share) => table.all * share) })),
  };
  const found = set.hits === "exact"
    ? await exactDemand(simulation, set, demand, known.traces)
    // The demand that was drawn is that of LRU and of LFU by their formulas, of batches that never repeat.
    : {
      demand: set.hits === "sampled" || set.policy === "set-associative" || repeats(simulation, set)
        ? lawDemand(simulation, set, demand)
        : demand,
    };
  known.demands.set(key, found);
  return found;
}

/** Bytes of the distinct rows of some steps. */
function bytesSeen(simulation: ResolvedSimulation, demand: StepDemand, steps: number): number {
  return tablesOf(simulation).reduce(
    (sum, table, i) => sum + rowBytes(table) * between(SEEN, demand.tables[i]?.seen ?? [], steps),
    0,
  );
}

/** Checkpoints: how long training stops and how often; steps between two follow from both. */
function checkpointOf(
  simulation: ResolvedSimulation,
  { checkpoint }: ResolvedSimulatedConfiguration,
  demand: StepDemand,
  stepSeconds: number,
): CaseOutcome["checkpoint"] {
  const { kind, every, bandwidth, dense } = checkpoint;
  if (kind === "none") return undefined;
  const bytesAt = (steps: number) => dense + (kind === "incremental" ? bytesSeen(simulation, demand, steps) : 0);
  // The interval is from one checkpoint to the next, pause included: fewer steps fit the longer the pause.
  let [low, high] = [0, every / stepSeconds];
  for (let i = 0; i < 60; i++) {
    const steps = (low + high) / 2;
    if (steps * stepSeconds + bytesAt(steps) / bandwidth > every) high = steps;
    else low = steps;
  }
  const bytes = bytesAt(low);
  return { pause: bytes / bandwidth, every: low * stepSeconds + bytes / bandwidth, bytes };
}

/** Rows a step that a version checkpoint writes again: those of the first tier that are touched, once each. */
function flushedRows(
  simulation: ResolvedSimulation,
  { checkpoint, tiers }: ResolvedSimulatedConfiguration,
  demand: StepDemand,
  stepSeconds: number,
): number {
  if (checkpoint.kind !== "version") return 0;
  const steps = checkpoint.every / stepSeconds;
  const servers = Math.max(1, simulation.cluster.servers);
  const held = (tiers[0]?.size ?? 0) * servers / Math.max(...tablesOf(simulation).map((table) => placeBytes(table)));
  const touched = demand.tables.reduce((sum, { seen }) => sum + between(SEEN, seen, steps), 0);
  return Math.min(held, touched) / steps;
}

/** Samples a second of steps that take so long, checkpoints counted. */
function speedOf(
  simulation: ResolvedSimulation,
  set: ResolvedSimulatedConfiguration,
  demand: StepDemand,
  stepSeconds: number,
): { readonly samplesPerSecond: number; readonly checkpoint: CaseOutcome["checkpoint"] } {
  const checkpoint = stepSeconds > 0 ? checkpointOf(simulation, set, demand, stepSeconds) : undefined;
  const training = checkpoint === undefined ? 1 : 1 - checkpoint.pause / checkpoint.every;
  return {
    checkpoint,
    samplesPerSecond: simulation.workload.batch * simulation.cluster.workers / stepSeconds * training,
  };
}

/**
 * Samples a second of a case by what one of its steps costs, without running it; its demand and kernel's work are known.
 *
 * @param media Of the tiers, in their order.
 */
export function formulaSpeed(
  media: readonly Media[],
  simulation: ResolvedSimulation,
  set: ResolvedSimulatedConfiguration,
  denseSeconds: number,
  { demand, extras }: Pick<CaseOutcome, "demand" | "extras">,
  stretch: readonly Stretch[] = [],
): number {
  const { stepPs } = stepCost(engineOptionsOn(media, simulation, set, demand, denseSeconds, extras, stretch));
  return speedOf(simulation, set, demand, stepPs * 1e-12).samplesPerSecond;
}

/**
 * Runs one case.
 *
 * @param denseSeconds Of the dense part of a worker's step.
 * @param threads Threads that sample Memory Mode; the result is the same for any number.
 * @param known Demands of cases before this one.
 * @param stretch Factors on the time of each tier's accesses.
 */
export async function simulateCase(
  simulation: ResolvedSimulation,
  set: ResolvedSimulatedConfiguration,
  denseSeconds: number,
  threads: number = 1,
  known: DemandCache = demandCache(),
  stretch: readonly Stretch[] = [],
): Promise<CaseOutcome> {
  const { demand, trace } = await demandOf(simulation, set, threads, known);
  const run = async (extras: StepExtras) =>
    simulate(await engineOptions(simulation, set, demand, denseSeconds, extras, stretch));
  const secondsOf = ({ elapsedPs }: Simulated) => elapsedPs / simulation.steps * 1e-12;
  const none: StepExtras = { faults: 0, migrations: 0, flushedRows: 0 };
  let extras = none;
  let simulated = await run(none);
  if (set.checkpoint.kind === "version" || set.pages.fault > 0 || set.migration !== undefined) {
    // What comes by the clock (scans, checkpoints) needs the length of a step, which it changes little.
    const seconds = Math.max(secondsOf(simulated), 1e-12);
    extras = {
      ...kernelExtras(simulation, set, demand, seconds),
      flushedRows: flushedRows(simulation, set, demand, seconds),
    };
    simulated = await run(extras);
  }
  const stepSeconds = secondsOf(simulated);
  const { samplesPerSecond, checkpoint } = speedOf(simulation, set, demand, stepSeconds);
  return {
    demand,
    simulated,
    stepSeconds,
    samplesPerSecond,
    extras,
    ...(trace === undefined ? {} : { trace }),
    ...(checkpoint === undefined ? {} : { checkpoint }),
  };
}
