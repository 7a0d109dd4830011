/**
 * Runs that take rounds until their figures are precise enough, or the budget is used.
 *
 * @module
 */

import type { Pilot } from "./budget.ts";
import { LEAST_STEPS } from "./budget.ts";
import type { Result } from "../record.ts";

/** Whether a run has enough rounds. */
export interface Enough {
  /** Whether it may end. */
  readonly enough: boolean;
  /** How precise it is and what was asked for. */
  readonly words: string;
}

/** Says of the rounds so far whether they are enough; `repetitions` of the scenario are taken before it is asked. */
export type Until = (result: Result) => Enough;

/** Rounds that such a run takes at most. */
export const MOST_ROUNDS = 100;

/**
 * Counted steps of a sample where rounds are what a run can have more of: as long as what a sample needs beside them, so that
 * neither most of the time goes into setting up nor few rounds have all the steps; and so many that the rounds that there may
 * be use the budget.
 *
 * @param pilots Pilots of the cases.
 * @param fewest Steps with which {@linkcode MOST_ROUNDS} fill the budget.
 * @param most Steps with which the least number of rounds fills the budget.
 */
export function stepsOfManyRounds(pilots: readonly Pilot[], fewest: number, most: number): number {
  const sum = (of: (pilot: Pilot) => number) => pilots.reduce((all, pilot) => all + of(pilot), 0);
  const even = Math.ceil(sum((one) => one.setupSeconds) / sum((one) => one.stepSeconds));
  return Math.min(most, Math.max(LEAST_STEPS, fewest, Number.isFinite(even) ? even : LEAST_STEPS));
}
