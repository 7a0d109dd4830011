/**
 * A plan's step in virtual time, beside what the planner says of it.
 *
 * @module
 */

import { simulate } from "../../ffi/simulate.ts";
import { planOptions, planSimulation, runsInVirtualTime, type StepSetting } from "./step.ts";
import type { Plan, PlanSimulator, SimulatedPlan } from "./plan_types.ts";

/** Steps that are counted. */
const STEPS = 32;

/** Runs plans in virtual time, for the planner. */
export function planSimulator(setting: StepSetting): PlanSimulator {
  return ({ machine, hosts, placed, stepSeconds }: Plan): SimulatedPlan | undefined => {
    if (!runsInVirtualTime(setting, hosts)) return undefined;
    const simulated = planSimulation(setting, machine, hosts, placed);
    const steps = { ...simulated.simulation, steps: STEPS };
    const { elapsedPs, stepPs } = simulate(planOptions(setting, { ...simulated, simulation: steps }, placed));
    const seconds = elapsedPs / stepPs.length * 1e-12;
    return {
      stepSeconds: seconds,
      samplesPerSecond: setting.batch * setting.workers / seconds,
      apart: stepSeconds.value / seconds - 1,
    };
  };
}
