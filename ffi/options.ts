/**
 * Options as programs write them, and as the native library reads them: `key=value` texts in a `ts_config`.
 *
 * @module
 */

import type { EvictionPolicy } from "../base/policies.ts";
import { parseBytes } from "../base/bytes.ts";
import { foundText } from "../base/diagnostics.ts";
import { encodeText, message } from "./errors.ts";
import { checkFields, type FieldsOf, listOption } from "../base/fields.ts";
import { native } from "./library.ts";
import type { HbmLibrary, PmemLibrary, StorageType } from "./storage.ts";

export type { EvictionPolicy };

/**
 * Options of an SSDHASH tier: rows in append-only files of our own form, with an index in DRAM. What is absent is left to
 * the library's default, given in brackets. Bytes are numbers or texts like `"64 MiB"`.
 */
export interface SsdhashOptions {
  /** Largest file (0: a 128th of the tier's size, at least 64 KiB). */
  readonly fileBytes?: string | number;
  /** One write buffer, 4 KiB to 64 MiB (0: a 4096th of the first tier's size, from 16 KiB to 256 KiB). */
  readonly bufferBytes?: string | number;
  /** Reads of one call that are on their way at once, 1 to 4096 (128). */
  readonly depth?: number;
  /** A table is compacted when more percent of its files than this are garbage, 5 to 95 (48). */
  readonly garbagePercent?: number;
  /**
   * Whether a thread of the table's own compacts, instead of the call that needs it (the environment variable
   * `TF_SSDHASH_ASYNC_COMPACTION`, else false).
   */
  readonly asyncCompaction?: boolean;
  /** How files are read (`"auto"`: io_uring, or pread where the kernel refuses it). */
  readonly io?: "auto" | "io_uring" | "pread";
  /** Whether the kernel's page cache is passed by (`"auto"`: yes, unless the file system refuses). */
  readonly direct?: "auto" | "direct" | "buffered";
}

/**
 * Options of a LEVELDB tier: rows in a LevelDB database for each table. What is absent is left to the library's default,
 * given in brackets. Bytes are numbers or texts like `"8 MiB"`.
 */
export interface LeveldbOptions {
  /** Block cache of a table (a 1024th of the first tier's size, from 64 KiB to 16 MiB). */
  readonly cacheBytes?: string | number;
  /** What is gathered in memory before a sorted file is written (a 256th of the first tier's size, from 64 KiB to 4 MiB). */
  readonly writeBufferBytes?: string | number;
  /** Bits a key of the Bloom filters; 0 has none (10). */
  readonly bloomBits?: number;
  /** What one read brings in, 1024 to 4194304 (4096). */
  readonly blockBytes?: string | number;
  /** Largest file, 1 MiB to 1 GiB (a 1024th of the tier's size, from 2 MiB to 64 MiB). */
  readonly fileBytes?: string | number;
  /** Files held open, 74 to 50000 (all that the tier's size can hold, from 1000 to 50000). */
  readonly openFiles?: number;
  /** How blocks are compressed (`"none"`). */
  readonly compression?: "none" | "snappy";
  /** Whether reads of single rows bring in no neighbours (true). */
  readonly randomAccess?: boolean;
}

