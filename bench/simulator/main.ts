/**
 * `deno task bench:simulator`: how fast traces are read and the simulator replays keys, what memory that takes, how far its quick ways are
 * from the exact one, how far emulated batches and steps are from the models, how many published figures that are met a null
 * model misses, how many lie in their bands, and which families of media are not validated. Prints a table and writes
 * `reports/out/bench-simulator.json`; `--only=<parts>` runs some and leaves the other rows of the file. How to read it:
 * docs/performance.md.
 *
 * Exit codes: 0, bars reached or not; 1 if the run fails; 2 for words it does not know.
 *
 * @module
 */

import { tableText } from "../../cli/ui/table.ts";
import { BUILT_LIBRARY, NATIVE_FOLDER } from "../../base/native_build.ts";
import { ensureBuild } from "../../setup/build.ts";
import { ROOT } from "../../setup/state.ts";
import { loadSimulation } from "../../models/simulation/load.ts";
import { validateModels } from "../../models/media/calibration/validate.ts";
import { runSimulation } from "../../models/simulation/run.ts";
import { summariseSimulation } from "../../reports/simulation/summary.ts";
import { machineFacts, planOrUsage, run, withEarlierRows, writeResult } from "../program.ts";
import { type BenchRow, tableRows } from "../rows.ts";
import { emulationRatios, emulationRow } from "./emulation_row.ts";
import { importRows } from "./import_rows.ts";
import { parsePlan, type Part, partOf } from "./plan.ts";
import { coverageRow, freeRow, mediaRows, nullRow, parseValues, replayRows } from "./rows.ts";
import { stepRatios, stepRow } from "./step_row.ts";

/** What is replayed: the bars are about 10 million keys. */
const KEYS = 10_000_000, LOOKUPS = 60_000_000, ROUNDS = 7;

/** How each part is measured. */
const MEASURE: Readonly<Record<Part, () => Promise<readonly BenchRow[]>>> = {
  async replay() {
    await run("make", ["-s", "-C", `${NATIVE_FOLDER}/bench`, "simulator"]);
    const words = [KEYS, LOOKUPS, ROUNDS].map(String);
    return replayRows(parseValues(await run(`${NATIVE_FOLDER}/build/bench/simulator_replay`, words)));
  },
  emulation: async () => [emulationRow(await emulationRatios())],
  step: async () => [stepRow(await stepRatios())],
  async published() {
    const simulation = await loadSimulation(`${ROOT}/scenarios/paper-openembedding.jsonc`);
    const { accuracy } = summariseSimulation(await runSimulation({ ...simulation, explain: [] }));
    return [nullRow(accuracy ?? { within: 0 }), coverageRow(accuracy ?? {}), freeRow(accuracy ?? {})];
  },
  media: async () => mediaRows(await validateModels()),
  import: importRows,
};

/** The bench. */
async function main(args: readonly string[]): Promise<void> {
  const plan = planOrUsage("simulator", (places) => parsePlan(args, places));
  if (plan === undefined) return;
  ensureBuild();
  const facts = { ...machineFacts(BUILT_LIBRARY), keys: KEYS, lookups: LOOKUPS, rounds: ROUNDS };
  const rows: BenchRow[] = [];
  for (const part of plan.parts) {
    const started = performance.now(), load = Deno.loadavg()[0] ?? NaN;
    const measured = `${new Date().toISOString()}, load ${load.toFixed(2)} before`;
    rows.push(...(await MEASURE[part]()).map((row) => ({ ...row, measured })));
    console.error(`${part}: ${((performance.now() - started) / 1e3).toFixed(0)} s`);
  }
  console.log(`\nThe simulator's bench, ${KEYS / 1e6} million keys, one core\n`);
  console.log(tableText(tableRows(rows)));
  const all = withEarlierRows(plan.out, facts, rows, (name) => {
    const part = partOf(name);
    return part !== undefined && !plan.parts.includes(part);
  });
  writeResult(plan.out, facts, all);
  console.log(`All rows, ${all.length - rows.length} of them of earlier runs: ${plan.out}`);
}

if (import.meta.main) await main(Deno.args);
