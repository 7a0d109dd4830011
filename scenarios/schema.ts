/**
 * The one definition of a scenario. {@linkcode Scenario} is what people write (nearly everything has a default),
 * {@linkcode ResolvedScenario} is what runs (every default filled in); a resolved scenario is itself a valid scenario.
 * `scenarios/scenario.schema.json`, which gives editors their hovers and completions, is emitted from here.
 *
 * @module
 */

import { EVICTION_POLICIES } from "../base/policies.ts";
import { parseBytes } from "../base/bytes.ts";
import * as v from "../base/valibot.ts";
import { DURATION_PATTERN, SIZE_PATTERN } from "../base/units.ts";
import { machineCostSchema } from "../models/costs/machine_cost_schema.ts";
import { targetSchema } from "../models/simulation/target.ts";
import { SKEWS } from "../models/workloads/skews.ts";
import { nearest } from "../base/nearest.ts";
import { named, variedField } from "../base/names.ts";
import { oneOf } from "../base/one_of.ts";
import { rowFilter } from "./row_filter_schema.ts";
import { checkpoint } from "./checkpoint_schema.ts";
import { rankCluster } from "./cluster.ts";
import type { Scenario, Size } from "./scenario.ts";
import { auto, described, flag, real, whole, widths } from "../base/schema_parts.ts";
import { HBM_LIBRARIES, PMEM_LIBRARIES, STORAGE_TYPES } from "../ffi/storage.ts";
import { MODELS } from "../models/workloads/training.ts";
import {
  ablation,
  dims,
  embeddingOptimizer,
  optimisations,
  partOptimizer,
  tables,
  wideOptimizer,
} from "./training_schema.ts";

export type * from "./scenario.ts";

/** Points that a matrix cannot vary, since they belong to the whole run. */
export const FIXED_FIELDS: readonly string[] = [
  "$schema",
  "version",
  "name",
  "about",
  "matrix",
  "ablation",
  "repetitions",
  "sampling",
  "aa",
  "budget",
  "quality",
  "target",
  "cost",
  "whenUnavailable",
];

const SIZE_FORM = 'expected a size such as "24 MiB"';
const PRICES_FORM = 'expected a CSV file such as "prices.csv"';
const WORKER_FORM = 'expected a machine of the price book such as "p4d.24xlarge", or $ an hour';
const DATE_FORM = 'expected a date such as "2026-11"';
const DATE_PATTERN = /^\d{4}(-(0[1-9]|1[0-2])(-\d{2})?)?$/;
const DURATION_FORM = 'expected a duration such as "150 s"';

const size = oneOf(
  [
    v.pipe(v.string(SIZE_FORM), v.regex(SIZE_PATTERN, SIZE_FORM)),
    v.pipe(v.number(), v.integer("expected whole bytes"), v.minValue(0, "expected bytes, 0 or more")),
  ],
  (input) => typeof input === "number" ? 1 : 0,
);

const skewNames = Object.keys(SKEWS);

const numerics = v.exactOptional(described(
  v.picklist(["log", "min-max"]),
  "What the model gets for a numeric value x: log: sign(x) log(1 + |x|) / 2; min-max: (x - minimum) / range with the " +
    'constants of DeepRec\'s Wide & Deep. Default "log".',
));

const syntheticData = v.strictObject({
  synthetic: described(
    v.picklist(["criteo-kaggle"]),
    "Seeded synthetic rows in the shape of this data set: 13 numeric and 26 categorical columns, labels from a " +
      "planted model whose AUC is known.",
  ),
  scale: v.exactOptional(
    real("Factor on the data set's cardinalities (33,762,577 ids at 1). Default 0.02.", 1e-5, 1),
  ),
  rows: v.exactOptional(whole("Training rows to generate. Default 1,000,000.", 1, 1e10)),
  testRows: v.exactOptional(whole("Held-out rows to generate. Default 100,000.", 1, 1e9)),
  skew: v.exactOptional(described(
    oneOf([
      v.picklist(skewNames),
      v.strictObject({
        s: real("Exponent; 0 is uniform.", 0, 10),
        q: real("Shift; flattens the head.", 0, 1e9),
        rows: v.exactOptional(
          real(
            "Rows of the table whose law has this q; 0: each column's own rows in Criteo Kaggle. Default 0.",
            0,
            1e15,
          ),
        ),
      }),
    ], (input) => typeof input === "object" && input !== null ? 1 : 0),
    `How often ids repeat: a named skew (${skewNames.join(", ")}) or the Zipf-Mandelbrot parameters ` +
      'of weight (rank + q)^-s. Default "criteo".',
  )),
  numerics,
});

