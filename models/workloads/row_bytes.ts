import type { OptimizerOptions } from "../../ffi/options.ts";
import type { EmbeddingOptimizer } from "../../ffi/trainer_options.ts";

/** What weights and slots of a row are padded to, bytes; as `ts_table_row_bytes` says. */
const PADDING = 16;

/** What updates the rows of a table. */
export type RowOptimizer = Extract<OptimizerOptions, string>;

/** What an optimizer is to the trainer and to a row. */
interface Rule {
  /** The trainer's word for it. */
  readonly trainer: EmbeddingOptimizer;
  /** Vectors of `dim` numbers that a row has for it beside the weights. */
  readonly vectors: number;
  /** Single 32-bit numbers that a row has for it. */
  readonly scalars: number;
}

/** All optimizers of rows. */
export const RULES: Readonly<Record<RowOptimizer, Rule>> = {
  sgd: { trainer: "sgd", vectors: 0, scalars: 0 },
  adagrad: { trainer: "adagrad", vectors: 1, scalars: 0 },
  adagradDecay: { trainer: "adagrad-decay", vectors: 1, scalars: 1 },
  adam: { trainer: "adam", vectors: 2, scalars: 0 },
  adamAsync: { trainer: "adam-async", vectors: 2, scalars: 0 },
  adamW: { trainer: "adamw", vectors: 2, scalars: 0 },
  ftrl: { trainer: "ftrl", vectors: 2, scalars: 0 },
  rowwiseAdagrad: { trainer: "rowwise-adagrad", vectors: 0, scalars: 1 },
};

/** What updates the rows of a table of a plan or a simulation; `none`: they are served only. */
export type TableOptimizer = RowOptimizer | "none";
/** Every {@linkcode TableOptimizer}. */
export const TABLE_OPTIMIZERS: readonly TableOptimizer[] = ["none", ...Object.keys(RULES) as RowOptimizer[]];

/**
 * Bytes of one embedding row: weights and fp32 optimizer slots, each padded to 16 bytes.
 *
 * @param dim Weights of the row.
 * @param optimizer What updates it.
 * @param weightBytes Bytes of a weight: 2 in bf16.
 */
export function rowBytes(dim: number, optimizer: RowOptimizer, weightBytes: 2 | 4 = 4): number {
  const padded = (bytes: number) => Math.ceil(bytes / PADDING) * PADDING;
  const { vectors, scalars } = RULES[optimizer];
  return padded(dim * weightBytes) + vectors * padded(dim * 4) + scalars * 4;
}

/**
 * Index bytes of a row in memory: 12.8 a slot, 82 % of the slots used just before a segment grows; after growth 74 % and what the
 * directory and whole blocks round up, together at most 18 from a hundred thousand rows on, up to 24 below.
 */
export const INDEX: { readonly low: number; readonly high: number; readonly small: number } = {
  low: 64 / 5 / 0.82,
  high: 18,
  small: 24,
};
/** Tables of fewer rows have the larger index. */
export const SMALL: number = 100_000;
/** Beside a row that can leave: key 8, flags 1, place of its copy 4, policy 4 and an eighth of a byte for candidates. */
export const BESIDE: number = 8 + 1 + 4 + 4 + 1 / 8;
/** DRAM for a row that is a record in SSDHASH, at most. */
const RECORD_INDEX = 16;

/** Bytes beside a row, for planner and simulator: the upper ends; all in the first tier. */
export const OVERHEAD: { readonly memoryRow: number; readonly recordRow: number } = {
  memoryRow: INDEX.high + BESIDE,
  recordRow: RECORD_INDEX,
};
