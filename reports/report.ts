/**
 * Reports: from result records to figures, words and files. Reads records, never the store.
 *
 * @example
 * ```ts ignore
 * import { readResult, renderTerminal, summarise, writeReport } from "../mod.ts";
 *
 * const result = await readResult("reports/out/pmem-modes/result.jsonl");
 * const summary = summarise(result);
 * console.log(renderTerminal(summary));
 * await writeReport(result, "reports/out/pmem-modes");
 * ```
 *
 * @module
 */

export { renderReport, type ReportOptions } from "./html/render.ts";
export { summarise, type SummaryOptions } from "./summary.ts";
export type {
  AblationGroup,
  AblationRow,
  AblationSummary,
  CaseCost,
  CaseSummary,
  Comparison,
  EmbeddingTime,
  FastMode,
  HitRatio,
  PhaseTime,
  Pricing,
  QualitySummary,
  StepTimes,
  Summary,
  TargetAuc,
  Verdict,
} from "./model.ts";
export type { Holding, ScenarioView } from "./scenario_view.ts";
export { renderTerminal } from "./terminal.ts";
export { DamagedPageError, parsePage, type ReadPage, readPage, renderContribution } from "./contribution/page.ts";
export { renderChecklist } from "./contribution/text.ts";
export { type ReportFiles, writeReport } from "./write.ts";
export { toCsv } from "./export/csv.ts";
export { toJson } from "./export/json.ts";
export { toMarkdown } from "./export/markdown.ts";
export { renderSimulation } from "./simulation/page.ts";
export {
  type Deviation,
  type SimulationSummary,
  type StudySummary,
  summariseSimulation,
} from "./simulation/summary.ts";
export { renderSimulationTerminal, simulationCsv, simulationJson, simulationMarkdown } from "./simulation/text.ts";
export { writeSimulationReport } from "./simulation/write.ts";
export type { Estimate } from "./statistics/bootstrap.ts";
export type { Need, Offer } from "./tco/cost_model.ts";
export {
  type Component,
  defaultPriceBook,
  type Instance,
  type Mark,
  parsePriceBook,
  type PriceBook,
  type Provenance,
} from "./tco/price_book.ts";
