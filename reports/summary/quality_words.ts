/**
 * Time to an AUC, and what the fast mode changes, in words.
 *
 * @module
 */

import { signed } from "./ablation_words.ts";
import { prefixed, significant } from "../../base/numbers.ts";
import type { FastMode, TargetAuc } from "./summary_types.ts";
import { NO_AUC } from "../../scenarios/record.ts";

/** When an AUC was reached, and how that is known. */
export function targetText(target: TargetAuc): string {
  const name = `AUC ${target.auc}`;
  switch (target.reached) {
    case "interpolated": {
      const [from, to] = target.between.map(prefixed);
      return `${name} is reached after ${prefixed(target.samples)} samples, ${
        significant(target.seconds)
      } s of training ` +
        `(by a straight line between the points at ${from} and ${to} samples)`;
    }
    case "before the first point":
      return `${name} is reached within the first ${prefixed(target.samples)} samples, at most ${
        significant(target.seconds)
      } s of training; more evaluations would say when`;
    case "not":
      return `${name} is not reached in ${prefixed(target.samples)} samples: ${
        target.best === null ? `it is not defined (${NO_AUC})` : `the best is ${target.best.toFixed(4)}`
      }`;
  }
}

/** What the fast mode changes. */
export function fastModeText({ aucChange, loglossChange, seconds, sameRows }: FastMode): string {
  const speed = seconds === undefined
    ? ""
    : `; it trained for ${significant(seconds.fast)} s instead of ${significant(seconds.deterministic)} s, once each`;
  return sameRows
    ? `The fast mode ended with the rows of the deterministic one to the bit${speed}`
    : `The fast mode changes results: AUC ${aucChange === null ? "not defined" : signed(aucChange)}, logloss ${
      signed(loglossChange)
    } against the deterministic ` +
      `mode after the same samples${speed}`;
}
