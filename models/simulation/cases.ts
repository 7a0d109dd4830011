/**
 * The cases of a simulation: its studies' configurations at every combination of their fields.
 *
 * @module
 */

import { atPoint, matrixPoints } from "../../base/matrix.ts";
import { caseName, type SimulatedPoint } from "./record.ts";
import { withProfiles } from "./profiles.ts";
import { fillSimulation } from "./resolve.ts";
import type { ResolvedSimulatedConfiguration, ResolvedSimulation } from "./simulation.ts";

/** One case: the simulation as it is at its point. */
export interface SimulatedCase {
  /** Unique among the cases: configuration and point. */
  readonly name: string;
  /** Name of the first study that has it. */
  readonly study: string;
  /** Name of its configuration. */
  readonly configuration: string;
  /** Values of the study's fields that it stands for, by dotted name. */
  readonly point: SimulatedPoint;
  /** The whole simulation with those values in place. */
  readonly simulation: ResolvedSimulation;
  /** Its configuration at that point. */
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
