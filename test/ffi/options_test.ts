import "../native_library.ts";
import {
  type OptimizerOptions,
  seedText,
  type StoreOptions,
  storeOptions,
  type TableOptions,
  tableOptions,
} from "../../ffi/options.ts";
import { trainerOptions } from "../../ffi/trainer_options.ts";
import { assertEquals, assertThrows } from "../assert.ts";

Deno.test("storeOptions() leaves absent options to the library", () => {
  assertEquals(storeOptions({ storage: "DRAM" }), { storage: "DRAM" });
});

Deno.test("storeOptions() writes sizes in bytes and lets native options win", () => {
  const options: StoreOptions = {
    storage: "DRAM_PMEM",
    pmem: "libpmem",
    path: "/mnt/pmem0",
    size: ["24 MiB", 4096],
    sizeCounts: "rows",
    seed: 2n ** 64n - 1n,
    native: { "emulate.medium": "optane-100-6x256", seed: 7 },
  };
  assertEquals(storeOptions(options), {
    storage: "DRAM_PMEM",
    pmem: "libpmem",
    path: "/mnt/pmem0",
    size: "25165824,4096",
    size_counts: "rows",
    seed: "7",
    "emulate.medium": "optane-100-6x256",
  });
});

Deno.test("storeOptions() writes policies, threads, and groups of options of a tier", () => {
  const options: StoreOptions = {
    storage: "DRAM_PMEM_SSDHASH",
    pmem: "mbind",
    pmemNodes: [2, 3],
    hbm: "mbind",
    hbmNodes: [4],
    hbmDevice: "pthread",
    hbmPoolSteps: 100,
    hbmHostBytes: "1 MiB",
    ssdPath: "/mnt/ssd",
    policy: "s3fifo",
    evictionThreads: 0,
    shards: 16,
    numaNode: -1,
    interleaveNodes: [0, 2],
    kernels: "avx2",
    ssdhash: { asyncCompaction: false, fileBytes: "64 MiB", depth: 32, io: "pread" },
    leveldb: { cacheBytes: 4096, writeBufferBytes: "1 MiB", bloomBits: 10 },
  };
  assertEquals(storeOptions(options), {
    storage: "DRAM_PMEM_SSDHASH",
    pmem: "mbind",
    pmem_nodes: "2,3",
    hbm: "mbind",
    hbm_nodes: "4",
    hbm_device: "pthread",
    hbm_pool_steps: "100",
    hbm_host_bytes: "1048576",
    ssd_path: "/mnt/ssd",
    policy: "s3fifo",
    eviction_threads: "0",
    shards: "16",
    numa_node: "-1",
    interleave_nodes: "0,2",
    kernels: "avx2",
    "ssdhash.async_compaction": "0",
    "ssdhash.file_bytes": "67108864",
    "ssdhash.depth": "32",
    "ssdhash.io": "pread",
    "leveldb.cache_bytes": "4096",
    "leveldb.write_buffer_bytes": "1048576",
    "leveldb.bloom_bits": "10",
  });
});

Deno.test("tableOptions() writes admission, expiry and what rows record", () => {
  const words = (options: Omit<TableOptions, "name">) => {
    const { name: _, optimizer: __, ...others } = tableOptions({ name: "t", ...options });
    return others;
  };
  assertEquals(words({ admission: { counter: { frequency: 5, defaultValue: 0.5 } } }), {
    admission: "counter",
    "admission.frequency": "5",
    "admission.default_value": "0.5",
  });
  assertEquals(words({ admission: { bloom: { frequency: 3, keys: 1000, error: 0.01, counterBits: 8 } } }), {
    admission: "bloom",
    "admission.frequency": "3",
    "admission.keys": "1000",
    "admission.error": "0.01",
    "admission.counter_bits": "8",
  });
  assertEquals(words({ expire: { steps: 100, l2: 0.25, l2Form: "norm", l2Every: 50 } }), {
    "expire.steps": "100",
    "expire.l2": "0.25",
    "expire.l2_form": "norm",
    "expire.l2_every": "50",
  });
  assertEquals(words({ recordFrequency: true, recordVersion: false }), {
    record_frequency: "1",
    record_version: "0",
  });
});

