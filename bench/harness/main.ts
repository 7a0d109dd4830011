/**
 * `deno task bench:harness`: how often a report calls a difference where there is none, how often it finds one of 3 %, and
 * whether what speaks against a run is seen, and whether killed runs go on to the same samples. Prints a table and writes
 * `reports/out/bench-harness.json`; what a part that is asked for no runs found earlier stays there.
 *
 * Exit codes: 0, bars reached or not; 1 if the run fails; 2 for words it does not know.
 *
 * @module
 */

import { BUILT_LIBRARY } from "../../base/native_build.ts";
import { tableText } from "../../cli/ui/table.ts";
import { readArguments } from "../arguments.ts";
import { machineFacts, planOrUsage, withEarlierRows, writeResult } from "../program.ts";
import { tableRows } from "../rows.ts";
import { crimeRows } from "./crimes.ts";
import { killRow } from "./kills.ts";
import { realRows, realRuns } from "./real.ts";
import { simulatedRows } from "./trials.ts";

const USAGE = `Usage: deno task bench:harness [options]

  --trials=<n>  simulated runs of each kind of noise, with and without an effect (default: 1000)
  --kills=<n>   runs and workers that are killed at random moments, and resumed (default: 50)
  --real=<n>    real runs beside a neighbour, half of them in turns (default: 0; nightly: 400)
  --seconds=<s> seconds of each (default: 24)
  --rounds=<n>  samples of each of its cases (default: 4)
  --out=<path>  file to write (default: reports/out/bench-harness.json)`;

/** The part of the bench that a row is of. */
function partOf(name: string): "simulated" | "kills" | "real" {
  if (/^(aa|power)\/real |^width\/before$/.test(name)) return "real";
  return /^(crimes|resume)\//.test(name) ? "kills" : "simulated";
}

if (import.meta.main) {
  const plan = planOrUsage("harness", ({ out }) => {
    const { number, text } = readArguments(Deno.args, ["trials", "kills", "real", "seconds", "rounds", "out"], USAGE);
    return {
      trials: number("trials", 1000, 0),
      kills: number("kills", 50, 0),
      real: { runs: number("real", 0, 0), seconds: number("seconds", 24, 5), repetitions: number("rounds", 4, 3) },
      out: text("out") ?? out,
    };
  });
  if (plan !== undefined) {
    const facts = {
      ...machineFacts(BUILT_LIBRARY),
      interval: "95 % interval of a share (Wilson)",
      trials: plan.trials,
    };
    const tell = (what: string) => console.error(what);
    const rows = [
      ...plan.trials === 0 ? [] : simulatedRows(plan.trials, tell),
      ...plan.kills === 0 ? [] : [...await crimeRows(), await killRow(plan.kills)],
      ...plan.real.runs === 0 ? [] : realRows(await realRuns(plan.real, tell), plan.real),
    ];
    console.log(tableText(tableRows(rows)));
    const made = { simulated: plan.trials > 0, kills: plan.kills > 0, real: plan.real.runs > 0 };
    writeResult(plan.out, facts, withEarlierRows(plan.out, facts, rows, (name) => !made[partOf(name)]));
    console.log(`All rows: ${plan.out}`);
  }
}
