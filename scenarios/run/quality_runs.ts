/**
 * Which runs give an AUC. Rows are equal to the bit on all configurations, so one run speaks for all of them; but the
 * variants of an ablation that change results, the fast mode, and ranks that train asynchronously need runs of their own.
 *
 * @module
 */

import { ABLATION_FIELD } from "../ablation.ts";
import { pointText } from "../../base/matrix.ts";
import type { SampleRecord } from "../record.ts";
import { QUALITY_ID } from "../result.ts";
import type { PreparedCase } from "./prepare.ts";

/** A run that gives an AUC. */
export interface QualityRun {
  /** `quality`, or `quality[<point>]`. */
  readonly id: string;
  readonly case: PreparedCase;
}

const DETERMINISTIC = "workload.deterministic";

/**
 * The runs that give an AUC, the first of them for the whole run.
 *
 * @param first The case whose rows give the AUC.
 * @param cases All cases.
 * @param samples The samples there are: variants whose rows ended alike share a run.
 */
export function qualityRuns(
  first: PreparedCase,
  cases: readonly PreparedCase[],
  samples: readonly SampleRecord[],
): QualityRun[] {
  const runs: QualityRun[] = [{ id: QUALITY_ID, case: first }];
  if (first.point[ABLATION_FIELD] !== undefined) return [...runs, ...variantRuns(first, cases, samples)];
  runs.push(...asynchronousRuns(first, cases));
  if (first.scenario.workload.deterministic) return runs;
  const { scenario } = first;
  const twin: PreparedCase = {
    ...first,
    point: { ...first.point, [DETERMINISTIC]: true },
    scenario: { ...scenario, workload: { ...scenario.workload, deterministic: true } },
  };
  return [...runs, { id: idOf(twin), case: twin }];
}

function variantRuns(
  first: PreparedCase,
  cases: readonly PreparedCase[],
  samples: readonly SampleRecord[],
): QualityRun[] {
  const matrixPoint = (point: PreparedCase["point"]) => pointText({ ...point, [ABLATION_FIELD]: "" });
  const seen = new Set([digestOf(first, samples)]);
  return cases.flatMap((one) => {
    const same = one.configuration === first.configuration && matrixPoint(one.point) === matrixPoint(first.point);
    if (!same || one === first) return [];
    const digest = digestOf(one, samples);
    if (digest !== undefined && seen.has(digest)) return [];
    seen.add(digest);
    return [{ id: idOf(one), case: one }];
  });
}

/** Every other point of the configuration whose steps may be stale. */
function asynchronousRuns(first: PreparedCase, cases: readonly PreparedCase[]): QualityRun[] {
  return cases.flatMap((one) =>
    one === first || one.configuration !== first.configuration || (one.scenario.cluster?.staleness ?? 0) === 0
      ? []
      : [{ id: idOf(one), case: one }]
  );
}

/** What the samples of a case's point ended with; undefined if there are none. */
function digestOf({ point }: PreparedCase, samples: readonly SampleRecord[]): string | undefined {
  const text = pointText(point);
  return samples.find((sample) => pointText(sample.point) === text)?.digest;
}

function idOf({ point }: PreparedCase): string {
  return `${QUALITY_ID}[${pointText(point)}]`;
}
