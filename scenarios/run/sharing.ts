/**
 * How the samples of a round share its time: one process after the other, or in turns. What a scenario leaves open is
 * decided by memory, and then by what the first round in turns shows.
 *
 * @module
 */

import { ABLATION_FIELD } from "../ablation.ts";
import { pointText } from "../../base/matrix.ts";
import { UnavailableError } from "../../base/unavailable.ts";
import type { RunEvent } from "./events.ts";
import type { Pace } from "./pace.ts";
import type { PlannedSample } from "../plan.ts";
import type { Preparation, PreparedCase, RunDependencies } from "./prepare.ts";
import type { SampleRecord } from "../record.ts";
import type { ResolvedScenario } from "../scenario.ts";
import { turnSteps, whyNotInTurns } from "./turns_fit.ts";
import { turnsPilot } from "./turns_pilot.ts";

/** What a run tells of itself. */
interface SharingInput {
  readonly scenario: ResolvedScenario;
  readonly prepared: Preparation;
  readonly dependencies: Pick<RunDependencies, "availableMemory">;
  readonly emit: (event: RunEvent) => void;
}

type Planned = PlannedSample<PreparedCase>;

/** The point of the matrix whose cases are compared with each other. */
function pointOf({ case: { point: { [ABLATION_FIELD]: _, ...point } } }: Pick<Planned, "case">): string {
  return pointText(point);
}

/** Decides for each point of the matrix. */
export class Sharing {
  readonly #input: SharingInput;
  /** Points whose samples train in turns. */
  readonly #inTurns: Set<string>;
  /** Of them, those of which a round has shown that it is the more precise. */
  readonly #shown = new Set<string>();

  /**
   * @param input The run, prepared.
   * @throws {UnavailableError} if the scenario asks for turns, and some samples cannot take them.
   */
  constructor(input: SharingInput) {
    this.#input = input;
    const { prepared: { cases, again }, scenario: { sampling = "auto" }, dependencies } = input;
    const points = Map.groupBy([...cases, ...again], (one) => pointOf({ case: one }));
    this.#inTurns = new Set();
    if (sampling === "processes") return;
    const available = dependencies.availableMemory();
    for (const [point, all] of points) {
      const why = whyNotInTurns(all, available);
      if (why === undefined) this.#inTurns.add(point);
      else if (sampling === "turns") {
        throw new UnavailableError(`Cannot train in turns: ${why}; write "sampling": "auto" or "processes"`);
      }
    }
  }

  /** The samples in their order; those that share time, of a round and a point in turns, in one group. */
  groups(left: readonly Planned[]): Planned[][] {
    const groups = new Map<string, Planned[]>();
    for (const planned of left) {
      const point = pointOf(planned);
      const name = this.#inTurns.has(point) ? `${planned.sample} ${point}` : planned.id;
      const group = groups.get(name);
      if (group === undefined) groups.set(name, [planned]);
      else group.push(planned);
    }
    return [...groups.values()];
  }

  /** Counted steps of a turn of these samples; undefined: they run one after the other. */
  turnSteps(group: readonly Planned[], pace: Pace): number | undefined {
    const [first] = group;
    if (first === undefined || group.length < 2 || !this.#inTurns.has(pointOf(first))) return undefined;
    return turnSteps(pace.steps(first), pace.stepSeconds(group.map((planned) => planned.case)));
  }

  /** Takes what a round in turns shows. */
  learn(group: readonly Planned[], records: readonly SampleRecord[]): void {
    const [first] = group;
    const { scenario: { sampling = "auto" }, emit } = this.#input;
    if (first === undefined || sampling !== "auto" || this.#shown.has(pointOf(first))) return;
    const found = turnsPilot(records);
    if (found === undefined) return;
    this.#shown.add(pointOf(first));
    const percent = (sd: number) => `${(100 * sd).toFixed(1)} %`;
    const figures = `${percent(found.turns)} of noise between two samples in turns, ${
      percent(found.processes)
    } one after the other`;
    if (found.turns <= found.processes) {
      emit({ type: "notice", message: `the samples of a round train in turns: the first shows ${figures}` });
    } else {
      this.#inTurns.delete(pointOf(first));
      emit({
        type: "notice",
        message: `samples run one after the other from now on: the first round in turns shows ${figures}`,
      });
    }
  }
}
