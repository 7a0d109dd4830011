/**
 * The types of a scenario: as people write it and as it runs. What every field means and its default are in
 * `schema.ts`, from which editors, messages and documentation are fed.
 *
 * @module
 */

/** Bytes, or text such as `"24 MiB"`. */
export type Size = string | number;
/** Storage types, DeepRec's names. */
export type StorageType = "DRAM" | "PMEM_LIBPMEM" | "PMEM_MEMKIND" | "DRAM_PMEM";
/** A value that a matrix gives to a field. */
export type MatrixValue = string | number | boolean;
/** A point of a matrix: dotted field to value. */
export type MatrixPoint = Readonly<Record<string, MatrixValue>>;

/** Generated rows. */
export interface SyntheticData {
  synthetic: "criteo-kaggle";
  scale?: number;
  rows?: number;
  testRows?: number;
  skew?: string | { s: number; q: number };
}

/** Real rows in Criteo's format. */
export interface CriteoData {
  criteo: string;
  format?: "auto" | "tsv" | "csv";
  testEvery?: number;
  maxRows?: number;
}

/** Parameters of FTRL-proximal. */
export interface FtrlParameters {
  learningRate?: number;
  l1?: number;
  l2?: number;
}

/** First values of embedding rows, with parameters. */
export type InitializerParameters =
  | { constant: number }
  | { uniform: { low: number; high: number } }
  | { truncatedNormal: { mean?: number; stddev?: number } }
  | { glorot: Record<never, never> };

/** What is trained. */
export interface Workload {
  model?: "wdl";
  data?: SyntheticData | CriteoData;
  batch?: number;
  steps?: number | "auto";
  warmup?: number;
  dim?: number;
  hidden?: number[];
  threads?: number | "auto";
  optimizer?: {
    wide?: "ftrl" | { ftrl: FtrlParameters };
    deep?: "adagrad" | "sgd" | { adagrad: { learningRate?: number } } | { sgd: { learningRate?: number } };
  };
  initializer?: "truncatedNormal" | "glorot" | InitializerParameters;
}

/** One way to hold the embedding tables. */
export interface Configuration {
  about?: string;
  storage: StorageType;
  pmem?: "libpmem" | "memkind";
  path?: string;
  nodes?: "auto" | number[];
  size?: Size[];
  sizeCounts?: "all" | "rows";
  memory?: "memory-mode";
  media?: string;
}

/** A scenario as written. */
export interface Scenario {
  $schema?: string;
  version?: 1;
  name: string;
  about?: string;
  workload?: Workload;
  configurations: Record<string, Configuration>;
  dram?: Size | "auto";
  repetitions?: number;
  budget?: string | number;
  quality?: { samples?: number | "auto"; evaluations?: number; testRows?: number };
  cost?: { model?: "cloud"; prices?: string; boundary?: "parameter-servers"; priceFor?: Size };
  matrix?: Record<string, MatrixValue[]>;
  seed?: number;
  whenUnavailable?: "emulate" | "error" | "skip";
}

/** Generated rows, every default filled in. */
export interface ResolvedSyntheticData {
  readonly synthetic: "criteo-kaggle";
  readonly scale: number;
  readonly rows: number;
  readonly testRows: number;
  /** Zipf-Mandelbrot parameters. */
  readonly skew: { readonly s: number; readonly q: number };
}

/** Real rows, every default filled in; the path is absolute. */
export interface ResolvedCriteoData {
  readonly criteo: string;
  readonly format: "auto" | "tsv" | "csv";
  readonly testEvery: number;
  readonly maxRows: number;
}

/** First values of embedding rows, every parameter filled in. */
export type ResolvedInitializer =
  | { readonly constant: number }
  | { readonly uniform: { readonly low: number; readonly high: number } }
  | { readonly truncatedNormal: { readonly mean: number; readonly stddev: number } }
  | { readonly glorot: Record<never, never> };

/** What is trained, every default filled in. */
export interface ResolvedWorkload {
  readonly model: "wdl";
  readonly data: ResolvedSyntheticData | ResolvedCriteoData;
  readonly batch: number;
  readonly steps: number | "auto";
  readonly warmup: number;
  readonly dim: number;
  readonly hidden: readonly number[];
  readonly threads: number | "auto";
  readonly optimizer: {
    readonly wide: { readonly ftrl: Readonly<Required<FtrlParameters>> };
    readonly deep:
      | { readonly adagrad: { readonly learningRate: number } }
      | { readonly sgd: { readonly learningRate: number } };
  };
  readonly initializer: ResolvedInitializer;
}

/** One way to hold the embedding tables, every default filled in that does not depend on the machine or the data. */
export interface ResolvedConfiguration {
  readonly about: string;
  readonly storage: StorageType;
  /** With `DRAM_PMEM` only. */
  readonly pmem?: "libpmem" | "memkind";
  /** Where libpmem is used: a directory or `auto`. */
  readonly path?: string;
  /** Where memkind is used. */
  readonly nodes?: "auto" | readonly number[];
  /** Bytes of each tier, if the scenario gave them. */
  readonly size?: readonly number[];
  readonly sizeCounts: "all" | "rows";
  readonly memory?: "memory-mode";
  /** Media model that a missing medium is emulated as; absent for plain DRAM. */
  readonly media?: string;
}

/** A scenario with every default filled in: plain JSON, sizes in bytes, durations in seconds. */
export interface ResolvedScenario {
  readonly version: 1;
  readonly name: string;
  readonly about: string;
  readonly workload: ResolvedWorkload;
  readonly configurations: Readonly<Record<string, ResolvedConfiguration>>;
  /** Bytes; `auto` until the data is known. */
  readonly dram: number | "auto";
  readonly repetitions: number;
  /** Seconds. */
  readonly budget: number;
  readonly quality: {
    /** `auto`: every training row once, or as many as half the budget allows; 0: no such run. */
    readonly samples: number | "auto";
    readonly evaluations: number;
    /** 0 is all. */
    readonly testRows: number;
  };
  readonly cost: {
    readonly model: "cloud";
    readonly prices: string;
    readonly boundary: "parameter-servers";
    /** Bytes. */
    readonly priceFor: number;
  };
  readonly matrix: Readonly<Record<string, readonly MatrixValue[]>>;
  readonly seed: number;
  readonly whenUnavailable: "emulate" | "error" | "skip";
}
