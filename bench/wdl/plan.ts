/**
 * What one run of the trainer's bench does.
 *
 * @module
 */

import { readArguments } from "../arguments.ts";

/** Parts of the bench that can be run alone. */
export const PARTS = ["floor", "torch", "fbgemm", "bf16", "switches", "input", "embedding"] as const;

/** Part of the bench. */
export type Part = (typeof PARTS)[number];

/** A size of the model. */
export interface Model {
  /** Behind the names of its rows. */
  readonly name: string;
  /** Widths of embeddings: one, or one a column, separated by commas. */
  readonly dims: string;
  /** Factor on Criteo Kaggle's cardinalities. */
  readonly scale: number;
  /** What is run on it. */
  readonly parts: readonly Part[];
}

/** The width of the default scenario. */
const DEFAULT_DIM = 16;

/** Widths that the floor has kernels for. */
const DIMS = [DEFAULT_DIM, 64, 128];

/** Columns of one width; wider ones than the default scenario's are for the fastest contenders only. */
function uniform(dim: number, parts: readonly Part[]): Model {
  const here = parts.filter((part) => dim === DEFAULT_DIM || part === "floor" || part === "fbgemm");
  return { name: `${13 + 26 * dim} inputs`, dims: `${dim}`, scale: 0.025, parts: here };
}

/** DeepRec's reference: 128 weights in eight columns, 64 in the others; 2189 inputs with the 13 numerics. */
const WIDE = [3, 4, 10, 12, 16, 21, 24, 26];
const REFERENCE: Omit<Model, "parts"> = {
  name: "2189 inputs",
  dims: Array.from({ length: 26 }, (_, c) => WIDE.includes(c + 1) ? 128 : 64).join(),
  scale: 0.004,
};

/** Samples of a batch. */
export const BATCH = 2048;

/** Seed of data, batches and model. */
export const SEED = 7;

/** One run. */
export interface Plan {
  /** Whether DeepRec's reference configuration is measured, too. */
  readonly full: boolean;
  /** Sizes to measure. */
  readonly models: readonly Model[];
  /** Rounds of each measurement. */
  readonly rounds: number;
  /** Measured steps of a contender in a round. */
  readonly steps: number;
  /** Steps before the first round: by 50, executor and stage have measured and decided (native/wdl/schedule/). */
  readonly warmUp: number;
  /** Threads of every contender. */
  readonly threads: number;
  /** What to run. */
  readonly parts: readonly Part[];
  /** Rows of the training data. */
  readonly rows: number;
  /** Rows that AUC is taken on. */
  readonly testRows: number;
  /** Folder for data of the run, removed at its end. */
  readonly scratch: string;
  /** The library to measure. */
  readonly library: string;
  /** The file to write. */
  readonly out: string;
}

/** What a person can ask for. */
const USAGE = `Usage: deno task bench:wdl [options]

  --full            DeepRec's reference configuration (rows of 128 and 64 weights, 2189 inputs), and rows of 64 and 128
                    weights against the floor and PyTorch with FBGEMM
  --dims=<n,…>      these widths of rows alone: some of ${
  DIMS.join(", ")
}; others than ${DEFAULT_DIM} for floor and fbgemm
  --rounds=<n>      rounds of each measurement
  --steps=<n>       measured steps of a contender in a round
  --warmup=<n>      steps before the first round
  --threads=<n>     threads of every contender (default: 2)
  --only=<parts>    some of ${PARTS.join(", ")};
                    fbgemm (PyTorch with FBGEMM, up to 3 GB to download once) runs with --full or by its name
  --rows=<n>        rows of the training data
  --scratch=<path>  folder for data (default: .cache of the project)
  --library=<path>  libtierstore to measure (default: the one of the project, built if need be)
  --out=<path>      file to write (default: reports/out/bench-wdl.json)`;

/**
 * Reads the words of the command line.
 *
 * @param args The words.
 * @param places Where things go unless they say otherwise.
 * @throws {RangeError} With the usage, if there is one that it does not know.
 */
export function parsePlan(args: readonly string[], places: Pick<Plan, "scratch" | "library" | "out">): Plan {
  const names = ["dims", "rounds", "steps", "warmup", "threads", "only", "rows", "scratch", "library", "out"];
  const { full, text, number, parts: partsOf } = readArguments(args, names, USAGE);
  const parts = partsOf(PARTS).filter((part) => part !== "fbgemm" || full || text("only") !== undefined);
  const widths = text("dims")?.split(",").map(Number);
  const unknown = widths?.find((dim) => !DIMS.includes(dim));
  if (unknown !== undefined) {
    throw new RangeError(`Cannot use --dims=${text("dims")}: some of ${DIMS.join(", ")} are needed\n\n${USAGE}`);
  }
  const models = [
    ...(widths ?? (full ? DIMS : [DEFAULT_DIM])).map((dim) => uniform(dim, parts)),
    ...(full && widths === undefined ? [{ ...REFERENCE, parts }] : []),
  ].filter((model) => model.parts.length > 0);
  if (models.length === 0) {
    throw new RangeError(
      `Cannot run ${parts.join(", ")} on rows of ${text("dims")} weights: floor or fbgemm\n\n${USAGE}`,
    );
  }
  return {
    full,
    models,
    rounds: number("rounds", 21, 1),
    steps: number("steps", 5, 1),
    warmUp: number("warmup", 50, 1),
    threads: number("threads", 2, 1),
    parts,
    rows: number("rows", 614_400, BATCH),
    testRows: 100_000,
    scratch: text("scratch") ?? places.scratch,
    library: text("library") ?? places.library,
    out: text("out") ?? places.out,
  };
}