const criteoData = v.strictObject({
  criteo: described(
    oneOf([
      v.pipe(v.string(), v.minLength(1, "expected the path of a file")),
      v.pipe(
        v.array(v.pipe(v.string(), v.minLength(1, "expected the path of a file"))),
        v.minLength(1, "expected at least one file"),
      ),
    ], (input) => Array.isArray(input) ? 1 : 0),
    "Rows in Criteo's format (label, I1..I13, C1..C26), plain or gzip; relative to the scenario file. A list of files is " +
      "read as one.",
  ),
  format: v.exactOptional(described(
    v.picklist(["auto", "tsv", "csv"]),
    'tsv: no header, hexadecimal ids; csv: with a header line. Default "auto".',
  )),
  testEvery: v.exactOptional(whole("Every n-th row is held out for the AUC. Default 10.", 2, 1e6)),
  maxRows: v.exactOptional(whole("Rows to read at most; 0 reads all. Default 0.", 0, 1e12)),
  onError: v.exactOptional(described(
    v.picklist(["error", "skip"]),
    "What becomes of a line that is no row (wrong columns, a label other than 0 and 1, a number or id that is none). " +
      'error: the run stops and names file and line; skip: it is left out, counted and reported. Default "error".',
  )),
  numerics,
});

const finite = (text: string) => real(text, -1e6, 1e6);
const constant = v.strictObject({ constant: finite("Every weight.") });
const uniform = v.strictObject({
  uniform: described(
    v.pipe(
      v.strictObject({ low: finite("Lower end, included."), high: finite("Upper end, excluded.") }),
      v.check(({ low, high }) => low < high, 'expected "low" below "high"'),
    ),
    "Uniform in an interval.",
  ),
});
const truncatedNormal = v.strictObject({
  truncatedNormal: described(
    v.strictObject({
      mean: v.exactOptional(finite("Mean. Default 0.")),
      stddev: v.exactOptional(real("Standard deviation. Default 0.05.", 0, 1e6)),
    }),
    "Normal; values beyond two standard deviations are drawn again.",
  ),
});
const glorot = v.strictObject({ glorot: described(v.strictObject({}), "Uniform within sqrt(3 / dim) of 0.") });

/** Initialisers that have parameters, in the order of their schemas, which come after that of the names. */
const INITIALIZERS = ["constant", "uniform", "truncatedNormal", "glorot", "defaultValueMatrix"];

/** The position of the schema that an initialiser means, also if it is misspelt. */
function pickInitializer(input: unknown): number {
  if (typeof input !== "object" || input === null) return 0;
  const [key = ""] = Object.keys(input);
  return 1 + INITIALIZERS.indexOf(nearest(key, INITIALIZERS) ?? "truncatedNormal");
}

const distributionName = v.picklist(["truncatedNormal", "glorot"]);
const defaultValueMatrix = v.strictObject({
  defaultValueMatrix: described(
    v.strictObject({
      rows: v.exactOptional(whole("Rows of the matrix. Default 4096.", 1, 2 ** 40)),
      base: v.exactOptional(described(
        oneOf([distributionName, constant, uniform, truncatedNormal, glorot], pickInitializer),
        'What the matrix is drawn from. Default "truncatedNormal".',
      )),
    }),
    "DeepRec's default-value matrix: the row of key k begins as row k mod rows.",
  ),
});

const initializer = oneOf(
  [distributionName, constant, uniform, truncatedNormal, glorot, defaultValueMatrix],
  pickInitializer,
);

