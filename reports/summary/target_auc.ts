/**
 * Time to a target AUC: where the curve of a quality run first reaches it, between two of its points by a straight line.
 *
 * @module
 */

import type { QualityRecord } from "../../scenarios/record.ts";
import type { TargetAuc } from "./summary_types.ts";

/**
 * When a curve first reaches an AUC.
 *
 * @param curve Points of a quality run, in order.
 * @param auc The AUC.
 */
export function targetAuc(curve: QualityRecord["curve"], auc: number): TargetAuc {
  const at = curve.findIndex((point) => point.auc !== null && point.auc >= auc);
  const after = curve[at];
  if (after === undefined) {
    const known = curve.flatMap((point) => point.auc ?? []);
    const best = known.length === 0 ? null : Math.max(...known);
    return { auc, reached: "not", best, samples: curve.at(-1)?.samples ?? 0 };
  }
  const before = curve[at - 1];
  const seconds = after.trainSeconds ?? after.seconds;
  if (before === undefined || before.auc === null || after.auc === null) {
    return { auc, reached: "before the first point", samples: after.samples, seconds };
  }
  const part = (auc - before.auc) / (after.auc - before.auc);
  const between = (from: number, to: number): number => from + part * (to - from);
  return {
    auc,
    reached: "interpolated",
    samples: between(before.samples, after.samples),
    seconds: between(before.trainSeconds ?? before.seconds, seconds),
    between: [before.samples, after.samples],
  };
}
