/**
 * What checkpoints cost: speed against the same without, bytes, time until durable, time of a restore.
 *
 * @module
 */

import {
  CHECKPOINT_COLUMNS,
  checkpointCells,
  checkpointed,
  SIMULATED_COLUMNS,
  simulatedRows,
} from "../summary/checkpoint_words.ts";
import type { CaseSummary } from "../summary/summary_types.ts";
import { html, type Markup } from "../text/markup.ts";
import { kind, table } from "./parts.ts";

/** The table; undefined where no case writes checkpoints. */
export function checkpoints(cases: readonly CaseSummary[]): Markup | undefined {
  const shown = checkpointed(cases);
  if (shown.length === 0) return undefined;
  const simulated = simulatedRows(cases);
  return html`
    <h3>Checkpoints</h3>
    <p
      class="note">Speed against the same case without checkpoints: below 1 is what they cost. Checkpoints and bytes are those
    of one sample. Training stands still for the cut, and where the checkpoint before is not durable yet; both are part of
    the steps' times. Times are medians over a sample's checkpoints. Rows put down
    again are those that a point in place, from the second on, writes beyond what leaves DRAM anyway: rows above the last tier that
    changed since they were last put down. Restored is the newest one, into a store and a trainer opened anew, and what it stands
    on; in place it is taken up where it lies. A dump is one of all rows in DRAM, made as often.</p>
    ${table(
      "Checkpoints",
      [{ title: "case" }, { title: "kind", words: true }, ...CHECKPOINT_COLUMNS.map((title) => ({ title }))],
      shown.map((one) => [one.name, kind(one), ...checkpointCells(one.checkpoints)]),
    )}
    ${simulated.length === 0 ? undefined : html`
      <p
        class="note">Simulated: what the law of the data, the bytes of rows and two rates say, with the deviation from what was
      measured. The rates at which bytes are written and read are those of the case with the longest interval, of dumps for files and
      of the same configuration in place, and say so: times of such a case are no test, bytes are of every case. The last column is
      the time for which training would stop if dense weights were written while it waits, as PMEM-OE writes them, against how long it
      stood still here.</p>
      ${table(
        "Checkpoints, simulated against measured",
        ["case", ...SIMULATED_COLUMNS].map((title) => ({ title })),
        simulated,
      )}
    `}
  `;
}