const workload = v.strictObject({
  model: v.exactOptional(described(
    v.picklist(MODELS),
    'What is trained. "wdl": Wide & Deep, a linear part with FTRL beside an MLP; "dlrm": an MLP over the numerics, the ' +
      'dot products of its output and all embeddings, an MLP over them; "deepfm": a factorisation machine beside an ' +
      'MLP. Default "wdl".',
  )),
  data: v.exactOptional(described(
    oneOf(
      [syntheticData, criteoData],
      (input) => typeof input === "object" && input !== null && "criteo" in input ? 1 : 0,
    ),
    "What is trained on: generated rows or a file of real ones.",
  )),
  batch: v.exactOptional(whole("Training samples a step. Default 2048.", 1, 1_000_000)),
  steps: v.exactOptional(auto(
    whole("Counted steps of each sample.", 1, 10_000_000),
    'Counted steps of each sample, or "auto": as many as the budget allows, equal for all configurations. ' +
      'Default "auto".',
  )),
  warmup: v.exactOptional(whole(
    'Steps before the counted ones. Default 10; with "smartStage" in any case 48, which it takes to choose, and not less.',
    0,
    1_000_000,
  )),
  dim: v.exactOptional(whole("Weights of an embedding row. Default 16.", 1, 1024)),
  dims: v.exactOptional(described(
    dims,
    'Weights of an embedding row in columns that differ from "dim", as { "C3": 128 }, or of all 26 in a list. "wdl" only: ' +
      "the other models multiply embeddings with one another.",
  )),
  tables: v.exactOptional(described(
    tables,
    'All embedding tables by name, in the order of their vectors, as { "C1": {}, "visited": { "columns": ["C2", "C3"], ' +
      '"combiner": "mean" } }. Columns in none of them have no embedding; the wide part has all columns. Not beside "dims". ' +
      "Default: one for each of C1 to C26.",
  )),
  hidden: v.exactOptional(
    widths("Widths of the hidden layers; of DLRM, of its top MLP. Default [1024, 512, 256].", 16),
  ),
  bottom: v.exactOptional(widths(
    'Widths of the layers of DLRM\'s bottom MLP, before its last one, which has as many outputs as "dim". "dlrm" only. ' +
      "Default [512, 256].",
    15,
  )),
  dropout: v.exactOptional(
    real("Share of hidden units that each training step sets to 0, drawn by the seed. Default 0.", 0, 0.9),
  ),
  threads: v.exactOptional(auto(
    whole("Compute threads.", 1, 1024),
    'Compute threads, or "auto": one for every CPU this process may use. Default "auto".',
  )),
  deterministic: v.exactOptional(flag(
    "Whether a batch is cut into a fixed number of shards, so that results are the same to the bit for every number of " +
      "threads; false is the fast mode, with a shard a thread. The report says what it changes. Default true.",
  )),
  optimizer: v.exactOptional(described(
    v.strictObject({
      wide: v.exactOptional(described(
        wideOptimizer,
        'Optimizer of the linear part of "wdl", of the first-order part of "deepfm". Default "ftrl".',
      )),
      deep: v.exactOptional(described(
        partOptimizer,
        'Optimizer of the dense layers, and of the embeddings without "embedding". Default "adagrad".',
      )),
      embedding: v.exactOptional(described(
        embeddingOptimizer,
        'Optimizer of the embeddings, also "ftrl". Parameters that "deep" has too, except the learning rate, are those of "deep". ' +
          'Default: as "deep".',
      )),
    }),
    "How weights are updated.",
  )),
  optimisations: v.exactOptional(described(
    optimisations,
    "What is done to make training faster. Defaults are what is fast and keeps results.",
  )),
  initializer: v.exactOptional(
    described(initializer, 'First values of embedding rows, by name or with parameters. Default "truncatedNormal".'),
  ),
  ...rowFilter,
});

