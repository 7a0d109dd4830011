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

/** Adam's parameters, which its kin share. */
export interface AdamOptions {
  /**
   * Before bias correction.
   *
   * @default {0.01}
   */
  readonly learningRate?: number;
  /**
   * What the mean of gradients keeps a step, 0 to 0.999999.
   *
   * @default {0.9}
   */
  readonly beta1?: number;
  /**
   * What the mean of squared gradients keeps a step, 0 to 0.999999.
   *
   * @default {0.999}
   */
  readonly beta2?: number;
  /**
   * Added to the root of the mean of squared gradients, above 0.
   *
   * @default {1e-8}
   */
  readonly epsilon?: number;
}

/** How rows are updated. A name alone stands for that optimizer with its defaults. */
export type OptimizerOptions =
  | "sgd"
  | "adagrad"
  | "adagradDecay"
  | "adam"
  | "adamAsync"
  | "adamW"
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
     * DeepRec's Adagrad with decay: once every `decayStep` global steps, a row's sums of squares become `decayRate` of
     * themselves, but not less than `decayBaseline`. `learningRate` is 0.01, `initialAccumulator` 0.1, `decayStep`
     * 100000, `decayRate` 0.9 and `decayBaseline` the `initialAccumulator` if absent. `form` is DeepRec's name for it,
     * `"v1"` if absent; on embedding rows both do the same.
     */
    readonly adagradDecay: {
      readonly learningRate?: number;
      readonly initialAccumulator?: number;
      readonly decayStep?: number;
      readonly decayRate?: number;
      readonly decayBaseline?: number;
      readonly form?: "v1" | "v2";
    };
  }
  | {
    /** Adam. Rows that are not in a batch do not change; the time of its bias correction is the table's update calls. */
    readonly adam: AdamOptions;
  }
  | {
    /**
     * DeepRec's AdamAsync: Adam, or with `applySparseRmsprop` (false if absent) RMSProp with momentum, without bias
     * correction.
     */
    readonly adamAsync: AdamOptions & { readonly applySparseRmsprop?: boolean };
  }
  | {
    /** Adam, and each step takes `weightDecay` (0.0001 if absent) of a weight off, whatever the learning rate. */
    readonly adamW: AdamOptions & { readonly weightDecay?: number };
  }
  | {
    /**
     * FTRL-Proximal, per coordinate or with DeepRec's norm over the row. `learningRate` is 0.01,
     * `initialAccumulator` 0.1, the strengths `l1`, `l2` and `l2Shrinkage` (of FTRL-V2) 0, and `form`
     * `"per-coordinate"` if absent.
     */
    readonly ftrl: {
      readonly learningRate?: number;
      readonly l1?: number;
      readonly l2?: number;
      readonly l2Shrinkage?: number;
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
   * What a weight is kept as; an optimizer's own numbers are fp32 always. Steps of bf16 weights are rounded
   * stochastically, by random bits that depend only on the store's seed, the table's name, key, step and place.
   *
   * @default {"fp32"}
   */
  readonly dtype?: "fp32" | "bf16";
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
    ...nativeOptions({ name: options.name, dim: options.dim, dtype: options.dtype }),
    ...optimizerOptions(options.optimizer ?? "sgd"),
    ...initializerOptions(options.initializer),
  };
}

/** The native words of each optimizer's own options, which begin with its name. */
const OPTIMIZERS = {
  sgd: ({ learningRate }) => ({ optimizer: "sgd", learning_rate: learningRate }),
  adagrad: ({ learningRate, initialAccumulator }) => ({
    optimizer: "adagrad",
    learning_rate: learningRate,
    initial_accumulator: initialAccumulator,
  }),
  adagradDecay: ({ learningRate, initialAccumulator, decayStep, decayRate, decayBaseline, form }) => ({
    optimizer: form === "v2" ? "adagrad-decay-v2" : "adagrad-decay",
    learning_rate: learningRate,
    initial_accumulator: initialAccumulator,
    decay_step: decayStep,
    decay_rate: decayRate,
    decay_baseline: decayBaseline,
  }),
  adam: (options) => ({ optimizer: "adam", ...adamWords(options) }),
  adamAsync: ({ applySparseRmsprop, ...options }) => ({
    optimizer: "adam-async",
    ...adamWords(options),
    apply_sparse_rmsprop: applySparseRmsprop === undefined ? undefined : Number(applySparseRmsprop),
  }),
  adamW: ({ weightDecay, ...options }) => ({
    optimizer: "adamw",
    ...adamWords(options),
    weight_decay: weightDecay,
  }),
  ftrl: ({ learningRate, l1, l2, l2Shrinkage, initialAccumulator, form }) => ({
    optimizer: form === "row-norm" ? "ftrl-row-norm" : "ftrl",
    learning_rate: learningRate,
    l1,
    l2,
    l2_shrinkage: l2Shrinkage,
    initial_accumulator: initialAccumulator,
  }),
} as const satisfies { [Name in OptimizerName]: (options: OptimizerParameters<Name>) => Record<string, Value> };

type OptimizerName = Extract<OptimizerOptions, string>;
type OptimizerParameters<Name extends OptimizerName> = Extract<OptimizerOptions, { [Key in Name]: unknown }>[Name];

function adamWords({ learningRate, beta1, beta2, epsilon }: AdamOptions): Record<string, Value> {
  return { learning_rate: learningRate, beta1, beta2, epsilon };
}

function optimizerOptions(options: OptimizerOptions): NativeOptions {
  const [name = "", ...others] = typeof options === "string" ? [options] : Object.keys(options);
  if (others.length > 0) {
    throw new TypeError(`Cannot use two optimizers at once: "${name}" and "${others[0]}"`);
  }
  if (!Object.hasOwn(OPTIMIZERS, name)) {
    const known = Object.keys(OPTIMIZERS).map((known) => `"${known}"`).join(", ");
    throw new TypeError(`Cannot use the optimizer "${name}": expected one of ${known}`);
  }
  // OptimizerOptions pairs each name with the options that its function takes.
  const words = OPTIMIZERS[name as OptimizerName] as (options: object) => Record<string, Value>;
  return nativeOptions(words(typeof options === "string" ? {} : Object.values<object>(options)[0] ?? {}));
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
