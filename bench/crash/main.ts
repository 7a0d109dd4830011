/**
 * `deno task crash`: crashes checkpoints at every operation (docs/crash-lab.md) and kills training processes,
 * and measures what checkpoints cost. Prints a table, writes `reports/out/bench-crash.json` and the page
 * `reports/out/crash.html`. `--full` is the nightly size: 100,000 crash points, 50 kills of each storage type that keeps restore
 * points, a gibibyte restored.
 *
 * Exit codes: 0, bars reached or not; 1 if the run fails; 2 for words it does not know.
 *
 * @module
 */

import { BUILT_LIBRARY, NATIVE_FOLDER } from "../../base/native_build.ts";
import { tableText } from "../../cli/ui/table.ts";
import { ensureBuild } from "../../setup/build.ts";
import { ROOT } from "../../setup/state.ts";
import { machineFacts, run, writeResult } from "../program.ts";
import { tableRows } from "../rows.ts";
import { tryKills } from "./kills.ts";
import { type CheckpointSizes, measureCheckpoints } from "./checkpoints.ts";
import { crashPage } from "./page.ts";
import {
  checkpointRows,
  crashRows,
  type CrashTargets,
  type KillCounts,
  type LabCounts,
  parseLab,
  parseSubjects,
  type SubjectCounts,
} from "./rows.ts";

/** What is tried. */
interface Trials extends CrashTargets {
  /** Processes to kill of each storage type that keeps restore points; of each at all, a tenth, from checkpoints. */
  readonly each: number;
}

const QUICK: Trials = { points: 5000, kills: 12, each: 1 };
const FULL: Trials = { points: 100_000, kills: 200, each: 50 };
const QUICK_SIZES: CheckpointSizes = { intervals: 10, steps: 24, lawRows: 300_000, restoreRows: 1 << 20, restores: 3 };
/** A gibibyte of rows is restored. */
const FULL_SIZES: CheckpointSizes = {
  intervals: 60,
  steps: 48,
  lawRows: 3_000_000,
  restoreRows: 1 << 23,
  restores: 7,
};

/** Runs the lab. What was wrong is in its counts, and in words on the terminal. */
async function lab(points: number): Promise<{ readonly counts: LabCounts; readonly subjects: SubjectCounts[] }> {
  await run("make", ["-s", "-C", NATIVE_FOLDER, "build/release/test/crash_test"]);
  const program = `${NATIVE_FOLDER}/build/release/test/crash_test`;
  const env = { TIERSTORE_POINTS: String(points) };
  const { stdout } = await new Deno.Command(program, { env, stdin: "null", stderr: "inherit" }).output();
  const text = new TextDecoder().decode(stdout);
  return { counts: parseLab(text), subjects: parseSubjects(text) };
}

/** The bench. */
async function main(args: readonly string[]): Promise<void> {
  if (args.some((word) => word !== "--full")) {
    console.error(`Cannot run crash with "${args.join(" ")}": it takes --full, or nothing`);
    Deno.exitCode = 2;
    return;
  }
  const full = args.length > 0;
  const targets = full ? FULL : QUICK;
  ensureBuild();
  const started = `${new Date().toISOString().slice(0, 16).replace("T", " ")} UTC`;
  const { counts, subjects } = await lab(targets.points);
  const folder = await Deno.makeTempDir({ prefix: "tierbench-crash-" });
  for (const name of ["files", "SSDHASH", "PMEM"]) await Deno.mkdir(`${folder}/${name}`);
  try {
    const { each } = targets;
    const trials = [await tryKills({ each: Math.ceil(each / 10), seed: "crash", folder: `${folder}/files` })];
    for (const inPlace of ["SSDHASH", "PMEM"] as const) {
      trials.push(await tryKills({ each, seed: "crash", folder: `${folder}/${inPlace}`, inPlace }));
    }
    const killed: KillCounts = {
      kills: trials.reduce((sum, { kills }) => sum + kills, 0),
      inPlace: Object.assign({}, ...trials.slice(1).map(({ killed }) => killed)),
      wrong: trials.flatMap(({ wrong }) => wrong),
    };
    const costs = await measureCheckpoints(folder, full ? FULL_SIZES : QUICK_SIZES);
    const rows = [...crashRows(counts, killed, targets), ...checkpointRows(costs)];
    console.log(tableText(tableRows(rows)));
    const out = `${ROOT}/reports/out/bench-crash.json`;
    const facts = machineFacts(BUILT_LIBRARY);
    writeResult(out, { ...facts, interval: "counts have none; of ratios 95 % bootstrap of the median" }, rows);
    const page = `${ROOT}/reports/out/crash.html`;
    const machine = `${facts["cpu"]}, ${facts["cores"]} CPUs, Linux ${facts["kernel"]}`;
    Deno.writeTextFileSync(page, crashPage({ started, machine, subjects, rows }));
    console.log(`All rows: ${out}\nReport: ${page}`);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

if (import.meta.main) await main(Deno.args);
