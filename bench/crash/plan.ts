/**
 * What one run of `deno task crash` does: its parts, and the rows that each makes.
 *
 * @module
 */

import { readArguments } from "../arguments.ts";

/** Parts that can be run alone, and how the names of their rows begin. The lab and the kills are one: they count together. */
const ROWS_OF = {
  lab: "crash/",
  slowdown: "checkpoint/",
  delta: "delta/",
  recovery: "recovery/",
} as const;

/** Part of the bench. */
export type Part = keyof typeof ROWS_OF;

/** All parts, in the order in which they are run. */
export const PARTS = Object.keys(ROWS_OF) as readonly Part[];

/** One run. */
export interface Plan {
  /** Whether it is the nightly size. */
  readonly full: boolean;
  /** What to run. */
  readonly parts: readonly Part[];
  /** The file to write; rows of other parts that are in it stay. */
  readonly out: string;
}

const USAGE = `Usage: deno task crash [options]

  --full          the nightly size: 100,000 crash points, 50 kills of each type, a gibibyte restored
  --only=<parts>  some of ${PARTS.join(", ")}; rows of other parts stay in the file
  --out=<path>    file to write (default: reports/out/bench-crash.json)`;

/**
 * Reads the words of the command line.
 *
 * @param args The words.
 * @param places Where the result goes unless they say otherwise.
 * @throws {RangeError} With the usage, if there is one that it does not know.
 */
export function parsePlan(args: readonly string[], { out }: Pick<Plan, "out">): Plan {
  const { full, text, parts } = readArguments(args, ["only", "out"], USAGE);
  return { full, parts: parts(PARTS), out: text("out") ?? out };
}

/** The part that makes a row; undefined of a name that none makes (any more). */
export function partOf(row: string): Part | undefined {
  return PARTS.find((part) => row.startsWith(ROWS_OF[part]));
}
