/**
 * Everything between a scenario and its first worker: the machine, how each case runs on it, the data, the bytes.
 *
 * @module
 */

import { formatBytes } from "../../base/bytes.ts";
import type { EnergyReading } from "../../ffi/energy.ts";
import type { Availability } from "../../machines/availability.ts";
import { digestOf } from "../../base/canonical.ts";
import { possibleSwitches, requireCpu } from "./cpu.ts";
import { UnavailableError } from "../../base/unavailable.ts";
import {
  configurationOf,
  decideCases,
  howText,
  type RunnableCase,
  type Scratch,
  type SkippedCase,
} from "./configurations.ts";
import type { prepareData, PreparedData } from "../../models/workloads/data.ts";
import { ScenarioError } from "../../base/diagnostics.ts";
import type { RunEvent } from "./events.ts";
import { type Case, planCases, repeatedCases } from "../plan.ts";
import type { DataRecord, MachineRecord, MediumKind, ModelBand, RunRecord } from "../record.ts";
import type { MemoryLimit } from "./memory_limit.ts";
import { checkMemory, sizedBefore, type SizedCase } from "./memory_need.ts";
import type { AskedLimit, MediumUse } from "./model_facts.ts";
import type { ResolvedScenario } from "../scenario.ts";
import { tableBytes } from "../../models/workloads/sizes.ts";
import { dramBudget, mustCountRowsOnly } from "./tier_sizes.ts";
import { checkVouches, type Vouch } from "./vouch.ts";
import type { RankStart } from "../../machines/rank_launcher.ts";
import type { WorkerCommand } from "./worker_process.ts";
import { holdersOf, layoutOf, type ResolvedRankCluster } from "../cluster.ts";

/** What a run needs from the rest of the suite; tests give their own. */
export interface RunDependencies {
  /** What this machine is. */
  readonly inspectMachine: () => Promise<MachineRecord> | MachineRecord;
  /** What of the configurations' media it has. */
  readonly availability: (machine: MachineRecord) => Promise<Availability> | Availability;
  /** Makes the data. */
  readonly prepareData: typeof prepareData;
  /** The options of the store that slow it down to a media model. */
  readonly mediaOptions: (
    media: string,
    options: {
      readonly kind: "emulate" | "memory_mode";
      readonly threads: number;
      readonly cacheBytes: number;
      readonly seed: number;
    },
  ) => Promise<Record<string, string>>;
  /** What kind of medium a media model is of. */
  readonly mediaKind: (media: string) => Promise<MediumKind>;
  /** What a media model can give a tier. */
  readonly modelLimit: (media: string, use: MediumUse) => Promise<AskedLimit>;
  /** How far a media model is from what was published. */
  readonly modelBands: (media: string) => Promise<readonly ModelBand[]>;
  /** Makes the directory of a pool file, beside which the process takes so many bytes of memory. */
  readonly makeScratch: (bytes: number, beside: number) => Promise<Scratch & AsyncDisposable>;
  /** Makes the directory of a tier on a disk, in one that is given or in the project's cache folder. */
  readonly makeSsdScratch: (parent?: string) => Promise<Scratch & AsyncDisposable>;
  /** Removes directories that runs which were killed left there and in the places for tiers on a disk that are given. */
  readonly removeLeftScratch: (disks: readonly string[]) => Promise<number>;
  /** The tightest memory limit of this process's control groups. */
  readonly memoryLimit: () => MemoryLimit | undefined;
  /** Bytes of memory that are available now. */
  readonly availableMemory: () => number;
  /** Whether files in a directory are in memory. */
  readonly isInMemory: (directory: string) => Promise<boolean>;
  /** The process above this one that is gone, if one is: nobody waits for the run any more. */
  readonly goneAncestor: () => string | undefined;
  /** How a worker is started. */
  readonly command: WorkerCommand;
  /** How the ranks of a case are started. */
  readonly rankStart: (cluster: ResolvedRankCluster) => RankStart;
  /** What processors and memory have used by now. */
  readonly readEnergy: () => EnergyReading;
  /** Versions of everything that figures depend on. */
  readonly versions: (machine: MachineRecord) => Record<string, string>;
}

/** Where a scenario wants its checkpoints; undefined: in the project's cache folder, or it has none. */
export function checkpointFolder({ checkpoint }: ResolvedScenario): string | undefined {
  return checkpoint === undefined || checkpoint.path === "auto" ? undefined : checkpoint.path;
}

/** A case with everything its workers need. */
export interface PreparedCase extends RunnableCase {
  readonly data: PreparedData;
  /** Bytes of DRAM of every configuration with a tier below DRAM. */
  readonly dram: number;
  /** Bytes of the tables' rows when every key has one. */
  readonly tableBytes: number;
  /** True if the tables are so small that their sizes count rows only, though the configuration says "all". */
  readonly rowsOnly: boolean;
  /** Compute threads, of each rank where there are ranks. */
  readonly threads: number;
  /** How its ranks are started; absent without ranks. */
  readonly ranks?: RankStart;
}

