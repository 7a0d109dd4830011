/**
 * Why a ratio whose interval leaves 1 out is not called a difference, in words.
 *
 * @module
 */

import { roughPercentText } from "../text/format.ts";
import type { Estimate } from "../statistics/bootstrap.ts";
import { heldBack } from "../statistics/noise.ts";

/** `less than this run's noise of 3 %`; undefined where nothing is held back, and where the interval holds 1. */
export function heldBackText(ratio: Estimate): string | undefined {
  const { low, high, test } = ratio;
  if (low === undefined || high === undefined || (low <= 1 && high >= 1)) return undefined;
  const why = heldBack(ratio);
  if (why === undefined) return undefined;
  return why === "floor"
    ? `less than this run's noise of ${roughPercentText((test?.floor ?? 1) - 1)}`
    : "which chance may show among all that is compared here";
}
