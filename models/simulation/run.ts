/**
 * Runs a simulation: every case in virtual time, every record on the disk.
 *
 * @module
 */

import { join, resolve as resolvePath } from "node:path";
import { libraryVersion } from "../../ffi/machine.ts";
import { ResultFolder } from "../../base/result_folder.ts";
import { digestOf } from "../../base/canonical.ts";
import { summedLine } from "../../base/line_sum.ts";
import { readHead } from "../../base/user_file.ts";
import { VERSION } from "../../base/version.ts";
import { writing } from "../../base/writing.ts";
import { type SimulatedCase, simulatedCases, simulationAt } from "./cases.ts";
import { bandOf } from "./band.ts";
import { denseSeconds } from "./dense_time.ts";
import { explainDifference } from "./explain.ts";
import { loadSimulation, resolveSimulation } from "./load.ts";
import { caseFigures, simulatedRecord } from "./make_record.ts";
import { type NullCase, nullCases } from "./null_models.ts";
import type {
  ExplanationRecord,
  NullRecord,
  SimulatedRecord,
  SimulationRecord,
  SimulationResult,
  SimulationRunRecord,
} from "./record.ts";
import { caseName } from "./record.ts";
import { isSimulationResult, simulationResultOf } from "./result.ts";
import { type DemandCache, demandCache, simulateCase } from "./simulate_case.ts";
import type { ResolvedSimulation, Simulation } from "./simulation.ts";

/** Options of {@linkcode runSimulation}. */
export interface RunSimulationOptions {
  /** Folder of `result.jsonl`; nothing is written without it. */
  readonly out?: string;
  /** Another seed than the simulation's. */
  readonly seed?: number;
  /** Threads that sample Memory Mode; the records are the same for any number. Default 1. */
  readonly threads?: number;
  /** False: it may take longer than any that was meant so far. Default true. */
  readonly limit?: boolean;
  /** Told each record as it is made, and of how many cases. */
  readonly onRecord?: (record: SimulationRecord, cases: number) => void;
}

/**
 * Runs a simulation.
 *
 * @param simulation As written or resolved, or the path of its file.
 * @returns Its records. The same simulation and seed give the same records on every machine, but for when and on what
 * they were made.
 * @throws {ScenarioError} if the simulation cannot be used.
 * @throws {TierstoreError} if the native library cannot simulate it.
 *
 * @example
 * ```ts
 * import { runSimulation } from "../../mod.ts";
 *
 * const { cases } = await runSimulation({
 *   kind: "simulation",
 *   name: "tiny",
 *   workload: { batch: 1024, tables: [{ name: "ids", rows: 1e6, dim: 16, lookups: 1, law: { s: 1.05 } }] },
 *   compute: { dense: "1 ms", source: "an example" },
 *   configurations: { dram: { mode: "dram", tiers: [{ media: "ddr4-2666-6ch" }] } },
 * });
 * console.log(cases[0]?.evidence); // simulated
 * ```
 */
export async function runSimulation(
  simulation: Simulation | ResolvedSimulation | string | URL,
  options: RunSimulationOptions = {},
): Promise<SimulationResult> {
  const isFile = typeof simulation === "string" || simulation instanceof URL;
  const { limit = true } = options;
  const loaded = isFile
    ? await loadSimulation(simulation, { limit })
    : await resolveSimulation(simulation, Deno.cwd(), { limit });
  const resolved = options.seed === undefined ? loaded : { ...loaded, seed: options.seed };
  const cases = await simulatedCases(resolved);
  const records: SimulationRecord[] = [];
  const add = (record: SimulationRecord) => {
    records.push(record);
    options.onRecord?.(record, cases.length);
  };
  add(runRecord(resolved));
  const threads = options.threads ?? 1;
  const known = demandCache();
  for (const one of cases) add(await runCase(one, threads, known));
  for (const wanted of resolved.explain) add(await explanation(resolved, wanted, threads, known));
  for (const wanted of nullCases(resolved, cases)) add(await nullRecord(wanted, threads, known));
  if (options.out !== undefined) await writeRecords(join(resolvePath(options.out), "result.jsonl"), records);
  return simulationResultOf(records);
}

function runRecord(scenario: ResolvedSimulation): SimulationRunRecord {
  return {
    type: "run",
    kind: "simulation",
    format: 1,
    started: new Date().toISOString(),
    scenario,
    scenarioDigest: digestOf(scenario),
    versions: { tierbench: VERSION, libtierstore: libraryVersion(), deno: Deno.version.deno },
  };
}

async function runCase(one: SimulatedCase, threads: number, known: DemandCache): Promise<SimulatedRecord> {
  const dense = await denseSeconds(one.simulation);
  const outcome = await simulateCase(one.simulation, one.set, dense, threads, known);
  const band = await bandOf(one, outcome, dense);
  return await simulatedRecord(one, outcome, band);
}

async function nullRecord({ model, one }: NullCase, threads: number, known: DemandCache): Promise<NullRecord> {
  const dense = await denseSeconds(one.simulation);
  const outcome = await simulateCase(one.simulation, one.set, dense, threads, known);
  return { type: "null", model, ...caseFigures(one, outcome) };
}

async function explanation(
  simulation: ResolvedSimulation,
  { from, to, at }: ResolvedSimulation["explain"][number],
  threads: number,
  known: DemandCache,
): Promise<ExplanationRecord> {
  const here = await simulationAt(simulation, at);
  const [first, last] = [here.configurations[from], here.configurations[to]];
  if (first === undefined || last === undefined) throw new RangeError(`Cannot explain "${from}" → "${to}": unknown`);
  const dense = await denseSeconds(here);
  const explained = await explainDifference(
    first,
    last,
    async (one) => 1 / (await simulateCase(here, one, dense, threads, known)).samplesPerSecond,
  );
  return {
    type: "explanation",
    from: caseName(from, at),
    to: caseName(to, at),
    fromTime: explained.from,
    toTime: explained.to,
    parts: explained.parts.map(({ part, value, says }) => ({ part, seconds: value, says })),
  };
}

/** Writes the records whole, beside their place first. Those of a run, which nobody can make again, are kept. */
async function writeRecords(path: string, records: readonly SimulationRecord[]): Promise<void> {
  using folder = await ResultFolder.take(path);
  if (!isSimulationResult(await readHead(path) ?? "")) await folder.keepEarlier();
  await writing(path, async () => {
    await Deno.writeTextFile(`${path}.tmp`, records.map((record) => `${summedLine(record)}\n`).join(""));
    await Deno.rename(`${path}.tmp`, path);
  });
}
