/**
 * Real runs beside a neighbour: two configurations that are the same, one of them made slower by a known share afterwards,
 * judged as a report judges them. They train in turns, with one process after the other, or alternately in both ways, so that
 * the same machine and the same neighbour tell what turns are worth.
 *
 * A delay is put into the recorded times: every step of one configuration is longer by its share. What the machine, the
 * neighbour and the processes did is in them as it was.
 *
 * @module
 */

import { RunInterrupted, runScenario } from "../../scenarios/run/run.ts";
import type { Result, SampleRecord } from "../../scenarios/record.ts";
import type { Scenario } from "../../scenarios/scenario.ts";
import { mean } from "../../base/statistics.ts";
import { difference } from "../../reports/statistics/noise.ts";
import { preciseTo } from "../../reports/summary/precision.ts";
import { ROOT } from "../../setup/state.ts";
import type { SimulatedRun } from "./noise.ts";
import { judgedRatio } from "./trials.ts";

/** Delays, as shares of a step. */
export const DELAYS = [0, 0.01, 0.02, 0.03, 0.05] as const;

/** How the samples of a round share its time. */
export type Sampling = "turns" | "processes";

/** How many runs are taken, and how long each is. */
export interface RealPlan {
  /** Runs. */
  readonly runs: number;
  /** Seconds of each, at most. */
  readonly seconds: number;
  /** Samples of each case; with `width` the fewest. */
  readonly repetitions: number;
  /** Half the width, as a share, at which the widest interval ends a run; absent: it takes all its seconds. */
  readonly width?: number;
  /** Both: every second run trains with one process after the other. */
  readonly sampling: Sampling | "both";
}

/** A run that was taken: what a report judges of it, and how it was taken. */
export interface TakenRun extends Pick<RealPlan, "seconds" | "repetitions" | "width"> {
  /** How the samples of its rounds shared their time. */
  readonly sampling: Sampling;
  /** Of the scenario and of the neighbour. */
  readonly seed: number;
  /** When it ended, in ISO 8601. */
  readonly ended: string;
  /** Seconds it took. */
  readonly took: number;
  /** Mean share of the processors' time that others had; null where it cannot be read. */
  readonly others: number | null;
  /** Rounds, each with the times of all counted steps in microseconds: baseline, the same once more, the other case. */
  readonly rounds: readonly (readonly [readonly number[], readonly number[], readonly number[]])[];
}

/** What a report says of a run with each delay. */
export interface RealRun {
  /** The run. */
  readonly run: TakenRun;
  /** In the order of {@linkcode DELAYS}: whether a report calls the delayed configuration slower (`below`), or faster. */
  readonly called: readonly (ReturnType<typeof difference>)[];
  /** Logarithm of the upper end of the interval without a delay ÷ its lower end. */
  readonly width: number;
}

