/**
 * How many steps every sample and the quality run take: as the scenario says, as samples that are there already did, or
 * as pilots and the budget allow.
 *
 * @module
 */

import { LEAST_STEPS, PILOT, type Pilot, pointSeconds, qualitySeconds, stepsFor } from "./budget.ts";
import type { RunEvent } from "./events.ts";
import { pointText } from "../../base/matrix.ts";
import type { PlannedSample } from "../plan.ts";
import { type Preparation, type PreparedCase, qualityCase, type RunDependencies } from "./prepare.ts";
import type { SampleRecord } from "../record.ts";
import { takeSample, type WorkerControl } from "./sample.ts";
import type { ResolvedScenario } from "../scenario.ts";
import { MOST_ROUNDS, stepsOfManyRounds } from "./until.ts";
import type { SpeedOutcome } from "./worker_protocol.ts";

/** Share of the budget that an "auto" quality run may take. */
const QUALITY_SHARE = 0.5;
/** Share of the budget that is kept back for the report and for what pilots misjudge. */
export const RESERVE = 0.06;

/** How long things are. */
export interface Sizing {
  /** Counted steps of a case's samples. */
  steps(one: PreparedCase): number;
  /** Steps of the quality run; 0: none. */
  readonly qualitySteps: number;
  /** Pilots by name of case; empty if none were needed. */
  readonly pilots: ReadonlyMap<string, Pilot>;
  /** Expected seconds of the quality run; undefined without a pilot. */
  readonly qualitySeconds: number | undefined;
}

/** What is known before sizing. */
interface SizingInput {
  readonly scenario: ResolvedScenario;
  readonly prepared: Preparation;
  /** Samples that are complete already. */
  readonly samples: readonly SampleRecord[];
  /** Samples to take. */
  readonly left: readonly PlannedSample<PreparedCase>[];
  readonly qualityDone: boolean;
  /** Whether there may be more rounds than the scenario says, until they are enough. */
  readonly manyRounds: boolean;
  /** Seconds of the budget that have gone. */
  readonly elapsed: () => number;
}

/** Sizes a run. */
export async function sizeRun(
  input: SizingInput,
  dependencies: RunDependencies,
  { signal, emit }: { readonly signal: AbortSignal | undefined; readonly emit: (event: RunEvent) => void },
): Promise<Sizing> {
  const known = knownSteps(input);
  const pilots = new Map<string, Pilot>();
  if (input.left.some(({ case: one }) => !known.has(pointText(one.point))) || needsQualityPilot(input)) {
    for (const one of input.prepared.cases) {
      emit({ type: "sizing", case: one.name });
      const pilot = await takePilot(one, dependencies, { signal }, emit);
      if (pilot !== undefined) pilots.set(one.name, pilot);
    }
    // What is repeated takes as long as what it repeats.
    for (const { name, again = "" } of input.prepared.again) {
      const pilot = pilots.get(again);
      if (pilot !== undefined) pilots.set(name, pilot);
    }
  }
  const quality = sizeQuality(input, known, pilots);
  const steps = shareBudget(input, known, pilots, quality.qualitySeconds ?? 0);
  const sizing: Sizing = {
    ...quality,
    pilots,
    steps: (one) => steps.get(pointText(one.point)) ?? LEAST_STEPS,
  };
  report(input, sizing, emit);
  return sizing;
}

/** Steps of points whose scenario says them, or that have a complete sample. */
function knownSteps({ prepared, samples }: SizingInput): Map<string, number> {
  const known = new Map<string, number>();
  for (const { point, scenario } of prepared.cases) {
    if (scenario.workload.steps !== "auto") known.set(pointText(point), scenario.workload.steps);
  }
  for (const { point, stepNs } of samples) known.set(pointText(point), stepNs.length);
  return known;
}

function needsQualityPilot({ scenario, qualityDone }: SizingInput): boolean {
  return !qualityDone && scenario.quality.samples === "auto";
}

async function takePilot(
  one: PreparedCase,
  dependencies: RunDependencies,
  control: WorkerControl,
  emit: (event: RunEvent) => void,
): Promise<Pilot | undefined> {
  try {
    const { outcome, seconds } = await takeSample(one, { task: "speed", ...PILOT }, dependencies, control);
    const { stepNs } = outcome as SpeedOutcome;
    const stepSeconds = stepNs.reduce((sum, ns) => sum + ns, 0) / 1e9 / stepNs.length;
    return { stepSeconds, setupSeconds: Math.max(0, seconds - (PILOT.warmup + PILOT.steps) * stepSeconds) };
  } catch (error) {
    control.signal?.throwIfAborted();
    const message = error instanceof Error ? error.message : String(error);
    emit({ type: "notice", message: `${one.name} failed while its steps were sized: ${message}` });
    return undefined;
  }
}

