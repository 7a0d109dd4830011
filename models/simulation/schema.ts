/**
 * The one definition of a simulation's fields, for checking and for editors. Rules between fields are in `check.ts`.
 *
 * @module
 */

import { named, shownName, variedField } from "../../base/names.ts";
import { oneOf } from "../../base/one_of.ts";
import { machineCostSchema, priceDate } from "../costs/machine_cost_schema.ts";
import { described, flag, real, whole } from "../../base/schema_parts.ts";
import { SIZE_PATTERN } from "../../base/units.ts";
import * as v from "../../base/valibot.ts";
import { TABLE_OPTIMIZERS } from "../workloads/row_bytes.ts";
import { tablesSchema } from "../workloads/table_forms.ts";
import { targetSchema } from "./target.ts";
import {
  HITS_METHODS,
  METRICS,
  MODES,
  RANGED_FIELDS,
  SIMULATED_POLICIES,
  type WrittenSimulation,
} from "./simulation.ts";
import { DURATION_FORM, DURATION_TEXT, RATE_FORM, RATE_TEXT } from "./units.ts";

const optional = v.exactOptional;

function textOrNumber(pattern: RegExp, form: string, what: string): v.GenericSchema<string | number> {
  const message = `expected ${what} such as ${form}`;
  return oneOf([
    v.pipe(v.string(message), v.regex(pattern, message)),
    v.pipe(v.number(message), v.minValue(0, message)),
  ], (input) => typeof input === "number" ? 1 : 0);
}

const duration = (text: string) => described(textOrNumber(DURATION_TEXT, DURATION_FORM, "a duration"), text);
const rate = (text: string) => described(textOrNumber(RATE_TEXT, RATE_FORM, "a rate"), text);
const size = (text: string) => described(textOrNumber(SIZE_PATTERN, '"24 GiB"', "a size"), text);
const words = (text: string) => described(v.pipe(v.string(), v.minLength(1, "expected text")), text);

const law = oneOf([
  v.strictObject({
    s: real("Exponent of the Zipf-Mandelbrot law (rank + q)^-s; 0 is uniform.", 0, 10),
    q: optional(real("Shift; flattens the head. Default 0.", 0, 1e15)),
    hitters: optional(described(
      v.array(real("Share of all accesses.", 0, 1)),
      "Shares of the accesses that single rows have before the law: heavy hitters, as in FBGEMM's EEG.",
    )),
  }),
  v.strictObject({
    buckets: described(
      v.pipe(
        v.array(v.strictTuple([whole("Rows.", 1, 2 ** 53 - 1), real("Weight of each of them.", 0, 1e300)])),
        v.minLength(1, "expected at least one bucket"),
        v.maxLength(8192, "expected at most 8192 buckets"),
      ),
      "A reuse histogram: [rows, weight of each] pairs. Scaled to the table's rows, its shape kept.",
    ),
    of: optional(described(
      v.strictObject({
        profile: words("Its name."),
        table: words("The table in it."),
        leftOut: described(v.array(v.string()), "What it says beside popularity, which is not simulated."),
        fault: optional(words("How far its keys miss the trace that it was fitted to, if by more than they should.")),
      }),
      "The profile that the buckets are from, written by tierbench.",
    )),
  }),
], (input) => typeof input === "object" && input !== null && "buckets" in input ? 1 : 0);

