/**
 * Every published figure against its media model: errors, bands, and the targets that were set for them.
 *
 * @module
 */

import { mean, quantile, quantileOfSorted } from "../../../base/statistics.ts";
import { mediaOptions, shippedMedia } from "../media.ts";
import { accessOf, type Residuals } from "./bands.ts";
import { type CalibrationRow, loadCalibration } from "./calibration.ts";
import { families } from "./fit.ts";
import { type LeftOut, loadLeftOut, modelsDigest } from "./leave_out.ts";
import { type Coverage, coverageOf, residualsOf, withApart } from "./make_bands.ts";
import { compareKeptApart, type KeptApart, keptApartIds } from "./kept_apart.ts";
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

/** A family of media (a model and those that extend it), and whether its figures could be foretold. */
export interface FamilyValidation {
  /** Name of the model that extends none. */
  readonly name: string;
  /** Its media. */
  readonly media: readonly string[];
  /** Numbers that are fitted. */
  readonly free: number;
  /** Figures compared. */
  readonly points: number;
  /** Of them, those predicted without their curve. */
  readonly predicted: number;
  /** Mean and 90th percentile of the absolute errors of those. */
  readonly mean: number;
  readonly p90: number;
  /** Why it is not called validated; undefined of a family that is. */
  readonly why?: string;
  /** The same by kind of figure and access, those that were predicted. */
  readonly kinds: readonly ForetoldKind[];
}

/** Figures of one kind and one access that were predicted without their curve. */
export interface ForetoldKind {
  readonly kind: FigureKind;
  /** How the medium was accessed, as bands have it. */
  readonly access: string;
  /** How many. */
  readonly predicted: number;
  /** Mean and 90th percentile of their absolute errors. */
  readonly mean: number;
  readonly p90: number;
  /** Why the family is not validated for it; undefined of what it is validated for. */
  readonly why?: string;
}

/** Bars of a family that is called validated: fewest figures foretold, mean and 90th percentile of their errors. */
export const VALIDATED: { readonly predicted: number; readonly mean: number; readonly p90: number } = {
  predicted: 10,
  mean: 0.1,
  p90: 0.25,
};

/** Why errors of curves left out are too many; undefined where they are not. */
function tooFar(average: number, p90: number): string | undefined {
  return average > VALIDATED.mean || p90 > VALIDATED.p90
    ? "errors of curves left out above 10 % on average, or above 25 % for more than a tenth"
    : undefined;
}

/** What a family says of one kind of figure and one access. */
function foretoldKind(kind: FigureKind, access: string, errors: readonly number[], family?: string): ForetoldKind {
  const summary = { predicted: errors.length, mean: mean(errors), p90: quantile(errors, 0.9) };
  const why = family !== undefined ? "its family is not" : tooFar(summary.mean, summary.p90) ??
    (errors.length < VALIDATED.predicted ? `fewer than ${VALIDATED.predicted} figures foretold` : undefined);
  return { kind, access, ...summary, ...(why === undefined ? {} : { why }) };
}

/** Bars of figures that no fit sees: mean and 90th percentile of the absolute error. */
export const APART = { mean: 0.15, p90: 0.3 } as const;

/** Whether figures of a medium that no fit sees, of which there are enough, miss their bars for an access. */
function refuted(apart: readonly KeptApart[], medium: string, kind: string, access: string): boolean {
  const own = apart.filter((one) => one.medium === medium && one.kind === kind && one.access === access);
  const errors = own.map(({ error }) => Math.abs(error));
  return errors.length >= VALIDATED.predicted && (mean(errors) > APART.mean || quantile(errors, 0.9) > APART.p90);
}

/** The residuals with the accesses that each medium's family is validated for, but those that figures kept apart refute. */
function withValidated(
  residuals: Residuals,
  families: readonly FamilyValidation[],
  apart: readonly KeptApart[],
): Residuals {
  return Object.fromEntries(
    Object.entries(residuals).map(([medium, kinds]) => {
      const family = families.find(({ media }) => media.includes(medium));
      const good = (family?.kinds ?? []).filter(({ why }) => why === undefined);
      return [
        medium,
        Object.fromEntries(
          Object.entries(kinds).map(([kind, known]) => {
            const validated = known.accesses.filter((one) =>
              good.some(({ kind: k, access }) => k === kind && access === one) && !refuted(apart, medium, kind, one)
            );
            return [kind, validated.length === 0 ? known : { ...known, validated }];
          }),
        ),
      ];
    }),
  );
}

