/**
 * What checkpoints cost, in words.
 *
 * @module
 */

import { formatBytes } from "../../base/bytes.ts";
import { estimateText, roughPercentText } from "../text/format.ts";
import type { CaseSummary, CheckpointCost } from "./summary_types.ts";

/** Columns of a table of {@linkcode checkpointCells}. */
export const CHECKPOINT_COLUMNS: readonly string[] = [
  "× without (95 %)",
  "checkpoints",
  "bytes written",
  "a delta, of a full one",
  "training stands still, ms",
  "until durable, ms",
  "restore, ms",
];

/** The figures of a case under those columns; an absent one is "–". */
export function checkpointCells(cost: CheckpointCost): string[] {
  return [
    cost.relative === undefined ? "–" : estimateText(cost.relative),
    String(Number(cost.count.toFixed(1))),
    formatBytes(Math.round(cost.bytes)),
    cost.deltaShare === undefined ? "–" : roughPercentText(cost.deltaShare),
    estimateText(cost.still, 1e3),
    estimateText(cost.durable, 1e3),
    `${estimateText(cost.restore, 1e3)} of ${formatBytes(Math.round(cost.restoredBytes))}`,
  ];
}

/** Cases that wrote checkpoints. */
export function checkpointed(
  cases: readonly CaseSummary[],
): (CaseSummary & { readonly checkpoints: CheckpointCost })[] {
  return cases.flatMap((one) => one.checkpoints === undefined ? [] : [{ ...one, checkpoints: one.checkpoints }]);
}
