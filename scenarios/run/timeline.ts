/**
 * Rate and time left of a run: what each sample is expected to take, from its pilot or from the samples before it.
 *
 * @module
 */

import type { RunEvent } from "./events.ts";
import type { PlannedSample } from "../plan.ts";
import type { PreparedCase } from "./prepare.ts";
import { QUALITY_ID } from "../result.ts";
import type { Sizing } from "./steps.ts";
import type { WorkerPhase } from "./worker_protocol.ts";

/** Share of a sample's time that its phases before training take, while they run. */
const BEFORE_TRAINING = 0.3;

/** Follows a run and tells how it goes. */
export class Timeline {
  readonly #emit: (event: RunEvent) => void;
  readonly #samplesAt: (sample: PlannedSample<PreparedCase>) => number;
  /** Expected seconds of what is not done, by id. */
  readonly #left = new Map<string, number | undefined>();
  /** Seconds of complete samples by case. */
  readonly #seen = new Map<string, number>();
  readonly #case = new Map<string, string>();

  /**
   * @param emit Told about progress.
   * @param samplesAt Samples of the run, as far as is known when one of them begins.
   */
  constructor(emit: (event: RunEvent) => void, samplesAt: (sample: PlannedSample<PreparedCase>) => number) {
    this.#emit = emit;
    this.#samplesAt = samplesAt;
  }

  /** Notes what is to come. */
  expect(left: readonly (PlannedSample<PreparedCase> & { readonly steps: number })[], sizing: Sizing): void {
    for (const { id, case: one, steps } of left) {
      const pilot = sizing.pilots.get(one.name);
      const all = one.scenario.workload.warmup + steps;
      this.#left.set(id, pilot === undefined ? undefined : pilot.setupSeconds + all * pilot.stepSeconds);
      this.#case.set(id, one.name);
    }
    if (sizing.qualitySteps > 0) this.#left.set(QUALITY_ID, sizing.qualitySeconds);
  }

  /** A sample begins; the returned function takes the progress of its worker. */
  begin(
    planned: PlannedSample<PreparedCase>,
    batch: number,
  ): (phase: WorkerPhase, done: number, total: number) => void {
    const { id, position } = planned;
    const samples = this.#samplesAt(planned);
    let current: WorkerPhase | undefined;
    let since = 0;
    let before = 0;
    return (phase, done, total) => {
      const now = performance.now();
      if (phase !== current) [current, since, before] = [phase, now, done];
      const seconds = (now - since) / 1000;
      const trains = phase === "train" || phase === "warmup";
      const rate = trains && seconds > 0 && done > before ? (done - before) * batch / seconds : undefined;
      const share = total === 0 ? 0 : done / total;
      const fraction = phase === "train" ? BEFORE_TRAINING + (1 - BEFORE_TRAINING) * share : BEFORE_TRAINING * share;
      this.#emit({
        type: "progress",
        id,
        position,
        samples,
        phase,
        done,
        total,
        rate,
        secondsLeft: this.#secondsLeft(id, fraction),
      });
    };
  }

  /** A sample ended after `seconds`, or failed. */
  end({ id, case: one }: PlannedSample<PreparedCase>, seconds: number | undefined): void {
    this.#left.delete(id);
    if (seconds !== undefined) this.#seen.set(one.name, seconds);
  }

  #secondsLeft(current: string, fraction: number): number | undefined {
    let sum = 0;
    for (const [id, expected] of this.#left) {
      const seconds = this.#seen.get(this.#case.get(id) ?? "") ?? expected;
      if (seconds === undefined) return undefined;
      sum += id === current ? seconds * (1 - fraction) : seconds;
    }
    return sum;
  }
}
