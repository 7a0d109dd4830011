/**
 * Writes the files of a simulation's report.
 *
 * @module
 */

import type { SimulationResult } from "../../models/simulation/record.ts";
import { type ReportFiles, writeReportTexts } from "../export/write_texts.ts";
import type { SummaryOptions } from "../summary/prices.ts";
import { renderSimulation } from "./page.ts";
import { summariseSimulation } from "./summary.ts";
import { simulationCsv, simulationJson, simulationMarkdown } from "./text.ts";

/**
 * Writes `index.html`, `summary.md`, `summary.csv` and `summary.json` of a simulation into a directory.
 *
 * @param options Prices of the machines that it names.
 * @returns Paths of the files.
 */
export async function writeSimulationReport(
  result: SimulationResult,
  directory: string,
  options: SummaryOptions = {},
): Promise<ReportFiles> {
  const summary = summariseSimulation(result, options);
  return await writeReportTexts(directory, {
    html: renderSimulation(result, options),
    markdown: simulationMarkdown(summary),
    csv: simulationCsv(summary),
    json: simulationJson(summary),
  });
}
