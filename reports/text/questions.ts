/**
 * What was asked of media models and what backs the answers, as the rows of a table: of simulations and of emulated runs alike.
 *
 * @module
 */

import { decimalBytesText } from "../../base/bytes.ts";
import type { AskedQuestion } from "../../models/simulation/record.ts";
import { accessText, questionBandText, validatedText } from "../../models/simulation/questions.ts";

/** What a reader of such a table must know. */
export const QUESTIONS_NOTE: string =
  "Each direction alone, at no load but its own. Figures: published (of a medium by path: measured by tierbench calibrate) for " +
  "the same access, with size and accesses under way within a factor of two. Alike: for that access at any size, threads and " +
  "prefetchers. Asked ahead: software asks for lines before it uses them, as our store does, and a core keeps more of them on " +
  "their way than in the plain loops of published figures, which are alike at most. Validated: " +
  "whether curves left out were foretold within 10 % on average and 25 % for nine tenths, for this access, and figures that no fit sees do not refute it (docs/accuracy.md). Band: of the answer alone, inside the " +
  "sizes and threads that were compared.";

/** Titles of the columns, and which of them are words. */
export const QUESTION_COLUMNS: readonly (readonly [title: string, words: boolean])[] = [
  ["medium", true],
  ["access", true],
  ["bytes", false],
  ["threads", false],
  ["depth", false],
  ["hops", false],
  ["prefetchers", true],
  ["region", false],
  ["figures", false],
  ["alike", false],
  ["validated", true],
  ["90 % band, made of", true],
];

/** The rows, each question once. */
export function questionRows(questions: readonly AskedQuestion[]): string[][] {
  const rows = questions.map((one) => [
    one.media,
    accessText(one),
    String(one.bytes),
    String(one.threads),
    `${one.depth}${one.devices === 1 ? "" : ` x ${one.devices} devices`}`,
    String(one.hops),
    one.prefetch ? "on" : "off",
    one.region === 0 ? "not known" : decimalBytesText(one.region),
    String(one.figures),
    String(one.alike),
    validatedText(one),
    questionBandText(one),
  ]);
  return [...new Map(rows.map((row) => [row.join("\n"), row])).values()];
}
