/**
 * What one run of `bench:tools` does.
 *
 * @module
 */

import { readArguments } from "../arguments.ts";

/** Parts that can be run alone, and how the names of their rows begin. */
export const ROWS_OF = {
  torchrec: "torchrec/",
  formats: "formats/",
  found: "found/",
  libcachesim: "libcachesim/",
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
  /** Random table sets that TorchRec loads. */
  readonly sets: number;
  /** Requests of each stream that libCacheSim replays. */
  readonly requests: number;
  /** Rounds of those. */
  readonly rounds: number;
  /** Folder for temporary folders. */
  readonly scratch: string;
}

const USAGE = `Usage: deno task bench:tools [options]

  --only=<parts>  some of ${PARTS.join(", ")}; rows of other parts stay in the file
  --sets=<n>      random table sets that TorchRec loads (default: 200)
  --requests=<n>  requests of each stream that libCacheSim replays, too (default: 1,000,000)
  --rounds=<n>    rounds of those (default: 1)
  --out=<path>    file to write (default: reports/out/bench-tools.json)`;

/**
 * Reads the words of the command line.
 *
 * @param args The words.
 * @param places Where the result goes unless they say otherwise.
 * @throws {RangeError} With the usage, if there is one that it does not know.
 */
export function parsePlan(args: readonly string[], { out, scratch }: Pick<Plan, "out" | "scratch">): Plan {
  const { text, number, parts, full } = readArguments(args, ["only", "out", "sets", "requests", "rounds"], USAGE);
  if (full) throw new RangeError(`Cannot read "--full"\n\n${USAGE}`);
  return {
    parts: parts(PARTS),
    out: text("out") ?? out,
    sets: number("sets", 200, 1),
    requests: number("requests", 1_000_000, 10_000),
    rounds: number("rounds", 1, 1),
    scratch,
  };
}