const configuration = v.strictObject({
  about: v.exactOptional(described(v.string(), "One sentence for the report.")),
  machine: v.exactOptional(described(
    machineCostSchema,
    "What one machine costs that holds the tables: a machine of the price book, an hour's price, or parts; so many are priced " +
      'as hold the model of "cost.priceFor". Default: the cheapest machines that do.',
  )),
  storage: described(
    v.picklist(STORAGE_TYPES),
    "Tiers, fastest first. DRAM; PMEM_LIBPMEM (file of a DAX file system); PMEM_MEMKIND and PMEM_MBIND (PMEM or CXL " +
      "memory as a NUMA node); SSDHASH and LEVELDB (files on a disk); DRAM_PMEM, DRAM_SSDHASH, DRAM_LEVELDB, DRAM_PMEM_SSDHASH " +
      "and DRAM_PMEM_LEVELDB (hot rows in the first, the coldest in the last); HBM, and HBM_ before any with DRAM first.",
  ),
  pmem: v.exactOptional(
    described(
      v.picklist(PMEM_LIBRARIES),
      "What holds the PMEM tier of DRAM_PMEM, DRAM_PMEM_SSDHASH and DRAM_PMEM_LEVELDB: libpmem, a file of a DAX file " +
        "system; memkind or mbind, NUMA nodes of PMEM or CXL memory, by that library or by the system call. Required there.",
    ),
  ),
  hbm: v.exactOptional(described(
    v.picklist(HBM_LIBRARIES),
    "What holds the HBM tier: memkind or mbind, NUMA nodes of HBM that the CPU addresses; opencl, the memory of an OpenCL " +
      "device, a GPU, or a CPU where it is emulated. Required with HBM.",
  )),
  hbmNodes: v.exactOptional(auto(
    v.pipe(v.array(whole("NUMA node.", 0, 4095)), v.minLength(1, "expected at least one node")),
    'hbm memkind and mbind: NUMA nodes of HBM, or "auto": those that firmware shows to be faster than DRAM. Default "auto".',
  )),
  hbmDevice: v.exactOptional(described(
    v.pipe(v.string(), v.minLength(1, "expected a part of a device's name")),
    "hbm opencl: part of the name of the device or of its platform. Default: a GPU, or else any device.",
  )),
  hbmPoolSteps: v.exactOptional(whole(
    "hbm opencl: 0, the tier's share of the device is taken whole at opening; else it is taken as rows need it, and made one " +
      "piece of the bytes that so many steps have shown to be needed. Default 0.",
    0,
    1_000_000,
  )),
  hbmHostBytes: v.exactOptional(described(
    size,
    "hbm opencl: bytes of the host's memory in which the tier goes on where the device is full; they add to its size, and " +
      "kernels reach rows there over the link. Default 0.",
  )),
  path: v.exactOptional(described(
    v.pipe(v.string(), v.minLength(1, "expected a directory")),
    'libpmem: directory of the pool file, or "auto": a DAX file system of this machine. Without libpmem: what ' +
      'ssdPath is. Default "auto".',
  )),
  ssdPath: v.exactOptional(described(
    v.pipe(v.string(), v.minLength(1, "expected a directory")),
    'SSDHASH and LEVELDB: directory on the disk to measure, or "auto": the project\'s cache folder. Each sample has a ' +
      'folder of its own in it, removed at its end. Default "auto".',
  )),
  ssd: v.exactOptional(described(
    v.strictObject({
      media: described(v.string(), 'Media model of one drive, by name or path, such as "nvme-tlc".'),
      devices: v.exactOptional(whole("Drives that hold the directory together. Default 1.", 1, 1024)),
    }),
    "SSDHASH and LEVELDB: what the disk is, for simulations of the same and for bills. A run measures it as it is.",
  )),
  nodes: v.exactOptional(auto(
    v.pipe(v.array(whole("NUMA node.", 0, 4095)), v.minLength(1, "expected at least one node")),
    'memkind and mbind: NUMA nodes of the PMEM or CXL memory, or "auto": the nodes of this machine without CPUs. ' +
      'Default "auto".',
  )),
  size: v.exactOptional(described(
    v.pipe(v.array(size), v.minLength(1, "expected at least one size")),
    "Bytes of each tier, fastest first; missing entries are 1 GiB. Default: an eighth of the tables' rows for HBM " +
      "above others, `dram` for DRAM above others, half of the rows for PMEM between, room for every row in the last.",
  )),
  sizeCounts: v.exactOptional(described(
    v.picklist(["all", "rows"]),
    'What counts against the sizes: everything the store holds, or padded rows only (DeepRec\'s way). Default "all".',
  )),
  policy: v.exactOptional(described(
    v.picklist(EVICTION_POLICIES),
    'Which rows leave a full tier; with several tiers only. Default "clock".',
  )),
  evictionThreads: v.exactOptional(whole(
    "Background threads that move rows down; 0: the training threads do. With several tiers only. Default 1.",
    0,
    64,
  )),
  memory: v.exactOptional(described(
    v.picklist(["memory-mode", "weighted-interleave", "kernel-tiering"]),
    "With storage DRAM only. memory-mode: the machine's DRAM is a cache in front of PMEM. weighted-interleave: pages of " +
      "rows are spread over DRAM and slower nodes by the kernel's weights. kernel-tiering: the kernel moves hot pages to " +
      "DRAM and cold ones to slower nodes; that has no emulation, and is left out where it cannot be measured.",
  )),
  weights: v.exactOptional(described(
    v.pipe(
      v.array(whole("Pages in turn.", 1, 255)),
      v.length(2, "expected two weights: of DRAM, and of the slower nodes"),
    ),
    "weighted-interleave: pages in turn from each node of DRAM and from each slower node. Default [1, 4].",
  )),
  medium: v.exactOptional(described(
    v.picklist(["pmem", "cxl"]),
    "What the memory below DRAM has to be: PMEM, or memory behind CXL. Without it either is taken, PMEM first.",
  )),
  media: v.exactOptional(described(
    v.string(),
    'Media model, by name or path, that a missing medium is emulated as. Default "cxl-type3-ddr4" where the medium is to be CXL memory, ' +
      'else "optane-100-6x256".',
  )),
  checkpoint: v.exactOptional(described(
    v.picklist(["full", "delta", "in-place"]),
    '"full", "delta": in files, as "checkpoint.kind" says it for all; "in-place": restore points in the last tier, SSDHASH or PMEM ' +
      'over libpmem, which outlives the process. Default: "checkpoint.kind".',
  )),
});

