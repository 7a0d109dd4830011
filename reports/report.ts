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
export { DamagedPageError, parsePage, type ReadPage, readPage, readPageBytes } from "./capsule/read.ts";
export { reanalyse, type Reanalysis } from "./capsule/reanalyse.ts";
export { checkPage, type Damage, type PageCheck, type Part } from "./capsule/seal.ts";
export { type CompareOptions, compareResults } from "./compare/compare.ts";
export {
  type CaseVerdict,
  type ComparedCase,
  type ComparedResult,
  type EqualityCheck,
  type ResultComparison,
  type Unlike,
  UnlikeResultsError,
} from "./compare/model.ts";
export { comparisonJson, comparisonMarkdown, renderComparison } from "./compare/text.ts";
export { renderContribution } from "./contribution/page.ts";
export { renderChecklist } from "./contribution/text.ts";
export { badgeSvg, badgeText } from "./publish/badge.ts";
export type { FoundReport, FoundReports, UnreadableReport } from "./publish/collect.ts";
export type { History, HistoryLine, HistoryPoint } from "./publish/history.ts";
export { type Published, type PublishOptions, publishReports } from "./publish/publish.ts";
export { type ReportFiles, writeReport } from "./write.ts";
export { toCsv } from "./export/csv.ts";
export { toJson } from "./export/json.ts";
export { toMarkdown } from "./export/markdown.ts";
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
