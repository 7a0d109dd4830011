/**
 * Runs one worker for a case: the store, the place of its PMEM, the environment; and makes the record of it.
 *
 * @module
 */

import { checkpointFolder, howOf, type PreparedCase, type RunDependencies } from "./prepare.ts";
import { configurationOf, environmentOf, isStandIn, type Scratch } from "./configurations.ts";
import type { Place } from "./place.ts";
import { rowFilterOf } from "../../models/workloads/row_filter.ts";
import type { PlannedSample } from "../plan.ts";
import type { CheckpointKind, ResolvedConfiguration } from "../scenario.ts";
import type { ConditionsRecord, EnergyRecord, MediumKind, QualityRecord, SampleRecord, TierRecord } from "../record.ts";
import { conditionsBetween, counters } from "./conditions.ts";
import { EnergyMeter } from "./energy.ts";
import { tablesOf } from "../../models/workloads/sizes.ts";
import { clusterRecord, summedOutcome } from "./rank_record.ts";
import type { RunMetrics } from "./run_metrics.ts";
import { runRanks } from "./rank_process.ts";
import { rankTierSizes, roomFor, tierSizes } from "./tier_sizes.ts";
import { holdersOf } from "../cluster.ts";
import { trainerOf } from "./trainer_options.ts";
import type { Turn } from "./turns.ts";
import type {
  QualityOutcome,
  SpeedOutcome,
  WorkerPhase,
  WorkerSpec,
  WorkerStore,
  WorkerTier,
} from "./worker_protocol.ts";
import { memoryNeed } from "./memory_need.ts";
import { dramTierOf, tiersOf } from "../../ffi/storage.ts";
import { runWorker } from "./worker_process.ts";
import { wireRecord } from "./wire_record.ts";

/** Progress, cancellation and turns of a worker. */
export interface WorkerControl {
  /** Its turns, where the samples of its round train in turns. */
  readonly turn?: Turn;
  /** Bytes by which the environment of its process is longer; default 0. */
  readonly padding?: number;
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: (phase: WorkerPhase, done: number, total: number) => void;
  /** Asks it what it counts, when somebody wants to know; its answers are of its case. */
  readonly metrics?: RunMetrics | undefined;
}

/** What a worker is asked beyond its case; where its checkpoints go is left to {@linkcode takeSample}. */
type Task = WorkerSpec extends infer S
  ? S extends WorkerSpec ? Omit<S, "store" | "trainer" | "checkpoint"> & { readonly checkpoint?: CheckpointTask }
  : never
  : never;

/** Checkpoints that a sample writes. */
interface CheckpointTask {
  readonly every: number;
  readonly kind: CheckpointKind;
}

/** Where the files of a store's tiers are. */
interface Paths {
  readonly path?: string;
  readonly ssdPath?: string;
}

/** Processes that hold rows. */
function holdersIn({ scenario: { cluster } }: PreparedCase): number {
  return cluster === undefined ? 1 : holdersOf(cluster);
}

/** What a configuration says of its OpenCL device; memory of the host is shared by those that hold rows. */
function deviceOptions({ hbmDevice, hbmPoolSteps, hbmHostBytes }: ResolvedConfiguration, holders: number) {
  return {
    ...(hbmDevice === undefined ? {} : { hbmDevice }),
    ...(hbmPoolSteps === undefined ? {} : { hbmPoolSteps }),
    ...(hbmHostBytes === undefined ? {} : { hbmHostBytes: Math.floor(hbmHostBytes / holders) }),
  };
}

