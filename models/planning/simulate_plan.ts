/**
 * A plan's step in virtual time, beside what the planner says of it; and what such a step asks the media.
 *
 * @module
 */

import { simulate } from "../../ffi/simulate.ts";
import { askedQuestions } from "../simulation/questions.ts";
import { planOptions, planSimulation, runsInVirtualTime, type StepSetting } from "./step.ts";
import type { Plan, PlanQuestions, PlanSimulator, SimulatedPlan } from "./plan_types.ts";

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

/** What a step of a plan asks the media, with the figures that back each question, the least backed first. */
export function planQuestions(setting: StepSetting): PlanQuestions {
  return async ({ machine, hosts, placed }: Plan) => {
    const simulated = planSimulation(setting, machine, hosts, placed);
    const one = { ...simulated, simulation: { ...simulated.simulation, steps: 1, warmup: 0 } };
    const { questions } = simulate(planOptions(setting, one, placed));
    return await askedQuestions(questions, simulated.set.tiers);
  };
}
