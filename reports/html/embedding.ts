/**
 * The part of a step that the rows' place decides: its numbers, and what a model with less dense work would see.
 *
 * @module
 */

import { changeText, roughPercentText } from "../text/format.ts";
import type { CaseSummary, Summary } from "../summary/summary_types.ts";
import { mapEstimate } from "../statistics/bootstrap.ts";
import { html, type Markup } from "../text/markup.ts";
import { estimateCell, kind, more, table } from "./parts.ts";

/** Time for embeddings of every case that shows times. */
export function embedding(summary: Summary): Markup | undefined {
  const cases = summary.cases.filter((one) => one.embedding !== undefined);
  if (cases.length === 0) return undefined;
  const numbers = table(
    "Embedding time per step",
    [
      { title: "case" },
      { title: "kind", words: true },
      { title: "ms a step" },
      { title: "share of the step, %" },
      { title: "times as long as DRAM" },
      ...EMBEDDING.map((phase) => ({ title: `${phase}, ms` })),
    ],
    cases.map((one) => [
      one.name,
      kind(one),
      estimateCell(one.embedding?.seconds, 1e3),
      estimateCell(one.embedding?.share, 100),
      estimateCell(one.embedding?.relative),
      ...EMBEDDING.map((phase) => milliseconds(one, phase)),
    ]),
  );
  return html`<section aria-labelledby="embedding-work"><h2 id="embedding-work" tabindex="-1">Embedding work</h2>
<p class="note">Lookup, update and eviction of rows: the part of a step that the place of the rows decides. Small figures are
95 % bootstrap intervals over processes.</p>${numbers}${lessDense(cases)}</section>`;
}

const EMBEDDING = ["lookup", "update", "eviction"] as const;

function milliseconds(one: CaseSummary, phase: string): string {
  const seconds = one.phases.find((part) => part.phase === phase)?.seconds;
  return seconds === undefined ? "–" : (seconds * 1e3).toFixed(3);
}

/** Speed against DRAM with the dense layers taking a part of their time: computed. */
function lessDense(cases: readonly CaseSummary[]): Markup | undefined {
  const compared = cases.filter((one) => (one.embedding?.lessDense.length ?? 0) > 0);
  const parts = compared[0]?.embedding?.lessDense.map(({ part }) => part);
  if (parts === undefined) return undefined;
  const baseline = cases.find((one) => one.name === compared[0]?.baseline);
  const dense = baseline?.phases.find(({ phase }) => phase === "dense")?.share;
  const title = (part: number): string => part === 0 ? "no dense layers" : `dense layers at ${roughPercentText(part)}`;
  return more(
    "computed, a model with less dense work",
    html`
      <p class="note">Not run. The measured phases of each sample, with the dense phase cut to a part of its time and every
      other phase kept${dense === undefined
        ? ""
        : ` (dense layers fill ${
          roughPercentText(dense)
        } of a ${baseline?.name} step here)`}. It says how much of a difference the dense layers hide. A real run would differ: shorter
      dense phases leave CPU caches and the threads that move rows less time. The last column is the embedding work, the
      input and what no phase claims, alone.</p>
      ${table(
        "Computed speed against DRAM",
        [
          { title: "case" },
          { title: "kind", words: true },
          { title: "as run" },
          ...parts.map((part) => ({ title: title(part) })),
        ],
        compared.map((one) => [
          one.name,
          html`${kind(one)}<small>computed from it</small>`,
          change(one.relative),
          ...(one.embedding?.lessDense ?? []).map(({ relative }) => change(relative)),
        ]),
      )}
    `,
  );
}

function change(ratio: CaseSummary["relative"]): Markup | string {
  if (ratio === undefined) return "–";
  const { value, low, high } = mapEstimate(ratio, (v) => v - 1);
  const interval = low === undefined || high === undefined ? "one sample" : `${changeText(low)} to ${changeText(high)}`;
  return html`${changeText(value)}<small>${interval}</small>`;
}