const tableFields = {
  count: optional(whole("Tables like this one. Default 1.", 1, 64)),
  rows: whole("Rows of the table.", 1, 2 ** 53 - 1),
  dim: whole("Weights of a row.", 1, 65_536),
  dtype: optional(
    described(v.picklist(["f32", "fp32", "bf16"]), 'Type of the weights; "fp32" is "f32". Default "f32".'),
  ),
  slots: optional(whole("Optimizer states as wide as the weights: 1 for Adagrad, 2 for Adam. Default 1.", 0, 8)),
  scalars: optional(
    whole("Single 32-bit numbers of an optimizer beside them: 1 for row-wise Adagrad. Default 0.", 0, 8),
  ),
  optimizer: optional(described(
    v.picklist(TABLE_OPTIMIZERS),
    "What updates the rows, as in plans: says how many slots and scalars there are, and wins over them.",
  )),
  overhead: optional(
    whole("Bytes of a row in the first tier beside weights and states: key, links, index. Default 16.", 0, 4096),
  ),
  lookups: optional(real("Keys that a sample has for this table, on average. Default 1.", 0, 1e6)),
  law: optional(described(law, "How popular the rows are. This or profile is required.")),
  profile: optional(described(
    oneOf([
      words("Name or path."),
      v.strictObject({ name: words("Name or path."), table: optional(words("The table in it.")) }),
      v.strictObject({
        s: real("Exponent of (rank + q)^-s, as in plans; 0 is uniform.", 0, 10),
        q: optional(real("Shift; flattens the head. Default 0.", 0, 1e15)),
      }),
    ], (input) => typeof input === "string" ? 0 : typeof input === "object" && input !== null && "s" in input ? 2 : 1),
    "Instead of a law: a shipped profile (tierbench list), or the path of a .json file. Its rows are scaled to the table's.",
  )),
};

const tables = tablesSchema(
  v.strictObject(tableFields),
  v.strictObject({ name: words("Names the table in the report."), ...tableFields }),
  64,
);

const compute = v.strictObject({
  dense: described(
    oneOf([
      textOrNumber(DURATION_TEXT, DURATION_FORM, "a duration"),
      v.strictObject({
        flopsPerSample: real("Floating-point operations of a sample, forward and backward.", 0, 1e15),
        gflops: real("Billion of them a second that a worker does.", 1e-3, 1e9),
      }),
      v.strictObject({
        result: words("A result.jsonl of a run on the machine, relative to this file: its dense phase."),
        configuration: optional(words("Configuration in it. Default: the first.")),
      }),
    ], (input) => typeof input !== "object" || input === null ? 0 : "result" in input ? 2 : 1),
    "Time of the dense part of a worker's step: a duration, operations and a rate, or a measured run.",
  ),
  on: optional(described(v.picklist(["cores", "accelerator"]), 'What computes it. Default "cores".')),
  spread: optional(
    real("Coefficient of variation of dense from step to step, log-normal; all wait for the slowest. Default 0.", 0, 2),
  ),
  rest: optional(
    duration("Time of a worker's step after its gradients are sent: dense optimizer, framework. Default 0."),
  ),
  parse: optional(duration("Core time of reading a worker's batch. Default 0.")),
  perKey: optional(duration("Core time a key, for finding duplicates; with servers the worker's. Default 0.")),
  perRow: optional(duration("Core time a distinct row looked up, without its memory accesses. Default 0.")),
  perUpdate: optional(duration("The same of a row that is updated. Default 0.")),
  perLock: optional(duration("What such a row takes longer for each other thread at the same memory. Default 0.")),
  perMessage: optional(
    duration("What a message holds each end of its link beside its bytes, with servers. Default 0."),
  ),
  activations: optional(described(
    v.picklist(["caches", "first-tier"]),
    "Where embeddings that were looked up and their gradients are, a row for each key: in the processor's caches, or written to " +
      'and read from the first tier, as a GPU does. Default "caches".',
  )),
  source: words("Where these times are from."),
});

const overlap = v.strictObject({
  ahead: optional(whole("Batches read ahead of their steps; 0: each step reads its own first. Default 1.", 0, 8)),
  prefetch: optional(
    flag("Whether rows of the next batch are brought into the first tier ahead of it. Default false."),
  ),
  async: optional(flag("Whether lookups of the next step run beside the dense part of this one. Default false.")),
  microBatches: optional(whole("Pieces that dense work is cut into. Default 1.", 1, 64)),
});

