/**
 * What the charts of the page draw: made from the summary, embedded as JSON, read by the page's script.
 *
 * @module
 */

import type { Auc } from "../../scenarios/record.ts";
import { type Kind, kindOf } from "../summary/kind.ts";
import type { CaseSummary, StepTimes, Summary } from "../summary/summary_types.ts";
import { BINS_A_DOUBLING } from "../summary/step_course.ts";
import { type MoreData, moreData } from "./line_data.ts";
import { focused } from "../summary/focus.ts";
import type { Estimate } from "../statistics/bootstrap.ts";
import { type WhatIfBase, whatIfBase } from "../what_if/base.ts";

/** A value and the ends of its interval; without an interval both ends are the value. */
export interface Point {
  readonly value: number;
  readonly low: number;
  readonly high: number;
}

/** A case in a chart. */
export interface Marked extends Kind {
  readonly name: string;
  /** Index of its colour. */
  readonly colour: number;
}

/** Bars cut into parts. */
export interface Stacked {
  readonly parts: readonly string[];
  readonly rows: readonly (Kind & { readonly name: string; readonly values: readonly number[] })[];
}

/** Data of every chart; absent charts are undefined. */
export interface PageData {
  /** Charts of lines and floating bars. */
  readonly more: MoreData;
  /** Times of the steps, milliseconds: how many in each bin, quantiles, and those that stand out and are named. */
  readonly steps:
    | readonly (Marked & {
      readonly bins: readonly { readonly from: number; readonly to: number; readonly count: number }[];
      readonly quantiles: readonly { readonly name: string; readonly point: Point }[];
      readonly outliers: readonly { readonly sample: string; readonly step: number; readonly ms: number }[];
    })[]
    | undefined;
  /** What the fields of the what-if compute with. */
  readonly whatIf: WhatIfBase | undefined;
  /** Thousand samples/s against $ per million samples. */
  readonly value: readonly (Marked & { readonly rate: Point; readonly cost: Point })[] | undefined;
  /** Milliseconds a step. */
  readonly phases: Stacked | undefined;
  /** MiB. */
  readonly tiers: Stacked | undefined;
  /** Times the speed of none: a dataset a configuration, a row a variant. */
  readonly ablation: {
    readonly labels: readonly string[];
    readonly groups: readonly (Marked & { readonly ratios: readonly (Point | null)[] })[];
  } | undefined;
  /** Thousand samples trained against AUC and logloss. */
  readonly quality: {
    readonly samples: readonly number[];
    /** The AUC whose time is asked for. */
    readonly target: number | undefined;
    readonly auc: readonly Auc[];
    readonly logloss: readonly number[];
    readonly planted: number | undefined;
  } | undefined;
}

/** The chart data of a summary. */
export function pageData(summary: Summary): PageData {
  const { cases } = focused(summary);
  const { quality } = summary;
  const colour = colours(cases);
  const marked = (one: CaseSummary): Marked => ({ name: one.name, ...kindOf(one), colour: colour(one) });
  const fast = cases.filter((one) => one.throughput !== undefined);
  const steps = fast.filter((one) => one.step !== undefined);
  const priced = fast.filter((one) => one.cost !== undefined);
  return {
    more: moreData(focused(summary), colour),
    steps: steps.length === 0 ? undefined : steps.map((one) => {
      const { course, ...times } = one.step as StepTimes;
      return {
        ...marked(one),
        bins: course.histogram.map(({ bin, count }) => ({
          from: 1e3 * 2 ** (bin / BINS_A_DOUBLING),
          to: 1e3 * 2 ** ((bin + 1) / BINS_A_DOUBLING),
          count,
        })),
        quantiles: (["p50", "p95", "p99"] as const).map((name) => ({ name, point: point(times[name], 1e3) })),
        outliers: course.outliers.slowest.map(({ seconds, ...of }) => ({ ...of, ms: seconds * 1e3 })),
      };
    }),
    whatIf: whatIfBase(focused(summary), colour),
    value: priced.length === 0 ? undefined : priced.map((one) => ({
      ...marked(one),
      rate: point(one.throughput as Estimate, 1e-3),
      cost: point((one.cost as NonNullable<CaseSummary["cost"]>).perMillion, 1),
    })),
    phases: stacked(
      fast.map((one) => ({
        name: one.name,
        ...kindOf(one),
        parts: one.phases.map(({ phase, seconds }) => [phase, seconds * 1e3] as const),
      })),
    ),
    tiers: stacked(
      cases.flatMap((one) =>
        one.tiers.map((tier) => ({
          name: `${one.name}, tier ${tier.tier}`,
          ...kindOf(one),
          parts: Object.entries(tier.purposes).map(([purpose, bytes]) => [purpose, bytes / 2 ** 20] as const),
        }))
      ),
    ),
    ablation: ablationData(summary),
    quality: quality === undefined ? undefined : {
      samples: quality.curve.map((at) => at.samples / 1e3),
      target: quality.target?.auc,
      auc: quality.curve.map((at) => at.auc),
      logloss: quality.curve.map((at) => at.logloss),
      planted: quality.plantedAuc,
    },
  };
}

/** The colour of a case: that of its configuration; the baseline has the first, which is neutral. */
export function colours(cases: readonly CaseSummary[]): (one: CaseSummary) => number {
  const others = [...new Set(cases.filter(({ holding }) => holding !== "dram").map((one) => one.configuration))];
  return (one) => one.holding === "dram" ? 0 : 1 + others.indexOf(one.configuration);
}

/** Every variant but "none", which is 1. */
function ablationData({ ablation }: Summary): PageData["ablation"] {
  const rows = ablation?.groups.flatMap((group) => group.rows) ?? [];
  const labels = [...new Set(rows.filter(({ relative }) => relative !== undefined).map(({ label }) => label))];
  if (ablation === undefined || labels.length === 0) return undefined;
  return {
    labels,
    groups: ablation.groups.map(({ name, rows, ...group }, colour) => ({
      name,
      ...kindOf(group),
      colour,
      ratios: labels.map((label) => {
        const relative = rows.find((row) => row.label === label)?.relative;
        return relative === undefined ? null : point(relative, 1);
      }),
    })).filter(({ ratios }) => ratios.some((ratio) => ratio !== null)),
  };
}

function point(estimate: Estimate, factor: number): Point {
  return {
    value: estimate.value * factor,
    low: (estimate.low ?? estimate.value) * factor,
    high: (estimate.high ?? estimate.value) * factor,
  };
}

function stacked(
  rows: readonly (Kind & {
    readonly name: string;
    readonly parts: readonly (readonly [string, number])[];
  })[],
): Stacked | undefined {
  if (rows.length === 0) return undefined;
  const parts = [...new Set(rows.flatMap((row) => row.parts.map(([part]) => part)))];
  return {
    parts,
    rows: rows.map((row) => ({
      name: row.name,
      ...kindOf(row),
      values: parts.map((part) => row.parts.find(([name]) => name === part)?.[1] ?? 0),
    })),
  };
}
