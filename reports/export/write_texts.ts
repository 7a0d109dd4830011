/**
 * Writes the four files of a report.
 *
 * @module
 */

import { join } from "node:path";
import { writeWhole } from "../../base/write_whole.ts";
import { writing } from "../../base/writing.ts";

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
