/**
 * Keeps a run within its budget while it goes on. Pilots are short and machines have neighbours, so samples may take
 * longer than they were sized for. Before each round the steps that are left are cut where they no longer fit, equally
 * for all cases of a point, whose rows can then still be compared; and the quality run, which comes last, ends when the
 * budget does.
 *
 * @module
 */

import { keptSteps, type Pilot, qualitySeconds } from "./budget.ts";
import type { RunEvent } from "./events.ts";
import { pointText } from "../../base/matrix.ts";
import type { PlannedSample } from "../plan.ts";
import type { PreparedCase } from "./prepare.ts";
import type { SampleRecord } from "../record.ts";
import type { ResolvedScenario } from "../scenario.ts";
import { RESERVE, scoredRows, type Sizing, wantedSteps } from "./steps.ts";

/** Share of an "auto" quality run's time that slow samples may not take. */
const QUALITY_KEPT = 0.5;

/** What counts of a sample. */
type Taken = Pick<SampleRecord, "case" | "stepNs" | "warmupSteps" | "processSeconds" | "turns">;

/** What a run tells its pace. */
interface PaceInput {
  readonly scenario: ResolvedScenario;
  readonly cases: readonly PreparedCase[];
  readonly sizing: Sizing;
  /** Samples that are complete already. */
  readonly samples: readonly SampleRecord[];
  /** Seconds of the budget that have gone. */
  readonly elapsed: () => number;
  readonly emit: (event: RunEvent) => void;
}

/** The pace of one run. */
export class Pace {
  readonly #input: PaceInput;
  /** Counted steps by point. */
  readonly #steps = new Map<string, number>();
  /** What the latest sample of a case found, by name of case. */
  readonly #found: Map<string, Pilot>;
  /** The round whose steps are settled. */
  #round: number;

  /** @param input The run, sized. */
  constructor(input: PaceInput) {
    this.#input = input;
    this.#found = new Map(input.sizing.pilots);
    this.#round = Math.max(1, ...input.samples.map(({ sample }) => sample));
    for (const one of input.cases) this.#steps.set(pointText(one.point), input.sizing.steps(one));
  }

  /** Counted steps of a sample that begins now. Samples begin in the order of the plan. */
  steps({ case: one, sample }: PlannedSample<PreparedCase>): number {
    if (sample > this.#round) {
      this.#round = sample;
      this.#settle();
    }
    return this.#steps.get(pointText(one.point)) ?? this.#input.sizing.steps(one);
  }

  /** Seconds of a step of any of these cases, the longest; undefined where none is known yet. */
  stepSeconds(cases: readonly PreparedCase[]): number | undefined {
    const known = cases.flatMap(({ name, again = name }) => this.#found.get(name) ?? this.#found.get(again) ?? []);
    return known.length === 0 ? undefined : Math.max(...known.map(({ stepSeconds }) => stepSeconds));
  }

  /** Notes what a sample took. */
  took({ case: name, stepNs, warmupSteps, processSeconds, turns }: Taken): void {
    const stepSeconds = stepNs.reduce((sum, ns) => sum + ns, 0) / 1e9 / stepNs.length;
    const setupSeconds = Math.max(0, (turns?.seconds ?? processSeconds) - (warmupSteps + stepNs.length) * stepSeconds);
    this.#found.set(name, { stepSeconds, setupSeconds });
  }

  /**
   * Steps of the quality run that begins now on a case, and the seconds after which it ends: as many of all training
   * rows as what is left of the budget holds. Without a limit if the scenario says how long it is.
   */
  quality(one: PreparedCase): { readonly steps: number; readonly seconds: number | undefined } {
    const { scenario, sizing, elapsed } = this.#input;
    if (scenario.quality.samples !== "auto") return { steps: sizing.qualitySteps, seconds: undefined };
    const seconds = Math.max(0, scenario.budget * (1 - RESERVE / 2) - elapsed());
    const found = this.#found.get(one.name);
    if (found === undefined) return { steps: sizing.qualitySteps, seconds };
    const { batch } = one.scenario.workload;
    const { evaluations } = scenario.quality;
    const fixed = qualitySeconds(found, { steps: 0, evaluations, testRows: scoredRows(scenario, one), batch });
    const fitting = Math.floor((seconds - fixed) / found.stepSeconds);
    return { steps: Math.min(wantedSteps(scenario, one), Math.max(1, fitting)), seconds };
  }

  /** Cuts the steps of the rounds that are left to what the budget still holds. */
  #settle(): void {
    const { scenario, cases, sizing, elapsed, emit } = this.#input;
    const kept = (sizing.qualitySeconds ?? 0) * (scenario.quality.samples === "auto" ? QUALITY_KEPT : 1);
    const rounds = scenario.repetitions - this.#round + 1;
    if (rounds < 1) return; // a further round, which begins only where it fits
    const seconds = (scenario.budget * (1 - RESERVE) - elapsed() - kept) / this.#steps.size;
    for (const [point, planned] of this.#steps) {
      const own = cases.filter((one) => pointText(one.point) === point);
      const { steps: asked = "auto", warmup = 0 } = own[0]?.scenario.workload ?? {};
      if (asked !== "auto") continue;
      const found = own.flatMap(({ name }) => this.#found.get(name) ?? []);
      const steps = keptSteps(planned, found, { rounds, warmup, seconds });
      if (steps === planned) continue;
      this.#steps.set(point, steps);
      const where = point === "" ? "" : ` of ${point}`;
      emit({
        type: "notice",
        message: `samples take longer than planned: those left${where} count ${steps} steps instead of ${planned}`,
      });
    }
  }
}
