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
import { judged, readRuns, takeRuns } from "./real.ts";
import { realRows } from "./real_rows.ts";
import { simulatedRows } from "./trials.ts";

const USAGE = `Usage: deno task bench:harness [options]

  --trials=<n>  simulated runs of each kind of noise, with and without an effect (default: 1000)
  --kills=<n>   runs and workers that are killed at random moments, and resumed (default: 50)
  --real=<n>    real runs beside a neighbour; they add up in <path>l, and rows are of all that are there; 0: of those
                (default: none is taken nor judged)
  --seconds=<s> seconds of each (default: 24)
  --rounds=<n>  samples of each of its cases (default: 4)
  --width=<p>   a run ends when its widest interval is ±p %, or after its seconds
  --piece=<s>   stops after so many seconds; the same call goes on with the run that it stopped
  --sampling=<s> turns, processes, or both: alternately (default)
  --out=<path>  file to write (default: reports/out/bench-harness.json)`;

/** The part of the bench that a row is of. */
function partOf(name: string): "simulated" | "kills" | "real" {
  if (/^(aa|power)\/real |^width\/before$/.test(name)) return "real";
  return /^(crimes|resume)\//.test(name) ? "kills" : "simulated";
}

if (import.meta.main) {
  const plan = planOrUsage("harness", ({ out }) => {
    const words = ["trials", "kills", "real", "seconds", "rounds", "width", "piece", "sampling", "out"];
    const { number, text } = readArguments(Deno.args, words, USAGE);
    const [width, sampling = "both"] = [text("width"), text("sampling")];
    if (width !== undefined && !(Number(width) > 0 && Number(width) < 100)) {
      throw new RangeError(`Cannot use --width=${width}: a percentage is needed\n\n${USAGE}`);
    }
    if (sampling !== "turns" && sampling !== "processes" && sampling !== "both") {
      throw new RangeError(`Cannot use --sampling=${sampling}: turns, processes or both are there\n\n${USAGE}`);
    }
    return {
      trials: number("trials", 1000, 0),
      kills: number("kills", 50, 0),
      piece: text("piece") === undefined ? undefined : number("piece", 0, 10),
      judgesReal: text("real") !== undefined,
      real: {
        runs: number("real", 0, 0),
        seconds: number("seconds", 24, 5),
        repetitions: number("rounds", 4, 3),
        ...(width === undefined ? {} : { width: Number(width) / 100 }),
        sampling,
      },
      out: text("out") ?? out,
    } as const;
  });
  if (plan !== undefined) {
    const facts = {
      ...machineFacts(BUILT_LIBRARY),
      interval: "95 % interval of a share (Wilson)",
      trials: plan.trials,
    };
    const tell = (what: string) => console.error(what);
    const runs = `${plan.out}l`;
    if (plan.real.runs > 0) {
      const signal = plan.piece === undefined ? undefined : AbortSignal.timeout(1000 * plan.piece);
      await takeRuns(plan.real, runs, tell, signal);
    }
    const rows = [
      ...plan.trials === 0 ? [] : simulatedRows(plan.trials, tell),
      ...plan.kills === 0 ? [] : [...await crimeRows(), await killRow(plan.kills)],
      ...plan.judgesReal ? realRows(readRuns(runs).map(judged)) : [],
    ];
    console.log(tableText(tableRows(rows)));
    const made = { simulated: plan.trials > 0, kills: plan.kills > 0, real: plan.judgesReal };
    writeResult(plan.out, facts, withEarlierRows(plan.out, facts, rows, (name) => !made[partOf(name)]));
    console.log(`All rows: ${plan.out}`);
  }
}
