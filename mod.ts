/**
 * tierbench: where the embedding tables of a recommender should live, how fast training is there, what it costs.
 *
 * @example Run a scenario and write its report
 * ```ts ignore
 * import { loadScenario, renderReport, runScenario } from "./mod.ts";
 *
 * const scenario = await loadScenario("scenarios/pmem-modes.jsonc");
 * const result = await runScenario(scenario, { onProgress: (event) => console.log(event.type) });
 * await Deno.writeTextFile("report.html", renderReport(result));
 * ```
 *
 * @example Use the store alone
 * ```ts
 * import { EmbeddingStore } from "./mod.ts";
 *
 * using store = EmbeddingStore.open({ storage: "DRAM", size: ["64 MiB"], seed: 1 });
 * const table = store.table({ name: "user_id", dim: 16, optimizer: { adagrad: { learningRate: 0.1 } } });
 * const rows = table.lookupInto(new BigInt64Array([7n, -1n]), new Float32Array(2 * table.dim));
 * console.log(rows.length); // 32
 * ```
 *
 * @module
 */

export type { LoadedPoint } from "./base/loaded_point.ts";
export { formatBytes, parseBytes } from "./base/bytes.ts";
export { nearest } from "./base/nearest.ts";
export { shownLine, shownText } from "./base/shown.ts";
export { EVICTION_POLICIES } from "./base/policies.ts";
export { type FileKind, MissingFileError, readUserText } from "./base/user_file.ts";
export { VERSION } from "./base/version.ts";
export { writing } from "./base/writing.ts";
export {
  type CheckpointInfo,
  type CheckpointOptions,
  compactCheckpoints,
  inspectCheckpoints,
  PendingCheckpoint,
  type RestoreOptions,
  verifyCheckpoints,
} from "./ffi/checkpoint.ts";
export type { PersistOptions } from "./ffi/points.ts";
export {
  type DataDescription,
  describeData,
  generateData,
  type GenerateOptions,
  importCriteo,
  type ImportOptions,
  type Numerics,
  type SkippedLines,
  verifyData,
} from "./ffi/data.ts";
export { NativeLibraryError } from "./base/native_build.ts";
export { type StatusName, TierstoreError } from "./ffi/errors.ts";
export { libraryVersion } from "./ffi/machine.ts";
export { type MetricFamily, type MetricSample, OPEN_METRICS_TYPE, openMetricsText } from "./base/open_metrics.ts";
export { storeMetrics, trainerMetrics } from "./ffi/metrics.ts";
export { type AskedProcess, RunMetrics } from "./scenarios/run/run_metrics.ts";
export type { Pauses } from "./ffi/pauses.ts";
export type { RunOptions } from "./ffi/run.ts";
export { exportNumpy, type NumpyExport } from "./ffi/numpy.ts";
export { replayCache, type ReplayPolicy } from "./ffi/replay.ts";
export {
  type CurveMethod,
  type CurveOptions,
  type CurvePolicy,
  type MarginalBytes,
  marginalBytes,
  type MarginalOptions,
  type MissRatioCurve,
  missRatioCurve,
  type PopularityLaw,
  popularityLaw,
  type ZipfLaw,
} from "./ffi/curve.ts";
export {
  rowCacheHits,
  type RowCachePolicy,
  type RowCacheSize,
  rowCacheSize,
  type RowCacheSizeOptions,
} from "./models/simulation/row_cache_size.ts";
export { type CacheSize, cacheSize, type CacheSizeOptions } from "./models/workloads/cache_size.ts";
export {
  type ConfiguredTable,
  parseTableConfigs,
  TableConfigError,
  type TableConfigForm,
  type TableConfigs,
} from "./models/planning/table_configs.ts";
export { planEeg, type TbeCommand, tbeCommands, type TbeOptions, tbeScript } from "./models/planning/fbgemm.ts";
export {
  type TorchRecKeyValue,
  torchRecModule,
  type TorchRecOptions,
  type TorchRecTable,
  torchRecTables,
  torchRecYaml,
} from "./models/planning/torchrec.ts";
export {
  type AdamOptions,
  type AdmissionOptions,
  type Availability,
  type BagOptions,
  type Combiner,
  type DistributionOptions,
  EmbeddingStore,
  type EvictionPolicy,
  type ExpireOptions,
  type FoundRows,
  type GaugesOptions,
  type HitsOfSize,
  type HitsOfStep,
  type InitializerOptions,
  type Keys,
  type LeveldbOptions,
  type LookupBagsOptions,
  type Offsets,
  type OptimizerOptions,
  type RowMetadata,
  type SsdhashOptions,
  type StoreGauges,
  type StoreMemory,
  type StoreOptions,
  Table,
  type TableOptions,
  type TableRows,
  type TierDescription,
  type TierMemory,
  type WaitingKeys,
} from "./ffi/store.ts";
export { type Mpi, Ranks, type RanksDescription, type RanksOptions } from "./ffi/ranks.ts";
export {
  type DeepOptimizer,
  type EmbeddingOptimizer,
  type Evaluation,
  type Phase as TrainPhase,
  type StageWhat,
  type TrainerBf16,
  type TrainerExecutor,
  type TrainerModel,
  type TrainerOptions,
  type TrainerTable,
  type TrainResult,
  WdlTrainer,
} from "./ffi/trainer.ts";
export {
  type Ablation,
  type AblationCase,
  type AdagradDecayParameters,
  type AdagradParameters,
  type AdamParameters,
  type AdamWParameters,
  type Admission,
  type CheckpointKind,
  type CheckpointSchedule,
  type Configuration,
  type Cost,
  type CostBill,
  type CostBoundary,
  type CriteoData,
  type DistributionParameters,
  type EmbeddingOptimizer as WrittenEmbeddingOptimizer,
  type Expiry,
  type FtrlParameters,
  type InitializerParameters,
  type MatrixPoint,
  type MatrixValue,
  type MemoryPolicy,
  type Model,
  type Optimisations,
  type Optimizers,
  type PartOptimizer,
  type PartOptimizerName,
  type PartOptimizers,
  type Recorded,
  type ResolvedAdmission,
  type ResolvedConfiguration,
  type ResolvedCost,
  type ResolvedCriteoData,
  type ResolvedDistribution,
  type ResolvedEmbeddingOptimizer,
  type ResolvedExpiry,
  type ResolvedInitializer,
  type ResolvedOptimisations,
  type ResolvedOptimizers,
  type ResolvedPartOptimizer,
  type ResolvedRowFilter,
  type ResolvedScenario,
  type ResolvedSyntheticData,
  type ResolvedTable,
  type ResolvedWorkload,
  type RowOptimizers,
  type RowwiseAdagradParameters,
  type Sampling,
  type Scenario,
  type SgdParameters,
  type Size,
  type Ssd,
  type Switches,
  type SyntheticData,
  type TierMedium,
  type Workload,
  type WrittenTable,
} from "./scenarios/scenario.ts";
export {
  type HbmLibrary,
  type NullStorage,
  type PmemLibrary,
  type ScenarioStorage,
  STORAGE_TIERS,
  type StorageType,
} from "./ffi/storage.ts";
export type { MediaOperation } from "./ffi/media.ts";
export type { KeyEra, KeyStep, KeyWalk } from "./ffi/simulator/key_source.ts";
export {
  listProfiles,
  loadProfile,
  parseProfile,
  type Profile,
  ProfileError,
  type ProfilePopularity,
  type ProfileScore,
  type ProfileStep,
  type ProfileTable,
  profileText,
} from "./models/workloads/profile.ts";
export { type CurveError, SCORE_BARS, SCORE_LEAST } from "./models/workloads/fit/bars.ts";
export { lawLeavesOut, profileFaults, unjudgedTables } from "./models/workloads/profile_score.ts";
export {
  generateKeys,
  type GenerateKeysOptions,
  type KeyBatch,
  profileLaw,
  topShare,
} from "./models/workloads/profile_keys.ts";
export {
  type Fidelity,
  fitProfile,
  type FitProfileOptions,
  type FittedProfile,
  type FittedTable,
  type LawKind,
  type OrderKind,
} from "./models/workloads/fit_profile.ts";
export { importEeg } from "./models/workloads/eeg.ts";
export { type EegExport, type EegOptions, type EegTable, exportEeg } from "./models/workloads/eeg_export.ts";
export { importReuse } from "./models/workloads/reuse.ts";
export { type TraceBatch, TraceError } from "./models/workloads/trace/batch.ts";
export { parseColumns, type TraceColumns } from "./models/workloads/trace/columns.ts";
export {
  inspectTrace,
  type ReadOptions,
  readTrace,
  type TraceFacts,
  type TraceOptions,
} from "./models/workloads/trace/read.ts";
export { type TraceFormat } from "./models/workloads/trace/recognise.ts";
export { type Diagnostic, type DocumentPath, type Problem, ScenarioError } from "./base/diagnostics.ts";
export { loadScenario, parseScenario, resolveScenario, shippedScenarios } from "./scenarios/load.ts";
export {
  readPriceFiles,
  resultPath,
  RunInterrupted,
  runScenario,
  type RunScenarioOptions,
  scenarioFor,
  UnresumableError,
} from "./scenarios/run/run.ts";
export type { Enough, Until } from "./scenarios/run/until.ts";
export { preciseTo } from "./reports/summary/precision.ts";
export type { Steadiness } from "./reports/statistics/steady.ts";
export { pathsOf, refusePaths, type Rerun, RerunError, rerunOf, simulationToRerun } from "./scenarios/rerun.ts";
export type {
  RankCluster,
  RankLauncher,
  RankLayout,
  RankMode,
  RankMpi,
  ResolvedRankCluster,
} from "./scenarios/cluster.ts";
export { type Case, planCases } from "./scenarios/plan.ts";
export type { PlanLine, RunEvent } from "./scenarios/run/events.ts";
export type { WorkerPhase } from "./scenarios/run/worker_protocol.ts";
export { type Kind, kindOf, kindText } from "./reports/summary/kind.ts";
export { UnavailableError } from "./base/unavailable.ts";
export { type Vouch, vouchableMedia, VouchError } from "./scenarios/run/vouch.ts";
export { readResult, readResultText, resultOf, type ResultText, writeResult } from "./scenarios/result.ts";
export {
  type Baseline,
  BaselineError,
  BASELINES,
  checkBaselineName,
  findBaseline,
  isBaselineName,
  listBaselines,
  removeBaseline,
  saveBaseline,
} from "./scenarios/baselines.ts";
export { MergeError, mergeResults, type SharedResult } from "./scenarios/merge.ts";
export { parseShard, type Shard, shardText } from "./scenarios/shard.ts";
export {
  type Auc,
  aucText,
  type CheckpointRecord,
  type ClusterRecord,
  type ConditionsRecord,
  type CurveRecord,
  type DataRecord,
  type EndRecord,
  type EnergyRecord,
  type Evidence,
  type FailedRecord,
  type FilterRecord,
  type MachineRecord,
  type MediumKind,
  type ModelBand,
  type ModelLimit,
  type Phase,
  PHASES,
  type QualityRecord,
  type RankRecord,
  type Result,
  type ResultRecord,
  type RunRecord,
  type SampleIdentity,
  type SampleRecord,
  type TierRecord,
  type Vouched,
  type WireRecord,
} from "./scenarios/record.ts";
export {
  type BlockDevice,
  collectInventory,
  type ConfigurationName,
  configurations,
  type ConfigurationState,
  type CxlInventory,
  type CxlMemdev,
  type CxlRegion,
  type CxlRootDecoder,
  type DaxDeviceListing,
  doctor,
  type DoctorLine,
  type DoctorReport,
  type DoctorSection,
  type Facts,
  inspectMachine,
  type Inventory,
  type IpmctlInventory,
  type IpmctlModule,
  type IpmctlResources,
  localSystem,
  machineText,
  type NdBus,
  type NdNamespace,
  type NdRegion,
  type NumactlNode,
  type OsRelease,
  type Parsed,
  type RunToolOptions,
  type System,
  type ToolOutput,
  type ToolState,
} from "./machines/machine.ts";
export { CONTRIBUTE_FILE, runContribution, type RunContributionOptions } from "./scenarios/contribution/preset.ts";
export { contributionName, contributionOf } from "./scenarios/contribution/contribution.ts";
export type { Answered, ChecklistItem, Contribution, Question, Removed } from "./scenarios/contribution/record.ts";
export type { Identity } from "./scenarios/contribution/identity.ts";
export {
  AnswerError,
  type Answers,
  joinAnswers,
  parseAnswers,
  parseNotes,
  QUESTIONS,
} from "./scenarios/contribution/answers.ts";
export type {
  CheckLine,
  CheckOptions,
  Loss,
  Place as ProvisionPlace,
  Plan,
  ProvisionRequest,
  Refusal,
  Step as ProvisionStep,
  Target as ProvisionTarget,
  Tiering as ProvisionTiering,
} from "./machines/provisioning/contract.ts";
export { provisionPlan } from "./machines/provisioning/provision_plan.ts";
export { type ApplyEvent, type ApplyOptions, type ApplyOutcome, applyPlan } from "./machines/provisioning/apply.ts";
export { checkTarget } from "./machines/provisioning/check/check_target.ts";
export {
  localProvisioner,
  type Provisioner,
  TARGETS as PROVISION_TARGETS,
} from "./machines/provisioning/provisioner.ts";
export { processShell, type Shell, type ShellExit, type ShellOptions } from "./machines/provisioning/run_line.ts";
export { processVerify, type Verify } from "./machines/provisioning/verify.ts";
export {
  readTraceKeys,
  sampleTrace,
  type TraceKeys,
  type TraceKeysOptions,
  type TraceSample,
} from "./models/workloads/trace/keys.ts";
export { KeySample, type KeySampleFacts, type KeySampleOptions } from "./ffi/key_sample.ts";
export { isSimulation, loadSimulation, parseSimulation, resolveSimulation } from "./models/simulation/load.ts";
export { type StepCacheOptions, type StepCacheSize, stepCacheSizes } from "./models/simulation/step_cache_size.ts";
export { type StepRows, type WireBytes, wireBytes } from "./models/simulation/wire.ts";
export { runSimulation, type RunSimulationOptions } from "./models/simulation/run.ts";
export { isSimulationResult, parseSimulationResult, readSimulation } from "./models/simulation/result.ts";
export type { TraceReplay } from "./models/simulation/exact_hits.ts";
export { RANGED_FIELDS } from "./models/simulation/simulation.ts";
export type { Target } from "./models/simulation/target.ts";
export { type SimulatedCase, simulatedCases } from "./models/simulation/cases.ts";
export type {
  AskedQuestion as SimulatedQuestion,
  Band as SimulatedBand,
  Doubt as SimulatedDoubt,
  ExplanationRecord,
  NullName,
  NullRecord,
  SimulatedPoint,
  SimulatedRecord,
  SimulationRecord,
  SimulationResult,
  SimulationRunRecord,
  TierTraffic,
  TimePart,
} from "./models/simulation/record.ts";
export type {
  Checkpoint,
  Cluster,
  Compute,
  DenseTime,
  Duration,
  HitsMethod,
  Law,
  LawOrigin,
  Metric,
  Mode,
  Overlap,
  Placement as SimulatedPlacement,
  Published as PublishedFigure,
  RangedField,
  Rate,
  ResolvedSimulatedConfiguration,
  ResolvedSimulation,
  ResolvedTable as ResolvedSimulatedTable,
  ResolvedTier,
  SimulatedConfiguration,
  SimulatedPolicy,
  SimulatedProfile,
  SimulatedTable,
  SimulatedTier,
  Simulation,
  SimulationCost,
  Software,
  Study,
  WrittenSimulation,
} from "./models/simulation/simulation.ts";
export { type DocumentName, documentSchema, writeDocumentSchemas } from "./scenarios/schemas.ts";
export * from "./reports/report.ts";
export { type RowOptimizer, TABLE_OPTIMIZERS, type TableOptimizer } from "./models/workloads/row_bytes.ts";
export type { DocumentOptions, DocumentSource, LimitOptions } from "./base/document.ts";
export { type MediaModelsValidated, validateMediaModels } from "./models/validation/validate_models.ts";
export type { ErrorSummary } from "./models/media/calibration/validate.ts";
export {
  type AccessResiduals,
  type Band,
  bandFor,
  type Beside,
  type FigureConditions,
  type KindResiduals,
  loadResiduals,
  type Range as CalibratedRange,
  type Residuals,
} from "./models/media/calibration/bands.ts";
export type { BandBasis, BandWidth } from "./models/media/calibration/basis.ts";
export type { FigureKind } from "./models/media/calibration/points.ts";
export {
  calibrate,
  type CalibratedMedium,
  type CalibrateOptions,
  CalibrationInterrupted,
  type CalibrationOptions,
  type CalibrationProgress,
} from "./models/host/calibrate.ts";
export { type CalibratedMachine, calibrateMachine } from "./models/host/calibrate_machine.ts";
export { CalibrationError, type TargetOptions } from "./models/host/targets.ts";
export {
  type CalibratedSoftware,
  calibrateSoftware,
  type CalibrateSoftwareOptions,
} from "./models/host/calibrate_software.ts";
export {
  loadSoftware,
  type Price as SoftwarePrice,
  type SoftwareFile,
  type SoftwarePrices,
  type SoftwareRuns,
} from "./models/simulation/software_file.ts";
export type { SweepPoint } from "./models/host/sweep.ts";
export type { MediaQuery, MediaQuestion } from "./ffi/media.ts";
export { isPlan, loadPlan, parsePlan } from "./models/planning/load.ts";
export type {
  BookMedia as PlanBookMedia,
  PlanCost,
  PlanFile,
  PlanFileMachine,
  PlanFileTable,
  ResolvedMachine as ResolvedPlanMachine,
  ResolvedPlanFile,
  ResolvedPlanTable,
  WrittenPlan,
} from "./models/planning/plan_file.ts";
export type { WrittenTables } from "./models/workloads/table_forms.ts";
export { planInputs, planProfileFaults } from "./models/planning/inputs.ts";
export { ask, type Asked, type AskOptions } from "./models/planning/ask/ask.ts";
export { ASK_MEDIA, type AskMedium } from "./models/planning/ask/candidates.ts";
export {
  type AskedRows,
  deviceCapacities,
  planFileText,
  planFrom,
  planOfQuestion,
  type Question as AskedQuestion,
  tableOfRows,
  tablesOfFile,
  withMedium,
} from "./models/planning/ask/question.ts";
export type { Turn as AskTurn, TurnOf as AskTurnOf } from "./models/planning/ask/turning.ts";
export type { Way as AskWay } from "./models/planning/ask/ways.ts";
export { type AskPage, renderAsk } from "./reports/ask/page.ts";
export type { AskAnswer, AskAnswerWay } from "./reports/ask/answer.ts";
export {
  type BillLine as AskBillLine,
  LINE_KINDS as ASK_BILL_KINDS,
  type Measure as AskMeasure,
  type Owning as AskOwning,
} from "./reports/ask/words.ts";
export { askJson, askText } from "./reports/ask/text.ts";
export { type AskFiles, writeAsk } from "./reports/ask/write.ts";
export type {
  PlanInputs as ModelledPlan,
  PlannedTable as PlanInputTable,
  RowTimes as PlanRowTimes,
} from "./models/planning/request.ts";
export { type HitSize, hitSizes } from "./models/planning/hit_sizes.ts";
export { hitSizesText } from "./models/planning/text.ts";
export { planRowRule } from "./models/planning/row_rule.ts";
export { type MeasuredSize, measureSizes, type PlanTableBytes, planTables } from "./models/planning/sizes.ts";
export type { NullDeviation, PublishedDeviation } from "./models/simulation/deviations.ts";
export type { PlacedKind, PlanBand, PlanBandModel, PlanQuestions } from "./models/planning/plan_types.ts";