async function storeOf(one: PreparedCase, paths: Paths, mediaOptions: RunDependencies["mediaOptions"]) {
  const configuration = configurationOf(one);
  const { decision, dram, scenario } = one;
  const { place, hbm } = decision;
  const model = decision.media === undefined ? {} : await mediaOptions(decision.media, {
    kind: place.kind === "memory-mode" ? "memory_mode" : "emulate",
    threads: one.threads,
    cacheBytes: Math.floor(dram / holdersIn(one)),
    seed: scenario.seed,
  });
  const spread = place.kind === "interleaved";
  const native = spread && decision.media !== undefined ? { ...model, "emulate.share": String(place.share) } : model;
  const store: WorkerStore = {
    storage: configuration.storage,
    ...(configuration.pmem === undefined ? {} : { pmem: configuration.pmem }),
    ...(place.kind === "nodes" && place.by === "mbind" ? { pmemNodes: place.nodes } : {}),
    ...(hbm === undefined ? {} : { hbm: hbm.by }),
    ...(hbm?.by === "mbind" ? { hbmNodes: hbm.nodes } : {}),
    ...(hbm?.by === "opencl" ? deviceOptions(configuration, holdersIn(one)) : {}),
    ...(spread && place.nodes.length > 0 ? { interleaveNodes: place.nodes } : {}),
    ...paths,
    size: rankTierSizes(configuration, { dram, tables: one.tableBytes, holders: holdersIn(one) }),
    sizeCounts: one.rowsOnly ? "rows" : configuration.sizeCounts,
    seed: scenario.seed,
    ...(configuration.policy === undefined ? {} : { policy: configuration.policy }),
    ...(configuration.evictionThreads === undefined ? {} : { evictionThreads: configuration.evictionThreads }),
    ...(configuration.checkpoint === "in-place" ? { persistent: true } : {}),
    native,
  };
  return store;
}

/** An outcome with what is known about the process beside it. */
interface TakenSample<O> {
  readonly outcome: O;
  readonly started: string;
  readonly seconds: number;
  readonly environment: Readonly<Record<string, string>>;
  readonly scratch: Scratch | undefined;
  readonly conditions: ConditionsRecord | undefined;
  readonly energy: EnergyRecord | undefined;
  /** Seconds of its turns; absent of a sample that had the machine all the time. */
  readonly turnSeconds?: number;
}

/** Runs a worker for a case, in its turns where it has some. */
export async function takeSample(
  one: PreparedCase,
  task: Task,
  dependencies: RunDependencies,
  control: WorkerControl,
): Promise<TakenSample<SpeedOutcome | QualityOutcome>> {
  const { turn } = control;
  if (turn === undefined) return await takeWhole(one, task, dependencies, control);
  try {
    await turn.next();
    const taken = await takeWhole(one, task, dependencies, control);
    return { ...taken, turnSeconds: turn.seconds };
  } finally {
    turn.end();
  }
}

async function takeWhole(
  one: PreparedCase,
  task: Task,
  dependencies: RunDependencies,
  control: WorkerControl,
): Promise<TakenSample<SpeedOutcome | QualityOutcome>> {
  const { place, ssd } = one.decision;
  await using scratch = place.kind === "scratch"
    ? await dependencies.makeScratch(pmemBytes(one), besideBytes(one))
    : undefined;
  // A folder of its own: what a sample that was killed left behind must not be found by the next.
  await using disk = ssd === undefined ? undefined : await dependencies.makeSsdScratch(ssd.directory);
  const { checkpoint } = task;
  await using chain = checkpoint === undefined || checkpoint.kind === "in-place"
    ? undefined
    : await dependencies.makeSsdScratch(checkpointFolder(one.scenario));
  const pool = place.kind === "directory" ? place.path : scratch?.path;
  const paths = {
    ...(pool === undefined && disk === undefined ? {} : { path: pool ?? disk?.path ?? "" }),
    ...(pool === undefined || disk === undefined ? {} : { ssdPath: disk.path }),
  };
  const store = await storeOf(one, paths, dependencies.mediaOptions);
  const environment = environmentOf(one);
  const started = new Date().toISOString();
  const before = counters();
  const start = performance.now();
  const owners = [scratch, disk, chain].flatMap((one) => one?.owner ?? []);
  // Ranks would reach a limit of time at different steps.
  const { seconds: _, ...unlimited } = task as Task & { readonly seconds?: number };
  const spec = {
    ...(one.ranks === undefined ? task : unlimited),
    store: checkpoint?.kind === "delta" ? { ...store, trackChanges: true } : store,
    trainer: trainerOf(one),
    owners,
    ...(checkpoint === undefined
      ? {}
      : { checkpoint: { ...checkpoint, ...(chain === undefined ? {} : { path: `${chain.path}/checkpoints` }) } }),
  } as WorkerSpec;
  const { turn, padding = 0, metrics, ...others } = control;
  using meter = new EnergyMeter(dependencies.readEnergy);
  const next = async (turn: Turn) => {
    meter.off();
    await turn.next();
    meter.on();
  };
  const inTurns = turn === undefined ? {} : { onTurn: () => next(turn) };
  meter.on();
  const outcome = await runProcesses(one, spec, {
    command: dependencies.command,
    environment: padding === 0 ? environment : { ...environment, TIERBENCH_PADDING: "x".repeat(padding) },
    ...others,
    ...inTurns,
    ...(metrics === undefined ? {} : { onAskable: (ask: () => void) => metrics.join({ case: one.name }, ask) }),
  });
  meter.off();
  const seconds = (performance.now() - start) / 1000;
  const after = counters();
  return {
    energy: meter.record,
    conditions: before && after && conditionsBetween(before, after, seconds),
    outcome,
    started,
    seconds,
    environment,
    scratch: scratch === undefined ? undefined : { path: scratch.path, medium: scratch.medium },
  };
}