const cluster = v.strictObject({
  workers: optional(whole("Processes that train together. Default 1.", 1, 1024)),
  workersPerHost: optional(whole("Workers that share a machine and its link. Default 1.", 1, 64)),
  servers: optional(
    whole("Parameter servers; 0: the tables are in the memory of the training machine. Default 0.", 0, 256),
  ),
  cores: optional(whole("Cores of a machine that holds tables. Default 16.", 1, 1024)),
  backgroundThreads: optional(whole("Its threads that move rows in the background. Default 1.", 0, 256)),
  stageThreads: optional(whole("Threads that read batches ahead. Default 1.", 1, 64)),
  network: optional(described(
    v.strictObject({
      bandwidth: rate("Of a machine's link, each direction."),
      latency: optional(duration("Of a message. Default 10 us.")),
    }),
    "Between machines.",
  )),
  allReduce: optional(size("Dense gradients that hosts exchange a step. Default 0.")),
});

const tier = v.strictObject({
  media: words("Media model: a name in models/media, or the path of a file."),
  size: optional(size("Bytes for rows; without it, whatever the tiers above do not hold. Required but for the last.")),
  store: optional(described(
    v.picklist(["cached", "nt", "flush"]),
    "How rows are written: ordinary stores, non-temporal ones (libpmem), or stores flushed line by line. Default: the mode's.",
  )),
  round: optional(whole("Rows take a multiple of this many bytes. Default: the mode's.", 1, 65_536)),
  devices: optional(whole("Devices of the medium side by side: drives, expanders. Default 1.", 1, 1024)),
  hops: optional(whole("NUMA hops of remote accesses. Default 0.", 0, 4)),
  remote: optional(real("Share of accesses that are remote. Default 1 with hops.", 0, 1)),
  depth: optional(
    whole(
      "Accesses that a core keeps under way beyond what the media model gives it. Default: 1; of ssd 128.",
      1,
      4096,
    ),
  ),
  perRead: optional(duration("Added to each read by one core, such as a system call or a page walk. Default 0.")),
  perWrite: optional(duration("The same of writes. Default 0.")),
});