/** Options of {@linkcode EmbeddingStore.open}. */
export interface StoreOptions {
  /** Which tiers the store has. */
  readonly storage: StorageType;
  /** What holds the PMEM tier of types with DRAM and PMEM; required there. */
  readonly pmem?: PmemLibrary;
  /** NUMA nodes of a PMEM tier of `mbind`; required there. */
  readonly pmemNodes?: readonly number[];
  /** What holds the HBM tier; required with one. */
  readonly hbm?: HbmLibrary;
  /** NUMA nodes of an HBM tier of `mbind`; required there. */
  readonly hbmNodes?: readonly number[];
  /** With `hbm: "opencl"`: part of the name of the device or of its platform; otherwise a GPU, or else any device. */
  readonly hbmDevice?: string;
  /**
   * With `hbm: "opencl"`: 0 takes the tier's share of the device whole at opening. Otherwise it is taken as rows need it, and
   * made one piece of the bytes that so many steps have shown to be needed ({@linkcode EmbeddingStore.setStep}).
   *
   * @default {0}
   */
  readonly hbmPoolSteps?: number;
  /**
   * With `hbm: "opencl"`: bytes of the host's memory in which the tier goes on where its share of the device is used up, or
   * the device gives no more. They add to its size; kernels reach rows there over the link.
   *
   * @default {0}
   */
  readonly hbmHostBytes?: string | number;
  /** Directory of the libpmem pool file and of the SSD tier's files; required with either. */
  readonly path?: string;
  /** Directory of the SSD tier's files, where it is another one than `path`. */
  readonly ssdPath?: string;
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
  /**
   * Which rows leave a full tier.
   *
   * @default {"clock"}
   */
  readonly policy?: EvictionPolicy;
  /**
   * Background threads that move rows down, 0 to 64, shared by all tables; with 0, whoever needs the room does it. If
   * absent, the environment variable `TF_MULTI_TIER_EV_EVICTION_THREADS`, else 1.
   */
  readonly evictionThreads?: number;
  /**
   * Parts of each table that change independently: a power of two up to 64, or 0 for 1 below a first tier of 64 MiB and
   * 16 from there on.
   *
   * @default {0}
   */
  readonly shards?: number;
  /**
   * Whether tables note what changes, so that checkpoints can be deltas. Takes at most a 64th of the first tier.
   *
   * @default {false}
   */
  readonly trackChanges?: boolean;
  /**
   * Whether lookups are sampled for {@linkcode EmbeddingStore.gauges}. Takes at most a 64th of the first tier (of DRAM below HBM),
   * 128 KiB at least.
   *
   * @default {false}
   */
  readonly gauges?: boolean | {
    /**
     * Share of the rows that the sample begins with, above 0, to 0.5, down to the next power of two. More tells more of small
     * tiers, and costs more: a lookup of a sampled row takes about half a microsecond more.
     *
     * @default {1 / 4096}
     */
    readonly rate?: number;
  };
  /**
   * Whether the last tier outlives the store: {@linkcode EmbeddingStore.persist} makes restore points there,
   * {@linkcode EmbeddingStore.resume} goes on from one. It must be SSDHASH, or PMEM over libpmem, whose rows are records in
   * files of `path` then, with DRAM above as their cache.
   *
   * @default {false}
   */
  readonly persistent?: boolean;
  /** NUMA node that holds the DRAM tier and the index; -1, which is the default, binds nothing. */
  readonly numaNode?: number;
  /**
   * NUMA nodes that the rows of the DRAM tier are interleaved over, by the kernel's weights
   * (`/sys/kernel/mm/mempolicy/weighted_interleave`, Linux 6.9); not beside `numaNode`. Default: none.
   */
  readonly interleaveNodes?: readonly number[];
  /**
   * Vector instructions to use. All give the same bits, so this is for tests.
   *
   * @default {"auto"}
   */
  readonly kernels?: "auto" | "avx512" | "avx2" | "baseline";
  /** Options of an SSDHASH tier. */
  readonly ssdhash?: SsdhashOptions;
  /** Options of a LEVELDB tier. */
  readonly leveldb?: LeveldbOptions;
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
  | "rowwiseAdagrad"
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
     * Adagrad with one state a row, the sum of the means of its squared gradients: FBGEMM's `EXACT_ROWWISE_ADAGRAD`, TorchRec's
     * default. `learningRate` is 0.01, `initialAccumulator` (0 or more) 0 and `epsilon`, which is added to the sum's root, 1e-8
     * if absent.
     */
    readonly rowwiseAdagrad: {
      readonly learningRate?: number;
      readonly initialAccumulator?: number;
      readonly epsilon?: number;
    };
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

/** Which keys get a row: those that were looked up more often than `frequency`, 1 if absent. */
export type AdmissionOptions =
  | {
    /** Counts lookups exactly, in the index. */
    readonly counter: {
      /** Lookups that are not answered with a row, 1 to 2^30. */
      readonly frequency?: number;
      /** What lookups give meanwhile, as every weight; 0 if absent. */
      readonly defaultValue?: number;
    };
  }
  | {
    /** Counts lookups in a counting Bloom filter: fewer bytes, and sometimes a count that is too high. */
    readonly bloom: {
      /** Lookups that are not answered with a row, 1 to 2^30. */
      readonly frequency?: number;
      /** Keys that are expected; 2^20 if absent. */
      readonly keys?: number;
      /** Probability of a wrong count once there are so many; 0.01 if absent. */
      readonly error?: number;
      /** Bits of a counter; 32 if absent. */
      readonly counterBits?: 8 | 16 | 32 | 64;
      /** What lookups give meanwhile, as every weight; 0 if absent. */
      readonly defaultValue?: number;
    };
  };

/** Which rows go for good, from whatever tier they are in: by keys and steps alone. Implies `recordVersion`. */
export interface ExpireOptions {
  /** Steps without an update, or since its creation, after which a row is gone, by {@linkcode EmbeddingStore.setStep}. */
  readonly steps?: number;
  /** A row goes whose weight, in the sense of `l2Form`, is below this. */
  readonly l2?: number;
  /**
   * What `l2` is compared with: half the sum of squares (DeepRec's), or the square root of the sum.
   *
   * @default {"half-squared"}
   */
  readonly l2Form?: "half-squared" | "norm";
  /**
   * Weights are judged at the beginning of each step that is a multiple of this; 0: only when {@linkcode Table.expire}
   * asks.
   *
   * @default {1000}
   */
  readonly l2Every?: number;
}

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
  /** Which keys get a row; all at their first lookup if absent. */
  readonly admission?: AdmissionOptions;
  /** Which rows are removed for good; none if absent. */
  readonly expire?: ExpireOptions;
  /** Whether rows keep how often they were looked up, 4 bytes each. See {@linkcode Table.metadata}. */
  readonly recordFrequency?: boolean;
  /** Whether rows keep the step of their last update, 8 bytes each. See {@linkcode Table.metadata}. */
  readonly recordVersion?: boolean;
}