/** Runs a sample's process, or its ranks. */
async function runProcesses(
  { ranks: start, scenario: { cluster } }: PreparedCase,
  spec: WorkerSpec,
  options: Parameters<typeof runWorker>[1],
): Promise<SpeedOutcome | QualityOutcome> {
  if (start === undefined || cluster === undefined) return await runWorker(spec, options);
  const { storage, seed } = { storage: "DRAM", seed: spec.store.seed } as const;
  const empty = { storage, seed, size: [roomFor(0)], sizeCounts: "all", native: {} } as const;
  const job = { ...(start.mpi === undefined ? {} : { mpi: start.mpi }), servers: cluster.servers, spec, empty };
  return await runRanks(job, { ...options, start, count: cluster.ranks });
}

/**
 * The checkpoints that a sample of a case writes.
 *
 * @param steps Its counted steps.
 * @returns Nothing if it writes none.
 */
export function checkpointTask(one: PreparedCase, steps: number): { readonly checkpoint?: CheckpointTask } {
  const { interval, kind: ofAll } = one.scenario.checkpoint ?? { interval: "none" };
  const kind = configurationOf(one).checkpoint ?? ofAll;
  if (interval === "none" || kind === undefined) return {};
  return { checkpoint: { every: interval < 1 ? Math.max(1, Math.round(steps * interval)) : interval, kind } };
}

/** Bytes of memory that a sample takes at the most, files that stand for PMEM included. */
export function sampleBytes(one: PreparedCase): number {
  const scratch = one.decision.place.kind === "scratch" ? pmemBytes(one) : 0;
  return besideBytes(one) + scratch;
}

/** Bytes of memory that a process takes beside the files of its PMEM tier. */
function besideBytes(one: PreparedCase): number {
  const { rows, network, process } = memoryNeed(one);
  return rows + network + process;
}

/** Bytes of the PMEM tier. */
function pmemBytes(one: PreparedCase): number {
  const configuration = configurationOf(one);
  const holders = holdersIn(one);
  const sizes = rankTierSizes(configuration, { dram: one.dram, tables: one.tableBytes, holders });
  return holders * (sizes[tiersOf(configuration.storage).indexOf("PMEM")] ?? 0);
}

/** What the figures of a tier are those of: the medium that was measured, or that it was slowed to. */
async function kindOf(
  { type }: WorkerTier,
  { decision: { media, medium, place } }: PreparedCase,
  mediaKind: RunDependencies["mediaKind"],
): Promise<MediumKind> {
  if (type === "SSDHASH" || type === "LEVELDB") return "ssd";
  if (type.startsWith("HBM_")) return "hbm";
  // Its rows are on slower memory, at least in part: DRAM is what `dramBytes` of the sample says.
  const behind = place.kind === "memory-mode" || place.kind === "interleaved" || place.kind === "tiered";
  if (type === "DRAM" && !behind) return "dram";
  return media === undefined ? medium ?? "pmem" : await mediaKind(media);
}

async function tierRecord(
  tier: WorkerTier,
  one: PreparedCase,
  { modelLimit: limitOf, mediaKind }: Pick<RunDependencies, "modelLimit" | "mediaKind">,
): Promise<TierRecord> {
  const { media, place } = one.decision;
  const { tier: position, type, ...rest } = tier;
  const kind = await kindOf(tier, one, mediaKind);
  const { ssd } = configurationOf(one);
  const known: TierRecord = {
    tier: position,
    type,
    kind,
    ...rest,
    ...(kind === "ssd" && ssd !== undefined ? { ssd } : {}),
  };
  if (media === undefined) return known;
  // The rows that cross the modelled cache of Memory Mode are not counted by tier, so there is nothing to limit.
  if (place.kind === "memory-mode") return { ...known, emulates: media };
  const interleaved = place.kind === "interleaved";
  if (!interleaved && !type.startsWith("PMEM_")) return known;
  const rowBytes = Math.round((tier.purposes["rows"] ?? 0) / tier.rows);
  if (!(tier.rows > 0 && rowBytes > 0)) return { ...known, emulates: media };
  const { questions, ...modelLimit } = await limitOf(media, { type, rowBytes, threads: one.threads });
  // Of a share of the accesses it is no limit.
  return { ...known, emulates: media, ...(interleaved ? {} : { modelLimit }), questions };
}

