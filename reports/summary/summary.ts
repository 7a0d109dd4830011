/**
 * From result records to every number of a report.
 *
 * @module
 */

import { kindOf } from "./kind.ts";
import type { QualityRecord, Result } from "../../scenarios/record.ts";
import { ablation, aucChange } from "./ablation.ts";
import { groupSamples, identicalRows, summariseCase } from "./case_summary.ts";
import { checkResult } from "./check_result.ts";
import type { CaseSummary, FastMode, ModelAccuracy, Pricing, QualitySummary, Summary } from "./summary_types.ts";
import { findingsOf, gradeOf } from "./findings.ts";
import { ownRowBytes } from "./break_even_map.ts";
import { rowRulePrices, rowRuleText } from "../../models/costs/row_rule.ts";
import { priceCases } from "./pricing.ts";
import { type ScenarioView, viewScenario } from "./scenario_view.ts";
import { mapEstimate } from "../statistics/bootstrap.ts";
import { targetAuc } from "./target_auc.ts";
import { claimsOf } from "./claims.ts";
import { judged, noiseFloors } from "./told.ts";
import { amountIn, DOLLARS } from "../../models/costs/currency.ts";
import { bookOf, type SummaryOptions } from "./prices.ts";
import { verdict } from "./verdict.ts";

/**
 * All figures of a result. Pure: the same result and prices give the same summary on every machine.
 *
 * @param result A parsed result file.
 * @returns The one model that all reports print.
 * @throws {RangeError} A number in the result is not finite, or a size or date in the scenario cannot be read.
 *
 * @example
 * ```ts ignore
 * import { readResult, summarise, toCsv, toJson, toMarkdown } from "../../mod.ts";
 *
 * const summary = summarise(await readResult("reports/out/pmem-modes/result.jsonl"));
 * for (const text of [toMarkdown(summary), toCsv(summary), toJson(summary)]) console.log(text);
 * ```
 */
export function summarise(result: Result, options: SummaryOptions = {}): Summary {
  checkResult(result);
  const asked = repriced(viewScenario(result), options);
  const { written, book } = bookOf(result.run.priceFiles ?? [], asked.cost.prices, options);
  const { currency = DOLLARS } = options;
  const { bill, prices } = asked.cost;
  const worker = typeof bill.worker === "number"
    ? amountIn(currency, bill.worker, DOLLARS, written, prices)
    : bill.worker;
  const { target } = asked;
  const scenario = {
    ...asked,
    ...(target?.perHour === undefined
      ? {}
      : { target: { ...target, perHour: amountIn(currency, target.perHour, DOLLARS, written, prices) } }),
    cost: { ...asked.cost, bill: { ...bill, worker } },
  };
  const groups = groupSamples(result);
  const unpriced = groups.map((group) => summariseCase(result, group, groups));
  const { cases: priced, pricing } = priceCases(unpriced, scenario, book);
  const floors = noiseFloors(result, groups);
  const { cases, ablation: worth } = judged(priced, ablation(result, groups, priced), floors);
  const findings = findingsOf(result, floors);
  const facts = {
    scenario,
    started: result.run.started,
    scenarioDigest: result.run.scenarioDigest,
    machine: result.run.machine,
    versions: result.run.versions,
    data: result.run.data,
    cases,
    models: modelsOf(result, cases),
    failed: result.failed,
    quality: qualityOf(result, scenario.targetAuc, cases),
    ablation: worth,
    identical: identicalRows(result),
    ...(result.end === undefined ? {} : { end: result.end }),
    pricing,
    claims: claimsOf(cases, pricing),
    floors,
    findings,
    grade: gradeOf(findings),
  };
  const found = verdict(facts), rule = rowRuleOf(cases, pricing);
  return { ...facts, verdict: { ...found, sentences: [...found.sentences, ...rule] } };
}

/** How often a row must be read to belong in DRAM; nothing where the report has no price of memory or of a drive. */
function rowRuleOf(cases: readonly CaseSummary[], pricing: Pricing | undefined): string[] {
  const prices = pricing === undefined ? undefined : rowRulePrices(pricing), rowBytes = ownRowBytes(cases);
  return prices === undefined || rowBytes === undefined ? [] : [rowRuleText(prices, rowBytes, pricing?.sign ?? "$")];
}

