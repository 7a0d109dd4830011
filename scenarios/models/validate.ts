/**
 * Every published figure against its media model: errors, bands, and the targets that were set for them.
 *
 * @module
 */

import { listMedia, loadMedia, mediaOptions } from "../media.ts";
import type { KindResiduals, Range, Residuals } from "./bands.ts";
import { type CalibrationRow, loadCalibration } from "./calibration.ts";
import { type CalibrationPoint, type FigureKind, notCompared, pointsOf } from "./points.ts";
import { predict, questionsOf } from "./predict.ts";

/** A published figure and the model's. */
export interface Comparison extends CalibrationPoint {
  /** The model's figure, ns or bytes/s. */
  readonly model: number;
  /** Model / published - 1. */
  readonly error: number;
}

/** Errors of a group of figures, as shares. */
export interface ErrorSummary {
  /** Name of the group. */
  readonly name: string;
  /** Figures. */
  readonly points: number;
  /** Curves. */
  readonly curves: number;
  /** Mean of the absolute errors. */
  readonly mean: number;
  /** 90 % of the absolute errors are this or less. */
  readonly p90: number;
  /** The largest. */
  readonly worst: number;
}

/** What `tierbench validate-models` shows. */
export interface ModelValidation {
  /** All comparisons, in the order of the rows. */
  readonly comparisons: readonly Comparison[];
  /** By medium. */
  readonly media: readonly ErrorSummary[];
  /** By medium and kind. */
  readonly kinds: readonly (ErrorSummary & { readonly kind: FigureKind })[];
  /** Bands and calibrated ranges. */
  readonly residuals: Residuals;
  /** Leave-one-curve-out: points of media with five curves or more, and how many the bands of the others covered. */
  readonly leftOut: { readonly points: number; readonly covered: number; readonly media: number };
  /** Pairs of media that differ by more than 10 % at equal conditions, and how many the models put in that order. */
  readonly order: { readonly pairs: number; readonly right: number };
  /** O13: latencies of two Mess curves below 90 % load. */
  readonly o13: ErrorSummary;
  /** O14: the Optane study of FAST 2020. */
  readonly o14: ErrorSummary;
  /** Verified rows that nothing is compared with, by reason. */
  readonly notCompared: ReadonlyMap<string | undefined, readonly string[]>;
  /** Rows. */
  readonly rows: number;
}

/** Asks the models for all points. */
export async function compare(points: readonly CalibrationPoint[]): Promise<Comparison[]> {
  const media = new Map(
    await Promise.all((await listMedia()).map(async (name) => [name, await loadMedia(name)] as const)),
  );
  const models = new Map<CalibrationPoint, number>();
  for (const own of Map.groupBy(points, ({ medium, platform }) => `${medium}/${platform}`).values()) {
    const [first] = own;
    const model = first === undefined ? undefined : media.get(first.medium);
    if (first === undefined || model === undefined) {
      throw new Error(`Cannot compare with published figures: there is no media model "${first?.medium}"`);
    }
    predict(mediaOptions(model, first.platform), questionsOf(own)).forEach((answer, i) => {
      const point = own[i];
      if (point !== undefined) models.set(point, answer);
    });
  }
  return points.map((point) => {
    const model = models.get(point) ?? NaN;
    return { ...point, model, error: model / point.value - 1 };
  });
}

function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? NaN;
}

/** Errors of some figures. */
export function summarize(name: string, of: readonly Comparison[]): ErrorSummary {
  const errors = of.map(({ error }) => Math.abs(error)).sort((a, b) => a - b);
  return {
    name,
    points: of.length,
    curves: new Set(of.map(({ curve }) => curve)).size,
    mean: errors.reduce((a, b) => a + b, 0) / errors.length,
    p90: quantile(errors, 0.9),
    worst: errors.at(-1) ?? NaN,
  };
}

/** How far apart two figures are, as a factor of 1 or more in the logarithm. */
const distance = ({ model, value }: Comparison): number => Math.abs(Math.log(model / value));

/** Fewest points that a kind's own band is made of; below, the medium's other kinds help. */
const ENOUGH = 19;

/**
 * Half width of the 90 % band in the logarithm, by split conformal prediction: the ceil(0.9 (n + 1))-th smallest distance
 * (Vovk et al. 2005), the largest where there are fewer than nine.
 */
function halfWidth(distances: readonly number[]): number {
  const sorted = [...distances].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length, Math.ceil(0.9 * (sorted.length + 1))) - 1] ?? NaN;
}

