/**
 * From a sweep to a media model: few numbers, fitted by the machinery of the shipped media (models/media/calibration/fit.ts)
 * within physical bounds: to the medians of the rounds, and again to the medians of rounds drawn anew (bootstrap), whose
 * spread is the interval of each number.
 *
 * @module
 */

import { randomNumbers } from "../../base/random.ts";
import { type Family, fit, type FitOptions, type FreeParameter } from "../media/calibration/fit.ts";
import { accessOf } from "../media/calibration/bands.ts";
import type { CalibrationPoint, FigureKind } from "../media/calibration/points.ts";
import { predict, questionsOf } from "../media/calibration/predict.ts";
import type { MeasuredFigures } from "../media/measured.ts";
import { median } from "../../base/statistics.ts";
import { orderInterval, type SweptPoint } from "./sweep.ts";

/** A number of a model with the ends of its interval; never of zero width. */
export interface HostParameter {
  /** As `native/media/media.h` says. */
  readonly value: number;
  /** Low end of the 90 % interval. */
  readonly low: number;
  /** High end of it. */
  readonly high: number;
  /** How it was found. */
  readonly how: string;
}

/** What a sweep came to. */
export interface FittedMedium {
  /** By the names of `native/media/media.h`. */
  readonly parameters: Readonly<Record<string, HostParameter>>;
  /** How far the model is from what was measured. */
  readonly figures: Readonly<Partial<Record<FigureKind, MeasuredFigures>>>;
  /** What the model says to each point of the sweep. */
  readonly answers: readonly number[];
}

/** The least half-width of an interval, as a share: clocks and counts of a window are not finer. */
export const FINEST = 1e-3;

const FIRST: FitOptions = { elsewhere: 0, rounds: 80 };
const AGAIN: FitOptions = { elsewhere: 0, rounds: 12 };

/** Drawn sets of rounds; the least and the most of nine hold 90 % (their range misses a tenth of the same law's values). */
const DRAWS = 9;

/** Operations of a model, and what a sweep calls them. */
const OPS = [["read", "load"], ["write_nt", "nt-store"], ["write_cached", "cached-store"], [
  "write_flush",
  "flushed-store",
]] as const;

/** What is given, and what is to be found, with a value to start from. */
interface Form {
  readonly fixed: Readonly<Record<string, readonly [number, string]>>;
  readonly free: Readonly<Record<string, number>>;
  /** Most of the media's bandwidths: what was never reached is not made up. */
  readonly most: Readonly<Record<string, number>>;
}

type Values = (point: SweptPoint) => number;

/** Best rate that was measured of an operation. */
function best(points: readonly SweptPoint[], operation: string, value: Values): number {
  const rates = points.filter(({ query, kind }) =>
    query.operation === operation && kind !== "latency" && kind !== "mixed"
  );
  return Math.max(...rates.map(value));
}

function has(points: readonly SweptPoint[], operation: string): boolean {
  return points.some(({ query, kind }) => query.operation === operation && (kind === "read" || kind === "write"));
}

function formOf(points: readonly SweptPoint[], drive: boolean, value: Values): Form {
  const fixed: Record<string, readonly [number, string]> = {}, free: Record<string, number> = {};
  const most: Record<string, number> = {};
  const latency = (operation: string): number | undefined => {
    const found = points.find(({ query, kind }) =>
      kind === "latency" && query.operation === operation && query.ask === "latency"
    );
    return found === undefined ? undefined : value(found);
  };
  const read = latency("load") ?? NaN;
  for (const [op, operation] of OPS) {
    if (!has(points, operation)) continue;
    fixed[`${op}_latency_ns`] = [
      latency(operation) ?? read,
      latency(operation) !== undefined
        ? op === "read" ? "latency of one load at a time" : "latency of one store at a time, with its fence"
        : "a cached store first reads its line",
    ];
    const rate = best(points, operation, value);
    most[`${op}_bandwidth`] = 4 * rate;
    free[`${op}_bandwidth`] = 2 * rate;
    free[`${op}_next_latency_ns`] = (fixed[`${op}_latency_ns`]?.[0] ?? 100) / 3;
    if (drive) free[`${op}_overhead_bytes`] = 1000;
    else free[`${op}_in_flight`] = 4;
    if (points.some(({ query }) => query.operation === operation && query.fenced === true) && !drive) {
      free[`${op}_fence_ns`] = (fixed[`${op}_latency_ns`]?.[0] ?? 100) / 2;
    }
  }
  if (drive) {
    for (const size of ["line", "granule"]) fixed[size] = [4096, "accesses of whole blocks"];
    fixed["in_flight"] = [1, "threads stand for the requests under way"];
  }
  if (points.some(({ query }) => query.ask === "latency-at")) free["load_linear"] = 0.2;
  free["sharpness"] = 4;
  if (points.some(({ kind }) => kind === "mixed")) free["duplex"] = 0.9;
  return { fixed, free, most };
}

