/**
 * How far the media models of a result are from what was published.
 *
 * @module
 */

import { basisText } from "../../models/simulation/questions.ts";
import type { ModelBand } from "../../scenarios/record.ts";
import { bytesText } from "../../base/bytes.ts";
import { significant } from "../../base/numbers.ts";
import { listText } from "../text/format.ts";
import type { ModelAccuracy, Summary } from "../summary/summary_types.ts";
import { html, type Markup } from "../text/markup.ts";
import { QUESTION_COLUMNS, questionRows, QUESTIONS_NOTE } from "../text/questions.ts";
import { type Cell, figure, more, table } from "./parts.ts";

/** What is asked of a medium. */
const KINDS: Readonly<Record<ModelBand["kind"], string>> = {
  latency: "latency",
  read: "bandwidth of reads",
  write: "bandwidth of writes",
  mixed: "bandwidth of both",
};

/** The figure with its table; undefined where the result names no model or did not record its bands. */
export function models({ models }: Summary): Markup | undefined {
  if (models.length === 0) return undefined;
  const numbers = table(
    "Accuracy of the media models",
    [
      { title: "media model" },
      { title: "cases", words: true },
      { title: "figure", words: true },
      { title: "90 % band", words: true },
      { title: "found with", words: true },
      { title: "figures of the medium compared" },
      { title: "curves" },
      { title: "size of an access" },
      { title: "threads" },
    ],
    models.flatMap(rowsOf),
  );
  const drawn = models.some(({ bands }) => bands.length > 0);
  const uncalibrated = models.filter(({ memoryMode }) => memoryMode).flatMap(({ cases }) => cases);
  return html`<div id="models">${
    more(
      "accuracy of the media models",
      html`
        ${drawn
          ? figure(
            "model-bands",
            {
              title: "Accuracy of the media models",
              text:
                "90 % of the published figures that a model is compared with lie in its band around what it says. The table tells " +
                "how many there are, and for which sizes and threads. The bands are those of latency and bandwidth of a medium; " +
                "none of a training speed follows from them.",
              unit: "percent off the model; latency, bandwidth of reads, of writes, of both together",
              kinds: "Computed from published measurements; none was made in this run",
            },
            numbers,
          )
          : numbers}<p
          class="note">${uncalibrated.length === 0
            ? ""
            : `Memory Mode (${
              listText(uncalibrated)
            }) is not calibrated: good for ratios only. `}Mean errors of every medium, curves that a model never saw, and what was left out: docs/accuracy.md.</p>
            ${asked(models)}
      `,
    )
  }</div>`;
}

/** What the cases asked the models, and what backs the answers; nothing of results that do not say. */
function asked(models: readonly ModelAccuracy[]): Markup | undefined {
  const rows = questionRows(models.flatMap(({ questions }) => questions));
  if (rows.length === 0) return undefined;
  const columns = QUESTION_COLUMNS.map(([title, words]) => ({ title, ...(words ? { words } : {}) }));
  return html`
    <details><summary>Questions: what the media models were asked, and how many figures back each</summary>
      <p>${QUESTIONS_NOTE}</p>
      ${table("Questions to the media models", columns, rows)}
    </details>
  `;
}

function rowsOf({ media, cases, memoryMode, bands }: ModelAccuracy): Cell[][] {
  const none = (why: string): Cell[][] => [[media, cases.join(", "), "–", why, "–", "–", "–", "–", "–"]];
  if (memoryMode) return none("Memory Mode: not calibrated, ratios only");
  if (bands.length === 0) return none("none: no published figure to compare with");
  return bands.map(({ kind, access, factor, basis, points, curves, bytes, threads }) => [
    media,
    cases.join(", "),
    access === undefined ? KINDS[kind] : `${KINDS[kind]}, ${access}`,
    `model ÷ ${significant(factor)} to model × ${significant(factor)}`,
    basisText(basis),
    `${points}`,
    `${curves}`,
    rangeText(bytes, bytesText),
    rangeText(threads, String),
  ]);
}

function rangeText([low, high]: readonly [number, number], text: (value: number) => string): string {
  return low === high ? text(low) : `${text(low)} to ${text(high)}`;
}
