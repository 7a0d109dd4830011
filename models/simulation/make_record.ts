/**
 * What a case came to, as a record.
 *
 * @module
 */

import { quantileOfSorted } from "../../base/statistics.ts";
import { evaluateMedia, type MediaQuery } from "../../ffi/media.ts";
import { loadMedia, mediaOptions } from "../media/media.ts";
import type { SimulatedCase } from "./cases.ts";
import { forecastCheckpoints } from "./checkpoint_forecast.ts";
import { rowBytes, STORES, tablesOf, threadsAt } from "./native_options.ts";
import type { Band, NullRecord, SimulatedRecord, TierTraffic, TimePart } from "./record.ts";
import { askedQuestions } from "./questions.ts";
import type { CaseOutcome } from "./simulate_case.ts";
import type { ResolvedTier } from "./simulation.ts";

const PS = 1e-12;
/** Tasks that a chart of a step shows at most. */
const CHART_TASKS = 600;

/** `link in 3` and `link in 4` are one: what the report calls a resource of several machines. */
function family(name: string): string {
  return name.replace(/ \d+(?=$|,)/, "");
}

function partsOf({ simulated }: CaseOutcome, steps: number): TimePart[] {
  const sums = new Map<string, TimePart>();
  for (const { kind, on, ps } of simulated.parts) {
    const name = family(on);
    const key = `${kind}\n${name}`;
    sums.set(key, { kind, on: name, seconds: (sums.get(key)?.seconds ?? 0) + ps / steps * PS });
  }
  return [...sums.values()].sort((a, b) => b.seconds - a.seconds || (a.kind + a.on < b.kind + b.on ? -1 : 1));
}

/** Bytes a second that the media model gives all threads together for accesses of this size. */
async function limitOf(
  tier: ResolvedTier,
  bytes: number,
  threads: number,
): Promise<{ medium: string; read: number; write: number }> {
  const medium = await loadMedia(tier.media);
  const options = mediaOptions(medium);
  // Rows that go to a disk are gathered first, as in native/simulator/work.c.
  const written = tier.depth > 1 ? { bytes: 2 ** 18, sequential: true } : {};
  const query: MediaQuery = {
    ask: "bandwidth",
    operation: "load",
    bytes: Math.max(1, Math.round(bytes)),
    threads: threads * tier.depth,
    hops: tier.hops,
  };
  const [read = 0, write = 0] = evaluateMedia(options, [query, {
    ...query,
    ...written,
    operation: STORES[tier.store],
  }]);
  return { medium: medium.name, read, write };
}

async function tiersOf(one: SimulatedCase, outcome: CaseOutcome): Promise<TierTraffic[]> {
  const { simulation, set } = one;
  const { simulated, demand } = outcome;
  const all = demand.tables.reduce((sum, table) => sum + table.all, 0);
  const machines = Math.max(1, simulation.cluster.servers);
  return await Promise.all(set.tiers.map(async (tier, t) => {
    const traffic = simulated.traffic.filter((part) => part.tier === t);
    const accesses = traffic.reduce((n, part) => n + part.accesses, 0);
    const bytes = accesses === 0 ? 256 : traffic.reduce((n, part) => n + part.bytes, 0) / accesses;
    const { medium, read, write } = await limitOf(tier, bytes, threadsAt(simulation));
    const of = (op: string) => traffic.find((part) => part.op === op)?.bytes ?? 0;
    const inTier = demand.tables.reduce((sum, table) => sum + (table.inTier[t] ?? 0), 0);
    const busy = simulated.resources.filter(({ name }) => family(name).replace(/, (reads|writes)$/, "") === medium);
    return {
      media: medium,
      sizeBytes: tier.size,
      ...(set.placement === "lines" || all === 0 ? {} : { rowsShare: inTier / all }),
      readBytes: of("read") / simulation.steps / machines,
      writeBytes: of("write") / simulation.steps / machines,
      readLimit: read,
      writeLimit: write,
      busy: Math.max(0, ...busy.map(({ busyPs, elapsedPs }) => busyPs / elapsedPs)),
    };
  }));
}

/**
 * Going on after a crash. Of checkpoints in files every row is read from them, as fast as they are written; versions stay in the
 * last tier, whose rows are read once, in their order, by all threads of each server, and dense weights from their file.
 */
