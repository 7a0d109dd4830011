/**
 * Everything between a scenario and its first worker: the machine, how each case runs on it, the data, the bytes.
 *
 * @module
 */

import type { Availability } from "../machine/availability.ts";
import { digestOf } from "./canonical.ts";
import {
  decideCases,
  howText,
  type RunnableCase,
  type Scratch,
  type SkippedCase,
  UnavailableError,
} from "./configurations.ts";
import type { prepareData, PreparedData } from "../workloads/data.ts";
import type { RunEvent } from "./events.ts";
import { planCases } from "../plan.ts";
import type { DataRecord, MachineRecord } from "../record.ts";
import type { ResolvedScenario } from "../scenario.ts";
import { dramBudget, tableBytes } from "../workloads/sizes.ts";
import type { WorkerCommand } from "./worker_process.ts";

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
  /** Makes the directory of a pool file. */
  readonly makeScratch: (bytes: number) => Promise<Scratch & AsyncDisposable>;
  /** How a worker is started. */
  readonly command: WorkerCommand;
  /** Versions of everything that figures depend on. */
  readonly versions: (machine: MachineRecord) => Record<string, string>;
}

/** A case with everything its workers need. */
export interface PreparedCase extends RunnableCase {
  readonly data: PreparedData;
  /** Bytes of DRAM of every configuration with PMEM. */
  readonly dram: number;
  /** Bytes of the tables' rows when every key has one. */
  readonly tableBytes: number;
  readonly threads: number;
}

/** What a run is made of. */
export interface Preparation {
  readonly machine: MachineRecord;
  readonly cases: readonly PreparedCase[];
  readonly skipped: readonly SkippedCase[];
  readonly data: DataRecord;
}

/** Options of {@linkcode prepareRun}. */
export interface PrepareRunOptions {
  readonly require?: "measured" | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly emit: (event: RunEvent) => void;
}

/**
 * Prepares a run.
 *
 * @throws {UnavailableError} if a configuration cannot run as required.
 * @throws {ScenarioError} if the scenario's DRAM budget would not be fair.
 */
export async function prepareRun(
  scenario: ResolvedScenario,
  dependencies: RunDependencies,
  options: PrepareRunOptions,
): Promise<Preparation> {
  const machine = await dependencies.inspectMachine();
  options.emit({ type: "machine", machine });
  const here = await dependencies.availability(machine);
  const { runnable, skipped } = decideCases(planCases(scenario), here, options.require);
  const cases = await prepareCases(runnable, machine, dependencies, options);
  const [first] = cases;
  if (first === undefined) throw new Error("Cannot prepare a run without cases");
  options.emit({ type: "plan", ...planEvent(scenario, cases, skipped) });
  return { machine, cases, skipped, data: { ...first.data.record, tableBytes: first.tableBytes } };
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
      how: howText(one.decision, one.dram),
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
    const { workload, seed } = one.scenario;
    const threads = workload.threads === "auto" ? machine.cpus : workload.threads;
    const key = digestOf([workload.data, seed]);
    const start = performance.now();
    const known = made.get(key);
    const data = known ?? await dependencies.prepareData(workload.data, {
      seed,
      threads: machine.cpus,
      signal,
      onProgress: (what, done, total) => emit({ type: "data-progress", what, done, total }),
    });
    made.set(key, data);
    const bytes = tableBytes(data.record.cardinalities, workload);
    const record = { ...data.record, tableBytes: bytes };
    if (known === undefined) {
      emit({ type: "data", data: record, reused: data.reused, seconds: (performance.now() - start) / 1000 });
    }
    cases.push({ ...one, data, dram: dramBudget(one.scenario, bytes), tableBytes: bytes, threads });
  }
  return cases;
}

/** The case whose rows give the AUC: plain DRAM where there is one, since it is the fastest; else the first. */
export function qualityCase(cases: readonly PreparedCase[]): PreparedCase {
  const one = cases.find(({ decision }) => decision.place.kind === "none") ?? cases[0];
  if (one === undefined) throw new UnavailableError("No configuration can run here");
  return one;
}
