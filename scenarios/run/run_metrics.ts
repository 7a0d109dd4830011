/**
 * What the stores and trainers of a run count at this moment, asked of the processes that are there.
 *
 * @module
 */

import { type MetricFamily, openMetricsText } from "../../base/open_metrics.ts";

/** Milliseconds that a process has for its answer: between two calls into the library it has none to give. */
const PATIENCE = 2000;

/** A process that can be asked. */
export interface AskedProcess {
  /** Takes what it answered. */
  answer(families: readonly MetricFamily[]): void;
  /** It has ended, and is asked no more. */
  end(): void;
}

/** Families of the same name as one, with the samples of all. */
function merged(families: readonly MetricFamily[]): MetricFamily[] {
  return [...Map.groupBy(families, ({ name }) => name).values()].map((of) => ({
    ...of[0] as MetricFamily,
    samples: of.flatMap(({ samples }) => samples),
  }));
}

/**
 * Counters, bytes and tiers of a run's stores and the steps of its trainers, while it goes on: for the option `metrics` of
 * `runScenario`. They are asked for when somebody wants them, and only then: an answer takes the process that trains about a
 * millisecond.
 *
 * @example
 * ```ts ignore
 * import { RunMetrics, runScenario } from "../../mod.ts";
 *
 * const metrics = new RunMetrics();
 * const run = runScenario("scenarios/pmem-modes.jsonc", { metrics });
 * console.log(await metrics.text()); // tierbench_steps_total{case="DRAM"} 96
 * await run;
 * ```
 */
export class RunMetrics {
  readonly #asks = new Map<AskedProcess, () => void>();
  readonly #waiting = new Map<AskedProcess, ((families: readonly MetricFamily[]) => void)[]>();

  /**
   * A process of the run has started.
   *
   * @param labels Labels of all that it answers.
   * @param ask Asks it.
   */
  join(labels: Readonly<Record<string, string>>, ask: () => void): AskedProcess {
    const told = (families: readonly MetricFamily[]) => {
      const waiting = this.#waiting.get(asked) ?? [];
      this.#waiting.delete(asked);
      const labelled = families.map((family) => ({
        ...family,
        samples: family.samples.map(({ labels: own, value }) => ({ labels: { ...labels, ...own }, value })),
      }));
      for (const resolve of waiting) resolve(labelled);
    };
    const asked: AskedProcess = {
      answer: told,
      end: () => {
        this.#asks.delete(asked);
        told([]);
      },
    };
    this.#asks.set(asked, ask);
    return asked;
  }

  /** What all processes that answer within two seconds count; none between two samples, nor of a run over ranks. */
  async families(): Promise<MetricFamily[]> {
    const answers = [...this.#asks].map(async ([asked, ask]) => {
      const { promise, resolve } = Promise.withResolvers<readonly MetricFamily[]>();
      const waiting = this.#waiting.get(asked);
      if (waiting === undefined) {
        this.#waiting.set(asked, [resolve]);
        ask();
      } else waiting.push(resolve); // it is asked already
      const timer = setTimeout(() => resolve([]), PATIENCE);
      try {
        return await promise;
      } finally {
        clearTimeout(timer);
      }
    });
    return merged((await Promise.all(answers)).flat());
  }

  /** {@linkcode RunMetrics.families} as OpenMetrics text. */
  async text(): Promise<string> {
    return openMetricsText(await this.families());
  }
}
