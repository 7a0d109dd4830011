/**
 * What one run of the bench does: sizes, rounds, folders.
 *
 * @module
 */

import { readArguments } from "./arguments.ts";

/** Key distributions, in the order of `workload.c`. */
export const DISTRIBUTIONS: readonly string[] = ["uniform", "Zipf 0.9", "Zipf 1.05", "Zipf 1.2"];

/** What is done with a batch; `step` is lookup and update. */
export type Kind = "lookup" | "step";

/** Both kinds, in the order of the tables. */
export const KINDS: readonly Kind[] = ["lookup", "step"];

/** Bytes of a row with its optimizer slot. */
export const ROW_BYTES = 128;

/** Bytes of a row's record on the SSD: 18 before the row (native/tiers/ssdhash/format.h, TS_SSD_RECORD_FIXED). */
export const RECORD_BYTES: number = ROW_BYTES + 18;

/** Parts of the bench that can be run alone. */
export const PARTS = [
  "speed",
  "insert",
  "stores",
  "memory",
  "open",
  "typescript",
  "pmem",
  "hbm",
  "null",
  "emulation",
  "ssd",
] as const;

/** Part of the bench. */
export type Part = (typeof PARTS)[number];

/** One run. */
export interface Plan {
  /** Whether it is the run that the bars are about. */
  readonly full: boolean;
  /** Rows of the table. */
  readonly keys: number;
  /** Batches a distribution and thread, used in turn. */
  readonly batches: number;
  /** Rounds of each measurement in memory. */
  readonly rounds: number;
  /** Milliseconds of one round. */
  readonly ms: number;
  /** Rounds on the SSD. */
  readonly ssdRounds: number;
  /** Milliseconds of one round on the SSD. */
  readonly ssdMs: number;
  /** What to run. */
  readonly parts: readonly Part[];
  /** Folder on the SSD for files of the run, removed at its end. */
  readonly scratch: string;
  /** The library to measure. */
  readonly library: string;
  /** Another checkout, whose store is all that this run compares with; undefined: none. */
  readonly baseline: string | undefined;
  /** The file to write. */
  readonly out: string;
}

/** What a person can ask for. */
const USAGE = `Usage: deno task bench:store [options]

  --full            10 million keys and longer rounds: the run that the bars are about (default: 2 million, labelled so)
  --keys=<n>        another number of keys
  --rounds=<n>      rounds of each measurement
  --ms=<n>          milliseconds of a round in memory
  --only=<parts>    some of ${PARTS.join(", ")}
  --scratch=<path>  folder on the SSD to measure (default: .cache of the project)
  --library=<path>  libtierstore to measure (default: the one of the project, built if need be)
  --baseline=<path> another checkout: builds and compares with it alone; exit code 5 if ours is slower
  --out=<path>      file to write (default: reports/out/bench-store.json)`;

/**
 * Reads the words of the command line.
 *
 * @param args The words.
 * @param places Where things go unless they say otherwise.
 * @throws {RangeError} With the usage, if there is one that it does not know.
 */
export function parsePlan(args: readonly string[], places: Pick<Plan, "scratch" | "library" | "out">): Plan {
  const names = ["keys", "rounds", "ms", "only", "scratch", "library", "baseline", "out"];
  const { full, text, number, parts } = readArguments(args, names, USAGE);
  return {
    full,
    keys: number("keys", full ? 10_000_000 : 2_000_000, 10_000),
    batches: full ? 64 : 24,
    rounds: number("rounds", full ? 31 : 15, 1),
    ms: number("ms", full ? 150 : 60, 1),
    ssdRounds: full ? 9 : 5,
    ssdMs: full ? 2000 : 1000,
    parts: parts(PARTS),
    scratch: text("scratch") ?? places.scratch,
    library: text("library") ?? places.library,
    baseline: text("baseline"),
    out: text("out") ?? places.out,
  };
}
