/**
 * The scenario of an earlier result, to be run again.
 *
 * @module
 */

import { foundText, pathText, type Problem } from "../base/diagnostics.ts";
import type { Result } from "./record.ts";
import { digestOf } from "../base/canonical.ts";
import { isPathWord } from "../base/path_word.ts";
import type { ResolvedScenario } from "./scenario.ts";
import { scenarioSchema } from "./schema.ts";
import type { SimulationResult } from "../models/simulation/record.ts";
import { simulationSchema } from "../models/simulation/schema.ts";
import type { ResolvedSimulation } from "../models/simulation/simulation.ts";
import { validate } from "../base/validate.ts";

/** Fields that name files or folders. */
const PATHS: ReadonlySet<string> = new Set(["path", "ssdPath", "criteo", "trace", "result", "profile", "media"]);

/**
 * What of this machine's files a scenario or simulation would read or write: `workload.data.criteo: "/data/day_0"`. A result
 * from elsewhere may name any.
 */
export function pathsOf(scenario: object, at: string = ""): string[] {
  return Object.entries(scenario).flatMap(([key, value]: [string, unknown]): string[] => {
    const place = at === "" ? key : `${at}.${key}`;
    const field = key.slice(key.lastIndexOf(".") + 1); // of a matrix: "configurations.fsdax.path"
    if (PATHS.has(field)) {
      return [value].flat().filter((one) => typeof one === "string" && isPath(field, one))
        .map((one) => `${place}: ${JSON.stringify(one)}`);
    }
    // What a law was made of is told by name.
    return typeof value === "object" && value !== null && key !== "of" ? pathsOf(value, place) : [];
  });
}

function isPath(field: string, value: string): boolean {
  return field === "profile" || field === "media" ? isPathWord(value) : value !== "auto";
}

/** Refuses to use files and folders that a result names unless the user said so. @throws {RerunError} naming them. */
export function refusePaths(scenario: object, name: string): void {
  const paths = pathsOf(scenario);
  if (paths.length === 0) return;
  throw new RerunError(
    `Cannot run "${name}" again as it is: its scenario uses files or folders of this machine, ${
      paths.join(", ")
    }; if you ` +
      "trust where it is from, say so with --use-paths",
  );
}

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
  if (digest === scenarioDigest) {
    const found = validate(simulationSchema, scenario);
    if ("problems" in found) throw invalid(name, found.problems);
    return scenario;
  }
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

function invalid(name: string, problems: readonly Problem[]): RerunError {
  const [{ path, message } = { path: [], message: "it is none" }] = problems;
  const at = path.length === 0 ? "" : `${pathText(path)}: `;
  return new RerunError(`Cannot run "${name}" again: its scenario is not valid: ${at}${message}`);
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
      `Cannot run "${name}" again: its scenario is of the kind ${foundText(kind)}, this version runs ${
        KINDS.map((one) => JSON.stringify(one)).join(", ")
      }; use the version that made it`,
    );
  }
  const digest = digestOf(run.scenario);
  if (digest !== run.scenarioDigest) {
    throw new RerunError(
      `Cannot run "${name}" again: its scenario has the SHA-256 ${digest.slice(0, 12)}…, what ran had ${
        run.scenarioDigest.slice(0, 12)
      }…; paths were taken out of it before it was sent, or it was edited`,
    );
  }
  const found = validate(scenarioSchema, plain);
  if ("problems" in found) throw invalid(name, found.problems);
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
