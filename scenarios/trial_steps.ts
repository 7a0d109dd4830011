/**
 * Steps that are no measurement: those in which SmartStage tries what to prepare ahead.
 *
 * @module
 */

import type { Ablation, Workload } from "./scenario.ts";

/** Steps of the trial: three ways, eight steps each, twice. A test compares it with the trainer. */
export const TRIAL_STEPS = 48;

/**
 * Steps at the beginning of samples that must not be counted, since some case of the scenario tries what to prepare ahead
 * in them. All cases have the same, so that their samples train the same steps.
 *
 * @param scenario As written, or resolved.
 */
export function trialSteps(
  { workload, matrix = {}, ablation }: {
    readonly workload?: Pick<Workload, "optimisations">;
    readonly matrix?: Readonly<Record<string, readonly unknown[]>>;
    readonly ablation?: { readonly switches: Pick<Ablation["switches"], "smartStage"> };
  },
): number {
  const tries = workload?.optimisations?.smartStage === true ||
    matrix["workload.optimisations.smartStage"]?.includes(true) === true ||
    ablation?.switches.smartStage === true;
  return tries ? TRIAL_STEPS : 0;
}
