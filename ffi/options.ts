/**
 * Options as programs write them, and as the native library reads them: `key=value` texts in a `ts_config`.
 *
 * @module
 */

import { parseBytes } from "./bytes.ts";
import { encodeText, message } from "./errors.ts";
import { native } from "./library.ts";

/** The storage types of this release, by DeepRec's names. */
export type StorageType = "DRAM" | "PMEM_LIBPMEM" | "PMEM_MEMKIND" | "DRAM_PMEM";

/** Options of {@linkcode EmbeddingStore.open}. */
export interface StoreOptions {
  /** Which tiers the store has. */
  readonly storage: StorageType;
  /** What holds the PMEM tier of `DRAM_PMEM`; required there. */
  readonly pmem?: "libpmem" | "memkind";
  /** Directory of the libpmem pool file; required with libpmem. */
  readonly path?: string;
  /** Bytes per tier, fastest first, as numbers or as texts like `"64 MiB"`. Missing entries are 1 GiB. */
  readonly size?: readonly (string | number)[];
  /**
   * What counts against `size`: `"all"` bytes the store holds, or only the padded `"rows"`, as in DeepRec.
   *
   * @default {"all"}
   */
  readonly sizeCounts?: "all" | "rows";
  /**
   * Seed of all initialisers, an unsigned 64-bit number.
   *
   * @default {0}
   */
  readonly seed?: number | bigint;
  /** More options of `ts_store_open`, as they are, e.g. `{ "emulate.medium": "optane-100-6x256" }`. */
  readonly native?: Readonly<Record<string, string | number>>;
}

/** How rows are updated. */
export type OptimizerOptions =
  | "sgd"
  | "adagrad"
  | "ftrl"
  | {
    /** Gradient descent. `learningRate` is 0.01 if absent. */
    readonly sgd: { readonly learningRate?: number };
  }
  | {
    /** Adagrad. `learningRate` is 0.01 and `initialAccumulator` 0.1 if absent. */
    readonly adagrad: { readonly learningRate?: number; readonly initialAccumulator?: number };
  }
  | {
    /**
     * FTRL-Proximal, per coordinate or with DeepRec's norm over the row. `learningRate` is 0.01,
     * `initialAccumulator` 0.1, the strengths `l1` and `l2` 0, and `form` `"per-coordinate"` if absent.
     */
    readonly ftrl: {
      readonly learningRate?: number;
      readonly l1?: number;
      readonly l2?: number;
      readonly initialAccumulator?: number;
      readonly form?: "per-coordinate" | "row-norm";
    };
  };

/** A distribution of the first weights of a row. A number is a constant. */
export type DistributionOptions =
  | number
  | {
    /** Every weight is this number. */
    readonly constant: number;
  }
  | {
    /** Uniform in the half-open interval from `low` to `high`. */
    readonly uniform: { readonly low: number; readonly high: number };
  }
  | {
    /** Normal, drawn again beyond two `stddev`. `mean` is 0 and `stddev` 0.05 if absent. */
    readonly truncatedNormal: { readonly mean?: number; readonly stddev?: number };
  }
  | {
    /** Uniform in ±sqrt(6 / (dim + fanOut)). `fanOut` is `dim` if absent. */
    readonly glorot: { readonly fanOut?: number };
  };

/** How rows begin. They depend only on the store's seed, the table's name and the key. */
export type InitializerOptions =
  | DistributionOptions
  | {
    /**
     * DeepRec's default-value matrix: the row of key k is row `k mod rows` of a matrix drawn from `base`. `rows` is 4096
     * and `base` a truncated normal if absent.
     */
    readonly defaultValueMatrix: { readonly rows?: number; readonly base?: DistributionOptions };
  };

/** Options of {@linkcode EmbeddingStore.table}. */
export interface TableOptions {
  /** Unique in the store. */
  readonly name: string;
  /**
   * Weights a row.
   *
   * @default {16}
   */
  readonly dim?: number;
  /**
   * How rows are updated.
   *
   * @default {"sgd"}
   */
  readonly optimizer?: OptimizerOptions;
  /** How rows begin; a truncated normal of mean 0 and standard deviation 0.05 if absent. */
  readonly initializer?: InitializerOptions;
}

/** Options in the words of the native library. */
export type NativeOptions = Record<string, string>;

/** A value of an option; absent ones are left to the library's default. */
type Value = string | number | bigint | boolean | undefined;

/** The texts of those values that are there. */
export function nativeOptions(values: Readonly<Record<string, Value>>): NativeOptions {
  const options: NativeOptions = {};
  for (const [key, value] of Object.entries(values)) {
    if (value !== undefined) options[key] = String(value);
  }
  return options;
}

/** The words of `ts_store_open`. */
export function storeOptions(options: StoreOptions): NativeOptions {
  return {
    ...nativeOptions({
      storage: options.storage,
      pmem: options.pmem,
      path: options.path,
      size: options.size?.map(parseBytes).join(","),
      size_counts: options.sizeCounts,
      seed: seedText(options.seed),
    }),
    ...nativeOptions(options.native ?? {}),
  };
}