const STORE_FIELDS: FieldsOf<StoreOptions> = {
  storage: true,
  pmem: true,
  path: true,
  ssdPath: true,
  size: true,
  sizeCounts: true,
  seed: true,
  policy: true,
  evictionThreads: true,
  shards: true,
  trackChanges: true,
  gauges: true,
  persistent: true,
  numaNode: true,
  pmemNodes: true,
  hbm: true,
  hbmNodes: true,
  hbmDevice: true,
  hbmPoolSteps: true,
  hbmHostBytes: true,
  interleaveNodes: true,
  kernels: true,
  ssdhash: true,
  leveldb: true,
  native: true,
};

const TABLE_FIELDS: FieldsOf<TableOptions> = {
  name: true,
  dim: true,
  dtype: true,
  optimizer: true,
  initializer: true,
  admission: true,
  expire: true,
  recordFrequency: true,
  recordVersion: true,
};

/** The fields of {@linkcode SsdhashOptions}. A test compares them with the library's manual. */
export const SSDHASH_FIELDS: FieldsOf<SsdhashOptions> = {
  fileBytes: true,
  bufferBytes: true,
  depth: true,
  garbagePercent: true,
  asyncCompaction: true,
  io: true,
  direct: true,
};

/** The fields of {@linkcode LeveldbOptions}. A test compares them with the library's manual. */
export const LEVELDB_FIELDS: FieldsOf<LeveldbOptions> = {
  cacheBytes: true,
  writeBufferBytes: true,
  bloomBits: true,
  blockBytes: true,
  fileBytes: true,
  openFiles: true,
  compression: true,
  randomAccess: true,
};

const EXPIRE_FIELDS: FieldsOf<ExpireOptions> = { steps: true, l2: true, l2Form: true, l2Every: true };

/** Options in the words of the native library. */
export type NativeOptions = Record<string, string>;

/** A value of an option; absent ones are left to the library's default. */
type Value = string | number | bigint | boolean | undefined;

/** The texts of those values that are there; true and false are 1 and 0. */
export function nativeOptions(values: Readonly<Record<string, Value>>): NativeOptions {
  const options: NativeOptions = {};
  for (const [key, value] of Object.entries(values)) {
    if (value !== undefined) options[key] = typeof value === "boolean" ? value ? "1" : "0" : String(value);
  }
  return options;
}

