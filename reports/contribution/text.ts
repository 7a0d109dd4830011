/**
 * A contribution for a terminal: checklist, open questions, what is in the file.
 *
 * @module
 */

import type { Contribution } from "../../scenarios/contribution/record.ts";
import { shownLines } from "../../base/shown.ts";
import { wrap } from "../export/terminal.ts";
import { contentsText, removedText } from "./section.ts";

const MARKS = { "ok": "+", "not ok": "!", "unknown": "?" } as const;

/**
 * The checklist and what else the owner should know before sending.
 *
 * @param contribution What is sent.
 * @param width Columns of the terminal. @default 120
 */
export function renderChecklist(contribution: Contribution, width: number = 120): string {
  const { checklist, questions, notes } = shownLines({ ...contribution, result: undefined });
  const column = Math.max(
    ...[...checklist.map(({ title }) => title), ...questions.map(({ id }) => id)].map((text) => text.length),
  );
  const line = (mark: string, label: string, text: string): string[] =>
    wrap(text, width, `${mark} ${label.padEnd(column)}  `);
  return [
    "Checklist (+ ok, ! not ok, ? unknown)",
    ...checklist.flatMap(({ title, status, found, next }) => [
      ...line(MARKS[status], title, found),
      ...(next === undefined ? [] : line(" ", "", `next: ${next}`)),
    ]),
    "",
    "What only you can say",
    ...questions.flatMap(({ id, question, answer }) =>
      answer === undefined
        ? [...line("?", id, question), ...line(" ", "", `open; answer with: --note "${id}: …"`)]
        : line("+", id, answer)
    ),
    ...notes.flatMap((note) => line("+", "remark", note)),
    "",
    ...wrap(`${contentsText(contribution)}.`, width, "in it      "),
    ...wrap("names of host and user, paths, serial numbers, UUIDs, hardware addresses.", width, "not in it  "),
    ...wrap(`${removedText(contribution)}.`, width, "taken out  "),
    "",
  ].join("\n");
}
