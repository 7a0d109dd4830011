/**
 * An AUC as every output says it.
 *
 * @module
 */

import type { Auc } from "./record.ts";

/** Why an AUC is not defined. */
export const NO_AUC = "labels of one class";

/** `AUC 0.7512`, or `AUC not defined (labels of one class)`. */
export function aucText(auc: Auc): string {
  return auc === null ? `AUC not defined (${NO_AUC})` : `AUC ${auc.toFixed(4)}`;
}

/** The same for a cell of a column of AUCs: `0.7512`, or `not defined`. */
export function aucCell(auc: Auc): string {
  return auc === null ? "not defined" : auc.toFixed(4);
}
