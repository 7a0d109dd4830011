/**
 * Real runs beside a neighbour: two configurations that are the same, one of them made slower by a known share afterwards,
 * judged as a report judges them. Half of the runs train in turns, half with one process after the other, alternately, so
 * that the same machine and the same neighbour tell what turns are worth.
 *
 * A delay is put into the recorded times: every step of one configuration is longer by its share. What the machine, the
 * neighbour and the processes did is in them as it was.
 *
 * @module
 */

import { runScenario } from "../../scenarios/run/run.ts";
import type { Result, SampleRecord } from "../../scenarios/record.ts";
import type { Scenario } from "../../scenarios/scenario.ts";
import { mean, quantile } from "../../base/statistics.ts";
import { difference } from "../../reports/statistics/noise.ts";
import { ROOT } from "../../setup/state.ts";
import { type BenchRow, shareRow } from "../rows.ts";
import { judgedRatio } from "./trials.ts";

/** Delays, as shares of a step. */
export const DELAYS = [0, 0.01, 0.02, 0.03, 0.05] as const;

/** What is run, in so many seconds. */
function scenarioOf(seconds: number, repetitions: number, seed: number, sampling: "turns" | "processes"): Scenario {
  return {
    name: "beside-a-neighbour",
    workload: {
      data: { synthetic: "criteo-kaggle", scale: 0.004, rows: 16_384, testRows: 1024 },
      batch: 512,
      hidden: [256, 128],
      warmup: 5,
      steps: "auto",
    },
    configurations: { one: { storage: "DRAM" }, other: { storage: "DRAM" } },
    repetitions,
    sampling,
    budget: seconds,
    quality: { samples: 0 },
    seed,
  };
}

/** What a run says with each delay. */
export interface RealRun {
  /** How its samples shared the time of a round. */
  readonly sampling: "turns" | "processes";
  /** In the order of {@linkcode DELAYS}: whether a report calls the delayed configuration slower (`below`), or faster. */
  readonly called: readonly (ReturnType<typeof difference>)[];
  /** Logarithm of the upper end of the interval without a delay ÷ its lower end. */
  readonly width: number;
}

/** Judges a run with each delay. */
export function judged(
  result: Pick<Result, "samples" | "again">,
  sampling: RealRun["sampling"],
  seed: string,
): RealRun {
  const of = (name: string) => result.samples.filter(({ configuration }) => configuration === name);
  const slower = (one: SampleRecord, delay: number) => ({ ...one, stepNs: one.stepNs.map((ns) => ns * (1 + delay)) });
  const ratios = DELAYS.map((delay) =>
    judgedRatio({
      baseline: of("one"),
      again: result.again ?? [],
      other: of("other").map((one) => slower(one, delay)),
    }, `${seed} ${delay}`)
  );
  const { low = NaN, high = NaN } = ratios[0] ?? {};
  return { sampling, called: ratios.map(difference), width: Math.log(high / low) };
}

/** How many runs there are, and how long each is. */
export interface RealPlan {
  /** Runs, half of them in turns. */
  readonly runs: number;
  /** Seconds of each. */
  readonly seconds: number;
  /** Samples of each case. */
  readonly repetitions: number;
}

/** Takes real runs beside a neighbour. */
export async function realRuns(
  { runs, seconds, repetitions }: RealPlan,
  tell: (what: string) => void,
): Promise<RealRun[]> {
  const folder = await Deno.makeTempDir();
  const all: RealRun[] = [];
  const neighbour = new Deno.Command(Deno.execPath(), {
    args: ["run", "--no-config", "--no-lock", `${ROOT}/bench/harness/neighbour.ts`, "7"],
    stdin: "null",
  }).spawn();
  try {
    for (let run = 0; run < runs; run++) {
      const sampling = run % 2 === 0 ? "turns" : "processes";
      const result = await runScenario(scenarioOf(seconds, repetitions, 100 + run, sampling), {
        out: `${folder}/${run}`,
      });
      const found = judged(result, sampling, `${run}`);
      all.push(found);
      tell(`${run + 1}/${runs} ${sampling}: ${found.called.join(" ")}, ${(100 * found.width).toFixed(1)} % wide`);
    }
    return all;
  } finally {
    neighbour.kill("SIGKILL");
    await neighbour.status;
    await Deno.remove(folder, { recursive: true });
  }
}

/** The rows of real runs. */
export function realRows(runs: readonly RealRun[], { seconds, repetitions }: RealPlan): BenchRow[] {
  const note = `real runs of ${seconds} s beside a neighbour, ${repetitions} rounds`;
  const by = (sampling: RealRun["sampling"]) => runs.filter((one) => one.sampling === sampling);
  const rows = DELAYS.map((delay, i): BenchRow => {
    const called = by("turns").filter(({ called }) => delay === 0 ? isCalled(called[i]) : called[i] === "below").length;
    const row = shareRow(
      delay === 0 ? "aa/real false alarms" : `power/real ${(100 * delay).toFixed(0)}-percent`,
      called,
      by("turns").length,
      `${note}, in turns`,
    );
    return delay === 0 ? { ...row, atMost: 0.05 } : delay === 0.03 ? { ...row, atLeast: 0.8 } : row;
  });
  const widths = (sampling: RealRun["sampling"]) => by(sampling).map(({ width }) => width);
  const ratio = Math.exp(mean(widths("turns").map(Math.log)) - mean(widths("processes").map(Math.log)));
  const alone = by("processes");
  return [
    ...rows,
    shareRow("aa/real processes", alone.filter(({ called }) => isCalled(called[0])).length, alone.length, note),
    shareRow(
      "power/real 3-percent processes",
      alone.filter(({ called }) => called[DELAYS.indexOf(0.03)] === "below").length,
      alone.length,
      note,
    ),
    {
      name: "width/before",
      value: runs.length < 4 ? null : ratio,
      low: null,
      high: null,
      unit: "ratio",
      atMost: 0.67,
      note: `intervals in turns ÷ those of one process after the other, of ${runs.length} ${note}; medians ` +
        `${percent(quantile(widths("turns"), 0.5))} and ${percent(quantile(widths("processes"), 0.5))} wide`,
    },
  ];
}

function isCalled(found: ReturnType<typeof difference> | undefined): boolean {
  return found === "above" || found === "below";
}

function percent(width: number): string {
  return `${(100 * width).toFixed(1)} %`;
}