/** The media models that the cases name, each once alone and once behind Memory Mode, in the order of the cases. */
function modelsOf({ run: { modelBands } }: Result, cases: readonly CaseSummary[]): ModelAccuracy[] {
  if (modelBands === undefined) return [];
  const models = new Map<string, ModelAccuracy>();
  for (const { name, holding, tiers } of cases) {
    const memoryMode = holding === "memory-mode";
    for (const media of new Set(tiers.flatMap(({ emulates }) => emulates ?? []))) {
      const key = JSON.stringify([media, memoryMode]);
      const bands = memoryMode ? [] : modelBands[media] ?? [];
      const asked = tiers.flatMap(({ emulates, questions = [] }) => emulates === media ? questions : []);
      const before = models.get(key);
      const each = new Map([...before?.questions ?? [], ...asked].map((one) => [JSON.stringify(one), one]));
      const questions = [...each.values()];
      models.set(key, { media, memoryMode, bands, questions, cases: [...before?.cases ?? [], name] });
    }
  }
  return [...models.values()];
}

function repriced(scenario: ScenarioView, { asOf, boundary }: SummaryOptions): ScenarioView {
  const { cost } = scenario;
  return { ...scenario, cost: { ...cost, prices: asOf ?? cost.prices, boundary: boundary ?? cost.boundary } };
}

function qualityOf(
  result: Result,
  wanted: number | undefined,
  cases: readonly CaseSummary[],
): QualitySummary | undefined {
  const quality = result.quality;
  if (quality === undefined) return undefined;
  const virtual = result.samples.some((one) => one.configuration === quality.configuration && one.virtual);
  const target = wanted === undefined || virtual ? undefined : targetAuc(quality.curve, wanted);
  return {
    configuration: quality.configuration,
    ...kindOf(quality),
    samples: quality.curve[quality.curve.length - 1]?.samples ?? 0,
    auc: quality.auc,
    logloss: quality.logloss,
    testRows: quality.testRows,
    plantedAuc: result.run.data.plantedAuc,
    curve: quality.curve.map((at) => ({
      ...at,
      seconds: virtual ? undefined : at.seconds,
      trainSeconds: virtual ? undefined : at.trainSeconds,
    })),
    target,
    targetElsewhere: target === undefined || target.reached === "not" ? [] : elsewhere(target.samples, quality, cases),
    fastMode: fastMode(quality, result.qualities, virtual),
  };
}

/** Seconds to some samples on the cases whose rows are those of the quality run. */
function elsewhere(
  samples: number,
  quality: QualityRecord,
  cases: readonly CaseSummary[],
): QualitySummary["targetElsewhere"] {
  const point = quality.point ?? {};
  const same = cases.filter((one) =>
    JSON.stringify(one.point) === JSON.stringify(point) || quality.point === undefined
  );
  const digests = same.find((one) => one.configuration === quality.configuration)?.digests ?? [];
  return same.flatMap((one) => {
    const { name, throughput, digests: own } = one;
    return throughput === undefined || digests.length !== 1 || own.join() !== digests.join()
      ? []
      : [{ case: name, ...kindOf(one), seconds: mapEstimate(throughput, (rate) => samples / rate) }];
  });
}

/** The fast mode beside its twin in deterministic mode. */
function fastMode(fast: QualityRecord, all: readonly QualityRecord[], virtual: boolean): FastMode | undefined {
  const twin = fast.deterministic === false ? all.find((one) => one.deterministic === true) : undefined;
  if (twin === undefined) return undefined;
  const seconds = [fast, twin].map(({ curve }) => curve.at(-1)?.trainSeconds);
  return {
    auc: twin.auc,
    logloss: twin.logloss,
    aucChange: aucChange(fast.auc, twin.auc),
    loglossChange: fast.logloss - twin.logloss,
    seconds: virtual || seconds[0] === undefined || seconds[1] === undefined
      ? undefined
      : { fast: seconds[0], deterministic: seconds[1] },
    sameRows: fast.digest === twin.digest,
  };
}