const configuration = v.strictObject({
  about: optional(described(v.string(), "One sentence for the report.")),
  mode: described(
    v.picklist(MODES),
    "How memory is set up. dram, cxl, hbm: loads and cached stores. fsdax: libpmem, non-temporal stores, rows of whole " +
      "256 B. kmem-dax: PMEM as a NUMA node, cached stores. memory-mode: DRAM as the machine's cache of PMEM; two tiers. " +
      "ssd: rows in files, the last tier.",
  ),
  tiers: described(
    v.pipe(v.array(tier), v.minLength(1, "expected at least one tier"), v.maxLength(4, "expected at most 4 tiers")),
    "Where rows live, fastest first.",
  ),
  policy: optional(described(
    v.picklist(SIMULATED_POLICIES),
    'Which rows leave a full tier. "set-associative": the least recently used of the places that a row may have (ways), as in GPUs\' row caches, two tiers. Default "lru".',
  )),
  ways: optional(whole("Places of a set of a set-associative first tier. Default 32.", 2, 4096)),
  hits: optional(described(
    v.picklist(HITS_METHODS),
    "How it is known what the first tier holds. analytic: Che's formula for lru, the most popular rows for lfu, lru over sets for set-associative; sampled: " +
      "the store's own policy code on a model of the law, two tiers; exact: the same code on the workload's trace. " +
      "Default: analytic where there is a formula.",
  )),
  placement: optional(described(
    v.picklist(["rows", "pages", "lines", "interleave"]),
    "Who decides what is in the first tier: rows, the store; pages, the kernel by NUMA balancing; lines, Memory Mode; " +
      "interleave, nobody: pages are dealt out by weights. Default: lines in Memory Mode, else rows.",
  )),
  weights: optional(described(
    v.pipe(v.array(whole("Pages.", 1, 255)), v.minLength(2, "expected a weight a tier"), v.maxLength(4)),
    "With interleave: pages that each tier gets in turn, as in Linux's weighted interleaving. Default: 1 each.",
  )),
  pages: optional(described(
    v.strictObject({
      bytes: optional(size("Page size. Default 4 KiB.")),
      contiguous: optional(flag("Whether pages are physically contiguous (1 GiB pages). Default false.")),
      fault: optional(duration("Time of a first touch of a page in the last tier. Default 0.")),
      trained: optional(whole("Steps trained before, which have touched pages. Default 100000.", 0, 1e12)),
    }),
    "Pages of the last tier.",
  )),
  migration: optional(described(
    v.strictObject({
      scan: rate("Address space that NUMA balancing scans a second."),
      perPage: duration("Kernel time of a page that moves."),
      within: optional(duration("A page that is touched again within this time moves up. Default 1 s.")),
    }),
    "Pages that the kernel moves by NUMA balancing.",
  )),
  software: optional(described(
    v.strictObject({
      maintenance: optional(described(
        v.picklist(["critical", "gap"]),
        'With servers: rows are moved while requests are served, or between pull and push. Default "critical".',
      )),
      miss: optional(
        duration(
          "Time of bringing a row up from a lower tier, and of the one that leaves for it, beside their memory accesses. Default 0.",
        ),
      ),
      upkeep: optional(
        duration(
          "Time of keeping a row in order, once a step for each different row: of servers by the threads of maintenance, on one machine of several tiers by those that look rows up. Default 0.",
        ),
      ),
      track: optional(
        duration(
          "Time of telling the policy that a key was looked up, for each key of a lookup where the store places rows in more than one tier. Default 0.",
        ),
      ),
      rowsInFlight: optional(real(
        "Rows that a thread waits for at the same time; 1: one row's pointers before the next one's. Default 0: as many as the medium's lines in flight allow.",
        0,
        1e6,
      )),
      lock: optional(duration("Time a row needs under a lock that all requests of a server share. Default 0.")),
      lockMisses: optional(
        flag("Whether that lock is held while rows are brought up; with one tier, read and written. Default false."),
      ),
      lockContention: optional(real("Share by which each further worker lengthens it. Default 0.", 0, 100)),
    }),
    "What a system's software adds to its memory accesses.",
  )),
  checkpoint: optional(described(
    v.strictObject({
      kind: described(
        v.picklist(["none", "incremental", "version"]),
        "incremental: training stops while rows changed since the last one are written; version: rows are written again " +
          "when they are touched next, and only dense weights stop training.",
      ),
      every: optional(duration("From one to the next. Default 20 min.")),
      bandwidth: optional(rate("At which rows or dense weights are written. Default 1 GB/s.")),
      dense: optional(size("Dense weights with their states. Default 0.")),
    }),
    "How rows and weights are saved.",
  )),
  machine: optional(described(
    machineCostSchema,
    "What one parameter server costs, or without servers the machine that trains: a machine of the price book, an hour's " +
      "price, or parts. Without it there is no price.",
  )),
});

const value = v.union([v.string(), v.number(), v.boolean()], "expected text, a number, true or false");
const point = described(v.record(variedField, value), 'Fields of the case, as { "cluster.workers": 8 }.');

const published = v.strictObject({
  figure: words("Name of the figure or table."),
  of: described(
    v.picklist(METRICS),
    "time: of an epoch, or any time per sample; miss-rate: rows not in the first tier, of all keys; extra-time: the share by " +
      "which a sample takes longer than in the case of relativeTo, an effect and no level.",
  ),
  configuration: words("Configuration of the case."),
  at: optional(point),
  value: real("What is published; an effect of less time is negative.", -1, 1e18),
  relativeTo: optional(described(
    v.strictObject({ configuration: words("Configuration that is 1."), at: optional(point) }),
    "The value is a multiple of what this case has; of extra-time, the share by which it is more.",
  )),
  source: words("Where it is published."),
  tolerance: real(
    "Share of the published value by which the simulated one may differ; of extra-time, the difference itself.",
    0,
    10,
  ),
  calibrates: optional(words("The parameter that was set by this very figure.")),
});

