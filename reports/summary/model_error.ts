/**
 * What the error of a media model can do to the speed of an emulated case.
 *
 * @module
 */

import { type Estimate, mapEstimate } from "../statistics/bootstrap.ts";
import type { CaseSummary, ModelAccuracy } from "./summary_types.ts";

/** By how much a step would take more or less time if the model of a case's medium erred as far as its bands reach. */
export interface ModelError {
  /** The step's time ÷ its own, with the medium at the fast end: 1 or less. */
  readonly fastest: number;
  /** The same at the slow end: 1 or more. */
  readonly slowest: number;
}

/**
 * The error of the emulation of a case. The part of a step that a model decides is taken to be what rows take longer than in
 * DRAM; it is divided and multiplied by the widest 90 % band of the media that the case emulates, so that the range is rather
 * too wide.
 *
 * @returns `unknown` where a medium has no band, as in Memory Mode, or the run recorded no time for rows; undefined where the
 * case does not emulate a medium.
 */
export function modelError(
  one: CaseSummary,
  baseline: CaseSummary,
  models: readonly ModelAccuracy[],
): ModelError | "unknown" | undefined {
  if (one.evidence !== "emulated" || !one.tiers.some(({ emulates }) => emulates !== undefined)) return undefined;
  const own = models.filter(({ cases }) => cases.includes(one.name));
  const { embedding } = one;
  const alone = baseline.embedding?.seconds.value;
  if (own.length === 0 || embedding === undefined || alone === undefined || !(embedding.share.value > 0)) {
    return "unknown";
  }
  if (own.some(({ memoryMode, bands }) => memoryMode || bands.length === 0)) return "unknown";
  const factor = Math.max(...own.flatMap(({ bands }) => bands.map((band) => band.factor)));
  const step = embedding.seconds.value / embedding.share.value;
  const part = Math.max(0, embedding.seconds.value - alone) / step;
  return { fastest: 1 - part * (1 - 1 / factor), slowest: 1 + part * (factor - 1) };
}

/** A ratio of speeds whose interval holds the error of the emulation, too. */
export function speedWithin(ratio: Estimate, { fastest, slowest }: ModelError): Estimate {
  const { low, high } = ratio;
  return low === undefined || high === undefined ? ratio : { ...ratio, low: low / slowest, high: high / fastest };
}

/** A saving whose interval holds the error of the emulation, too: cost is in proportion to time. */
export function savingWithin(saved: Estimate, { fastest, slowest }: ModelError): Estimate {
  const cost = mapEstimate(saved, (v) => 1 - v);
  const { low, high } = cost;
  if (low === undefined || high === undefined) return saved;
  return mapEstimate({ ...cost, low: low * fastest, high: high * slowest }, (v) => 1 - v);
}