/**
 * What lies on a node must lie there: a kernel under pressure, or another policy of the process, may place pages elsewhere.
 *
 * @throws {Error} if pages of rows lie on a node that was not asked for.
 */
function checkPages({ nodes_asked: asked = "auto", pages = "", node = "" }: WorkerTier["facts"]): void {
  const wanted = new Set((/^[\d,]+$/.test(asked) ? asked : node).split(","));
  const found = pages.split(",").filter((one) => one !== "").map((one) => one.split(":"));
  const sum = (counts: readonly string[][]) => counts.reduce((total, [, count]) => total + Number(count), 0);
  const elsewhere = found.filter(([on = ""]) => !wanted.has(on));
  if (elsewhere.length === 0) return;
  throw new Error(
    `Cannot measure rows on NUMA node ${[...wanted].join(", ")}: ${sum(elsewhere)} of ${
      sum(found)
    } sampled pages lie on ` +
      `node ${elsewhere.map(([on]) => on).join(", ")}; give the rows a node with enough free memory`,
  );
}

/** How far the share of sampled pages may be from what the weights say: chunks of rows begin anywhere, and are not full. */
const SPREAD = 0.1;

/**
 * Pages that the kernel places must lie where the figures say.
 *
 * @throws {Error} if the share of pages on slower nodes is another than the weights', or none is there with tiering.
 */
function checkSpread({ pages = "" }: WorkerTier["facts"], place: Place): void {
  if (place.kind !== "interleaved" && place.kind !== "tiered") return;
  const found = pages.split(",").filter((one) => one !== "").map((one) => one.split(":").map(Number));
  const sum = (counts: readonly number[][]) => counts.reduce((total, [, count = 0]) => total + count, 0);
  const share = sum(found.filter(([node = -1]) => place.slower.includes(node))) / sum(found);
  const where = `${Math.round(100 * share)} % of sampled pages lie on node ${place.slower.join(", ")}`;
  if (place.kind === "tiered") {
    if (share > 0) return;
    throw new Error(
      `Cannot measure kernel tiering: ${
        found.length === 0 ? "where pages lie is not known" : where
      }, so all rows are in ` +
        "DRAM; raise workload.data.scale until the tables are larger than the machine's DRAM",
    );
  }
  if (Math.abs(share - place.share) <= SPREAD) return;
  throw new Error(
    `Cannot measure interleaved rows: ${
      found.length === 0 ? "where pages lie is not known" : where
    }, the weights say ` +
      `${Math.round(100 * place.share)} %; give these nodes enough free memory`,
  );
}

/**
 * What is measured on a file must have been mapped directly: below a DAX file system another may be mounted.
 *
 * @throws {Error} if libpmem says that it was not.
 */
export function checkMapping({ type, facts }: WorkerTier, { decision }: PreparedCase): void {
  const { media, place } = decision;
  if (type === "DRAM" && media === undefined) checkSpread(facts, place);
  if (/_(MEMKIND|MBIND)$/.test(type)) checkPages(facts);
  if (type !== "PMEM_LIBPMEM" || isStandIn(decision) || place.kind !== "directory") return;
  if (facts["is_pmem"] !== "0" && facts["forced"] !== "1") return;
  throw new Error(
    `Cannot measure PMEM in "${place.path}": libpmem ` +
      `${facts["forced"] === "1" ? "was forced to take its file for PMEM" : "does not take its file for PMEM"}` +
      `${
        facts["file_system"] === undefined ? "" : ` (file system ${facts["file_system"]})`
      }; name a folder on the DAX ` +
      "file system itself",
  );
}

function dramBytes(one: PreparedCase, tiers: readonly WorkerTier[]): number {
  const configuration = configurationOf(one);
  const { decision: { place, cacheBytes } } = one;
  if (place.kind === "interleaved") {
    const [used = 0, rows = 0] = [tiers[0]?.usedBytes, tiers[0]?.purposes["rows"]];
    return Math.round(used - rows * place.share);
  }
  if (configuration.memory !== undefined) return cacheBytes ?? one.dram;
  const at = dramTierOf(configuration.storage);
  return at === undefined ? 0 : tierSizes(configuration, one.dram, one.tableBytes)[at] ?? 0;
}

