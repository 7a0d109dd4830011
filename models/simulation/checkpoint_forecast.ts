/**
 * What checkpoints come to by laws and formulas alone: bytes that are written, rows that points in place put down, bytes that
 * are read to go on. The simulator's recovery and a run's comparison with its measurements are of this one model.
 *
 * @module
 */

import { median } from "../../base/statistics.ts";
import { RULES } from "../workloads/row_bytes.ts";
import { KAGGLE_KEYS } from "../workloads/vocabulary.ts";

/** Rows whose weight falls with their rank r from 1 as (r + q)^-s (Zipf-Mandelbrot). */
export interface RankedRows {
  /** How many. */
  readonly rows: number;
  /** Exponent, above 0. */
  readonly s: number;
  /** Shift of ranks, from 0 on. */
  readonly q: number;
}

/** Ranks up to here are summed one by one; behind, a rank in the middle stands for a 256th of its rank. */
const EXACT_RANKS = 256;

/** Sum over all ranks of what each gives. */
function sumOverRanks(rows: number, of: (rank: number) => number): number {
  let sum = 0;
  for (let first = 1; first <= rows;) {
    const some = Math.min(rows - first + 1, first <= EXACT_RANKS ? 1 : Math.floor(first / EXACT_RANKS));
    sum += some * of(first + (some - 1) / 2);
    first += some;
  }
  return sum;
}

/**
 * Expected number of different rows that so many lookups find: the sum of 1 - (1 - p)^lookups.
 *
 * @param law The rows.
 * @param lookups Drawn independently of each other.
 */
export function distinctRows({ rows, s, q }: RankedRows, lookups: number): number {
  if (rows <= 1) return Math.min(rows, lookups);
  const weight = (rank: number): number => (rank + q) ** -s;
  const all = sumOverRanks(rows, weight);
  return sumOverRanks(rows, (rank) => -Math.expm1(lookups * Math.log1p(-weight(rank) / all)));
}

/**
 * Rows that so many samples of synthetic Criteo data find, one lookup a column.
 *
 * @param cardinalities Rows of each column's table.
 * @param skew As the data was drawn: ranks are shifted by a share of the rows, `rows` 0 standing for the data set's own.
 * @param samples Drawn independently of each other.
 * @returns Undefined if there are not as many columns as the data set has.
 */
export function rowsOfSamples(
  cardinalities: readonly number[],
  skew: { readonly s: number; readonly q: number; readonly rows: number },
  samples: number,
): number | undefined {
  if (cardinalities.length !== KAGGLE_KEYS.length) return undefined;
  return cardinalities.reduce((sum, rows, column) => {
    const own = skew.rows > 0 ? skew.rows : KAGGLE_KEYS[column] as number;
    return sum + distinctRows({ rows, s: skew.s, q: skew.q * rows / own }, samples);
  }, 0);
}

/**
 * Bytes of dense weights, 4 each, with what their optimizers keep; the wide part's is FTRL.
 *
 * @param dense Weights of the MLPs.
 * @param wide Weights of the wide part, biases included.
 * @param optimizer The trainer's word for that of the MLPs.
 */
export function denseStateBytes(dense: number, wide: number, optimizer: string): number {
  const { vectors = 0 } = Object.values(RULES).find(({ trainer }) => trainer === optimizer) ?? {};
  return 4 * (dense * (1 + vectors) + wide * (1 + RULES.ftrl.vectors));
}

/** What is saved, and how. */
export interface CheckpointWork {
  /** Every row in files, what changed after a first full one, or points in the last tier. */
  readonly kind: "full" | "delta" | "in-place";
  /** Checkpoints that are made, at least 1. */
  readonly count: number;
  /** Rows of all tables, all of which are there before the first. */
  readonly rows: number;
  /** Bytes of a row with its optimizer's slots. */
  readonly rowBytes: number;
  /** Rows that the steps between two checkpoints change. */
  readonly changed: number;
  /** Rows that fit above the last tier. */
  readonly held: number;
  /** Bytes of dense weights with their optimizer's state. */
  readonly denseBytes: number;
}

/** What it comes to, bytes. */
export interface CheckpointForecast {
  /** That all of them write. */
  readonly bytes: number;
  /** That the one in the middle writes, by size. */
  readonly middle: number;
  /** That going on from the newest reads. */
  readonly restored: number;
  /** Rows that a point in place puts down, from the second on; absent of files. */
  readonly rowsAgain?: number;
}

/** Bytes of a key in a file of rows. */
const KEY = 8;

/**
 * The forecast. A first point in place puts down what is held, later ones what changed of it; a first file has every row. Going
 * on in place reads every row of the last tier once; from files, the last full one and the deltas on it.
 */
export function forecastCheckpoints(
  { kind, count, rows, rowBytes, changed, held, denseBytes }: CheckpointWork,
): CheckpointForecast {
  const inPlace = kind === "in-place";
  const saved = inPlace ? rowBytes : rowBytes + KEY;
  const rowsAgain = kind === "full" ? rows : Math.min(changed, inPlace ? held : rows);
  const each = Array.from({ length: count }, (_, i) => {
    const first = inPlace ? Math.min(rows, held) : rows;
    return (i === 0 ? first : rowsAgain) * saved + denseBytes;
  });
  const bytes = each.reduce((sum, one) => sum + one, 0);
  const restored = kind === "delta" ? bytes : rows * saved + denseBytes;
  return { bytes, middle: median(each), restored, ...(inPlace ? { rowsAgain } : {}) };
}
