/**
 * 90 % bands from left-out curves (jackknife): the band of a figure is made of the distances between published figures
 * and what models that never saw their curve said of them.
 *
 * @module
 */

import { accessOf, type BandBasis, besideOf, type KindResiduals, type Range, type Residuals } from "./bands.ts";
import type { LeftOut } from "./leave_out.ts";
import type { FigureKind } from "./points.ts";
import type { Comparison } from "./validate.ts";

/** How many of the figures left out the bands covered. */
export interface Coverage {
  /** Figures that could be predicted without their curve. */
  readonly points: number;
  /** Of them, those inside the band of the medium's other curves. */
  readonly covered: number;
  /** What bands made of the fit's own residuals would have covered. */
  readonly coveredByFit: number;
  /** Media, those with five curves or more. */
  readonly media: number;
  /** `points` and `covered` by kind of figure. */
  readonly kinds: Readonly<Partial<Record<FigureKind, { readonly points: number; readonly covered: number }>>>;
}

/** Fewest figures that a band is made of; below, others help. */
const ENOUGH = 19;

/** Fewest curves of a medium that is judged by leaving one out. */
const CURVES = 5;

/**
 * Half width of the 90 % band in the logarithm: the ceil(0.9 (n + 1))-th smallest distance (Vovk et al. 2005), the largest
 * where there are fewer than nine.
 */
export function halfWidth(distances: readonly number[]): number {
  const sorted = [...distances].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length, Math.ceil(0.9 * (sorted.length + 1))) - 1] ?? NaN;
}

/** Distance of a comparison's model from the figure, in the logarithm, with the parameters fitted to all. */
const fitted = ({ model, value }: Comparison): number => Math.abs(Math.log(model / value));

/**
 * Figures that make the band of a kind, and what they are: those of the kind, of the medium, of the kind in media of the
 * class, or of the kind everywhere; the first that are enough.
 */
function basisOf(
  from: readonly Comparison[],
  medium: string,
  kind: FigureKind,
  classes: ReadonlyMap<string, string>,
): readonly [BandBasis, readonly Comparison[]] {
  const own = from.filter((c) => c.medium === medium);
  const alike = from.filter((c) => c.kind === kind);
  const choices: readonly (readonly [BandBasis, readonly Comparison[]])[] = [
    ["kind", own.filter((c) => c.kind === kind)],
    ["medium", own],
    ["class", alike.filter((c) => classes.get(c.medium) === classes.get(medium))],
  ];
  return choices.find(([, of]) => of.length >= ENOUGH) ?? ["all", alike];
}

const range = (values: readonly number[]): Range => [Math.min(...values), Math.max(...values)];

function readShareOf({ query, kind }: Comparison): number {
  return query.readShare ?? (kind === "mixed" ? 0.5 : query.operation === "load" ? 1 : 0);
}

/** Comparisons that were predicted without their curve, and how far off that was. */
function predicted(comparisons: readonly Comparison[], { errors }: LeftOut): (readonly [Comparison, number])[] {
  return comparisons.flatMap((c) => {
    const error = errors[c.id];
    return error === undefined ? [] : [[c, Math.abs(error)] as const];
  });
}

/** What bands are made of. */
interface Evidence {
  /** All comparisons that may be used. */
  readonly comparisons: readonly Comparison[];
  /** How far off those were that were predicted without their curve. */
  readonly distance: ReadonlyMap<Comparison, number>;
  readonly classes: ReadonlyMap<string, string>;
}

/**
 * Half width of the band of a kind of a medium: that of curves left out, and never less than that of the fit's own errors
 * there, since some figures cannot be predicted without their curve.
 */
function widthOf({ comparisons, distance, classes }: Evidence, medium: string, kind: FigureKind): [BandBasis, number] {
  const usable = comparisons.filter((c) => distance.has(c));
  const [basis, from] = basisOf(usable, medium, kind, classes);
  const leftOut = halfWidth(from.map((c) => distance.get(c) ?? NaN));
  const own = comparisons.filter((c) => c.medium === medium && c.kind === kind);
  const fit = own.length === 0 ? 0 : halfWidth(own.map(fitted));
  return fit > leftOut ? ["fit", fit] : [basis, leftOut];
}

/**
 * Bands and calibrated ranges by medium and kind.
 *
 * @param classes Class of each medium: `dram`, `pmem`, ….
 */
export function residualsOf(
  comparisons: readonly Comparison[],
  leftOut: LeftOut,
  classes: ReadonlyMap<string, string>,
): Residuals {
  const evidence = { comparisons, distance: new Map(predicted(comparisons, leftOut)), classes };
  const result: Record<string, Partial<Record<FigureKind, KindResiduals>>> = {};
  for (const [medium, of] of Map.groupBy(comparisons, (c) => c.medium)) {
    const kinds: Partial<Record<FigureKind, KindResiduals>> = {};
    for (const [kind, own] of Map.groupBy(of, (c) => c.kind)) {
      const [basis, width] = widthOf(evidence, medium, kind);
      kinds[kind] = {
        points: own.length,
        curves: new Set(own.map((c) => c.curve)).size,
        factor: Number(Math.exp(width).toPrecision(4)),
        basis,
        accesses: [...new Set(own.map(({ query }) => accessOf(query)))].sort(),
        bytes: range(own.map((c) => c.query.bytes)),
        threads: range(own.map((c) => c.query.threads)),
        readShare: range(own.map(readShareOf)),
        hops: range(own.map((c) => c.query.hops ?? 0)),
        beside: [...new Set(own.flatMap(({ query }) => besideOf({ ...query, prefetch: query.prefetch === true })))]
          .sort(),
      };
    }
    result[medium] = kinds;
  }
  return result;
}

/** Each curve, predicted without it, against the band that the medium's other curves give. */
export function coverageOf(
  comparisons: readonly Comparison[],
  leftOut: LeftOut,
  classes: ReadonlyMap<string, string>,
): Coverage {
  const distance = new Map(predicted(comparisons, leftOut));
  let points = 0, covered = 0, coveredByFit = 0, media = 0;
  const kinds: Partial<Record<FigureKind, { points: number; covered: number }>> = {};
  for (const [medium, of] of Map.groupBy(comparisons, (c) => c.medium)) {
    const curves = Map.groupBy(of, (c) => c.curve);
    if (curves.size < CURVES) continue;
    media++;
    for (const [curve, left] of curves) {
      const others = comparisons.filter((c) => c.medium !== medium || c.curve !== curve);
      const widths = new Map([...new Set(left.map(({ kind }) => kind))].map((kind) => {
        const [, byFit] = basisOf(others, medium, kind, classes);
        const [, width] = widthOf({ comparisons: others, distance, classes }, medium, kind);
        return [kind, { width, byFit: halfWidth(byFit.map(fitted)) }];
      }));
      for (const point of left) {
        const found = distance.get(point);
        if (found === undefined) continue;
        const { width = NaN, byFit = NaN } = widths.get(point.kind) ?? {};
        points++;
        if (found <= width) covered++;
        const kind = kinds[point.kind] ??= { points: 0, covered: 0 };
        kind.points++;
        if (found <= width) kind.covered++;
        if (found <= byFit) coveredByFit++;
      }
    }
  }
  return { points, covered, coveredByFit, media, kinds };
}
