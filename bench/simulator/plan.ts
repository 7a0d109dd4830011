/**
 * What one run of `bench:simulator` does: its parts, and the rows that each makes.
 *
 * @module
 */

import { readArguments } from "../arguments.ts";

/** Parts that can be run alone, and how the names of their rows begin. */
const ROWS_OF = {
  replay: ["replay-", "error/", "terarow/"],
  emulation: ["emulation/"],
  step: ["step/"],
  published: ["null-models/", "bands/coverage", "published/"],
  media: ["families/", "bands/coverage of media"],
  import: ["import/"],
} as const;

/** Part of the bench. */
export type Part = keyof typeof ROWS_OF;

/** All parts, in the order in which they are run. */
export const PARTS = Object.keys(ROWS_OF) as readonly Part[];

/** One run. */
export interface Plan {
  /** What to run. */
  readonly parts: readonly Part[];
  /** The file to write; rows of other parts that are in it stay. */
  readonly out: string;
}

const USAGE = `Usage: deno task bench:simulator [options]

  --only=<parts>  some of ${PARTS.join(", ")}; rows of other parts stay in the file
  --out=<path>    file to write (default: reports/out/bench-simulator.json)`;

/**
 * Reads the words of the command line.
 *
 * @param args The words.
 * @param places Where the result goes unless they say otherwise.
 * @throws {RangeError} With the usage, if there is one that it does not know.
 */
export function parsePlan(args: readonly string[], { out }: Pick<Plan, "out">): Plan {
  const { text, parts, full } = readArguments(args, ["only", "out"], USAGE);
  if (full) throw new RangeError(`Cannot read "--full"\n\n${USAGE}`);
  return { parts: parts(PARTS), out: text("out") ?? out };
}

/** The part that makes a row; undefined of a name that none makes (any more). */
export function partOf(row: string): Part | undefined {
  // The longest beginning: "bands/coverage of media" is not the published figures'.
  const found = PARTS.flatMap((part) => ROWS_OF[part].map((start) => ({ part, start })))
    .filter(({ start }) => row.startsWith(start))
    .sort((a, b) => b.start.length - a.start.length);
  return found[0]?.part;
}
