/**
 * The scenario of an earlier result, to be run again.
 *
 * @module
 */

import { pathText } from "./diagnostics.ts";
import type { Result } from "./record.ts";
import { digestOf } from "./run/canonical.ts";
import type { ResolvedScenario } from "./scenario.ts";
import { scenarioSchema } from "./schema.ts";
import type { SimulationResult } from "./simulation/record.ts";
import type { ResolvedSimulation } from "./simulation/simulation.ts";
import { validate } from "./validate.ts";

/** Kinds of scenario that a run of this version knows. */
const KINDS: readonly string[] = ["training"];

/**
 * The simulation to run to repeat a result: with the same version of tierbench it gives the same records but for their date.
 *
 * @param name What messages call the result.
 * @throws {RerunError} if it is not what ran.
 */
export function simulationToRerun(
  { run: { scenario, scenarioDigest } }: SimulationResult,
  name: string,
): ResolvedSimulation {
  const digest = digestOf(scenario);
  if (digest === scenarioDigest) return scenario;
  throw new RerunError(
    `Cannot run "${name}" again: its scenario has the SHA-256 ${digest.slice(0, 12)}…, what ran had ${
      scenarioDigest.slice(0, 12)
    }…; it was edited`,
  );
}

/** A result whose scenario cannot be run again. */
export class RerunError extends Error {
  /** The error. @param message What was asked, what was found, what to do. */
  constructor(message: string) {
    super(message);
    this.name = "RerunError";
  }
}

/** A scenario that is run again, and the fields in which it is to differ from what was written. */
export interface Rerun {
  /** As it ran. */
  readonly scenario: ResolvedScenario;
  /**
   * `workload.steps` and `quality.samples`, where the scenario left them to the time budget and all samples, or all
   * quality runs, took equally many: with the same steps the rows can be compared to the bit.
   */
  readonly set: Readonly<Record<string, unknown>>;
}

/**
 * What to run to repeat a result.
 *
 * @param name What messages call the result.
 * @throws {RerunError} if its scenario is of a kind that this version cannot run, or is not what ran.
 */
export function rerunOf({ run, samples, qualities }: Result, name: string): Rerun {
  const { kind = "training", ...plain } = run.scenario as ResolvedScenario & { readonly kind?: unknown };
  if (typeof kind !== "string" || !KINDS.includes(kind)) {
    throw new RerunError(
      `Cannot run "${name}" again: its scenario is of the kind ${JSON.stringify(kind)}, this version runs ${
        KINDS.map((one) => JSON.stringify(one)).join(", ")
      }; use the version that made it`,
    );
  }
  const found = validate(scenarioSchema, plain);
  if ("problems" in found) {
    const [{ path, message } = { path: [], message: "it is none" }] = found.problems;
    const at = path.length === 0 ? "" : `${pathText(path)}: `;
    throw new RerunError(`Cannot run "${name}" again: its scenario is not valid: ${at}${message}`);
  }
  const digest = digestOf(run.scenario);
  if (digest !== run.scenarioDigest) {
    throw new RerunError(
      `Cannot run "${name}" again: its scenario has the SHA-256 ${digest.slice(0, 12)}…, what ran had ${
        run.scenarioDigest.slice(0, 12)
      }…; paths were taken out of it before it was sent, or it was edited`,
    );
  }
  const { workload = {}, quality = {} } = found.value;
  const steps = [...new Set(samples.map(({ stepNs }) => stepNs.length))];
  const trained = [...new Set(qualities.map((one) => one.steps * one.batch))];
  return {
    scenario: run.scenario,
    set: {
      ...((workload.steps ?? "auto") === "auto" && steps.length === 1 ? { "workload.steps": steps[0] } : {}),
      ...((quality.samples ?? "auto") === "auto" && trained.length === 1 ? { "quality.samples": trained[0] } : {}),
    },
  };
}
