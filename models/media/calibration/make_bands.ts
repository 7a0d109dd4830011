/**
 * 90 % bands from left-out curves (jackknife): the band of a figure is made of the distances between published figures
 * and what models that never saw their curve said of them.
 *
 * @module
 */

import { accessOf, type AccessResiduals, besideOf, type KindResiduals, type Range, type Residuals } from "./bands.ts";
import type { BandBasis } from "./basis.ts";
import type { KeptApart } from "./kept_apart.ts";
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

/** Half width that curves left out give, and never less than the fit's own errors: some figures cannot be predicted alone. */
function atLeastFit<Basis extends BandBasis>(
  { distance }: Evidence,
  basis: Basis,
  from: readonly Comparison[],
  own: readonly Comparison[],
): [Basis | "fit", number] {
  const leftOut = halfWidth(from.map((c) => distance.get(c) ?? NaN));
  const fit = own.length === 0 ? 0 : halfWidth(own.map(fitted));
  return fit > leftOut ? ["fit", fit] : [basis, leftOut];
}

/** Basis and half width of the band of a kind of a medium. */
function widthOf(evidence: Evidence, medium: string, kind: FigureKind): [BandBasis, number] {
  const { comparisons, distance, classes } = evidence;
  const [basis, from] = basisOf(comparisons.filter((c) => distance.has(c)), medium, kind, classes);
  return atLeastFit(evidence, basis, from, comparisons.filter((c) => c.medium === medium && c.kind === kind));
}

/** The same of one access of the kind; undefined where fewer than {@linkcode ENOUGH} of its figures were predicted. */
function accessWidthOf(
  evidence: Evidence,
  medium: string,
  kind: FigureKind,
  access: string,
): ["access" | "fit", number] | undefined {
  const own = evidence.comparisons.filter((c) =>
    c.medium === medium && c.kind === kind && accessOf(c.query) === access
  );
  const from = own.filter((c) => evidence.distance.has(c));
  return from.length < ENOUGH ? undefined : atLeastFit(evidence, "access", from, own);
}

const factorOf = (width: number): number => Number(Math.exp(width).toPrecision(4));

const curvesOf = (of: readonly Comparison[]): number => new Set(of.map(({ curve }) => curve)).size;

/** Bands of the accesses of a kind; none where the kind has one access alone, which its own band is made of. */
function byAccess(
  evidence: Evidence,
  medium: string,
  kind: FigureKind,
  own: readonly Comparison[],
): Record<string, AccessResiduals> {
  const groups = Map.groupBy(own, ({ query }) => accessOf(query));
  if (groups.size === 1) return {};
  const bands = [...groups].flatMap(([access, of]) => {
    const [basis, width] = accessWidthOf(evidence, medium, kind, access) ?? [];
    if (basis === undefined || width === undefined) return [];
    return [[access, { points: of.length, curves: curvesOf(of), factor: factorOf(width), basis }] as const];
  });
  return Object.fromEntries(bands.sort(([a], [b]) => a < b ? -1 : 1));
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
      const accesses = byAccess(evidence, medium, kind, own);
      kinds[kind] = {
        points: own.length,
        curves: curvesOf(own),
        factor: factorOf(width),
        basis,
        accesses: [...new Set(own.map(({ query }) => accessOf(query)))].sort(),
        ...(Object.keys(accesses).length === 0 ? {} : { byAccess: accesses }),
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

/**
 * The same, no band narrower than the errors of the medium's figures that no fit sees: what a band promised and did not hold is
 * not promised again. Figures kept apart are judged by the bands before.
 */
export function withApart(residuals: Residuals, apart: readonly KeptApart[]): Residuals {
  const wider = <Known extends { readonly factor: number }>(known: Known, of: readonly KeptApart[]) => {
    const factor = of.length === 0 ? 0 : factorOf(halfWidth(of.map(({ error }) => Math.abs(Math.log1p(error)))));
    return factor > known.factor ? { ...known, factor, basis: "apart" as const } : known;
  };
  return Object.fromEntries(
    Object.entries(residuals).map(([medium, kinds]) => [
      medium,
      Object.fromEntries(
        Object.entries(kinds).map(([kind, known]) => {
          const own = apart.filter((one) =>
            one.medium === medium && one.kind === kind && one.access !== undefined &&
            known.accesses.includes(one.access)
          );
          const accesses = Object.entries(known.byAccess ?? {}).map(([access, of]) =>
            [access, wider(of, own.filter((one) => one.access === access))] as const
          );
          return [kind, {
            ...wider(known, own),
            ...(accesses.length === 0 ? {} : { byAccess: Object.fromEntries(accesses) }),
          }];
        }),
      ),
    ]),
  );
}

/** Each curve, predicted without it, against the band that the medium's other curves give. */
export function coverageOf(
  comparisons: readonly Comparison[],
  leftOut: LeftOut,
  classes: ReadonlyMap<string, string>,
): Coverage {
  const distance = new Map(predicted(comparisons, leftOut));
  const judged = [...Map.groupBy(comparisons, (c) => c.medium)].flatMap(([medium, of]) => {
    const curves = Map.groupBy(of, (c) => c.curve);
    return curves.size < CURVES ? [] : [...curves.values()].flatMap((left) => {
      const evidence = { comparisons: comparisons.filter((c) => !left.includes(c)), distance, classes };
      return judgedCurve(evidence, medium, left.filter((c) => distance.has(c)));
    });
  });
  const counted = (of: typeof judged) => ({ points: of.length, covered: of.filter(({ covered }) => covered).length });
  const kinds = [...Map.groupBy(judged, ({ point }) => point.kind)].map(([kind, of]) => [kind, counted(of)] as const);
  return {
    ...counted(judged),
    coveredByFit: judged.filter((one) => one.coveredByFit).length,
    media: new Set(judged.map(({ point }) => point.medium)).size,
    kinds: Object.fromEntries(kinds),
  };
}

/** Figures of a curve that was left out: whether the bands of the others cover them. */
function judgedCurve(
  evidence: Evidence,
  medium: string,
  left: readonly Comparison[],
): { readonly point: Comparison; readonly covered: boolean; readonly coveredByFit: boolean }[] {
  return [...Map.groupBy(left, ({ kind, query }) => `${kind}/${accessOf(query)}`).values()].flatMap((of) => {
    const { kind, query } = of[0] as Comparison;
    const [, width] = accessWidthOf(evidence, medium, kind, accessOf(query)) ?? widthOf(evidence, medium, kind);
    const [, alike] = basisOf(evidence.comparisons, medium, kind, evidence.classes);
    const byFit = halfWidth(alike.map(fitted));
    return of.map((point) => {
      const found = evidence.distance.get(point) ?? NaN;
      return { point, covered: found <= width, coveredByFit: found <= byFit };
    });
  });
}
