/**
 * The cases of a simulation: its studies' configurations at every combination of their fields.
 *
 * @module
 */

import { atPoint, matrixPoints } from "../matrix.ts";
import { caseName, type SimulatedPoint } from "./record.ts";
import { withProfiles } from "./profiles.ts";
import { fillSimulation } from "./resolve.ts";
import type { ResolvedSimulatedConfiguration, ResolvedSimulation } from "./simulation.ts";

/** One case: the simulation as it is at its point. */
export interface SimulatedCase {
  readonly name: string;
  readonly study: string;
  readonly configuration: string;
  readonly point: SimulatedPoint;
  readonly simulation: ResolvedSimulation;
  readonly set: ResolvedSimulatedConfiguration;
}

/** The simulation at a point, defaults filled in again. */
export async function simulationAt(simulation: ResolvedSimulation, point: SimulatedPoint): Promise<ResolvedSimulation> {
  return fillSimulation(await withProfiles(atPoint(simulation, point), "."), ".");
}

/** All cases, each once, in the order of the studies. */
export async function simulatedCases(simulation: ResolvedSimulation): Promise<SimulatedCase[]> {
  const cases = new Map<string, SimulatedCase>();
  for (const study of simulation.studies) {
    for (const point of matrixPoints(study.vary)) {
      const at = await simulationAt(simulation, point);
      for (const configuration of study.configurations) {
        const set = at.configurations[configuration];
        const name = caseName(configuration, point);
        if (set === undefined || cases.has(name)) continue;
        cases.set(name, { name, study: study.name, configuration, point, simulation: at, set });
      }
    }
  }
  return [...cases.values()];
}
