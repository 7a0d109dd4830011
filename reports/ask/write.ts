/**
 * Writes the files of an answer.
 *
 * @module
 */

import { join } from "node:path";
import { writeWhole } from "../../base/write_whole.ts";
import { writing } from "../../base/writing.ts";
import type { Asked } from "../../models/planning/ask/ask.ts";
import { type AskPage, renderAsk } from "./page.ts";
import { askJson } from "./text.ts";

/** The files of an answer. */
export interface AskFiles {
  /** `index.html` */
  readonly html: string;
  /** `summary.json` */
  readonly json: string;
}

/** Writes `index.html` and `summary.json` of an answer into a directory, which is made if absent. */
export async function writeAsk(
  asked: Asked,
  directory: string,
  page: AskPage,
  currency: string,
): Promise<AskFiles> {
  const files: AskFiles = { html: join(directory, "index.html"), json: join(directory, "summary.json") };
  await writing(directory, () => Deno.mkdir(directory, { recursive: true }));
  await writeWhole(files.html, renderAsk(asked, page));
  await writeWhole(files.json, askJson(asked, currency));
  return files;
}