/** What a run is made of. */
export interface Preparation {
  readonly machine: MachineRecord;
  readonly cases: readonly PreparedCase[];
  /** Cases that run once more in every round (A/A), beside `cases`. */
  readonly again: readonly PreparedCase[];
  readonly skipped: readonly SkippedCase[];
  /** Switches of the ablation that this machine does not have. */
  readonly leftOut: NonNullable<RunRecord["leftOut"]>;
  readonly data: DataRecord;
}

/** Options of {@linkcode prepareRun}. */
interface PrepareRunOptions {
  readonly require?: "measured" | undefined;
  readonly vouch?: readonly Vouch[] | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly emit: (event: RunEvent) => void;
}

/**
 * Prepares a run.
 *
 * @throws {VouchError} if the owner's word names a medium or a configuration that does not exist.
 * @throws {UnavailableError} if a configuration cannot run as required.
 * @throws {ScenarioError} if the scenario's DRAM budget would not be fair, or a batch has more rows than the data.
 */
export async function prepareRun(
  scenario: ResolvedScenario,
  dependencies: RunDependencies,
  options: PrepareRunOptions,
): Promise<Preparation> {
  const vouches = await checkVouches(options.vouch ?? [], scenario);
  const machine = await dependencies.inspectMachine();
  options.emit({ type: "machine", machine });
  const here = await dependencies.availability(machine);
  const { scenario: possible, leftOut } = possibleSwitches(scenario, machine);
  const planned = planCases(possible);
  for (const { scenario: { workload, cluster } } of planned) {
    requireCpu(workload, machine);
    if (cluster !== undefined) dependencies.rankStart(cluster); // an MPI that is missing is said before data are made
  }
  await checkModels(planned, dependencies.mediaKind);
  for (const { switch: name, why } of leftOut) {
    options.emit({ type: "notice", message: `the switch "${name}" is left out of the ablation: ${why}` });
  }
  const { runnable, skipped } = decideCases(planned, here, options.require, vouches);
  const left = await dependencies.removeLeftScratch(
    runnable.flatMap(({ decision, scenario }) =>
      [decision.ssd?.directory ?? [], checkpointFolder(scenario) ?? []].flat()
    ),
  );
  if (left > 0) {
    options.emit({
      type: "notice",
      message: `removed what runs that were killed left: ${left} ${left === 1 ? "folder" : "folders"}`,
    });
  }
  // Before the data are made, as far as they are known; those of a file are known when it was read.
  const check = (sized: readonly SizedCase[]) =>
    checkMemory(sized, dependencies.memoryLimit(), dependencies.isInMemory);
  await check(runnable.flatMap(sizedBefore));
  const cases = await prepareCases(runnable, machine, dependencies, options);
  const [first] = cases;
  await check(cases);
  const small = cases.find(({ rowsOnly }) => rowsOnly);
  if (small !== undefined) options.emit({ type: "notice", message: smallText(small) });
  if (first === undefined) throw new Error("Cannot prepare a run without cases");
  const again = repeatedCases(cases, qualityCase);
  options.emit({ type: "plan", ...planEvent(scenario, [...cases, ...again], skipped) });
  return { machine, cases, again, skipped, leftOut, data: { ...first.data.record, tableBytes: first.tableBytes } };
}

/** A medium that is asked for by its kind is emulated as one of that kind, and a disk is a disk. */
async function checkModels(planned: readonly Case[], mediaKind: RunDependencies["mediaKind"]): Promise<void> {
  for (const one of planned) {
    const { medium, media, ssd } = configurationOf(one);
    const named = [
      { path: ["media"], wanted: medium, word: media, by: `, as "medium" says` },
      { path: ["ssd", "media"], wanted: ssd === undefined ? undefined : "ssd", word: ssd?.media, by: "" },
    ];
    for (const { path, wanted, word, by } of named) {
      if (wanted === undefined || word === undefined) continue;
      const kind = await mediaKind(word);
      if (kind === wanted) continue;
      throw new ScenarioError([{
        path: ["configurations", one.configuration, ...path],
        message: `expected a model of "${wanted}"${by}, found "${word}", which is one of "${kind}"`,
      }]);
    }
  }
}

/** Interleaved rows have no more DRAM than every other configuration: which pages are there does not change how many. */
function checkSpread({ decision: { place }, configuration }: RunnableCase, tables: number, dram: number): void {
  if (place.kind !== "interleaved" || (1 - place.share) * tables <= dram) return;
  const least = Math.ceil(tables / dram - 1);
  throw new ScenarioError([{
    path: ["configurations", configuration, "weights"],
    message:
      `expected weights that leave at most ${formatBytes(dram)} of rows in DRAM, as every other configuration has, ` +
      `found ${formatBytes(Math.round((1 - place.share) * tables))}`,
    hint: `with one node of each kind [1, ${least}] does`,
  }]);
}

