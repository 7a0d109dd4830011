/**
 * What the file of a medium says that was measured on a machine of the user's: which machine, when, how, and how far the
 * model is from the figures that were taken.
 *
 * @module
 */

import * as v from "../../base/valibot.ts";
import type { MediaOperation } from "../../ffi/media.ts";

/** Figures of one kind that were measured: how far the model is from them, and in which range they were taken. */
export interface MeasuredFigures {
  /** Figures measured. */
  readonly points: number;
  /** Series that they belong to: an operation over one quantity. */
  readonly curves: number;
  /** 90 % of the figures are within `value / factor` and `value * factor`; above 1. */
  readonly factor: number;
  /** How the medium was accessed: `load`, `nt-store`, `flushed-store, fenced`, … */
  readonly accesses: readonly string[];
  /** Sizes of an access, bytes. */
  readonly bytes: readonly [number, number];
  /** Threads; of a drive, requests under way. */
  readonly threads: readonly [number, number];
  /** Share of the bytes that are read. */
  readonly readShare: readonly [number, number];
  /** NUMA hops. */
  readonly hops: readonly [number, number];
}

/** Kinds of figures of a medium. */
type MeasuredKind = "latency" | "read" | "write" | "mixed";

/** A figure that was measured, and what the model says to it: a question of `ffi/media.ts`; ns, or bytes a second. */
export interface MeasuredPoint {
  /** Kind of the figure. */
  readonly kind: MeasuredKind;
  /** What was asked; `latency-at`: the latency beside so many bytes a second of others (`load`). */
  readonly ask: "latency" | "latency-at" | "bandwidth";
  /** How the medium was accessed. */
  readonly operation: MediaOperation;
  /** Bytes of an access. */
  readonly bytes: number;
  /** Threads; of a drive, requests under way. */
  readonly threads: number;
  /** Share of the bytes that are read, where loads and stores are mixed. */
  readonly readShare?: number | undefined;
  /** Bytes a second that others moved beside a latency. */
  readonly load?: number | undefined;
  /** Whether each store had a fence. */
  readonly fenced?: boolean | undefined;
  /** What was measured: the median of the rounds. */
  readonly value: number;
  /** Low end of its 90 % interval. */
  readonly low: number;
  /** High end of it. */
  readonly high: number;
  /** What the model says. */
  readonly model: number;
}

/** On which machine a medium was measured, when and how: what `tierbench calibrate` writes. */
export interface Measured {
  /** Name of the host. */
  readonly host: string;
  /** Day, as `2026-11-22`. */
  readonly date: string;
  /** What the machine is: CPU, kernel, ... */
  readonly machine: Readonly<Record<string, string>>;
  /** Whether the machine is a virtual one, whose medium may be made up. */
  readonly virtual: boolean;
  /** Commands that took the figures. */
  readonly commands: readonly string[];
  /** What was measured, by kind of figure. */
  readonly figures: Readonly<Partial<Record<MeasuredKind, MeasuredFigures>>>;
  /** The figures themselves. */
  readonly points?: readonly MeasuredPoint[] | undefined;
}

const range = v.pipe(
  v.tuple([v.number(), v.number()]),
  v.check(([low, high]) => low <= high, "expected the smaller end first"),
);
const positive = v.pipe(v.number(), v.gtValue(0, "expected a number above 0"));
const count = v.pipe(v.number(), v.integer(), v.minValue(1));

const DATE_FORM = 'expected a date such as "2026-11-22"';

/** The schema of the day of a measurement. */
export const measuredDate: v.GenericSchema<string> = v.pipe(
  v.string(DATE_FORM),
  v.regex(/^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])$/, DATE_FORM),
);

const pointSchema: v.GenericSchema<MeasuredPoint> = v.pipe(
  v.strictObject({
    kind: v.picklist(["latency", "read", "write", "mixed"]),
    ask: v.picklist(["latency", "latency-at", "bandwidth"]),
    operation: v.picklist(["load", "nt-store", "cached-store", "flushed-store"]),
    bytes: positive,
    threads: positive,
    readShare: v.optional(v.pipe(v.number(), v.minValue(0), v.maxValue(1))),
    load: v.optional(v.pipe(v.number(), v.minValue(0))),
    fenced: v.optional(v.boolean()),
    value: positive,
    low: positive,
    high: positive,
    model: positive,
  }),
  v.check(
    ({ value, low, high }) => low <= value && value <= high && low < high,
    "expected low, value and high in this order, with low below high: no figure is exact",
  ),
);

/** Validates what {@linkcode Measured} describes. */
export const measuredSchema: v.GenericSchema<Measured> = v.strictObject({
  host: v.string(),
  date: measuredDate,
  machine: v.record(v.string(), v.string()),
  virtual: v.boolean(),
  commands: v.array(v.string()),
  figures: v.record(
    v.picklist(["latency", "read", "write", "mixed"]),
    v.strictObject({
      points: count,
      curves: count,
      factor: v.pipe(v.number(), v.gtValue(1, "expected a factor above 1: no figure is exact")),
      accesses: v.array(v.string()),
      bytes: range,
      threads: range,
      readShare: range,
      hops: range,
    }),
  ),
  points: v.optional(v.array(pointSchema)),
});

/** `measured on lab7 on 2026-11-22`, and whether that machine is a virtual one. */
export function measuredText({ host, date, virtual }: Pick<Measured, "host" | "date" | "virtual">): string {
  return `measured on ${host} on ${date}${virtual ? ", a virtual machine" : ""}`;
}
