/**
 * Results at the edge of what a report must show, by name.
 *
 * @module
 */

import type { Result, SampleRecord } from "../../scenarios/record.ts";
import { ablationResult } from "../fixtures/ablation_fixture.ts";
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

function earlier(result: Result): Result {
  const qualities = result.qualities.map((one) => ({
    ...one,
    curve: one.curve.map(({ trainSeconds: _, ...point }) => point),
  }));
  return { ...result, quality: qualities[0], qualities };
}

/** The result of a scenario that names an AUC. */
export function targeted(result: Result, targetAuc: number): Result {
  const scenario = { ...result.run.scenario, quality: { targetAuc } } as unknown as Result["run"]["scenario"];
  return { ...result, run: { ...result.run, scenario } };
}

/** A result in fast mode, with its twin in deterministic mode. */
export function fastResult(): Result {
  const result = fixtureResult();
  const [one] = result.qualities;
  if (one === undefined) throw new Error("Cannot make the result: the fixture has no quality run");
  const fast = { ...one, id: "quality", point: {}, deterministic: false };
  const twin = {
    ...one,
    id: "quality[workload.deterministic=true]",
    point: { "workload.deterministic": true },
    deterministic: true,
    auc: (one.auc ?? NaN) + 0.0004,
    logloss: one.logloss - 0.0002,
    digest: "1112131415161718",
  };
  return { ...result, quality: fast, qualities: [fast, twin] };
}

/** The result over held-out rows with labels of one class, which have no AUC; with `ids`, only of these quality runs. */
export function oneClass(result: Result, ids?: readonly string[]): Result {
  const qualities = result.qualities.map((one) =>
    ids !== undefined && !ids.includes(one.id ?? "quality")
      ? one
      : { ...one, auc: null, curve: one.curve.map((point) => ({ ...point, auc: null })) }
  );
  return { ...result, quality: qualities[0], qualities };
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
  "an ablation": () => ablationResult(),
  "an ablation, one sample, no quality run": () => ablationResult({ samples: 1, quality: false }),
  "an ablation without none": () => without(ablationResult(), (one) => one.point["ablation"] === "none"),
  "an ablation that left a switch out": () => ablationResult({ leftOut: true }),
  "an ablation with a case that failed": () =>
    without(ablationResult(), (one) => one.case === "fsdax ablation=bf16" || one.case === "dram ablation=all"),
  "an ablation on a virtual medium": () => ablationResult({ virtual: true }),
  "quality of an earlier version": () => earlier(fixtureResult()),
  "a target AUC": () => targeted(fixtureResult(), 0.77),
  "a target AUC that is never reached": () => targeted(fixtureResult(), 0.9),
  "a target AUC below the first point": () => targeted(fixtureResult(), 0.55),
  "the fast mode": () => fastResult(),
  "labels of one class": () => oneClass(fixtureResult()),
  "labels of one class, earlier version": () => oneClass(earlier(fixtureResult())),
  "labels of one class, a target AUC": () => oneClass(targeted(fixtureResult(), 0.77)),
  "labels of one class, the fast mode": () => oneClass(fastResult()),
  "an AUC in the fast mode alone": () => oneClass(fastResult(), ["quality[workload.deterministic=true]"]),
  "labels of one class, an ablation": () => oneClass(ablationResult()),
  "an ablation whose first run has no AUC": () => oneClass(ablationResult(), ["quality"]),
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
