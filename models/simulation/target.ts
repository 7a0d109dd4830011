/**
 * What must be met: one vocabulary of runs, plans and simulations.
 *
 * @module
 */

import { real } from "../../base/schema_parts.ts";
import * as v from "../../base/valibot.ts";

/** A target; at least one of its fields. */
export interface Target {
  /** Training samples a second, at least. */
  readonly samplesPerSecond?: number;
  /** Milliseconds of the slowest step in a hundred, at most. */
  readonly p99Ms?: number;
  /** US dollars an hour of the machines that hold the tables, at most. */
  readonly dollarsPerHour?: number;
}

/** Validates what {@linkcode Target} describes. */
export const targetSchema: v.GenericSchema<Target> = v.pipe(
  v.strictObject({
    samplesPerSecond: v.exactOptional(real("At least so many samples a second.", 1e-3, 1e12)),
    p99Ms: v.exactOptional(real("The slowest step in a hundred takes at most so many milliseconds.", 1e-6, 1e9)),
    dollarsPerHour: v.exactOptional(
      real("At most so many US dollars an hour, of the machines that hold the tables.", 1e-6, 1e12),
    ),
  }),
  v.check((target) => Object.keys(target).length > 0, "expected samplesPerSecond, p99Ms or dollarsPerHour"),
);
