/**
 * From result records to every number of a report.
 *
 * @module
 */

import type { Result } from "../scenarios/record.ts";
import { baselineOf, groupSamples, identicalRows, summariseCase } from "./case_summary.ts";
import { checkResult } from "./check_result.ts";
import type { QualitySummary, Summary } from "./model.ts";
import { priceCases } from "./pricing.ts";
import { viewScenario } from "./scenario_view.ts";
import { defaultPriceBook, type PriceBook } from "./tco/price_book.ts";
import { verdict } from "./verdict.ts";

/** Options of {@linkcode summarise}. */
export interface SummaryOptions {
  /** Prices to use. @default the book that ships with tierbench */
  readonly prices?: PriceBook;
}

/**
 * All figures of a result. Pure: the same result and prices give the same summary on every machine.
 *
 * @param result A parsed result file.
 * @returns The one model that all reports print.
 * @throws {RangeError} A number in the result is not finite, or a size or date in the scenario cannot be read.
 *
 * @example
 * ```ts ignore
 * import { readResult, summarise, toCsv, toJson, toMarkdown } from "../mod.ts";
 *
 * const summary = summarise(await readResult("reports/out/pmem-modes/result.jsonl"));
 * for (const text of [toMarkdown(summary), toCsv(summary), toJson(summary)]) console.log(text);
 * ```
 */
export function summarise(result: Result, options: SummaryOptions = {}): Summary {
  checkResult(result);
  const scenario = viewScenario(result);
  const groups = groupSamples(result);
  const unpriced = groups.map((group) => summariseCase(result, group, baselineOf(result, group, groups)));
  const { cases, pricing } = priceCases(unpriced, scenario, options.prices ?? defaultPriceBook());
  const facts = {
    scenario,
    started: result.run.started,
    scenarioDigest: result.run.scenarioDigest,
    machine: result.run.machine,
    versions: result.run.versions,
    data: result.run.data,
    cases,
    failed: result.failed,
    quality: qualityOf(result),
    identical: identicalRows(result),
    pricing,
  };
  return { ...facts, verdict: verdict(facts) };
}

function qualityOf(result: Result): QualitySummary | undefined {
  const quality = result.quality;
  if (quality === undefined) return undefined;
  const virtual = result.samples.some((one) => one.configuration === quality.configuration && one.virtual);
  return {
    configuration: quality.configuration,
    evidence: quality.evidence,
    samples: quality.curve[quality.curve.length - 1]?.samples ?? 0,
    auc: quality.auc,
    logloss: quality.logloss,
    testRows: quality.testRows,
    plantedAuc: result.run.data.plantedAuc,
    curve: quality.curve.map((at) => ({ ...at, seconds: virtual ? undefined : at.seconds })),
  };
}
