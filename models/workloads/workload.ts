/**
 * The types of what a scenario trains: data, model, tables and how they are updated. As people write them and as they run.
 * What every field does is in the scenario's schema.
 *
 * @module
 */

import type { Admission, Expiry, Recorded, ResolvedRowFilter } from "./row_filter.ts";
import type {
  Model,
  Optimisations,
  Optimizers,
  ResolvedOptimisations,
  ResolvedOptimizers,
  ResolvedTable,
  WrittenTable,
} from "./training.ts";

/** Generated rows. */
export interface SyntheticData {
  /**
   * Seeded synthetic rows in the shape of this data set: 13 numeric and 26 categorical columns, labels from a
   * planted model whose AUC is known.
   */
  synthetic: "criteo-kaggle";
  /** Factor on the data set's cardinalities (33,762,577 ids at 1). Default 0.02. */
  scale?: number;
  /** Training rows to generate. Default 1,000,000. */
  rows?: number;
  /** Held-out rows to generate. Default 100,000. */
  testRows?: number;
  /**
   * How often ids repeat: a named skew (criteo, oe-retail, zipf-1.1, zipf-1.2, uniform) or the Zipf-Mandelbrot
   * parameters of weight (rank + q)^-s. Default "criteo".
   */
  skew?: string | { s: number; q: number; rows?: number };
  /**
   * What the model gets for a numeric value x: log: sign(x) log(1 + |x|) / 2; min-max: (x - minimum) / range with the
   * constants of DeepRec's Wide & Deep. Default "log".
   */
  numerics?: "log" | "min-max";
}

/** Real rows in Criteo's format. */
export interface CriteoData {
  /**
   * Rows in Criteo's format (label, I1..I13, C1..C26), plain or gzip; relative to the scenario file. A list of files is
   * read as one.
   */
  criteo: string | string[];
  /** tsv: no header, hexadecimal ids; csv: with a header line. Default "auto". */
  format?: "auto" | "tsv" | "csv";
  /** Every n-th row is held out for the AUC. Default 10. */
  testEvery?: number;
  /** Rows to read at most; 0 reads all. Default 0. */
  maxRows?: number;
  /**
   * What becomes of a line that is no row (wrong columns, a label other than 0 and 1, a number or id that is none).
   * error: the run stops and names file and line; skip: it is left out, counted and reported. Default "error".
   */
  onError?: "error" | "skip";
  /**
   * What the model gets for a numeric value x: log: sign(x) log(1 + |x|) / 2; min-max: (x - minimum) / range with the
   * constants of DeepRec's Wide & Deep. Default "log".
   */
  numerics?: "log" | "min-max";
}

/** A distribution of first values, with parameters. */
export type DistributionParameters =
  | { constant: number }
  | { uniform: { low: number; high: number } }
  | { truncatedNormal: { mean?: number; stddev?: number } }
  | { glorot: Record<never, never> };

/** First values of embedding rows, with parameters. */
export type InitializerParameters =
  | DistributionParameters
  /** DeepRec's default-value matrix: the row of key k begins as row `k mod rows` of a matrix drawn from `base`. */
  | { defaultValueMatrix: { rows?: number; base?: "truncatedNormal" | "glorot" | DistributionParameters } };

/** What is trained. */
export interface Workload {
  /** Wide & Deep, DLRM or DeepFM. Default "wdl". */
  model?: Model;
  /** What is trained on: generated rows or a file of real ones. */
  data?: SyntheticData | CriteoData;
  /** Training samples a step. Default 2048. */
  batch?: number;
  /**
   * Counted steps of each sample, or "auto": as many as the budget allows, equal for all configurations. Default
   * "auto".
   */
  steps?: number | "auto";
  /** Steps before the counted ones. Default 10. */
  warmup?: number;
  /** Weights of an embedding row. Default 16. */
  dim?: number;
  /** Weights of a row in columns that differ, as `{ "C3": 128 }`, or of all 26. With "wdl" only. */
  dims?: Record<string, number> | number[];
  /**
   * All embedding tables by name, in the order of their vectors: which columns feed them, and how. Columns in none of them
   * have no embedding. Default: one for each of C1 to C26. Not beside "dims".
   */
  tables?: Record<string, WrittenTable>;
  /** Widths of the hidden layers; of DLRM, of its top MLP. Default [1024, 512, 256]. */
  hidden?: number[];
  /** Widths of the layers of DLRM's bottom MLP before its last. With "dlrm" only. Default [512, 256]. */
  bottom?: number[];
  /** Share of hidden units that each training step sets to 0, drawn by the seed. Default 0. */
  dropout?: number;
  /** Compute threads, or "auto": one for every CPU this process may use. Default "auto". */
  threads?: number | "auto";
  /** Whether results are the same to the bit for every number of threads; false is the fast mode. Default true. */
  deterministic?: boolean;
  /** How weights are updated. */
  optimizer?: Optimizers;
  /** What is done to make training faster. */
  optimisations?: Optimisations;
  /** First values of embedding rows, by name or with parameters. Default "truncatedNormal". */
  initializer?: "truncatedNormal" | "glorot" | InitializerParameters;
  /** Which keys get a row, in all tables that do not say it themselves. Default "none": all at their first lookup. */
  admission?: Admission;
  /** Which rows are removed for good, in all tables that do not say it themselves. Default "none". */
  expiry?: Expiry;
  /** What rows record, in all tables that do not say it themselves. Default: nothing. */
  record?: Recorded[];
}

