/**
 * What checkpoints cost, in words.
 *
 * @module
 */

import { formatBytes } from "../../base/bytes.ts";
import { significant } from "../../base/numbers.ts";
import type { CheckpointKind } from "../../scenarios/scenario.ts";
import { changeText, estimateText, roughPercentText } from "../text/format.ts";
import type { CaseSummary, CheckpointCost } from "./summary_types.ts";

/** How checkpoints are made. */
export const KIND_WORDS: Readonly<Record<CheckpointKind, string>> = {
  full: "a dump",
  delta: "files of changes",
  "in-place": "in place",
};

/** Columns of a table of {@linkcode checkpointCells}. */
export const CHECKPOINT_COLUMNS: readonly string[] = [
  "how",
  "× without (95 %)",
  "checkpoints",
  "bytes written",
  "a delta, of a full one",
  "training stands still, ms",
  "until durable, ms",
  "rows put down again",
  "restore, ms",
  "restore ÷ reloading a dump",
];

/** The figures of a case under those columns; an absent one is "–". */
export function checkpointCells(cost: CheckpointCost): string[] {
  return [
    KIND_WORDS[cost.kind],
    cost.relative === undefined ? "–" : estimateText(cost.relative),
    String(Number(cost.count.toFixed(1))),
    formatBytes(Math.round(cost.bytes)),
    cost.deltaShare === undefined ? "–" : roughPercentText(cost.deltaShare),
    estimateText(cost.still, 1e3),
    estimateText(cost.durable, 1e3),
    cost.rowsAgain === undefined ? "–" : significant(cost.rowsAgain),
    `${estimateText(cost.restore, 1e3)} of ${formatBytes(Math.round(cost.restoredBytes))}`,
    cost.toDump === undefined ? "–" : estimateText(cost.toDump),
  ];
}

/** Columns of a table of {@linkcode simulatedCells}. */
export const SIMULATED_COLUMNS: readonly string[] = [
  "bytes written",
  "rows put down again",
  "until durable, ms",
  "restore, ms",
  "rates",
  "dense weights as PMEM-OE, ms",
];

/** Simulated figures of a case, each with its deviation from what was measured; none where models say nothing. */
export function simulatedCells({ simulated, ...cost }: CheckpointCost): string[] | undefined {
  if (simulated === undefined) return undefined;
  const beside = (text: string, value: number, measured: number): string =>
    `${text} (${changeText(value / measured - 1)})`;
  const time = (value: number, measured: number): string => beside(significant(value * 1e3), value, measured);
  const { bytes, rowsAgain, durable, restore, densePause, setsRates } = simulated;
  return [
    beside(formatBytes(Math.round(bytes)), bytes, cost.bytes),
    rowsAgain === undefined || cost.rowsAgain === undefined
      ? "–"
      : beside(significant(rowsAgain), rowsAgain, cost.rowsAgain),
    time(durable, cost.durable.value),
    time(restore, cost.restore.value),
    setsRates ? "set here" : "of another case",
    time(densePause, cost.still.value),
  ];
}

/** Cases that models say something of, with those cells. */
export function simulatedRows(cases: readonly CaseSummary[]): string[][] {
  return checkpointed(cases).flatMap((one) => {
    const cells = simulatedCells(one.checkpoints);
    return cells === undefined ? [] : [[one.name, ...cells]];
  });
}

/** Cases that wrote checkpoints. */
export function checkpointed(
  cases: readonly CaseSummary[],
): (CaseSummary & { readonly checkpoints: CheckpointCost })[] {
  return cases.flatMap((one) => one.checkpoints === undefined ? [] : [{ ...one, checkpoints: one.checkpoints }]);
}