function smallText({ tableBytes, dram }: PreparedCase): string {
  return `the tables take ${
    formatBytes(tableBytes)
  }, and a quarter of that is too little for their index and buffers: ` +
    `the DRAM budget of ${formatBytes(dram)} counts rows only`;
}

/** One sentence: how the figures of a case are obtained. */
export function howOf({ decision, dram, rowsOnly, ranks, scenario }: PreparedCase, scratch?: Scratch): string {
  return howText(decision, dram, scratch) + (rowsOnly ? "; sizes count rows only, since the tables are small" : "") +
    (ranks === undefined ? "" : `; ${ranksText(scenario.cluster, ranks)}`);
}

function ranksText(cluster: ResolvedScenario["cluster"], { launcher, mpi }: RankStart): string {
  if (cluster === undefined || cluster.ranks === 1) return "one rank alone";
  const servers = layoutOf(cluster) === "servers" ? `, the last ${cluster.servers} of them servers` : "";
  return `${cluster.ranks} ranks${servers}, started by ${launcher} (${mpi})`;
}

/** Compute threads of a process; "auto": all CPUs, or each rank an equal share of those of this machine. */
function threadsOf({ workload: { threads }, cluster }: ResolvedScenario, { cpus }: MachineRecord): number {
  if (threads !== "auto") return threads;
  return cluster === undefined || cluster.launcher === "srun" ? cpus : Math.max(1, Math.floor(cpus / cluster.ranks));
}

function planEvent(
  scenario: ResolvedScenario,
  cases: readonly PreparedCase[],
  skipped: readonly SkippedCase[],
): Omit<Extract<RunEvent, { type: "plan" }>, "type"> {
  const { name, repetitions, budget, seed } = scenario;
  const lines = [
    ...cases.map((one) => ({
      case: one.name,
      evidence: one.decision.evidence,
      ...(one.decision.vouched === undefined ? {} : { vouched: one.decision.vouched }),
      how: one.again === undefined ? howOf(one) : "the same once more in every round, for the run's noise floor (A/A)",
      ...(one.decision.missing === undefined ? {} : { missing: one.decision.missing }),
    })),
    ...skipped.map((one) => ({ case: one.name, how: `left out: ${one.skipped}` })),
  ];
  return { name, repetitions, budget, seed, lines };
}

/** Makes the data of every point, each data set once. */
async function prepareCases(
  runnable: readonly RunnableCase[],
  machine: MachineRecord,
  dependencies: RunDependencies,
  { signal, emit }: PrepareRunOptions,
): Promise<PreparedCase[]> {
  const made = new Map<string, PreparedData>();
  const cases: PreparedCase[] = [];
  for (const one of runnable) {
    const { workload, seed, cluster } = one.scenario;
    const threads = threadsOf(one.scenario, machine);
    const ranks = cluster === undefined ? {} : { ranks: dependencies.rankStart(cluster) };
    const key = digestOf([workload.data, seed]);
    const start = performance.now();
    const known = made.get(key);
    const data = known ?? await dependencies.prepareData(workload.data, {
      seed,
      threads: machine.cpus,
      signal,
      onProgress: (what, done, total) => emit({ type: "data-progress", what, done, total }),
      onNotice: (message) => emit({ type: "notice", message }),
    });
    made.set(key, data);
    checkBatch(workload.batch, data.record.trainRows);
    const bytes = tableBytes(data.record.cardinalities, workload);
    const record = { ...data.record, tableBytes: bytes };
    if (known === undefined) {
      emit({ type: "data", data: record, reused: data.reused, seconds: (performance.now() - start) / 1000 });
    }
    const dram = dramBudget(one.scenario, bytes);
    checkSpread(one, bytes, dram);
    const holders = cluster === undefined ? 1 : holdersOf(cluster);
    const rowsOnly = mustCountRowsOnly(configurationOf(one), one.scenario, dram / holders);
    cases.push({ ...one, data, dram, tableBytes: bytes, rowsOnly, threads, ...ranks });
  }
  return cases;
}

function checkBatch(batch: number, rows: number): void {
  if (batch <= rows) return;
  throw new ScenarioError([{
    path: ["workload", "batch"],
    message: `expected at most the ${rows} training rows that the data has, found ${batch}`,
    hint: "write a smaller batch, or give more rows; quick runs take smaller batches",
  }]);
}

/** The case whose rows give the AUC: plain DRAM where there is one, since it is the fastest; else the first. */
export function qualityCase(cases: readonly PreparedCase[]): PreparedCase {
  const one =
    cases.find(({ decision: { place, ssd, hbm } }) =>
      place.kind === "none" && ssd === undefined && hbm === undefined
    ) ?? cases[0];
  if (one === undefined) throw new UnavailableError("No configuration can run here");
  return one;
}