/** Validates what {@linkcode WrittenSimulation} describes. */
export const simulationSchema: v.GenericSchema<WrittenSimulation> = v.strictObject({
  $schema: optional(described(v.string(), "Where editors find the schema of this file.")),
  kind: described(v.literal("simulation"), "Runs in virtual time instead of on this machine."),
  version: optional(described(v.literal(1), "Version of the format. Default 1.")),
  name: described(
    named("a name"),
    "Names the run and its folder of results.",
  ),
  about: optional(described(v.string(), "What it shows, in a sentence or two.")),
  seed: optional(
    whole("Seed of the spread of counts and of sampled placements. Default 0.", 0, Number.MAX_SAFE_INTEGER),
  ),
  steps: optional(whole("Counted steps of each case. Default 64.", 1, 100_000)),
  warmup: optional(whole("Steps before them. Default 8.", 0, 10_000)),
  workload: described(
    v.strictObject({
      batch: whole("Samples of a worker's step.", 1, 1e9),
      trains: optional(flag("Whether rows are updated; false is serving. Default true.")),
      tables: described(tables, "The embedding tables: a list, or by name as in plans."),
      cycle: optional(whole(
        "Steps after which the same batches come again, as in benchmarks that make some and repeat them. Default 0: never.",
        0,
        1e6,
      )),
      trace: optional(
        words("Keys of all tables in their order, as for tierbench curve: what configurations with exact hits replay."),
      ),
    }),
    "What is trained.",
  ),
  compute: described(compute, "Time of computing, with its source."),
  software: optional(words(
    "Path of a file of prices that tierbench calibrate wrote, relative to this file: perKey, perRow, perUpdate, and track, upkeep and miss of software, with their ranges, where they are not stated.",
  )),
  ranges: optional(described(
    v.strictObject(Object.fromEntries(
      RANGED_FIELDS.map((field) => [
        field,
        optional(real("Factor up and down that the true figure is within, nine times in ten; 1 is exact.", 1, 100)),
      ]),
    )),
    "How exactly stated figures are known, for the bands. Defaults 1.1 to 2.",
  )),
  overlap: optional(described(overlap, "What overlaps with what, as the trainer's options have it.")),
  cluster: optional(described(cluster, "Machines and threads.")),
  configurations: described(
    v.pipe(
      v.record(shownName, configuration),
      v.check((record) => Object.keys(record).length > 0, "expected at least one configuration"),
    ),
    "The ways to hold the tables that are compared, by name.",
  ),
  cost: optional(described(
    v.strictObject({
      prices: optional(described(priceDate, "Date of the prices. Default: when the simulation ran.")),
      trainers: optional(described(machineCostSchema, "What a machine of workersPerHost workers costs.")),
    }),
    "What machines cost beside those of the configurations.",
  )),
  target: optional(described(
    targetSchema,
    "What must be met, as in plans: the report says which configurations do, and which of those costs least.",
  )),
  studies: optional(described(
    v.array(v.strictObject({
      name: words("Heads its part of the report."),
      configurations: optional(described(v.array(v.string()), "Configurations in it. Default: all.")),
      baseline: optional(words("Configuration that the others are told against. Default: the fastest.")),
      vary: optional(described(v.record(variedField, v.array(value)), 'Fields to vary, as "cluster.workers": [4, 8].')),
    })),
    "Which cases there are. Default: one study of all configurations.",
  )),
  explain: optional(described(
    v.array(v.strictObject({ from: words("Configuration."), to: words("Configuration."), at: optional(point) })),
    "Differences to take apart: how much of it each part of the set-up is.",
  )),
  published: optional(described(v.array(published), "What is published, to compare with.")),
});