const matrixValue = v.union([v.string(), v.number(), v.boolean()], "expected text, a number, true or false");

/** Validates what {@linkcode Scenario} describes; rules between fields are in `check.ts`. */
export const scenarioSchema: v.GenericSchema<Scenario> = v.strictObject({
  $schema: v.exactOptional(described(v.string(), "Where editors find the schema of this file.")),
  version: v.exactOptional(described(v.literal(1), "Version of the scenario format. Default 1.")),
  name: described(named("a name"), "Names the run and its folder of results."),
  about: v.exactOptional(described(v.string(), "What the scenario shows, in a sentence or two.")),
  workload: v.exactOptional(described(workload, "What is trained.")),
  configurations: described(
    v.pipe(
      v.record(named("a name"), configuration),
      v.check((record) => Object.keys(record).length > 0, "expected at least one configuration"),
    ),
    "The ways to hold the embedding tables that are compared, by name.",
  ),
  dram: v.exactOptional(auto(
    size as v.GenericSchema<string | number>,
    'DRAM of every configuration with a tier below DRAM, at most a quarter of the bytes of the tables\' rows, or "auto": exactly ' +
      'a quarter, rounded down to 64 KiB. Default "auto".',
  )),
  repetitions: v.exactOptional(
    whole("Samples of each case, each in its own process; 3 at least. Default 3.", 3, 1000),
  ),
  sampling: v.exactOptional(described(
    v.picklist(["auto", "turns", "processes"]),
    "How the samples of a round share its time. processes: one process after the other. turns: all at once, a few steps " +
      "each in turn, so that what else the machine does meets all alike. auto: in turns where they fit into memory together " +
      'and the first round shows that this is the more precise. Default "auto".',
  )),
  aa: v.exactOptional(described(
    v.boolean("expected true or false"),
    "Whether a repeated contender runs in every round, which shows how far a case is from itself. Default true.",
  )),
  budget: v.exactOptional(described(
    oneOf([
      v.pipe(v.string(DURATION_FORM), v.regex(DURATION_PATTERN, DURATION_FORM)),
      v.pipe(v.number(), v.minValue(1, "expected seconds, 1 or more")),
    ], (input) => typeof input === "number" ? 1 : 0),
    'Wall time of the whole run, which sizes "auto" steps. Default "150 s".',
  )),
  quality: v.exactOptional(described(
    v.strictObject({
      samples: v.exactOptional(auto(
        whole("Training samples.", 0, 1e12),
        'Training samples of the run, or "auto": every training row once, or as many as half the budget allows; 0 ' +
          'leaves the run out. Default "auto".',
      )),
      evaluations: v.exactOptional(whole("Points on its curve. Default 4.", 1, 1000)),
      testRows: v.exactOptional(whole("Held-out rows scored at each point; 0 is all. Default 0.", 0, 1e9)),
      targetAuc: v.exactOptional(
        real("AUC whose time is a result: the report says after how many samples and seconds it is reached.", 0.5, 1),
      ),
    }),
    "The longer run that gives the AUC; once, since rows are equal to the bit on all configurations. An ablation has one " +
      "for each of its cases that changes results.",
  )),
  checkpoint: v.exactOptional(checkpoint),
  cluster: v.exactOptional(rankCluster),
  target: v.exactOptional(described(
    targetSchema,
    "What must be met: samplesPerSecond, p99Ms, dollarsPerHour, at least one. The report says which cases meet it, miss it, or " +
      "cannot be told.",
  )),
  cost: v.exactOptional(described(
    v.strictObject({
      model: v.exactOptional(described(
        v.picklist(["cloud", "owned"]),
        '"cloud": rented machines, paid by the hour; "owned": servers that are bought. Default "cloud".',
      )),
      prices: v.exactOptional(described(
        v.pipe(v.string(DATE_FORM), v.regex(DATE_PATTERN, DATE_FORM)),
        'Date of the prices: the latest that the price book has by then. Default "2026-11".',
      )),
      priceFiles: v.exactOptional(described(
        v.array(v.pipe(v.string(PRICES_FORM), v.minLength(1, PRICES_FORM)), "expected a list of CSV files"),
        "Own files of prices (CSV); their rows win over those of the price book on the same item.",
      )),
      boundary: v.exactOptional(described(
        v.picklist(["parameter-servers", "workers", "storage", "checkpoints"]),
        'What is paid for, each with those before it: "parameter-servers", the machines that hold the tables; "workers"; ' +
          '"storage" of the training data; "checkpoints". Default "checkpoints", the whole bill.',
      )),
      bill: v.exactOptional(described(
        v.strictObject({
          workers: v.exactOptional(whole("Training workers. Default 1.", 0, 1e6)),
          worker: v.exactOptional(described(
            oneOf(
              [
                v.pipe(v.string(WORKER_FORM), v.minLength(1, WORKER_FORM)),
                v.pipe(v.number(), v.check((price) => price > 0 && price < 1e6, "expected $ an hour above 0")),
              ],
              (input) => typeof input === "number" ? 1 : 0,
            ),
            'A worker: a machine of the price book, or $ an hour. Default "p4d.24xlarge".',
          )),
          data: v.exactOptional(described(size, 'Training data that is kept. Default "1 TB".')),
          checkpoints: v.exactOptional(whole("Checkpoints that are kept. Default 2.", 0, 1e6)),
        }),
        "What the job has beside parameter servers, for the wider boundaries.",
      )),
      priceFor: v.exactOptional(described(
        v.pipe(size, v.check((written) => parseBytes(written as Size) > 0, "expected a size above 0")),
        'Size of the tables that are priced. Default "500 GB".',
      )),
    }),
    "How speed becomes money.",
  )),
  matrix: v.exactOptional(described(
    v.record(
      variedField,
      v.pipe(v.array(matrixValue, "expected a list of values"), v.minLength(1, "expected at least one value")),
    ),
    'Fields to vary, as "workload.batch": [512, 2048]; the run has a case for every combination.',
  )),
  ablation: v.exactOptional(described(
    ablation,
    "What each optimisation is worth: the run has a case without any of the switches, and of every configuration one " +
      "with each alone, one with all, and one with all but each.",
  )),
  seed: v.exactOptional(
    whole("Seed of data, initial values, batches and order. Default 0.", 0, Number.MAX_SAFE_INTEGER),
  ),
  whenUnavailable: v.exactOptional(described(
    v.picklist(["emulate", "error", "skip"]),
    "What becomes of a configuration whose medium is not here: emulated and named so, an error, or left out. " +
      'Default "emulate".',
  )),
});