/** Generated rows, every default filled in. */
export interface ResolvedSyntheticData {
  /**
   * Seeded synthetic rows in the shape of this data set: 13 numeric and 26 categorical columns, labels from a
   * planted model whose AUC is known.
   */
  readonly synthetic: "criteo-kaggle";
  /** Factor on the data set's cardinalities (33,762,577 ids at 1). */
  readonly scale: number;
  /** Training rows to generate. */
  readonly rows: number;
  /** Held-out rows to generate. */
  readonly testRows: number;
  /** Zipf-Mandelbrot parameters. */
  readonly skew: { readonly s: number; readonly q: number; readonly rows: number };
  /** What the model gets for a numeric value: its logarithm, or DeepRec's min-max scaling. */
  readonly numerics: "log" | "min-max";
}

/** Real rows, every default filled in; paths are absolute. */
export interface ResolvedCriteoData {
  /** Rows in Criteo's format (label, I1..I13, C1..C26), plain or gzip; a list of files is read as one. */
  readonly criteo: string | readonly string[];
  /** tsv: no header, hexadecimal ids; csv: with a header line. */
  readonly format: "auto" | "tsv" | "csv";
  /** Every n-th row is held out for the AUC. */
  readonly testEvery: number;
  /** Rows to read at most; 0 reads all. */
  readonly maxRows: number;
  /** What becomes of a line that is no row: the run stops and names it, or it is left out and counted. */
  readonly onError: "error" | "skip";
  /** What the model gets for a numeric value: its logarithm, or DeepRec's min-max scaling. */
  readonly numerics: "log" | "min-max";
}

/** A distribution of first values, every parameter filled in. */
export type ResolvedDistribution =
  | { readonly constant: number }
  | { readonly uniform: { readonly low: number; readonly high: number } }
  | { readonly truncatedNormal: { readonly mean: number; readonly stddev: number } }
  | { readonly glorot: Record<never, never> };

/** First values of embedding rows, every parameter filled in. */
export type ResolvedInitializer =
  | ResolvedDistribution
  | { readonly defaultValueMatrix: { readonly rows: number; readonly base: ResolvedDistribution } };

/** What is trained, every default filled in. */
export interface ResolvedWorkload extends ResolvedRowFilter {
  /** Wide & Deep, DLRM or DeepFM. */
  readonly model: Model;
  /** What is trained on: generated rows or a file of real ones. */
  readonly data: ResolvedSyntheticData | ResolvedCriteoData;
  /** Training samples a step. */
  readonly batch: number;
  /** Counted steps of each sample, or "auto": as many as the budget allows, equal for all configurations. */
  readonly steps: number | "auto";
  /** Steps before the counted ones. */
  readonly warmup: number;
  /** Weights of an embedding row. */
  readonly dim: number;
  /** Weights of a row in columns that differ. */
  readonly dims: Readonly<Record<string, number>>;
  /** All embedding tables by name; absent: one for each column. */
  readonly tables?: Readonly<Record<string, ResolvedTable>>;
  /** Widths of the hidden layers; of DLRM, of its top MLP. */
  readonly hidden: readonly number[];
  /** Widths of the layers of DLRM's bottom MLP before its last; absent for other models. */
  readonly bottom?: readonly number[];
  /** Share of hidden units that each training step sets to 0. */
  readonly dropout: number;
  /** Compute threads, or "auto": one for every CPU this process may use. */
  readonly threads: number | "auto";
  /** Whether results are the same to the bit for every number of threads; false is the fast mode. */
  readonly deterministic: boolean;
  /** How weights are updated. */
  readonly optimizer: ResolvedOptimizers;
  /** What is done to make training faster. */
  readonly optimisations: ResolvedOptimisations;
  /** First values of embedding rows, by name or with parameters. */
  readonly initializer: ResolvedInitializer;
}
