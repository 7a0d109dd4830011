/**
 * What more ranks are worth: speed-up by ranks that train, efficiency, time in messages, dollars.
 *
 * @module
 */

import { significant } from "../../base/numbers.ts";
import { kindsText } from "../summary/kind.ts";
import {
  type Scaled,
  scaled,
  scalingCells,
  scalingColumns,
  sharedMachineText,
  undividedText,
} from "../summary/rank_words.ts";
import type { Summary } from "../summary/summary_types.ts";
import { html, type Markup } from "../text/markup.ts";
import { estimateCell, figure, kind, table } from "./parts.ts";

/** The section; undefined where no case was trained over ranks. */
export function scaling(summary: Summary): Markup | undefined {
  const cases = scaled(summary.cases);
  if (cases.length === 0) return undefined;
  const shared = sharedMachineText(cases);
  const undivided = undividedText(cases);
  const { worker } = summary.scenario.cost.bill;
  const numbers = table(
    "Ranks",
    [{ title: "case" }, { title: "kind", words: true }, ...scalingColumns(cases).map((title) => ({ title }))],
    cases.map((one) => [one.name, kind(one), ...scalingCells(one, cases, summary)]),
  );
  const libraries = [...new Set(cases.filter(({ scaling: { ranks } }) => ranks > 1).map((one) => one.scaling.library))];
  const about =
    html`<p class="note">Speed-up is samples/s against the same configuration with the fewest ranks that train;
efficiency is that by how many times as many train. Time in messages is a rank's mean. The last rank to come to a message waits for
nobody: its time is moving bytes, and what the message took another rank longer is waiting. A million samples
are priced on as many workers (${`${worker}`}) as the ranks had machines. ${
      libraries.length === 0 ? "" : `Messages: ${libraries.join(", ")}.`
    } ${undivided === undefined ? "" : `${undivided}.`}</p>${stalenessTable(cases)}`;
  const body = cases.some(({ scaling: { speedUp } }) => speedUp !== undefined)
    ? figure(
      "scaling",
      {
        title: "Speed-up by ranks that train",
        text:
          "Against the fewest ranks of the same configuration; whiskers are 95 % intervals. Dashed: as many times as fast " +
          "as ranks train.",
        unit: "times the speed of the fewest",
        kinds: kindsText(cases),
      },
      numbers,
    )
    : numbers;
  const times = cases.some(({ scaling: { moving } }) => moving !== undefined)
    ? figure(
      "messages",
      {
        title: "Time in messages by ranks that train",
        text:
          "A rank's mean in a step; whiskers are 95 % intervals. Dashed: waiting for other ranks. Else: moving bytes.",
        unit: "milliseconds a step",
        kinds: kindsText(cases),
      },
      table(
        "Time in messages, milliseconds a step",
        ["case", "moving", "waiting"].map((title) => ({ title })),
        cases.map((
          { name, scaling: { moving, waiting } },
        ) => [name, estimateCell(moving, 1e3), estimateCell(waiting, 1e3)]),
      ),
    )
    : html``;
  return html`
    <section
      aria-labelledby="ranks"><h2 id="ranks" tabindex="-1">Ranks</h2>${shared === undefined
        ? ""
        : html`<p><strong>${shared}.</strong></p>`}${body}${times}${about}</section>
  `;
}

/** Shares of steps by how many updates they missed; nothing where all ranks train in step. */
function stalenessTable(cases: readonly Scaled[]): Markup {
  const stale = cases.flatMap(({ name, scaling: { staleness } }) =>
    staleness === undefined ? [] : [{ name, staleness }]
  );
  const most = Math.max(...stale.map(({ staleness }) => staleness.most));
  if (stale.length === 0) return html``;
  return table(
    "Steps of ranks that train asynchronously, by how many updates of steps before them they missed, %",
    ["case", ...Array.from({ length: most + 1 }, (_, missed) => `${missed}`)].map((title) => ({ title })),
    stale.map(({ name, staleness: { shares, most: own } }) => [
      name,
      ...Array.from({ length: most + 1 }, (_, missed) => missed > own ? "–" : significant(100 * (shares[missed] ?? 0))),
    ]),
  );
}
