/**
 * `deno task bench:harness`: how often a report calls a difference where there is none, how often it finds one of 3 %, and
 * whether what speaks against a run is seen, and whether killed runs go on to the same samples. Prints a table and writes `reports/out/bench-harness.json`.
 *
 * Exit codes: 0, bars reached or not; 1 if the run fails; 2 for words it does not know.
 *
 * @module
 */

import { BUILT_LIBRARY } from "../../base/native_build.ts";
import { tableText } from "../../cli/ui/table.ts";
import { readArguments } from "../arguments.ts";
import { machineFacts, planOrUsage, writeResult } from "../program.ts";
import { tableRows } from "../rows.ts";
import { crimeRows } from "./crimes.ts";
import { killRow } from "./kills.ts";
import { simulatedRows } from "./trials.ts";

const USAGE = `Usage: deno task bench:harness [options]

  --trials=<n>  simulated runs of each kind of noise, with and without an effect (default: 1000)
  --kills=<n>   runs and workers that are killed at random moments, and resumed (default: 50)
  --out=<path>  file to write (default: reports/out/bench-harness.json)`;

if (import.meta.main) {
  const plan = planOrUsage("harness", ({ out }) => {
    const { number, text } = readArguments(Deno.args, ["trials", "kills", "out"], USAGE);
    return { trials: number("trials", 1000, 1), kills: number("kills", 50, 1), out: text("out") ?? out };
  });
  if (plan !== undefined) {
    const facts = {
      ...machineFacts(BUILT_LIBRARY),
      interval: "95 % interval of a share (Wilson)",
      trials: plan.trials,
    };
    const rows = [
      ...simulatedRows(plan.trials, (what) => console.error(what)),
      ...await crimeRows(),
      await killRow(plan.kills),
      {
        name: "width/before",
        value: null,
        low: null,
        high: null,
        unit: "ratio",
        atMost: 0.67,
        note: "not measured: wants ten default runs of this state and of one before repeated cases, on a quiet machine",
      },
    ];
    console.log(tableText(tableRows(rows)));
    writeResult(plan.out, facts, rows);
    console.log(`All rows: ${plan.out}`);
  }
}