/** Options as a program without a type check would give them. */
const unchecked = (options: object) => options as unknown as StoreOptions & TableOptions;
const refusals: readonly [string, () => unknown, string][] = [
  [
    "a store's siez",
    () => storeOptions(unchecked({ storage: "DRAM", siez: ["1 MiB"] })),
    'Cannot use the option "siez" of the store: there is no such option; did you mean "size"?',
  ],
  [
    "a store's eviction_threads",
    () => storeOptions(unchecked({ eviction_threads: 2 })),
    'did you mean "evictionThreads"?',
  ],
  ["a store's zzz", () => storeOptions(unchecked({ zzz: 1 })), "known fields: storage, pmem, path, ssdPath, size"],
  ["a store without options", () => storeOptions(unchecked([])), "expected an object, found []"],
  [
    "a tier's fileByte",
    () => storeOptions(unchecked({ storage: "SSDHASH", ssdhash: { fileByte: 1 } })),
    'Cannot use the option "fileByte" of the tier "ssdhash": there is no such option; did you mean "fileBytes"?',
  ],
  [
    "a tier's bloom",
    () => storeOptions(unchecked({ storage: "LEVELDB", leveldb: { bloom: 1 } })),
    'Cannot use the option "bloom" of the tier "leveldb"',
  ],
  [
    "a store's size that is no list",
    () => storeOptions(unchecked({ storage: "DRAM", size: 4096 })),
    'Cannot use the option "size" of the store: expected a list, found 4096',
  ],
  [
    "a store's nodes that are no list",
    () => storeOptions(unchecked({ pmemNodes: "2" })),
    'Cannot use the option "pmemNodes" of the store: expected a list, found "2"',
  ],
  [
    "a trainer's layers that are no list",
    () => trainerOptions({ data: "train.bin", hidden: 8 as unknown as number[] }),
    'Cannot use the option "hidden" of the trainer: expected a list, found 8',
  ],
  [
    "a table's initialiser",
    () => tableOptions(unchecked({ name: "t", initialiser: 0 })),
    'Cannot use the option "initialiser" of the table: there is no such option; did you mean "initializer"?',
  ],
  [
    "an admission's frequenzy",
    () => tableOptions(unchecked({ name: "t", admission: { counter: { frequenzy: 2 } } })),
    'Cannot use the option "frequenzy" of the admission "counter": there is no such option; did you mean "frequency"?',
  ],
  [
    "a counter's error, which Bloom filters have",
    () => tableOptions(unchecked({ name: "t", admission: { counter: { error: 0.1 } } })),
    'Cannot use the option "error" of the admission "counter"',
  ],
  [
    "an unknown admission",
    () => tableOptions(unchecked({ name: "t", admission: { cbf: {} } })),
    'Cannot use the admission "cbf": expected "counter" or "bloom"',
  ],
  ["an empty admission", () => tableOptions(unchecked({ name: "t", admission: {} })), "Cannot use the admission {}"],
  [
    "two admissions",
    () => tableOptions(unchecked({ name: "t", admission: { counter: {}, bloom: {} } })),
    'Cannot use two of admission at once: "counter" and "bloom"',
  ],
  [
    "an expiry's step",
    () => tableOptions(unchecked({ name: "t", expire: { step: 2 } })),
    'Cannot use the option "step" of the expiry: there is no such option; did you mean "steps"?',
  ],
  [
    "an initialiser's std",
    () => tableOptions(unchecked({ name: "t", initializer: { truncatedNormal: { stdev: 2 } } })),
    'Cannot use the option "stdev" of the initialiser "truncatedNormal": there is no such option; did you mean "stddev"?',
  ],
];

Deno.test.each(refusals)("unknown options are refused: %s", (_, call, message) => {
  assertThrows(call, TypeError, message);
});

Deno.test("an option that is undefined counts as absent", () => {
  assertEquals(storeOptions(unchecked({ storage: "DRAM", sizes: undefined, path: undefined })), { storage: "DRAM" });
});

Deno.test("seedText() takes unsigned 64-bit numbers only", () => {
  assertEquals(seedText(2n ** 64n - 1n), "18446744073709551615");
  for (const seed of [-1, -1n, 2n ** 64n, 0.5, 2 ** 53, NaN]) {
    assertThrows(() => seedText(seed), RangeError, `Cannot use the seed ${seed}`);
  }
});