/** The library's word for a field: `fileBytes` is `file_bytes`. */
export function nativeWord(field: string): string {
  return field.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** `{ fileBytes: "1 MiB" }` of the group `ssdhash` as `ssdhash.file_bytes` = 1048576. */
function groupOptions(group: string, values: Readonly<Record<string, Value>> = {}): NativeOptions {
  const entries = Object.entries(values).map(([key, value]): [string, Value] => [
    `${group}.${nativeWord(key)}`,
    key.endsWith("Bytes") && (typeof value === "string" || typeof value === "number") ? parseBytes(value) : value,
  ]);
  return nativeOptions(Object.fromEntries(entries));
}

/**
 * The words of `ts_store_open`.
 *
 * @throws {TypeError} If there is a field that does not exist, or one that is no list.
 */
export function storeOptions(options: StoreOptions): NativeOptions {
  checkFields("the store", options, STORE_FIELDS);
  checkFields('the tier "ssdhash"', options.ssdhash ?? {}, SSDHASH_FIELDS);
  checkFields('the tier "leveldb"', options.leveldb ?? {}, LEVELDB_FIELDS);
  const list = <T>(field: string, value: readonly T[] | undefined) => listOption("the store", field, value);
  return {
    ...nativeOptions({
      storage: options.storage,
      pmem: options.pmem,
      pmem_nodes: list("pmemNodes", options.pmemNodes)?.join(","),
      hbm: options.hbm,
      hbm_nodes: list("hbmNodes", options.hbmNodes)?.join(","),
      hbm_device: options.hbmDevice,
      hbm_pool_steps: options.hbmPoolSteps,
      hbm_host_bytes: options.hbmHostBytes === undefined ? undefined : parseBytes(options.hbmHostBytes),
      interleave_nodes: list("interleaveNodes", options.interleaveNodes)?.join(","),
      path: options.path,
      ssd_path: options.ssdPath,
      size: list("size", options.size)?.map(parseBytes).join(","),
      size_counts: options.sizeCounts,
      seed: seedText(options.seed),
      policy: options.policy,
      eviction_threads: options.evictionThreads,
      shards: options.shards,
      track_changes: options.trackChanges,
      gauges: options.gauges === undefined ? undefined : options.gauges !== false,
      persistent: options.persistent,
      numa_node: options.numaNode,
      kernels: options.kernels,
    }),
    ...(typeof options.gauges === "object" ? groupOptions("gauges", { ...options.gauges }) : {}),
    ...groupOptions("ssdhash", { ...options.ssdhash }),
    ...groupOptions("leveldb", { ...options.leveldb }),
    ...nativeOptions(options.native ?? {}),
  };
}

/**
 * The words of `ts_table_create`.
 *
 * @throws {TypeError} If there is a field that does not exist.
 */
export function tableOptions(options: TableOptions): NativeOptions {
  checkFields("the table", options, TABLE_FIELDS);
  return {
    ...nativeOptions({
      name: options.name,
      dim: options.dim,
      dtype: options.dtype,
      record_frequency: options.recordFrequency,
      record_version: options.recordVersion,
    }),
    ...optimizerOptions(options.optimizer ?? "sgd"),
    ...initializerOptions(options.initializer),
    ...admissionOptions(options.admission),
    ...expireOptions(options.expire),
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
  rowwiseAdagrad: ({ learningRate, initialAccumulator, epsilon }) => ({
    optimizer: "rowwise-adagrad",
    learning_rate: learningRate,
    initial_accumulator: initialAccumulator,
    epsilon,
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

const ADMISSION_FIELDS = {
  counter: { frequency: true, defaultValue: true },
  bloom: { frequency: true, keys: true, error: true, counterBits: true, defaultValue: true },
} as const;

/** The words for an admission, in tables and trainers alike. */
export function admissionOptions(options: AdmissionOptions | undefined): NativeOptions {
  if (options === undefined) return {};
  const kind = theOne("admission", options, ADMISSION_FIELDS);
  const values = (options as Readonly<Record<string, Readonly<Record<string, Value>>>>)[kind] ?? {};
  checkFields(`the admission "${kind}"`, values, ADMISSION_FIELDS[kind]);
  return { admission: kind, ...groupOptions("admission", values) };
}

/** The words for an expiry, in tables and trainers alike. */
export function expireOptions(options: ExpireOptions | undefined): NativeOptions {
  if (options === undefined) return {};
  checkFields("the expiry", options, EXPIRE_FIELDS);
  return nativeOptions({
    "expire.steps": options.steps,
    "expire.l2": options.l2,
    "expire.l2_form": options.l2Form,
    "expire.l2_every": options.l2Every,
  });
}

/** The only field of an object that says one of several things, as `{ counter: { … } }`. */
function theOne<K extends string>(what: string, options: object, known: Readonly<Record<K, unknown>>): K {
  const names = Object.keys(known).map((name) => `"${name}"`).join(" or ");
  const [name, ...others] = typeof options === "object" && options !== null ? Object.keys(options) : [];
  if (name === undefined) throw new TypeError(`Cannot use the ${what} ${foundText(options)}: expected ${names}`);
  if (others.length > 0) throw new TypeError(`Cannot use two of ${what} at once: "${name}" and "${others[0]}"`);
  if (Object.hasOwn(known, name)) return name as K;
  throw new TypeError(`Cannot use the ${what} "${name}": expected ${names}`);
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
    checkFields('the initialiser "defaultValueMatrix"', options.defaultValueMatrix, { rows: true, base: true });
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
    checkFields('the initialiser "uniform"', options.uniform, { low: true, high: true });
    const { low, high } = options.uniform;
    return nativeOptions({ initializer: "uniform", "initializer.low": low, "initializer.high": high });
  }
  if ("truncatedNormal" in options) {
    checkFields('the initialiser "truncatedNormal"', options.truncatedNormal, { mean: true, stddev: true });
    const { mean, stddev } = options.truncatedNormal;
    return nativeOptions({
      initializer: "truncated-normal",
      "initializer.mean": mean,
      "initializer.stddev": stddev,
    });
  }
  if ("glorot" in options) {
    checkFields('the initialiser "glorot"', options.glorot, { fanOut: true });
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
