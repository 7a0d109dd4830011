/**
 * `deno task crash`: crashes checkpoints at every operation (docs/crash-lab.md) and kills training processes,
 * and measures what checkpoints cost. Prints a table, writes `reports/out/bench-crash.json` and the page
 * `reports/out/crash.html`. `--full` is the nightly size: 100,000 crash points, 50 kills of each storage type that keeps restore
 * points, a gibibyte restored. `--only=<parts>` runs some and leaves the other rows of the file; the page is the lab's.
 *
 * Exit codes: 0, bars reached or not; 1 if the run fails; 2 for words it does not know.
 *
 * @module
 */

import { dirname } from "node:path";
import { BUILT_LIBRARY, NATIVE_FOLDER } from "../../base/native_build.ts";
import { tableText } from "../../cli/ui/table.ts";
import { ensureBuild } from "../../setup/build.ts";
import { type Facts, machineFacts, planOrUsage, run, withEarlierRows, writeResult } from "../program.ts";
import { type BenchRow, tableRows } from "../rows.ts";
import { tryKills } from "./kills.ts";
import { type CheckpointSizes, measureDelta, measureRestores, measureSlowdowns } from "./checkpoints.ts";
import { crashPage } from "./page.ts";
import { parsePlan, type Part, partOf } from "./plan.ts";
import {
  crashRows,
  type CrashTargets,
  deltaRow,
  type KillCounts,
  type LabCounts,
  parseLab,
  parseSubjects,
  recoveryRow,
  slowdownRows,
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

/** The lab, then the kills; what was tried of each thing under test, for the page. */
async function labRows(
  folder: string,
  targets: Trials,
): Promise<{ readonly rows: readonly BenchRow[]; readonly subjects: readonly SubjectCounts[] }> {
  const { counts, subjects } = await lab(targets.points);
  for (const name of ["files", "SSDHASH", "PMEM"]) await Deno.mkdir(`${folder}/${name}`);
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
  return { rows: crashRows(counts, killed, targets), subjects };
}

/** The bench. */
async function main(args: readonly string[]): Promise<void> {
  const plan = planOrUsage("crash", (places) => parsePlan(args, places));
  if (plan === undefined) return;
  const sizes = plan.full ? FULL_SIZES : QUICK_SIZES;
  ensureBuild();
  const facts: Facts = {
    ...machineFacts(BUILT_LIBRARY),
    interval: "counts have none; of ratios 95 % bootstrap of the median",
  };
  const started = `${new Date().toISOString().slice(0, 16).replace("T", " ")} UTC`;
  const folder = await Deno.makeTempDir({ prefix: "tierbench-crash-" });
  let subjects: readonly SubjectCounts[] | undefined;
  const measure: Readonly<Record<Part, () => Promise<readonly BenchRow[]>>> = {
    async lab() {
      const found = await labRows(folder, plan.full ? FULL : QUICK);
      subjects = found.subjects;
      return found.rows;
    },
    slowdown: async () => slowdownRows(await measureSlowdowns(folder, sizes)),
    delta: async () => [deltaRow(await measureDelta(folder, sizes))],
    recovery: async () => [recoveryRow(await measureRestores(folder, sizes))],
  };
  try {
    const rows: BenchRow[] = [];
    for (const part of plan.parts) {
      const measured = `${new Date().toISOString()}, load ${(Deno.loadavg()[0] ?? NaN).toFixed(2)} before`;
      rows.push(...(await measure[part]()).map((row) => ({ ...row, measured })));
    }
    console.log(tableText(tableRows(rows)));
    const all = withEarlierRows(plan.out, facts, rows, (name) => {
      const part = partOf(name);
      return part !== undefined && !plan.parts.includes(part);
    });
    writeResult(plan.out, facts, all);
    console.log(`All rows, ${all.length - rows.length} of them of earlier runs: ${plan.out}`);
    if (subjects === undefined) return;
    const page = `${dirname(plan.out)}/crash.html`;
    const machine = `${facts["cpu"]}, ${facts["cores"]} CPUs, Linux ${facts["kernel"]}`;
    Deno.writeTextFileSync(page, crashPage({ started, machine, subjects, rows }));
    console.log(`Report: ${page}`);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

if (import.meta.main) await main(Deno.args);
