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
export { summarise } from "./summary/summary.ts";
export type { SummaryOptions } from "./summary/prices.ts";
export type { LinkUse } from "./summary/link.ts";
export type {
  AblationGroup,
  AblationRow,
  AblationSummary,
  CacheCurve,
  CaseClaim,
  CaseCost,
  CaseSummary,
  CheckpointCost,
  Comparison,
  EmbeddingTime,
  FastMode,
  HitRatio,
  ModelAccuracy,
  NoiseFloor,
  PhaseTime,
  PlainInput,
  PowerUse,
  Pricing,
  QualitySummary,
  RankScaling,
  SimulatedCheckpoints,
  StepCourse,
  StepTimes,
  Summary,
  TargetAuc,
  TierTraffic as CaseTierTraffic,
  Verdict,
} from "./summary/summary_types.ts";
export { type Finding, findingsOf, type Grade, gradeOf, type Severity } from "./summary/findings.ts";
export type { Holding } from "./summary/holding.ts";
export type { RunTarget, ScenarioView } from "./summary/scenario_view.ts";
export { renderTerminal } from "./export/terminal.ts";
export { DamagedPageError } from "./capsule/damaged_page.ts";
export { parsePage, parseSimulationPage, type ReadPage, readPage, readPageBytes } from "./capsule/read.ts";
export { reanalyse, type Reanalysis } from "./reanalyse/reanalyse.ts";
export { checkPage, type Damage, type PageCheck, type Part as PagePart } from "./capsule/seal.ts";
export { type CompareOptions, compareResults } from "./compare/compare.ts";
export {
  type CaseVerdict,
  type ComparedCase,
  type ComparedResult,
  type EqualityCheck,
  type Gate,
  type GatedCase,
  type GateVerdict,
  type ResultComparison,
  type Unlike,
  UnlikeResultsError,
} from "./compare/comparison.ts";
export { comparisonJson, comparisonMarkdown, renderComparison } from "./compare/text.ts";
export { requireLike } from "./compare/unlike.ts";
export { type CalibrationPage, type LoadedMedium, renderCalibration, writeCalibration } from "./calibration/page.ts";
export { renderContribution } from "./contribution/page.ts";
export { renderChecklist } from "./contribution/text.ts";
export { badgeSvg, badgeText } from "./publish/badge.ts";
export type { FoundReport, FoundReports, FoundSimulation, UnreadableReport } from "./publish/collect.ts";
export type { History, HistoryChange, HistoryLine, HistoryPoint } from "./publish/history.ts";
export { type Published, type PublishOptions, publishReports } from "./publish/publish.ts";
export type { ReportFiles } from "./export/write_texts.ts";
export { writeReport } from "./write.ts";
export { toCsv } from "./export/csv.ts";
export { toJson } from "./export/json.ts";
export { type MlLog, type MlLogs, mlLogs } from "./export/mllog.ts";
export { toMarkdown } from "./export/markdown.ts";
export {
  compareSimulations,
  renderSimulationComparison,
  type SimulatedDifference,
  type SimulationComparison,
} from "./simulation/compare.ts";
export { renderSimulation } from "./simulation/page.ts";
export { reanalyseSimulation, type SimulationReanalysis } from "./reanalyse/simulation.ts";
export {
  type Deviation,
  type NullCounts,
  type SimulationSummary,
  type StudyCase,
  type StudySummary,
  summariseSimulation,
} from "./simulation/summary.ts";
export { renderSimulationTerminal, simulationCsv, simulationJson, simulationMarkdown } from "./simulation/text.ts";
export { writeSimulationReport } from "./simulation/write.ts";
export type { Estimate, RatioTest } from "./statistics/bootstrap.ts";
export type { Limit, Need, Offer } from "../models/costs/cost_model.ts";
export { DEFAULT_PRICE_FILES, defaultPriceBook } from "../models/costs/default_prices.ts";
export {
  type Bought,
  type Instance,
  isStale,
  lintPrices,
  type Mark,
  MARK_WORDS,
  type Medium,
  parsePriceBook,
  type PriceBook,
  type PriceFile,
  type PriceItem,
  type PriceProblem,
  pricesAsOf,
  type PriceUnit,
  problemText,
  type Provenance,
  type Quote,
  withOwnPrices,
} from "../models/costs/price_book.ts";
export {
  type AbstractCost,
  abstractCost,
  breakEvenRowSeconds,
  breakEvenSeconds,
  cachedBandwidth,
  type PageRule,
  type RowRule,
} from "../models/costs/break_even.ts";
export { type BillPart, type BillRequest, BOUNDARIES, type Boundary } from "../models/costs/bill.ts";
export { inCurrency } from "../models/costs/currency.ts";
export {
  type MachineCost,
  type MachineLine,
  type MachineParts,
  type Modules,
  type NoPrice,
  type PartName,
  type PartNeeds,
  type PriceAge,
  type PricedMachine,
  priceMachine,
  type Prices,
  pricesIn,
} from "../models/costs/machine_cost.ts";
export type { CaseMoney, NoMoney, PricedMachines, SimulatedBill, WinPrice } from "./simulation/money.ts";
export type { MoneyTerms } from "./simulation/money_words.ts";
export {
  capitalRecovery,
  energyPerYear,
  type OwnedCost,
  ownedCost,
  type OwnedRates,
  type Part,
  type PowerPrice,
} from "../models/costs/owned.ts";
export { type OwnedMachine, ownedMachines, ownedRates } from "../models/costs/owned_machines.ts";
export { type Platform, type Population, populations } from "../models/costs/populations.ts";
export { type SampleWork, serversNeeded, tableBytes, type TableShape } from "../models/costs/traffic.ts";
export type { Cause, CauseShare, Claim, ClaimSide, Range } from "../models/costs/claim/claim.ts";
export type { ClaimInput, Flip, TornadoBar } from "../models/costs/claim/sensitivity.ts";
export { PUBLISHED_CLAIMS, type PublishedClaim } from "../models/costs/claim/published.ts";
export {
  type ClaimAnalysis,
  type PriceTextOptions,
  renderClaim,
  renderPrices,
  savingText,
  unpricedText,
} from "./summary/claim_text.ts";
export { analyseClaim } from "./summary/claims.ts";
export { plan, runnerUp } from "../models/planning/planner.ts";
export {
  type OwnMachine,
  type PlanInputs,
  type PlannedTable,
  planRequest,
  type RowTimes,
} from "../models/planning/request.ts";
export {
  type PlanPricing,
  type PlanTrainers,
  type PlanWin,
  planWin,
  planWinText,
  type UnpricedMachine,
} from "../models/planning/bill.ts";
export { planQuestionsText, planText, simulatedText } from "../models/planning/text.ts";
export type {
  Banded,
  Loser,
  PlacedTable as PlanPlacedTable,
  Placement,
  Plan as MachinePlan,
  PlanAnswer,
  PlanBill,
  PlanDoubt,
  PlanMachine,
  PlanOverhead,
  PlanRequest,
  PlanSimulator,
  PlanStep,
  PlanStepModel,
  PlanTable,
  PlanTarget,
  PlanTier,
  SimulatedPlan,
} from "../models/planning/plan_types.ts";
export { type SizedTable, type TableSize, tableSize } from "../models/planning/size.ts";
export type { RowRulePrices } from "../models/costs/row_rule.ts";
