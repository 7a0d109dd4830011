/**
 * `deno task bench:simulator`: how fast the simulator replays keys, what memory that takes, how far its quick ways are
 * from the exact one, how far emulated batches are from the time that the media model gives, and how many published figures
 * that are met a null model misses and how many lie in their bands. Prints a table and writes `reports/out/bench-simulator.json`. How to read it:
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
import { machineFacts, run, writeResult } from "../program.ts";
import { type BenchRow, tableRows } from "../rows.ts";
import { emulationRatios, emulationRow } from "./emulation_row.ts";
import { coverageRow, mediaRows, nullRow, parseValues, replayRows } from "./rows.ts";
import { stepRatios, stepRow } from "./step_row.ts";

/** What is run: the bars are about 10 million keys. */
const KEYS = 10_000_000, LOOKUPS = 60_000_000, ROUNDS = 7;

/** The published figures of `paper-openembedding` under null models and in their bands. */
async function publishedRows(): Promise<BenchRow[]> {
  const simulation = await loadSimulation(`${ROOT}/scenarios/paper-openembedding.jsonc`);
  const { accuracy } = summariseSimulation(await runSimulation({ ...simulation, explain: [] }));
  return [nullRow(accuracy ?? { within: 0 }), coverageRow(accuracy ?? {}), ...mediaRows(await validateModels())];
}

/** The bench. */
async function main(args: readonly string[]): Promise<void> {
  if (args.length > 0) {
    console.error(`Cannot run bench:simulator with "${args.join(" ")}": it takes no words`);
    Deno.exitCode = 2;
    return;
  }
  ensureBuild();
  await run("make", ["-s", "-C", `${NATIVE_FOLDER}/bench`, "simulator"]);
  const words = [KEYS, LOOKUPS, ROUNDS].map(String);
  const values = parseValues(await run(`${NATIVE_FOLDER}/build/bench/simulator_replay`, words));
  const rows: BenchRow[] = [
    ...replayRows(values),
    emulationRow(await emulationRatios()),
    stepRow(await stepRatios()),
    ...await publishedRows(),
  ];
  console.log(`\nThe simulator's bench, ${KEYS / 1e6} million keys, one core\n`);
  console.log(tableText(tableRows(rows)));
  const out = `${ROOT}/reports/out/bench-simulator.json`;
  const facts = { ...machineFacts(BUILT_LIBRARY), keys: KEYS, lookups: LOOKUPS, rounds: ROUNDS };
  writeResult(out, facts, rows);
  console.log(`All rows: ${out}`);
}

if (import.meta.main) await main(Deno.args);
