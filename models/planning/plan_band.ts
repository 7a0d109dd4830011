/**
 * How wrong a plan's step may be: the errors of its media, what was stated and the engine's own error drawn together, as for
 * the cases of a simulation (`models/simulation/uncertainty.ts`).
 *
 * @module
 */

import { stepCost } from "../../ffi/step_cost.ts";
import { bandOfDraws, drawSpeeds, type TierRange, uncertainOf, withFactors } from "../simulation/uncertainty.ts";
import type { PlacedTable, PlanBandModel, PlanMachine, PlanTier } from "./plan_types.ts";
import { planOptions, planSimulation, runsInVirtualTime, type StepSetting } from "./step.ts";

/** Ranges of the tiers that rows are in; undefined if one of them has none. */
function tierRanges({ tiers }: PlanMachine, placed: readonly PlacedTable[]): TierRange[] | undefined {
  const rangeOf = ({ medium, band }: PlanTier, k: number): TierRange | undefined => {
    const used = placed.some(({ answered }) => (answered[k] ?? 0) > 0);
    if (used && band === undefined) return undefined;
    const factor = used && band !== undefined ? Math.max(band.high, 1 / band.low) : 1;
    return { media: medium, read: factor, write: factor };
  };
  const ranges = tiers.map(rangeOf).filter((range) => range !== undefined);
  return ranges.length === tiers.length ? ranges : undefined;
}

/** The bands of plans, for the planner. */
export function planBandModel(setting: StepSetting): PlanBandModel {
  return (machine, hosts, placed, late) => {
    const ranges = tierRanges(machine, placed);
    if (ranges === undefined) return undefined;
    const planned = planSimulation(setting, machine, hosts, placed, late);
    const { simulation, set } = planned;
    const engine = { configuration: machine.name, name: `${hosts} × ${machine.name}` };
    const { draws, doubts } = drawSpeeds(uncertainOf(simulation, set, ranges), engine, (factors) => {
      const varied = withFactors(simulation, set, factors);
      const { compute } = varied.simulation;
      const dense = compute.dense as number * varied.dense;
      const drawn = {
        ...planned,
        set: varied.set,
        simulation: { ...varied.simulation, compute: { ...compute, dense } },
      };
      const seconds = stepCost(planOptions(setting, drawn, placed, varied.stretch)).stepPs * 1e-12;
      return 1 /
        (runsInVirtualTime(setting, hosts) ? seconds : Math.max(seconds, setting.computeSeconds * varied.dense));
    });
    const speed = bandOfDraws(draws);
    return {
      low: 1 / speed.high,
      high: 1 / speed.low,
      doubts: doubts.map(({ of, factor, slower, faster }) => ({
        of,
        range: factor,
        low: 1 / faster,
        high: 1 / slower,
      })),
    };
  };
}