/** Families against their left-out curves. */
async function familyValidations(
  points: readonly CalibrationPoint[],
  { errors }: LeftOut,
): Promise<FamilyValidation[]> {
  return (await families(points)).map(({ name, free, targets }) => {
    const own = targets.flatMap(({ questions }) => questions.points);
    const foretold = own.flatMap(({ id, kind, query }) => {
      const error = errors[id];
      return error === undefined ? [] : [{ kind, access: accessOf(query), error: Math.abs(Math.expm1(error)) }];
    });
    const found = foretold.map(({ error }) => error);
    const [average, p90] = found.length === 0 ? [NaN, NaN] : [mean(found), quantile(found, 0.9)];
    const why = found.length < VALIDATED.predicted
      ? `${found.length} of ${own.length} figures can be foretold, fewer than ${VALIDATED.predicted}`
      : found.length < 2 * free.length
      ? `${found.length} figures foretold, ${free.length} numbers fitted: fewer than two for one`
      : tooFar(average, p90);
    return {
      name,
      media: targets.map(({ media }) => media.name),
      free: free.length,
      points: own.length,
      predicted: found.length,
      mean: average,
      p90,
      ...(why === undefined ? {} : { why }),
      kinds: [...Map.groupBy(foretold, ({ kind, access }) => `${kind}/${access}`).values()].flatMap((of) =>
        of.slice(0, 1).map(({ kind, access }) => foretoldKind(kind, access, of.map(({ error }) => error), why))
      ),
    };
  });
}

/** What `tierbench validate-models` shows. */
export interface ModelValidation {
  /** All comparisons, in the order of the rows. */
  readonly comparisons: readonly Comparison[];
  /** By medium. */
  readonly media: readonly ErrorSummary[];
  /** By family: which may be called validated. */
  readonly families: readonly FamilyValidation[];
  /** By medium and kind. */
  readonly kinds: readonly (ErrorSummary & { readonly kind: FigureKind })[];
  /** Bands and calibrated ranges. */
  readonly residuals: Residuals;
  /** What models that never saw a curve said of it. */
  readonly leftOut: LeftOut;
  /** Whether models or rows changed since. */
  readonly leftOutIsStale: boolean;
  /** Leave-one-curve-out: figures of media with five curves or more, and how many the bands of the others covered. */
  readonly coverage: Coverage;
  /** Pairs of media that differ by more than 10 % at equal conditions, and how many the models put in that order. */
  readonly order: { readonly pairs: number; readonly right: number };
  /** O13: latencies of two Mess curves below 90 % load. */
  readonly o13: ErrorSummary;
  /** O14: the Optane study of FAST 2020. */
  readonly o14: ErrorSummary;
  /** Figures that no fit sees. */
  readonly keptApart: readonly KeptApart[];
  /** Verified rows that nothing is compared with, by reason. */
  readonly notCompared: ReadonlyMap<string | undefined, readonly string[]>;
  /** Rows. */
  readonly rows: number;
}

/** Asks the models for all points. */
export async function compare(points: readonly CalibrationPoint[]): Promise<Comparison[]> {
  const media = new Map((await shippedMedia()).map((one) => [one.name, one]));
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

/** Errors of some figures. */
function summarize(name: string, of: readonly Comparison[]): ErrorSummary {
  const errors = of.map(({ error }) => Math.abs(error)).sort((a, b) => a - b);
  return {
    name,
    points: of.length,
    curves: new Set(of.map(({ curve }) => curve)).size,
    mean: mean(errors),
    p90: quantileOfSorted(errors, 0.9),
    worst: errors.at(-1) ?? NaN,
  };
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

/** Class of each medium: `dram`, `pmem`, …. */
async function mediaClasses(): Promise<Map<string, string>> {
  const media = await shippedMedia();
  return new Map(media.map(({ name, kind }) => [name, kind]));
}

/**
 * Compares every verified row with its model.
 *
 * @param rows Instead of `models/media/calibration/calibration.csv`.
 * @param leftOut Instead of `models/media/calibration/left-out.json`.
 */
export async function validateModels(rows?: readonly CalibrationRow[], leftOut?: LeftOut): Promise<ModelValidation> {
  const all = rows ?? await loadCalibration();
  const points = pointsOf(all);
  const comparisons = await compare(points);
  const without = leftOut ?? await loadLeftOut(), classes = await mediaClasses();
  const byMedium = [...Map.groupBy(comparisons, (c) => c.medium)].sort(([a], [b]) => a < b ? -1 : 1);
  const judged = await familyValidations(points, without);
  const promised = residualsOf(comparisons, without, classes), keptApart = await compareKeptApart(all, promised);
  const residuals = withValidated(withApart(promised, keptApart), judged, keptApart);
  const o13 = comparisons.filter((c) => /^MESS-(EPEEC4|MN5ACC)-R\d+-BW/.test(c.id) && belowNinety(c, comparisons));
  return {
    comparisons,
    media: byMedium.map(([name, of]) => summarize(name, of)),
    families: judged,
    kinds: byMedium.flatMap(([name, of]) =>
      [...Map.groupBy(of, (c) => c.kind)].map(([kind, own]) => ({ ...summarize(name, own), kind }))
    ),
    residuals,
    leftOut: without,
    leftOutIsStale: without.digest !== await modelsDigest(points),
    coverage: coverageOf(comparisons, without, classes),
    order: rankOrder(comparisons),
    o13: summarize("O13", o13),
    o14: summarize("O14", comparisons.filter((c) => c.id.startsWith("OS-"))),
    keptApart,
    notCompared: notCompared(all, keptApartIds(all)),
    rows: all.length,
  };
}
