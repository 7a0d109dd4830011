/**
 * Results at the edge of what a report must show, by name.
 *
 * @module
 */

import type { Result, SampleRecord } from "../../scenarios/record.ts";
import { fixtureResult } from "../fixtures/result_fixture.ts";

function withSamples(result: Result, change: (sample: SampleRecord) => SampleRecord): Result {
  return { ...result, samples: result.samples.map(change) };
}

function without(result: Result, drop: (sample: SampleRecord) => boolean): Result {
  const lost = result.samples.filter(drop).map(({ id, case: name, configuration, point, sample, position, started }) =>
    ({
      type: "sample",
      id,
      case: name,
      configuration,
      point,
      sample,
      position,
      started,
      status: "failed",
      error: `${id}: Cannot open the pool`,
    }) as const
  );
  return { ...result, samples: result.samples.filter((one) => !drop(one)), failed: [...result.failed, ...lost] };
}

function realData(result: Result): Result {
  const { plantedAuc: _1, numericAuc: _2, categoricalVariance: _3, unseenShare: _4, ...data } = result.run.data;
  return { ...result, run: { ...result.run, data: { ...data, kind: "criteo", source: "train.txt" } } };
}

/** The results. */
export const EDGE_CASES: Readonly<Record<string, () => Result>> = {
  "one configuration failed entirely": () => without(fixtureResult(), (one) => one.configuration === "fsdax"),
  "DRAM failed entirely": () => without(fixtureResult(), (one) => one.configuration === "dram"),
  "one round incomplete": () => without(fixtureResult(), (one) => one.id === "fsdax#2"),
  "one sample": () => fixtureResult({ samples: 1 }),
  "a quick run": () => fixtureResult({ samples: 1, steps: 3, quality: false }),
  "real data": () => realData(fixtureResult()),
  "six cases of a matrix": () => fixtureResult({ batches: [512, 2048], configurations: ["dram", "fsdax", "kmem-dax"] }),
  "six cases of a matrix, one sample": () =>
    fixtureResult({ samples: 1, batches: [512, 2048], configurations: ["dram", "fsdax", "kmem-dax"] }),
  "a virtual medium": () => fixtureResult({ virtual: ["fsdax"] }),
  "a virtual baseline": () => fixtureResult({ virtual: ["dram"] }),
  "virtual media alone": () => fixtureResult({ virtual: ["fsdax", "kmem-dax"], configurations: ["fsdax", "kmem-dax"] }),
  "Memory Mode alone": () => fixtureResult({ configurations: ["memory-mode"] }),
  "DRAM alone": () => fixtureResult({ configurations: ["dram"] }),
  "DRAM alone, one sample, without prices": () =>
    fixtureResult({ configurations: ["dram"], samples: 1, prices: "2020" }),
  "no samples": () => fixtureResult({ samples: 0, failed: true, quality: false }),
  "no prices": () => fixtureResult({ prices: "2020" }),
  "no time in embedding phases": () =>
    withSamples(
      fixtureResult(),
      (one) => ({ ...one, phaseNs: { ...one.phaseNs, lookup: 0, update: 0, eviction: 0 } }),
    ),
  "kinds of evidence mixed in one case": () =>
    withSamples(fixtureResult(), (one) => one.id === "fsdax#3" ? { ...one, evidence: "measured" } : one),
  "equal samples": () =>
    withSamples(
      fixtureResult(),
      (one) => ({
        ...one,
        stepNs: [1e7, 1e7],
        phaseNs: { input: 1e6, lookup: 2e6, dense: 1.4e7, update: 2e6, eviction: 0 },
      }),
    ),
};
