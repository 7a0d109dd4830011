/**
 * Writes the files of a simulation's report.
 *
 * @module
 */

import type { SimulationResult } from "../../models/simulation/record.ts";
import { type ReportFiles, writeReportTexts } from "../export/write_texts.ts";
import { renderSimulation } from "./page.ts";
import { summariseSimulation } from "./summary.ts";
import { simulationCsv, simulationJson, simulationMarkdown } from "./text.ts";

/**
 * Writes `index.html`, `summary.md`, `summary.csv` and `summary.json` of a simulation into a directory.
 *
 * @returns Paths of the files.
 */
export async function writeSimulationReport(result: SimulationResult, directory: string): Promise<ReportFiles> {
  const summary = summariseSimulation(result);
  return await writeReportTexts(directory, {
    html: renderSimulation(result),
    markdown: simulationMarkdown(summary),
    csv: simulationCsv(summary),
    json: simulationJson(summary),
  });
}
