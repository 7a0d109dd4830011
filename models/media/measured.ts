/**
 * What the file of a medium says that was measured on a machine of the user's: which machine, when, how, and how far the
 * model is from the figures that were taken.
 *
 * @module
 */

import * as v from "../../base/valibot.ts";

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
  readonly points?: readonly Readonly<Record<string, string | number | boolean>>[] | undefined;
}

const range = v.tuple([v.number(), v.number()]);
const count = v.pipe(v.number(), v.integer(), v.minValue(1));

/** Validates what {@linkcode Measured} describes. */
export const measuredSchema: v.GenericSchema<Measured> = v.strictObject({
  host: v.string(),
  date: v.pipe(v.string(), v.regex(/^\d{4}-\d{2}-\d{2}$/, 'expected a date such as "2026-11-22"')),
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
  points: v.optional(v.array(v.record(v.string(), v.union([v.string(), v.number(), v.boolean()])))),
});

/** `measured on lab7 on 2026-11-22`, and whether that machine is a virtual one. */
export function measuredText({ host, date, virtual }: Pick<Measured, "host" | "date" | "virtual">): string {
  return `measured on ${host} on ${date}${virtual ? ", a virtual machine" : ""}`;
}