/** What admission and expiry did, where some table has either. */
function filterRecord({ scenario: { workload } }: PreparedCase, outcome: SpeedOutcome): Pick<SampleRecord, "filter"> {
  const { statistics, waitingKeys } = outcome;
  const filtered = tablesOf(workload).some((table) => {
    const { admission, expiry } = rowFilterOf(workload, table);
    return admission !== undefined || expiry !== undefined;
  });
  if (!filtered) return {};
  const { created: admitted = 0, not_admitted: refused = 0, expired = 0 } = statistics;
  return { filter: { admitted, refused, expired, ...(waitingKeys === undefined ? {} : { waiting: waitingKeys }) } };
}

/** How it shared the time of its round. */
function turnsRecord({ turnSeconds, outcome }: TakenSample<SpeedOutcome>, turn: number | undefined) {
  if (turnSeconds === undefined || turn === undefined) return {};
  return { turns: { steps: turn, seconds: turnSeconds, waitingCpuNs: outcome.waitingCpuNs ?? 0 } };
}

/** The record of a speed sample. */
export async function sampleRecord(
  planned: PlannedSample<PreparedCase>,
  taken: TakenSample<SpeedOutcome>,
  { warmup: warmupSteps, turn, padding }: {
    readonly warmup: number;
    readonly turn?: number;
    readonly padding?: number;
  },
  dependencies: Pick<RunDependencies, "modelLimit" | "mediaKind">,
): Promise<SampleRecord> {
  const one = planned.case;
  const outcome = summedOutcome(taken.outcome);
  for (const tier of outcome.tiers) checkMapping(tier, one);
  const record = (tiers: readonly WorkerTier[]) =>
    Promise.all(tiers.map((tier) => tierRecord(tier, one, dependencies)));
  return {
    type: "sample",
    id: planned.id,
    case: one.name,
    configuration: one.configuration,
    point: one.point,
    sample: planned.sample,
    ...(one.again === undefined ? {} : { again: true } as const),
    position: planned.position,
    status: "completed",
    evidence: one.decision.evidence,
    ...(one.decision.vouched === undefined ? {} : { vouched: one.decision.vouched }),
    how: howOf(one, taken.scratch),
    seed: one.scenario.seed,
    started: taken.started,
    processSeconds: taken.seconds,
    ...turnsRecord(taken, turn),
    batch: one.scenario.workload.batch,
    threads: one.threads,
    warmupSteps,
    stepNs: outcome.stepNs,
    phaseNs: outcome.phaseNs,
    loss: outcome.loss,
    trainer: outcome.trainer,
    statistics: outcome.statistics,
    ...(await wireRecord(outcome)),
    ...filterRecord(one, outcome),
    ...(outcome.checkpoint === undefined ? {} : { checkpoint: outcome.checkpoint }),
    ...(await clusterRecord(outcome, one, record)),
    tiers: await record(outcome.tiers),
    dramBytes: dramBytes(one, outcome.tiers),
    tableBytes: outcome.tableBytes,
    digest: outcome.digest,
    environment: taken.environment,
    ...(taken.energy === undefined ? {} : { energy: taken.energy }),
    ...(padding === undefined ? {} : { padding }),
    ...(taken.conditions === undefined ? {} : { conditions: taken.conditions }),
    virtual: one.decision.virtual,
  };
}

/** The record of the quality run. */
export function qualityRecord(id: string, one: PreparedCase, taken: TakenSample<QualityOutcome>): QualityRecord {
  const { steps, curve, testRows, trainer, digest } = taken.outcome;
  const last = curve.at(-1);
  if (last === undefined) throw new Error("Cannot record the quality run: its curve is empty");
  return {
    type: "quality",
    id,
    configuration: one.configuration,
    point: one.point,
    deterministic: one.scenario.workload.deterministic,
    evidence: one.decision.evidence,
    ...(one.decision.vouched === undefined ? {} : { vouched: one.decision.vouched }),
    started: taken.started,
    seconds: taken.seconds,
    steps,
    batch: one.scenario.workload.batch,
    curve,
    logloss: last.logloss,
    auc: last.auc,
    testRows,
    trainer,
    digest,
  };
}
