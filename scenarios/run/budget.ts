/**
 * Sizes "auto" steps by the time budget: a short pilot of every case tells what a process costs before its counted
 * steps and what a step costs; what is left of the budget after everything fixed is shared by the steps. All cases of
 * a point take the same steps, so that their rows must be equal.
 *
 * @module
 */

/** What a pilot of a case found. */
export interface Pilot {
  /** Seconds of a process without its steps: start, opening, filling, digest. */
  readonly setupSeconds: number;
  /** Seconds of a step. */
  readonly stepSeconds: number;
}

/** Counted steps at least: fewer say nothing about the slow ones. */
export const LEAST_STEPS = 10;
/** Counted steps at most: more say nothing new. */
export const MOST_STEPS = 5000;

/** Counted steps of a pilot, and those before them. */
export const PILOT: { readonly warmup: number; readonly steps: number } = { warmup: 2, steps: 4 };

/** Seconds of all samples of a point, with `steps` counted steps each. */
export function pointSeconds(pilots: readonly Pilot[], repetitions: number, warmup: number, steps: number): number {
  return repetitions *
    pilots.reduce((sum, { setupSeconds, stepSeconds }) => sum + setupSeconds + (warmup + steps) * stepSeconds, 0);
}

/**
 * Counted steps for the cases of a point.
 *
 * @param pilots Pilots of all cases of the point.
 * @param seconds What the point may take.
 */
export function stepsFor(pilots: readonly Pilot[], repetitions: number, warmup: number, seconds: number): number {
  const fixed = pointSeconds(pilots, repetitions, warmup, 0);
  const perStep = pointSeconds(pilots, repetitions, 0, 1) - pointSeconds(pilots, repetitions, 0, 0);
  const steps = Math.floor((seconds - fixed) / perStep);
  return Math.min(MOST_STEPS, Math.max(LEAST_STEPS, Number.isFinite(steps) ? steps : LEAST_STEPS));
}

/**
 * Counted steps for the samples of a point that are left: those planned, or fewer if samples took longer than planned.
 *
 * @param planned Counted steps so far.
 * @param pilots What the latest samples of all cases of the point found.
 * @param rounds Samples that each case still has to take.
 * @param seconds What they may take.
 */
export function keptSteps(
  planned: number,
  pilots: readonly Pilot[],
  { rounds, warmup, seconds }: { readonly rounds: number; readonly warmup: number; readonly seconds: number },
): number {
  return pilots.length === 0 ? planned : Math.min(planned, stepsFor(pilots, rounds, warmup, seconds));
}

/** Seconds of scoring a row over seconds of training one: a forward pass without the backward ones. */
const SCORING = 1 / 3;

/** Seconds of scoring `rows` rows, if a step of training takes `stepSeconds`. */
export function scoringSeconds(stepSeconds: number, rows: number, batch: number): number {
  return rows / batch * SCORING * stepSeconds;
}

/** Seconds of the quality run. */
export function qualitySeconds(
  pilot: Pilot,
  run: { readonly steps: number; readonly evaluations: number; readonly testRows: number; readonly batch: number },
): number {
  const scoring = scoringSeconds(pilot.stepSeconds, run.testRows, run.batch);
  return pilot.setupSeconds + run.steps * pilot.stepSeconds + run.evaluations * scoring;
}