/** Figures that make the band of a kind: its own, or all of the medium where there are few. */
function basis(medium: readonly Comparison[], kind: FigureKind): readonly Comparison[] {
  const own = medium.filter((c) => c.kind === kind);
  return own.length >= ENOUGH ? own : medium;
}

const range = (values: readonly number[]): Range => [Math.min(...values), Math.max(...values)];

function readShareOf({ query, kind, model: _ }: Comparison): number {
  return query.readShare ?? (kind === "mixed" ? 0.5 : query.operation === "load" ? 1 : 0);
}

function residualsOf(comparisons: readonly Comparison[]): Residuals {
  const result: Record<string, Partial<Record<FigureKind, KindResiduals>>> = {};
  for (const [medium, of] of Map.groupBy(comparisons, (c) => c.medium)) {
    const kinds: Partial<Record<FigureKind, KindResiduals>> = {};
    for (const [kind, own] of Map.groupBy(of, (c) => c.kind)) {
      kinds[kind] = {
        points: own.length,
        curves: new Set(own.map((c) => c.curve)).size,
        factor: Number(Math.exp(halfWidth(basis(of, kind).map(distance))).toPrecision(4)),
        bytes: range(own.map((c) => c.query.bytes)),
        threads: range(own.map((c) => c.query.threads)),
        readShare: range(own.map(readShareOf)),
        hops: range(own.map((c) => c.query.hops ?? 0)),
      };
    }
    result[medium] = kinds;
  }
  return result;
}

/** Each curve against the band that the other curves of its medium give. The parameters stay those of all rows. */
function leaveOneCurveOut(comparisons: readonly Comparison[]): ModelValidation["leftOut"] {
  let points = 0, covered = 0, media = 0;
  for (const of of Map.groupBy(comparisons, (c) => c.medium).values()) {
    const curves = Map.groupBy(of, (c) => c.curve);
    if (curves.size < 5) continue;
    media++;
    for (const [curve, left] of curves) {
      const others = of.filter((c) => c.curve !== curve);
      for (const point of left) {
        points++;
        if (distance(point) <= halfWidth(basis(others, point.kind).map(distance))) covered++;
      }
    }
  }
  return { points, covered, media };
}

/** Different media asked the same: does the model know which is faster? */
function rankOrder(comparisons: readonly Comparison[]): ModelValidation["order"] {
  let pairs = 0, right = 0;
  const same = ({ query: q, readers }: Comparison) =>
    [q.ask === "latency-at" ? "" : q.ask, q.operation, q.bytes, q.threads, q.sequential, q.fenced, q.readShare, readers]
      .join();
  const asked = comparisons.filter(({ query }) => query.ask !== "latency-at");
  for (const group of Map.groupBy(asked, same).values()) {
    group.forEach((a, i) => {
      for (const b of group.slice(i + 1)) {
        const ratio = a.value / b.value;
        if (a.medium === b.medium || ratio < 1.1 && ratio > 1 / 1.1) continue;
        pairs++;
        if (a.model > b.model === a.value > b.value) right++;
      }
    });
  }
  return { pairs, right };
}

/** Below 90 % of the highest traffic that was published for its curve. */
function belowNinety(point: Comparison, all: readonly Comparison[]): boolean {
  const peak = all.find((c) =>
    c.medium === point.medium && c.query.ask === "peak" && c.query.readShare === point.query.readShare
  );
  return peak !== undefined && (point.query.load ?? 0) < 0.9 * peak.value;
}

/** Compares every verified row with its model. */
export async function validateModels(rows?: readonly CalibrationRow[]): Promise<ModelValidation> {
  const all = rows ?? await loadCalibration();
  const comparisons = await compare(pointsOf(all));
  const byMedium = [...Map.groupBy(comparisons, (c) => c.medium)].sort(([a], [b]) => a < b ? -1 : 1);
  const o13 = comparisons.filter((c) => /^MESS-(EPEEC4|MN5ACC)-R\d+-BW/.test(c.id) && belowNinety(c, comparisons));
  return {
    comparisons,
    media: byMedium.map(([name, of]) => summarize(name, of)),
    kinds: byMedium.flatMap(([name, of]) =>
      [...Map.groupBy(of, (c) => c.kind)].map(([kind, own]) => ({ ...summarize(name, own), kind }))
    ),
    residuals: residualsOf(comparisons),
    leftOut: leaveOneCurveOut(comparisons),
    order: rankOrder(comparisons),
    o13: summarize("O13", o13),
    o14: summarize("O14", comparisons.filter((c) => c.id.startsWith("OS-"))),
    notCompared: notCompared(all),
    rows: all.length,
  };
}
