/**
 * What checkpoints cost: speed against the same without, bytes, time until durable, time of a restore.
 *
 * @module
 */

import { CHECKPOINT_COLUMNS, checkpointCells, checkpointed } from "../summary/checkpoint_words.ts";
import type { CaseSummary } from "../summary/summary_types.ts";
import { html, type Markup } from "../text/markup.ts";
import { kind, table } from "./parts.ts";

/** The table; undefined where no case writes checkpoints. */
export function checkpoints(cases: readonly CaseSummary[]): Markup | undefined {
  const shown = checkpointed(cases);
  if (shown.length === 0) return undefined;
  return html`
    <h3>Checkpoints</h3>
    <p
      class="note">Speed against the same case without checkpoints: below 1 is what they cost. Checkpoints and bytes are those
    of one sample. Training stands still for the cut, and where the checkpoint before is not durable yet; both are part of
    the steps' times. Times are medians over a sample's checkpoints. Restored is the newest one, into a store and a trainer opened
    anew, and what it stands on.</p>
    ${table(
      "Checkpoints",
      [{ title: "case" }, { title: "kind", words: true }, ...CHECKPOINT_COLUMNS.map((title) => ({ title }))],
      shown.map((one) => [one.name, kind(one), ...checkpointCells(one.checkpoints)]),
    )}
  `;
}
