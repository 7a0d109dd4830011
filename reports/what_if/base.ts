/**
 * What a what-if starts from: the cases, how they were priced, and the prices of that date. Small enough to be carried by
 * the page, whose script computes with it.
 *
 * @module
 */

import { kindOf } from "../summary/kind.ts";
import type { Evidence } from "../../scenarios/record.ts";
import type { CacheCurve, CaseSummary, Summary } from "../summary/summary_types.ts";
import type { PriceableCase } from "../summary/pricing.ts";
import type { ScenarioView } from "../summary/scenario_view.ts";
import { OWNED } from "../../models/costs/owned_machines.ts";
import type { PriceBook, Provenance } from "../../models/costs/price_book.ts";

/** A case as a what-if needs it. */
export type WhatIfCase = PriceableCase & {
  readonly evidence: Evidence;
  readonly vouched?: string | undefined;
  /** Index of its colour in charts. */
  readonly colour: number;
  /** Miss ratios of caches of its rows, and the size of the one it ran with; undefined where none is recorded. */
  readonly cache: (CacheCurve & { readonly share: number }) | undefined;
};

/** Everything a what-if starts from. */
export interface WhatIfBase {
  readonly cases: readonly WhatIfCase[];
  /** How the report priced them. */
  readonly cost: ScenarioView["cost"];
  /** Whose machines: those of the report, so that like stays compared with like. */
  readonly provider: string;
  /** Machines that the report chose. */
  readonly machines: readonly string[];
  /** How amounts are written: `$`, `EUR`. */
  readonly sign: string;
  /** Prices of the report's date, without their sources. */
  readonly book: PriceBook;
}

/**
 * The base of a report's what-if; undefined where nothing is priced.
 *
 * @param colourOf Colour index of a case.
 */
export function whatIfBase(summary: Summary, colourOf: (one: CaseSummary) => number): WhatIfBase | undefined {
  const { pricing, scenario: { cost } } = summary;
  const priced = summary.cases.filter((one) => one.cost !== undefined);
  if (pricing === undefined || priced.length === 0) return undefined;
  const sellers = new Set(priced.map(({ cost }) => cost?.offer.instance.provider));
  const offered = pricing.instances.filter(({ role, provider }) => role === "worker" || sellers.has(provider));
  return {
    cases: priced.map((one) => whatIfCase(one, colourOf(one))),
    cost,
    provider: pricing.provider,
    sign: pricing.sign,
    machines: pricing.provider === OWNED
      ? []
      : [...new Set(priced.flatMap((one) => one.cost?.offer.instance.name ?? []))],
    book: { instances: offered.map(thin), items: pricing.items.map(thin) },
  };
}

/** A row of the book without its words. */
function thin<T extends Provenance>(row: T): T {
  return { ...row, source: "", note: "", region: "" };
}

function whatIfCase(one: CaseSummary, colour: number): WhatIfCase {
  const { name, configuration, holding, virtual, throughput, relative, baseline, dramBytes, tableBytes, tiers, work } =
    one;
  return {
    name,
    configuration,
    holding,
    virtual,
    throughput,
    relative,
    baseline,
    dramBytes,
    tableBytes,
    tiers: tiers.map(({ type, purposes }) => ({ type, purposes })),
    ...(work === undefined ? {} : { work }),
    ...kindOf(one),
    colour,
    cache: one.cacheCurve === undefined || holding !== "pmem" || tableBytes === 0
      ? undefined
      : { ...one.cacheCurve, share: one.cacheCurve.ranShare },
  };
}
