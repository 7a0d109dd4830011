/**
 * `deno task bench:wdl`: how fast a training step of Wide & Deep is, against the least that it must do, against PyTorch, and
 * against itself without its optimisations. Prints a table and writes `reports/out/bench-wdl.json`.
 * How to read it: docs/performance.md.
 *
 * Exit codes: 0, bars reached or not; 1 if contenders disagree on results or the run fails; 2 for words it does not know.
 *
 * @module
 */

import { tableText } from "../../cli/ui/table.ts";
import { NATIVE_FOLDER } from "../../base/native_build.ts";
import { ensureBuild } from "../../setup/build.ts";
import { machineFacts, planOrUsage, run, writeResult } from "../program.ts";
import { sortedRows, tableRows } from "../rows.ts";
import { findFbgemm, measureModel, type Setting } from "./measure.ts";
import { BATCH, parsePlan } from "./plan.ts";
import { type Measured, wdlRows } from "./rows.ts";

/** The bench. */
async function main(args: readonly string[]): Promise<void> {
  const plan = planOrUsage("wdl", (places) => parsePlan(args, places));
  if (plan === undefined) return;
  const say = (text: string): void => console.error(text);
  ensureBuild();
  await run("make", [
    "-s",
    "-C",
    `${NATIVE_FOLDER}/bench`,
    `-j${navigator.hardwareConcurrency}`,
    "wdl",
    "mkl_every_cpu",
  ]);
  Deno.mkdirSync(plan.scratch, { recursive: true });
  const scratch = Deno.makeTempDirSync({ dir: plan.scratch, prefix: "bench-wdl-" });
  const setting: Setting = { plan, scratch, say, fbgemm: findFbgemm(plan, say) };
  const facts = {
    ...machineFacts(plan.library),
    full: plan.full,
    batch: BATCH,
    threads: plan.threads,
    rounds: plan.rounds,
    steps: plan.steps,
    rows: plan.rows,
  };
  try {
    const all: Measured[] = [];
    for (const model of plan.models) {
      const start = performance.now();
      say(`${model.name} …`);
      const { measured, facts: more } = await measureModel(setting, model);
      all.push(measured);
      Object.assign(facts, more);
      say(`${model.name} took ${((performance.now() - start) / 1000).toFixed(0)} s`);
    }
    const rows = wdlRows(all);
    const shown = sortedRows(rows).filter(({ name }) => !/processor time$|^(time|cpu) /.test(name));
    console.log(
      `\nThe trainer's bench, ${plan.models.map(({ name }) => name).join(" and ")}, ${plan.threads} threads\n`,
    );
    console.log(tableText(tableRows(shown)));
    writeResult(plan.out, facts, rows);
    console.log(`All rows, also by processor time and not as ratios: ${plan.out}`);
  } finally {
    Deno.removeSync(scratch, { recursive: true });
  }
}

if (import.meta.main) await main(Deno.args);