/** Fits a form to values of the points, from a start; returns every number. */
function fitOnce(
  points: readonly SweptPoint[],
  form: Form,
  start: Readonly<Record<string, number>>,
  value: Values,
  how: FitOptions,
): Record<string, number> {
  const target = points.map((point, i): CalibrationPoint => ({
    id: String(i),
    curve: point.curve,
    medium: "host",
    platform: "",
    kind: point.kind,
    query: point.query,
    value: value(point),
  }));
  const fixed = Object.entries(form.fixed).map(([key, [number]]) => [key, String(number)]);
  const options: Record<string, string> = {
    medium: "host",
    ...Object.fromEntries(fixed),
    ...Object.fromEntries(Object.entries(start).map(([key, number]) => [key, String(number)])),
  };
  const free = Object.entries(start).map(([key, number]): FreeParameter => ({
    file: "host",
    path: [],
    key,
    platform: undefined,
    value: number,
    // Page walks of a virtual machine are waited for, too: fewer lines than a core has buffers. Lines that are asked for ahead
    // wait in the second-level cache's buffers besides.
    ...(key.endsWith("_in_flight") ? { least: 0.3, most: 256 } : {}),
    ...(form.most[key] === undefined ? {} : { most: form.most[key] }),
  }));
  const media = { name: "host", about: "", kind: "dram", parameters: {}, platforms: {} } as const;
  const family: Family = {
    name: "host",
    free,
    taken: [],
    targets: [{ media, platform: "", options, questions: questionsOf(target), weight: 1 / Math.sqrt(target.length) }],
  };
  fit(family, how);
  return Object.fromEntries(free.map(({ key, value }) => [key, value]));
}

/** Ends of an interval of some values around another, never of zero width. */
function interval(value: number, others: readonly number[]): { low: number; high: number } {
  const low = Math.min(value, ...others), high = Math.max(value, ...others);
  return { low: Math.min(low, value * (1 - FINEST)), high: Math.max(high, value * (1 + FINEST)) };
}

/**
 * Fits a media model to a sweep.
 *
 * @param points Answers of {@linkcode sweep}, all of equally many rounds.
 * @param drive Whether they are of a drive.
 * @throws {RangeError} if no load was measured.
 */
export function fitMedium(points: readonly SweptPoint[], drive: boolean): FittedMedium {
  if (!has(points, "load")) throw new RangeError("Cannot fit a media model: no load was measured");
  const middle: Values = ({ values }) => median(values);
  const form = formOf(points, drive, middle);
  const found = fitOnce(points, form, form.free, middle, FIRST);
  const rounds = Math.min(...points.map(({ values }) => values.length));
  const each = Array.from({ length: DRAWS }, (_, draw) => {
    // The same rounds of every point: what disturbed one question disturbed its neighbours.
    const random = randomNumbers(draw);
    const drawn = Array.from({ length: rounds }, () => Math.floor(random() * rounds));
    const of: Values = ({ values }) => median(drawn.map((round) => values[round] ?? NaN));
    return { form: formOf(points, drive, of), found: fitOnce(points, form, found, of, AGAIN) };
  });
  const parameters: Record<string, HostParameter> = {};
  for (const [key, [value, how]] of Object.entries(form.fixed)) {
    const measured = key.endsWith("_latency_ns");
    const others = measured ? each.map((one) => one.form.fixed[key]?.[0] ?? value) : [];
    parameters[key] = { value, ...(measured ? interval(value, others) : { low: value, high: value }), how };
  }
  for (const [key, value] of Object.entries(found)) {
    const capped = value >= 0.999 * (form.most[key] ?? Infinity);
    parameters[key] = {
      value,
      ...interval(value, each.map((one) => one.found[key] ?? value)),
      how: capped ? "at least: four times the best rate, which the cores of this machine do not reach" : "fitted",
    };
  }
  const options = Object.fromEntries(Object.entries(parameters).map(([key, { value }]) => [key, String(value)]));
  const target = points.map((point, i): CalibrationPoint => ({
    ...point,
    id: String(i),
    medium: "host",
    platform: "",
    value: middle(point),
  }));
  const answers = [...predict({ medium: "host", ...options }, questionsOf(target))];
  return { parameters, figures: figuresOf(points, answers), answers };
}

/** The factor that nine of ten figures are within: of the model to the median, and of the rounds to each other. */
function factorOf(errors: readonly number[]): number {
  const sorted = [...errors].sort((a, b) => a - b);
  const at = Math.min(sorted.length - 1, Math.ceil(0.9 * (sorted.length + 1)) - 1);
  return Math.exp(Math.max(sorted[at] ?? Infinity, FINEST));
}

function figuresOf(points: readonly SweptPoint[], answers: readonly number[]): FittedMedium["figures"] {
  const errors = points.map(({ values }, i) => {
    const [low, high] = orderInterval(values);
    return Math.abs(Math.log((answers[i] ?? NaN) / median(values))) + Math.log(high / low) / 2;
  });
  const kinds = (["latency", "read", "write", "mixed"] as const).flatMap((kind) => {
    const own = points.flatMap((point, i) => point.kind === kind ? [{ point, error: errors[i] ?? Infinity }] : []);
    if (own.length === 0) return [];
    const range = (of: (point: SweptPoint) => number): [number, number] => {
      const all = own.map(({ point }) => of(point));
      return [Math.min(...all), Math.max(...all)];
    };
    const figures: MeasuredFigures = {
      points: own.length,
      curves: new Set(own.map(({ point }) => point.curve)).size,
      factor: factorOf(own.map(({ error }) => error)),
      accesses: [...new Set(own.map(({ point: { query } }) => accessOf(query)))],
      bytes: range(({ query }) => query.bytes),
      threads: range(({ query }) => query.threads),
      readShare: range(({ query }) => query.readShare ?? (query.operation === "load" ? 1 : 0)),
      hops: [0, 0],
    };
    return [[kind, figures] as const];
  });
  return Object.fromEntries(kinds);
}
