/**
 * The dated file of what our store costs on a machine: what `tierbench calibrate` writes and simulations and plans take by path.
 *
 * @module
 */

import { parseDocument } from "../../base/document.ts";
import { wordAt } from "../../base/path_word.ts";
import { readUserText } from "../../base/user_file.ts";
import { validate } from "../../base/validate.ts";
import * as v from "../../base/valibot.ts";
import { measuredDate } from "../media/measured.ts";

/** A price with the ends of its 90 % interval: core seconds. */
export interface Price {
  /** Core seconds; 0 where all of it hides behind accesses to memory. */
  readonly value: number;
  /** Low end. */
  readonly low: number;
  /** High end. */
  readonly high: number;
}

/** Core seconds of what our store does beside its accesses to memory. */
export interface SoftwarePrices {
  /** A key of a lookup or an update: hash, index, duplicates, copy. */
  readonly perKey: Price;
  /** A distinct row looked up. */
  readonly perRow: Price;
  /** A distinct row updated. */
  readonly perUpdate: Price;
  /** A key looked up, repeated ones included, where rows can leave their tier: its use is told to the policy. */
  readonly track: Price;
  /** A distinct row that is updated where rows can leave their tier: its copy below is given up. */
  readonly upkeep: Price;
  /** A row that is brought up and the one that leaves for it: policy, lock, places, what the copies push out of the caches. */
  readonly perMiss: Price;
  /**
   * What a row takes longer for each other thread that works at the same table: its locks, and lines that they share. Absent
   * where one CPU measured.
   */
  readonly perLock?: Price;
  /**
   * What a message between two processes of this machine takes beside its bytes: system calls, copies, waking up, by the MPI that
   * carries our ranks. Absent where there is none.
   */
  readonly perMessage?: Price;
}

/** How large the runs are. */
export interface SoftwareRuns {
  /** Rows of the table: a power of two, many times the caches of the CPU. */
  readonly rows: number;
  /** Weights of a row. */
  readonly dim: number;
  /** Keys of a step. */
  readonly keys: number;
  /** Steps of a run, a quarter of them before any is timed. */
  readonly steps: number;
  /** Times that everything is run, in turns. */
  readonly rounds: number;
}

/** What a store costs on one machine beside its accesses to memory. */
export interface SoftwareFile {
  /** Tells the file from a medium's. */
  readonly kind: "software";
  /** One sentence for people. */
  readonly about: string;
  /** Name of the medium whose time is not in the prices: that of the same machine. */
  readonly memory: string;
  /** Core seconds each, with the ends of their 90 % intervals. */
  readonly prices: SoftwarePrices;
  /** Runs that they are from: rows, weights of a row, keys and steps of a run, rounds. */
  readonly runs: SoftwareRuns;
  /** Which machine, when, how. */
  readonly measured: {
    readonly host: string;
    readonly date: string;
    readonly machine: Readonly<Record<string, string>>;
    readonly virtual: boolean;
    readonly commands: readonly string[];
  };
}

const price = v.pipe(
  v.strictObject({
    value: v.pipe(v.number(), v.minValue(0)),
    low: v.pipe(v.number(), v.minValue(0)),
    high: v.pipe(v.number(), v.maxValue(1, "expected at most 1 second of a core")),
  }),
  v.check(
    ({ value, low, high }) => low <= value && value <= high && low < high,
    "expected low, value and high in this order, with low below high: no price is exact",
  ),
);
const count = v.pipe(v.number(), v.integer(), v.minValue(1));

const schema = v.strictObject({
  kind: v.literal("software"),
  about: v.string(),
  memory: v.string(),
  prices: v.strictObject({
    perKey: price,
    perRow: price,
    perUpdate: price,
    track: price,
    upkeep: price,
    perMiss: price,
    perLock: v.exactOptional(price),
    perMessage: v.exactOptional(price),
  }),
  runs: v.strictObject({ rows: count, dim: count, keys: count, steps: count, rounds: count }),
  measured: v.strictObject({
    host: v.string(),
    date: measuredDate,
    machine: v.record(v.string(), v.string()),
    virtual: v.boolean(),
    commands: v.array(v.string()),
  }),
});

/**
 * Reads prices of software from a file.
 *
 * @param path As it is written; relative paths start from `directory`.
 * @throws {ScenarioError} if it is no such file. @throws {Deno.errors.NotFound} if there is none.
 */
export async function loadSoftware(path: string, directory: string = Deno.cwd()): Promise<SoftwareFile> {
  return parseDocument(
    await readUserText(wordAt(path, directory), "software"),
    path,
    "prices of software",
    (written) => {
      if (typeof written === "object" && written !== null && "parameters" in written) {
        return [{ path: [], message: 'expected prices of software, found a medium, which a field "media" takes' }];
      }
      const found = validate(schema, written);
      if (!("problems" in found)) return [];
      // Earlier versions knew fewer prices.
      return found.problems.map((problem) =>
        problem.path[0] === "prices" && problem.message.startsWith("expected a field")
          ? { ...problem, hint: "tierbench calibrate writes all of them" }
          : problem
      );
    },
  ) as SoftwareFile;
}