const optimizers: readonly [OptimizerOptions, Record<string, string>][] = [
  ["sgd", { optimizer: "sgd" }],
  [{ sgd: { learningRate: 0.5 } }, { optimizer: "sgd", learning_rate: "0.5" }],
  [{ adagrad: { learningRate: 0.1, initialAccumulator: 0.2 } }, {
    optimizer: "adagrad",
    learning_rate: "0.1",
    initial_accumulator: "0.2",
  }],
  [{ ftrl: { l1: 1, l2: 2, form: "row-norm" } }, { optimizer: "ftrl-row-norm", l1: "1", l2: "2" }],
  [{ ftrl: {} }, { optimizer: "ftrl" }],
  [{ ftrl: { l2Shrinkage: 0.5, learningRate: 1, initialAccumulator: 3, form: "per-coordinate" } }, {
    optimizer: "ftrl",
    l2_shrinkage: "0.5",
    learning_rate: "1",
    initial_accumulator: "3",
  }],
  ["rowwiseAdagrad", { optimizer: "rowwise-adagrad" }],
  [{ rowwiseAdagrad: { learningRate: 0.1, initialAccumulator: 0.5, epsilon: 1e-7 } }, {
    optimizer: "rowwise-adagrad",
    learning_rate: "0.1",
    initial_accumulator: "0.5",
    epsilon: "1e-7",
  }],
  ["adagradDecay", { optimizer: "adagrad-decay" }],
  [{
    adagradDecay: {
      learningRate: 0.1,
      initialAccumulator: 0.2,
      decayStep: 1000,
      decayRate: 0.5,
      decayBaseline: 0,
      form: "v2",
    },
  }, {
    optimizer: "adagrad-decay-v2",
    learning_rate: "0.1",
    initial_accumulator: "0.2",
    decay_step: "1000",
    decay_rate: "0.5",
    decay_baseline: "0",
  }],
  ["adam", { optimizer: "adam" }],
  [{ adam: { learningRate: 0.001, beta1: 0, beta2: 0.99, epsilon: 1e-7 } }, {
    optimizer: "adam",
    learning_rate: "0.001",
    beta1: "0",
    beta2: "0.99",
    epsilon: "1e-7",
  }],
  ["adamAsync", { optimizer: "adam-async" }],
  [{ adamAsync: { applySparseRmsprop: true, beta1: 0.5 } }, {
    optimizer: "adam-async",
    apply_sparse_rmsprop: "1",
    beta1: "0.5",
  }],
  [{ adamAsync: { applySparseRmsprop: false } }, { optimizer: "adam-async", apply_sparse_rmsprop: "0" }],
  ["adamW", { optimizer: "adamw" }],
  [{ adamW: { weightDecay: 0.01, epsilon: 1 } }, { optimizer: "adamw", weight_decay: "0.01", epsilon: "1" }],
];

Deno.test.each(optimizers)("tableOptions() writes the optimizer %j", (optimizer, words) => {
  assertEquals(tableOptions({ name: "t", optimizer }), { name: "t", ...words });
});

Deno.test("tableOptions() writes the type of weights", () => {
  assertEquals(tableOptions({ name: "t", dtype: "bf16" }), { name: "t", dtype: "bf16", optimizer: "sgd" });
});

Deno.test("tableOptions() writes every initialiser", () => {
  const words = (initializer: Parameters<typeof tableOptions>[0]["initializer"]): Record<string, string> => {
    const { name: _, optimizer: __, ...others } = tableOptions(
      initializer === undefined ? { name: "t" } : { name: "t", initializer },
    );
    return others;
  };
  assertEquals(words(undefined), {});
  assertEquals(words(1), { initializer: "constant", "initializer.value": "1" });
  assertEquals(words({ constant: -1 }), { initializer: "constant", "initializer.value": "-1" });
  assertEquals(words({ uniform: { low: 0, high: 1e-7 } }), {
    initializer: "uniform",
    "initializer.low": "0",
    "initializer.high": "1e-7",
  });
  assertEquals(words({ truncatedNormal: { stddev: 0.1 } }), {
    initializer: "truncated-normal",
    "initializer.stddev": "0.1",
  });
  assertEquals(words({ glorot: { fanOut: 8 } }), { initializer: "glorot", "initializer.fan_out": "8" });
  assertEquals(words({ defaultValueMatrix: {} }), { initializer: "default-value-matrix" });
  assertEquals(words({ defaultValueMatrix: { rows: 8, base: { constant: 2 } } }), {
    initializer: "default-value-matrix",
    "initializer.rows": "8",
    "initializer.base": "constant",
    "initializer.value": "2",
  });
});

Deno.test("tableOptions() refuses unknown and doubled choices", () => {
  for (const wrong of ["adamax", { adamax: {} }, "toString", {}] as unknown as OptimizerOptions[]) {
    const name = typeof wrong === "string" ? wrong : Object.keys(wrong)[0] ?? "";
    const message = `Cannot use the optimizer "${name}": expected one of "sgd", "adagrad"`;
    assertThrows(() => tableOptions({ name: "t", optimizer: wrong }), TypeError, message);
  }
  const both = { sgd: {}, adagrad: {} } as OptimizerOptions;
  assertThrows(() => tableOptions({ name: "t", optimizer: both }), TypeError, "two optimizers at once");
  assertThrows(
    () => tableOptions({ name: "t", initializer: { normal: {} } as unknown as number }),
    TypeError,
    'Cannot use the initialiser "normal"',
  );
});