/** What is run. */
function scenarioOf(seconds: number, repetitions: number, seed: number, sampling: Sampling): Scenario {
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

/** The times that a report judges. @throws {Error} if a round lacks a sample. */
export function roundsOf({ samples, again = [] }: Pick<Result, "samples" | "again">): TakenRun["rounds"] {
  const numbers = [...new Set(samples.map(({ sample }) => sample))].sort((a, b) => a - b);
  const times = (of: readonly SampleRecord[], round: number) => {
    const found = of.find(({ sample }) => sample === round);
    if (found === undefined) throw new Error(`Cannot judge a run: a sample of round ${round} is not there`);
    return found.stepNs.map((ns) => Math.round(ns / 1000));
  };
  const of = (name: string) => samples.filter(({ configuration }) => configuration === name);
  return numbers.map((round) => [times(of("one"), round), times(again, round), times(of("other"), round)] as const);
}

/** Judges a run with each delay. */
export function judged(run: TakenRun): RealRun {
  const side = (which: 0 | 1 | 2, delay: number): SimulatedRun["other"] =>
    run.rounds.map((times, i) => ({
      sample: i + 1,
      batch: 1,
      stepNs: times[which].map((us) => us * 1000 * (1 + delay)),
    }));
  const ratios = DELAYS.map((delay) =>
    judgedRatio({ baseline: side(0, 0), again: side(1, 0), other: side(2, delay) }, `${run.seed} ${delay}`)
  );
  const { low = NaN, high = NaN } = ratios[0] ?? {};
  return { run, called: ratios.map(difference), width: Math.log(high / low) };
}

/** Seconds that a run took before it was interrupted; 0: it begins. */
function tookBefore(folder: string): number {
  try {
    return Number(Deno.readTextFileSync(`${folder}/took`));
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return 0;
    throw error;
  }
}

/** Takes one run beside a neighbour, or goes on with it; undefined if it is interrupted. */
async function takeRun(
  { seconds, repetitions, width }: RealPlan,
  seed: number,
  sampling: Sampling,
  { folder, signal }: { readonly folder: string; readonly signal: AbortSignal | undefined },
): Promise<TakenRun | undefined> {
  const before = tookBefore(folder);
  const neighbour = new Deno.Command(Deno.execPath(), {
    args: ["run", "--no-config", "--no-lock", `${ROOT}/bench/harness/neighbour.ts`, `${seed}`],
    stdin: "null",
  }).spawn();
  const begun = performance.now();
  const took = () => before + Math.round((performance.now() - begun) / 100) / 10;
  try {
    const result = await runScenario(scenarioOf(seconds, repetitions, seed, sampling), {
      out: folder,
      resume: before > 0,
      ...(signal === undefined ? {} : { signal }),
      ...(width === undefined ? {} : { until: preciseTo(width) }),
    });
    const others = result.samples.flatMap(({ conditions }) => conditions?.othersShare ?? []);
    return {
      sampling,
      seconds,
      repetitions,
      ...(width === undefined ? {} : { width }),
      seed,
      ended: new Date().toISOString(),
      took: took(),
      others: others.length === 0 ? null : Math.round(1000 * mean(others)) / 1000,
      rounds: roundsOf(result),
    };
  } catch (error) {
    if (!(error instanceof RunInterrupted)) throw error;
    Deno.writeTextFileSync(`${folder}/took`, `${took()}`);
    return undefined;
  } finally {
    neighbour.kill("SIGKILL");
    await neighbour.status;
  }
}

/** The runs of a file, in the order in which they ended; none where it does not exist. */
export function readRuns(path: string): TakenRun[] {
  try {
    return Deno.readTextFileSync(path).split("\n").slice(0, -1).map((line) => JSON.parse(line) as TakenRun);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return [];
    throw new Error(`Cannot read the runs in "${path}": ${(error as Error).message}; move it away to begin anew`);
  }
}

/** The number of a run that was interrupted, whose folder begins so; whatever else came into the file since. */
function interruptedRun(start: string): number | undefined {
  const cut = start.lastIndexOf("/"), name = start.slice(cut + 1);
  for (const entry of Deno.readDirSync(start.slice(0, cut))) {
    if (!entry.name.startsWith(name)) continue;
    const number = Number(entry.name.slice(name.length));
    if (Number.isInteger(number) && tookBefore(`${start}${number}`) > 0) return number;
  }
  return undefined;
}

/**
 * Takes real runs, each appended to a file as it ends: runs add up over calls. An interrupted one is gone on with by the next
 * call that asks for the same, in the folder beside the file.
 *
 * @param path The file, JSON lines of {@linkcode TakenRun}.
 * @param tell Told of each run what a report says of it.
 * @param signal Interrupts; runs that have ended stay.
 */
export async function takeRuns(
  plan: RealPlan,
  path: string,
  tell: (what: string) => void,
  signal?: AbortSignal,
): Promise<void> {
  const before = readRuns(path).length;
  for (let i = 0; i < plan.runs; i++) {
    const next = before + i;
    const sampling = plan.sampling !== "both" ? plan.sampling : next % 2 === 0 ? "turns" : "processes";
    const start = `${path}.${sampling}-${plan.seconds}-${plan.repetitions}-${plan.width ?? "all"}-`;
    const number = interruptedRun(start) ?? next, folder = `${start}${number}`;
    const run = await takeRun(plan, 100 + number, sampling, { folder, signal });
    if (run === undefined) return tell(`run ${number + 1} is interrupted; the same call goes on with it`);
    Deno.writeTextFileSync(path, JSON.stringify(run) + "\n", { append: true });
    await Deno.remove(folder, { recursive: true });
    const { called, width } = judged(run);
    tell(
      `run ${number + 1}, ${sampling}, ${run.rounds.length} rounds in ${run.took.toFixed(1)} s: ${called.join(" ")}, ` +
        `${(100 * width).toFixed(1)} % wide`,
    );
  }
}