/** Seconds that the samples to take need at least. */
function leastSeconds({ left }: SizingInput, known: ReadonlyMap<string, number>, pilots: ReadonlyMap<string, Pilot>) {
  return left.reduce((sum, { case: { name, point, scenario } }) => {
    const pilot = pilots.get(name);
    const steps = known.get(pointText(point)) ?? LEAST_STEPS;
    return pilot === undefined ? sum : sum + pointSeconds([pilot], 1, scenario.workload.warmup, steps);
  }, 0);
}

function sizeQuality(
  input: SizingInput,
  known: ReadonlyMap<string, number>,
  pilots: ReadonlyMap<string, Pilot>,
): Pick<Sizing, "qualitySteps" | "qualitySeconds"> {
  const { scenario, prepared, qualityDone, elapsed } = input;
  const { samples, evaluations } = scenario.quality;
  if (qualityDone || samples === 0) return { qualitySteps: 0, qualitySeconds: 0 };
  const one = qualityCase(prepared.cases);
  const { batch } = one.scenario.workload;
  const wanted = wantedSteps(scenario, one);
  const pilot = pilots.get(one.name);
  if (pilot === undefined) return { qualitySteps: wanted, qualitySeconds: undefined };
  const testRows = scoredRows(scenario, one);
  const seconds = (steps: number) => qualitySeconds(pilot, { steps, evaluations, testRows, batch });
  const share = Math.min(
    scenario.budget * QUALITY_SHARE,
    scenario.budget * (1 - RESERVE) - elapsed() - leastSeconds(input, known, pilots),
  );
  const most = Math.floor((share - seconds(0)) / pilot.stepSeconds);
  const steps = samples === "auto" ? Math.max(1, Math.min(wanted, most)) : wanted;
  return { qualitySteps: steps, qualitySeconds: seconds(steps) };
}

/** Steps of the quality run if the budget does not end it before: all training rows once, or as the scenario says. */
export function wantedSteps({ quality: { samples } }: ResolvedScenario, one: PreparedCase): number {
  const rows = samples === "auto" ? one.data.record.trainRows : samples;
  return Math.max(1, Math.round(rows / one.scenario.workload.batch));
}

/** Held-out rows that each evaluation of the quality run scores. */
export function scoredRows({ quality: { testRows } }: ResolvedScenario, { data: { record } }: PreparedCase): number {
  return testRows === 0 ? record.testRows : Math.min(testRows, record.testRows);
}

/** Steps of every point: what is left of the budget, in equal shares, for those that are not known. */
function shareBudget(
  { scenario, prepared, left, manyRounds, elapsed }: SizingInput,
  known: ReadonlyMap<string, number>,
  pilots: ReadonlyMap<string, Pilot>,
  quality: number,
): Map<string, number> {
  const steps = new Map(known);
  const open = [...new Set(left.map(({ case: one }) => pointText(one.point)))].filter((point) => !known.has(point));
  const share = (scenario.budget * (1 - RESERVE) - elapsed() - quality) / Math.max(1, open.length);
  for (const point of open) {
    const cases = [...prepared.cases, ...prepared.again].filter((one) => pointText(one.point) === point);
    const found = cases.flatMap(({ name }) => pilots.get(name) ?? []);
    const warmup = cases[0]?.scenario.workload.warmup ?? 0;
    const filling = (rounds: number) => stepsFor(found, rounds, warmup, share);
    const most = found.length === 0 ? LEAST_STEPS : filling(scenario.repetitions);
    steps.set(
      point,
      manyRounds && found.length > 0 ? stepsOfManyRounds(found, filling(MOST_ROUNDS), most) : most,
    );
  }
  return steps;
}

function report({ scenario, prepared, left, elapsed }: SizingInput, sizing: Sizing, emit: (event: RunEvent) => void) {
  let seconds = sizing.qualitySeconds ?? 0;
  for (const { case: one } of left) {
    const pilot = sizing.pilots.get(one.name);
    if (pilot !== undefined) seconds += pointSeconds([pilot], 1, one.scenario.workload.warmup, sizing.steps(one));
  }
  const steps = [...new Set(prepared.cases.map((one) => sizing.steps(one)))];
  emit({ type: "sized", samples: left.length, steps, seconds });
  if (sizing.pilots.size > 0 && elapsed() + seconds > scenario.budget * 1.1) {
    emit({
      type: "notice",
      message: `the run will take about ${
        Math.round(elapsed() + seconds)
      } s, more than its budget of ${scenario.budget} s`,
    });
  }
}