/** The words of `ts_table_create`. */
export function tableOptions(options: TableOptions): NativeOptions {
  return {
    ...nativeOptions({ name: options.name, dim: options.dim }),
    ...optimizerOptions(options.optimizer ?? "sgd"),
    ...initializerOptions(options.initializer),
  };
}

function optimizerOptions(options: OptimizerOptions): NativeOptions {
  if (typeof options === "string") return { optimizer: options };
  const [name, ...others] = Object.keys(options);
  if (others.length > 0) {
    throw new TypeError(`Cannot use two optimizers at once: "${name}" and "${others[0]}"`);
  }
  if ("sgd" in options) return nativeOptions({ optimizer: "sgd", learning_rate: options.sgd.learningRate });
  if ("adagrad" in options) {
    const { learningRate, initialAccumulator } = options.adagrad;
    return nativeOptions({
      optimizer: "adagrad",
      learning_rate: learningRate,
      initial_accumulator: initialAccumulator,
    });
  }
  if ("ftrl" in options) {
    const { learningRate, l1, l2, initialAccumulator, form } = options.ftrl;
    return nativeOptions({
      optimizer: form === "row-norm" ? "ftrl-row-norm" : "ftrl",
      learning_rate: learningRate,
      l1,
      l2,
      initial_accumulator: initialAccumulator,
    });
  }
  throw new TypeError(`Cannot use the optimizer "${name}": expected "sgd", "adagrad" or "ftrl"`);
}

/** The words for an initialiser, in tables and trainers alike. */
export function initializerOptions(options: InitializerOptions | undefined): NativeOptions {
  if (options === undefined) return {};
  if (typeof options === "object" && "defaultValueMatrix" in options) {
    const { rows, base } = options.defaultValueMatrix;
    const distribution = base === undefined ? undefined : distributionOptions(base);
    return {
      ...distribution,
      ...nativeOptions({
        initializer: "default-value-matrix",
        "initializer.rows": rows,
        "initializer.base": distribution?.["initializer"],
      }),
    };
  }
  return distributionOptions(options);
}

function distributionOptions(options: DistributionOptions): NativeOptions {
  if (typeof options === "number") return distributionOptions({ constant: options });
  const [name, ...others] = Object.keys(options);
  if (others.length > 0) {
    throw new TypeError(`Cannot use two initialisers at once: "${name}" and "${others[0]}"`);
  }
  if ("constant" in options) return nativeOptions({ initializer: "constant", "initializer.value": options.constant });
  if ("uniform" in options) {
    const { low, high } = options.uniform;
    return nativeOptions({ initializer: "uniform", "initializer.low": low, "initializer.high": high });
  }
  if ("truncatedNormal" in options) {
    const { mean, stddev } = options.truncatedNormal;
    return nativeOptions({
      initializer: "truncated-normal",
      "initializer.mean": mean,
      "initializer.stddev": stddev,
    });
  }
  if ("glorot" in options) {
    return nativeOptions({ initializer: "glorot", "initializer.fan_out": options.glorot.fanOut });
  }
  const known = '"constant", "uniform", "truncatedNormal", "glorot" or "defaultValueMatrix"';
  throw new TypeError(`Cannot use the initialiser "${name}": expected a number, ${known}`);
}

/**
 * The text of a seed.
 *
 * @throws {RangeError} If it is no unsigned 64-bit number, or a number that a double does not hold exactly.
 */
export function seedText(seed: number | bigint | undefined): string | undefined {
  if (seed === undefined) return undefined;
  const exact = typeof seed === "bigint" || Number.isSafeInteger(seed);
  if (exact && BigInt(seed) >= 0n && BigInt(seed) < 1n << 64n) return String(seed);
  throw new RangeError(
    `Cannot use the seed ${seed}: expected a whole number from 0 to 2^53 - 1, or a bigint below 2^64`,
  );
}

/**
 * A new `ts_config` with these options. Whoever asks for it frees it with `ts_config_free`.
 *
 * @throws {TierstoreError} If the library refuses a key or a value.
 */
export function createConfig(options: NativeOptions): bigint {
  const functions = native();
  const out = new BigUint64Array(1);
  message.check(functions.ts_config_create(out), "create options");
  const config = out[0] ?? 0n;
  try {
    for (const [key, value] of Object.entries(options)) {
      const status = functions.ts_config_set(
        config,
        encodeText(key),
        encodeText(value),
        message.bytes,
        message.capacity,
      );
      message.check(status, `set the option "${key}"`);
    }
  } catch (error) {
    functions.ts_config_free(config);
    throw error;
  }
  return config;
}

/** Hands a `ts_config` with these options to a blocking call. */
export function withConfig<T>(options: NativeOptions, call: (config: bigint) => T): T {
  const config = createConfig(options);
  try {
    return call(config);
  } finally {
    native().ts_config_free(config);
  }
}
