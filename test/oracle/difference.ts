/**
 * How far two runs of a case are apart.
 *
 * @module
 */

import type { OracleRun } from "./run.ts";

/** Largest relative differences, and the difference of the AUC. */
export interface Difference {
  readonly step1: number;
  readonly steps5: number;
  readonly steps20: number;
  readonly steps: number;
  readonly auc: number;
  readonly logloss: number;
  /** Of the ways that parameters have moved. */
  readonly moved: number;
  /** The parameter that this is of. */
  readonly movedMost: string;
}

/** Compares a run with a reference. */
export function difference(run: OracleRun, reference: OracleRun): Difference {
  const steps = reference.losses.map((loss, i) => relative(run.losses[i] ?? NaN, loss));
  const names = Object.keys(reference.moved);
  const moved = names.map((name) => relative(run.moved[name] ?? NaN, reference.moved[name] ?? NaN));
  // Math.max keeps NaN, which is below no bound.
  const most = Math.max(...moved);
  return {
    step1: steps[0] ?? NaN,
    steps5: Math.max(...steps.slice(0, 5)),
    steps20: Math.max(...steps.slice(0, 20)),
    steps: Math.max(...steps),
    auc: Math.abs(run.auc - reference.auc),
    logloss: relative(run.logloss, reference.logloss),
    moved: most,
    movedMost: names[moved.findIndex((x) => Object.is(x, most))] ?? "",
  };
}

function relative(value: number, reference: number): number {
  return Math.abs(value - reference) / Math.abs(reference);
}
