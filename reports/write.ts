/**
 * Writes the report's files.
 *
 * @module
 */

import { join } from "node:path";
import type { Result } from "../scenarios/record.ts";
import { writing } from "../base/writing.ts";
import { toCsv } from "./export/csv.ts";
import { toJson } from "./export/json.ts";
import { toMarkdown } from "./export/markdown.ts";
import { renderReport, type ReportOptions } from "./html/render.ts";
import { summarise } from "./summary.ts";
import { writeWhole } from "../base/write_whole.ts";

/** The files of a report. */
export interface ReportFiles {
  /** `index.html` */
  readonly html: string;
  /** `summary.md` */
  readonly markdown: string;
  /** `summary.csv` */
  readonly csv: string;
  /** `summary.json` */
  readonly json: string;
}

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

/** Writes the texts of a report into a directory, which is made if absent. Returns the paths of its files. */
export async function writeReportTexts(directory: string, texts: ReportFiles): Promise<ReportFiles> {
  const files: ReportFiles = {
    html: join(directory, "index.html"),
    markdown: join(directory, "summary.md"),
    csv: join(directory, "summary.csv"),
    json: join(directory, "summary.json"),
  };
  await writing(directory, () => Deno.mkdir(directory, { recursive: true }));
  const kinds = ["html", "markdown", "csv", "json"] as const;
  await Promise.all(kinds.map((kind) => writeWhole(files[kind], texts[kind])));
  return files;
}