async function recoveryOf({ simulation, set }: SimulatedCase): Promise<{ bytes: number; seconds: number }> {
  const { kind, bandwidth, dense } = set.checkpoint;
  const tables = tablesOf(simulation);
  const rows = tables.reduce((sum, table) => sum + table.rows, 0);
  const { restored } = forecastCheckpoints({
    kind: kind === "version" ? "in-place" : "full",
    count: 1,
    rows,
    rowBytes: tables.reduce((sum, table) => sum + table.rows * rowBytes(table), 0) / rows,
    changed: rows,
    held: rows,
    denseBytes: dense,
  });
  const last = set.tiers.at(-1);
  if (kind !== "version" || last === undefined) return { bytes: restored, seconds: restored / bandwidth };
  const { media, hops, depth } = last;
  const [rate = NaN] = evaluateMedia(mediaOptions(await loadMedia(media)), [{
    ask: "bandwidth",
    operation: "load",
    bytes: 4096,
    sequential: true,
    threads: threadsAt(simulation) * depth,
    hops,
  }]);
  const servers = Math.max(1, simulation.cluster.servers);
  return { bytes: restored, seconds: (restored - dense) / (rate * servers) + dense / bandwidth };
}

/** Keys a step, distinct rows of one worker and of all, and which of them the first tier did not have. */
function rowsOf({ simulation }: SimulatedCase, { demand }: CaseOutcome): Pick<SimulatedRecord, "rows" | "misses"> {
  const sum = (of: (table: (typeof demand.tables)[number]) => number) =>
    demand.tables.reduce((n, table) => n + of(table), 0);
  const keys = tablesOf(simulation).reduce((n, { lookups }) => n + lookups, 0) * simulation.workload.batch *
    simulation.cluster.workers;
  const all = sum((table) => table.all);
  const { memoryMode } = demand;
  const missed = memoryMode === undefined
    ? all - sum((table) => table.inTier[0] ?? 0)
    : all * (memoryMode.readClean + memoryMode.readDirty);
  return {
    rows: { worker: sum((table) => table.distinct), all, keys },
    misses: { ofKeys: keys === 0 ? 0 : missed / keys, ofRows: all === 0 ? 0 : missed / all },
  };
}

/** What published figures are compared with. */
export function caseFigures(one: SimulatedCase, outcome: CaseOutcome): Omit<NullRecord, "type" | "model"> {
  const { samplesPerSecond, stepSeconds } = outcome;
  return { case: one.name, samplesPerSecond, step: { mean: stepSeconds }, misses: rowsOf(one, outcome).misses };
}

/** The record of a case. */
export async function simulatedRecord(one: SimulatedCase, outcome: CaseOutcome, band: Band): Promise<SimulatedRecord> {
  const { simulation, set } = one;
  const { simulated, demand: { memoryMode }, checkpoint } = outcome;
  const sorted = simulated.stepPs.map((ps) => ps * PS).sort((a, b) => a - b);
  return {
    type: "simulated",
    evidence: "simulated",
    case: one.name,
    study: one.study,
    configuration: one.configuration,
    point: one.point,
    mode: set.mode,
    samplesPerSecond: outcome.samplesPerSecond,
    band,
    step: {
      mean: outcome.stepSeconds,
      p50: quantileOfSorted(sorted, 0.5),
      p90: quantileOfSorted(sorted, 0.9),
      p99: quantileOfSorted(sorted, 0.99),
    },
    parts: partsOf(outcome, simulation.steps),
    resources: simulated.resources.map(({ name, places, busyPs, elapsedPs }) => ({
      name,
      places,
      busy: busyPs / (elapsedPs * places),
    })),
    questions: await askedQuestions(simulated.questions, set.tiers),
    tiers: await tiersOf(one, outcome),
    ...rowsOf(one, outcome),
    ...(set.placement !== "rows" || set.tiers.length < 2 ? {} : {
      hits: { method: set.hits, ...(outcome.trace === undefined ? {} : { trace: outcome.trace }) },
    }),
    ...(memoryMode === undefined ? {} : { lines: { ...memoryMode } }),
    netBytes: simulated.netBytes / simulation.steps,
    ...(checkpoint === undefined
      ? {}
      : { checkpoint: { kind: set.checkpoint.kind, ...checkpoint, recovery: await recoveryOf(one) } }),
    tasks: simulated.tasks.slice(0, CHART_TASKS).map(({ kind, actor, startPs, endPs }) =>
      [kind, actor, startPs * PS, endPs * PS] as const
    ),
  };
}
