/**
 * What the page of a contribution says about it: checklist, answers, what is in the file and what was taken out.
 *
 * @module
 */

import type { Contribution } from "../../scenarios/contribution/record.ts";
import { countText } from "../text/format.ts";
import { html, type Markup } from "../text/markup.ts";
import { table } from "../html/parts.ts";

/** What a contribution holds, in words: the same in the file and in the terminal. */
export function contentsText({ result: { samples, failed } }: Contribution): string {
  return "the scenario, the machine's CPU, memory, NUMA nodes, PMEM and CXL devices, firmware and kernel versions, " +
    `versions of all libraries, seeds, and every step's time of ${countText(samples.length, "sample")}` +
    (failed.length === 0 ? "" : `, and the errors of ${failed.length}`);
}

/** Things that were taken out, each kind once with how often. */
export function removedText({ removed }: Contribution): string {
  const counts = new Map<string, number>();
  for (const { what } of removed) counts.set(what, (counts.get(what) ?? 0) + 1);
  return counts.size === 0 ? "nothing" : [...counts].map(([what, count]) => `${what} (${count} ×)`).join(", ");
}

/** The section of the page. */
export function contributionSection(contribution: Contribution): Markup {
  const { checklist, questions, notes, removed } = contribution;
  const took = removed.length === 0
    ? undefined
    : html`<details><summary>Places where something was taken out</summary>${
      table(
        "What was taken out before this file was written",
        [{ title: "place" }, { title: "what", words: true }],
        removed.map(({ where, what }) => [where, what]),
      )
    }</details>`;
  const remarks = notes.length === 0 ? undefined : html`
    <h3>Remarks of the owner</h3>
    <ul>${notes.map((note) => html`<li>${note}</li>`)}</ul>
  `;
  return html`<section aria-labelledby="contribution"><h2 id="contribution" tabindex="-1">Contribution</h2>
<p class="note">In this file: ${contentsText(contribution)}. Names of host and user, paths, serial numbers, UUIDs and
hardware addresses are not; taken out: ${removedText(contribution)}.</p>${
    table(
      "What the program checked when the run began",
      [{ title: "what" }, { title: "status", words: true }, { title: "found", words: true }, {
        title: "what to do",
        words: true,
      }],
      checklist.map(({ title, status, found, next }) => [title, status, found, next ?? "–"]),
    )
  }${
    table(
      "What only the owner can say",
      [{ title: "question" }, { title: "asked", words: true }, { title: "answer", words: true }],
      questions.map(({ id, question, answer }) => [id, question, answer ?? "open"]),
    )
  }${remarks}${took}</section>`;
}
