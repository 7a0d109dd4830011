/**
 * Writes the report's files.
 *
 * @module
 */

import type { Result } from "../scenarios/record.ts";
import { toCsv } from "./export/csv.ts";
import { toJson } from "./export/json.ts";
import { toMarkdown } from "./export/markdown.ts";
import { renderReport, type ReportOptions } from "./html/render.ts";
import { summarise } from "./summary/summary.ts";
import { type ReportFiles, writeReportTexts } from "./export/write_texts.ts";

/**
 * Writes `index.html`, `summary.md`, `summary.csv` and `summary.json` into a directory, which is made if absent; meant
 * to be the one with `result.jsonl`. Every file is written beside its place and then moved there, so a reader never
 * sees half a file, and nothing is written if the result cannot be reported.
 *
 * @param result A parsed result file.
 * @param directory Where to.
 * @returns Paths of the files.
 * @throws {RangeError} A number of the result cannot be reported.
 */
export async function writeReport(
  result: Result,
  directory: string,
  options: ReportOptions = {},
): Promise<ReportFiles> {
  const summary = summarise(result, options);
  return await writeReportTexts(directory, {
    html: renderReport(result, options),
    markdown: toMarkdown(summary),
    csv: toCsv(summary),
    json: toJson(summary),
  });
}
