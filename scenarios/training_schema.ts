/**
 * The schemas of what a scenario says about training: widths, optimizers of the parts, optimisations, ablation. Rules
 * between fields are in `check_training.ts`.
 *
 * @module
 */

import { nearest } from "../base/nearest.ts";
import { oneOf } from "../base/one_of.ts";
import { rowFilter } from "./row_filter_schema.ts";
import { auto, described, flag, real, whole } from "../base/schema_parts.ts";
import type { Ablation } from "./scenario.ts";
import {
  COLUMNS,
  COMBINERS,
  type EmbeddingOptimizer,
  type FtrlParameters,
  type Optimisations,
  PART_OPTIMIZERS,
  type PartOptimizer,
  type WrittenTable,
} from "../models/workloads/training.ts";
import * as v from "../base/valibot.ts";

const learningRate = v.exactOptional(real("Learning rate.", 1e-9, 100));

const initialAccumulator = v.exactOptional(
  real(
    "First value of the sum of squared gradients, above 0: the smaller, the larger the first steps. Default 0.1.",
    1e-12,
    1e6,
  ),
);

const ftrlParameters = {
  learningRate,
  initialAccumulator,
  l1: v.exactOptional(real("Strength of the L1 penalty. Default 0.", 0, 1e6)),
  l2: v.exactOptional(real("Strength of the L2 penalty. Default 0.", 0, 1e6)),
};

/** Of the linear part. */
export const wideOptimizer: v.GenericSchema<"ftrl" | { ftrl: FtrlParameters }> = oneOf([
  v.picklist(["ftrl"]),
  v.strictObject({
    ftrl: described(v.strictObject(ftrlParameters), "FTRL-proximal. Default learning rate 0.2."),
  }),
], (input) => typeof input === "object" && input !== null ? 1 : 0);

const adamParameters = {
  learningRate,
  beta1: v.exactOptional(real("What the mean of gradients keeps a step. Default 0.9.", 0, 0.999999)),
  beta2: v.exactOptional(real("What the mean of squared gradients keeps a step. Default 0.999.", 0, 0.999999)),
  epsilon: v.exactOptional(
    real("Added to the root of the mean of squared gradients, above 0. Default 1e-8.", 1e-30, 1e6),
  ),
};

/** The parameters of each optimizer, in the order of `PART_OPTIMIZERS`. */
const withParameters = [
  v.strictObject({
    sgd: described(v.strictObject({ learningRate }), "Plain gradient descent. Default learning rate 0.01."),
  }),
  v.strictObject({
    adagrad: described(v.strictObject({ learningRate, initialAccumulator }), "Adagrad. Default learning rate 0.01."),
  }),
  v.strictObject({
    adagradDecay: described(
      v.strictObject({
        learningRate,
        initialAccumulator,
        decayStep: v.exactOptional(whole("Steps between two decays of the sums of squares. Default 100000.", 1, 1e15)),
        decayRate: v.exactOptional(real("What a decay leaves of a sum of squares. Default 0.9.", 0, 1)),
        decayBaseline: v.exactOptional(
          real("What a decay does not go below. Default: the initial accumulator.", 0, 1e6),
        ),
      }),
      "DeepRec's Adagrad whose sums of squares decay, so that it never stops learning. Default learning rate 0.01.",
    ),
  }),
  v.strictObject({ adam: described(v.strictObject(adamParameters), "Adam. Default learning rate 0.01.") }),
  v.strictObject({
    adamAsync: described(
      v.strictObject(adamParameters),
      "DeepRec's AdamAsync, the default of its Wide & Deep script. Default learning rate 0.01.",
    ),
  }),
  v.strictObject({
    adamW: described(
      v.strictObject({
        ...adamParameters,
        weightDecay: v.exactOptional(real("Share of a weight that each step takes off. Default 1e-4.", 0, 1)),
      }),
      "Adam with decoupled weight decay. Default learning rate 0.01.",
    ),
  }),
] as const;

/** Of embeddings or dense layers. */
export const partOptimizer: v.GenericSchema<PartOptimizer> = oneOf(
  [v.picklist(PART_OPTIMIZERS), ...withParameters],
  (input) => {
    if (typeof input !== "object" || input === null) return 0;
    const names: readonly string[] = PART_OPTIMIZERS;
    return 1 + names.indexOf(nearest(Object.keys(input)[0] ?? "", names) ?? "adagrad");
  },
);

const EMBEDDING_OPTIMIZERS = [...PART_OPTIMIZERS, "ftrl", "rowwiseAdagrad"] as const;

/** Of embeddings: also FTRL and row-wise Adagrad. */
export const embeddingOptimizer: v.GenericSchema<EmbeddingOptimizer> = oneOf(
  [
    v.picklist(EMBEDDING_OPTIMIZERS),
    ...withParameters,
    v.strictObject({
      ftrl: described(v.strictObject(ftrlParameters), "FTRL-proximal, per weight. Default learning rate 0.01."),
    }),
    v.strictObject({
      rowwiseAdagrad: described(
        v.strictObject({
          learningRate,
          initialAccumulator: v.exactOptional(
            real("First value of a row's sum of the means of squared gradients. Default 0.", 0, 1e6),
          ),
          epsilon: v.exactOptional(real("Added to the root of that sum, above 0. Default 1e-8.", 1e-30, 1)),
        }),
        "Adagrad with one state a row, TorchRec's default; its parameters are its own. Default learning rate 0.01.",
      ),
    }),
  ],
  (input) => {
    if (typeof input !== "object" || input === null) return 0;
    const names: readonly string[] = EMBEDDING_OPTIMIZERS;
    return 1 + names.indexOf(nearest(Object.keys(input)[0] ?? "", names) ?? "adagrad");
  },
) as v.GenericSchema<EmbeddingOptimizer>;

const width = whole("Weights of an embedding row of this column.", 1, 1024);

/** Widths of single columns. */
export const dims: v.GenericSchema<Record<string, number> | number[]> = oneOf([
  v.strictObject(Object.fromEntries(COLUMNS.map((column) => [column, v.exactOptional(width)]))),
  v.pipe(
    v.array(width),
    v.length(COLUMNS.length, `expected ${COLUMNS.length} widths, one for each of C1 to C${COLUMNS.length}`),
  ),
], (input) => Array.isArray(input) ? 1 : 0) as v.GenericSchema<Record<string, number> | number[]>;

/** Of the embedding tables. */
export const tables: v.GenericSchema<Record<string, WrittenTable>> = v.pipe(
  v.record(
    v.pipe(
      v.string(),
      v.regex(/^[A-Za-z0-9][A-Za-z0-9_-]{0,62}$/, 'expected a name of up to 63 letters, digits, "-" and "_"'),
    ),
    v.strictObject({
      columns: v.exactOptional(described(
        v.pipe(
          v.array(v.picklist(COLUMNS)),
          v.minLength(1, "expected at least one column"),
        ),
        "Columns whose ids are the table's keys, each in one table only. Default: the one that the table is called after.",
      )),
      dim: v.exactOptional(whole('Weights of a row. Default: the workload\'s "dim".', 1, 1024)),
      combiner: v.exactOptional(described(
        v.picklist(COMBINERS),
        "The columns' ids of a sample are a bag, whose rows become one vector; ids that are missing are in no bag. Default: " +
          "each column has a vector of its own, and they share rows.",
      )),
      ...rowFilter,
    }),
  ),
  v.check((record) => Object.keys(record).length > 0, "expected at least one table"),
);

/** What an ablation may turn on. Values are those of the fields of `workload.optimisations`. */
const optimisationFields = {
  stage: whole(
    "Stage (DeepRec: tf.staged): so many batches are read and parsed ahead of their step by threads of their own; 0 reads " +
      "each in its step. Results stay the same to the bit. Default 1.",
    0,
    8,
  ),
  stageWhat: described(
    v.picklist(["input", "lookup"]),
    'What is prepared ahead with "stage" (DeepRec: the part of the graph that is marked): "input": reading and parsing; ' +
      '"lookup": also brings the rows of the batch into the first tier. Values are read in the step itself, so results ' +
      'stay the same to the bit. Default "input".',
  ),
  smartStage: flag(
    "SmartStage (DeepRec: do_smart_stage): what is prepared ahead is chosen by measuring each way in the first steps, " +
      'instead of by "stageWhat". Needs a "stage" of 1 or more. Results stay the same to the bit. Default false.',
  ),
  asyncEmbedding: flag(
    "Async embedding lookup (DeepRec: Async-Embedding-Stage): the rows of a batch are read while the step before it " +
      "computes, so they lack its update. Changes results; the report says by how much the AUC moves and which share of " +
      "rows was old. Default false.",
  ),
  microBatch: whole(
    "Auto micro batch (DeepRec: micro_batch_num): a batch is cut into so many parts whose work overlaps; their gradients " +
      "are summed for one update. DeepRec multiplies the batch instead. Sums have another order: results change in the " +
      "last bits. Default 1.",
    1,
    64,
  ),
  embeddingFusion: flag(
    "Embedding fusion (DeepRec: fused_embedding_lookup_sparse): rows of all columns go straight into the input of the " +
      "network in one pass, instead of column by column with a copy. Results stay the same to the bit. Default true.",
  ),
  graphFusion: auto(
    v.boolean('expected true, false or "auto"'),
    "Auto graph fusion (DeepRec: do_op_fusion): bias, ReLU and dropout are done inside oneDNN's matrix products, instead " +
      'of in passes of their own. true needs oneDNN 2; "auto" is true where that is installed. Default "auto".',
  ),
  memoryReuse: flag(
    "CPU memory optimisation (DeepRec: ENABLE_MEMORY_OPTIMIZATION): all working memory is planned once and used again, " +
      "instead of taken from malloc at every step; the report has the page faults. Results stay the same to the bit. " +
      "Default true.",
  ),
  executor: described(
    v.picklist(["inline", "pool", "cost-model"]),
    'Executor optimisation (DeepRec: executor_policy). "inline": the calling thread alone; "pool": phase after phase ' +
      'over all threads; "cost-model": one graph of tasks, started by the longest path left at costs measured in the ' +
      'first steps. Results stay the same to the bit. Default "pool".',
  ),
  bf16: described(
    v.picklist(["off", "dense", "rows", "all"]),
    'BF16 (DeepRec: --bf16). "dense": products in BF16 with FP32 sums, FP32 weights, the last layer FP32; refused where ' +
      'the CPU lacks avx512_bf16. "rows": embedding weights kept in BF16, rounded at random by the seed; on every CPU. ' +
      '"all": both. Changes results. Default "off".',
  ),
  workQueue: whole(
    "WorkQueue (DeepRec: WorkQueue): so many threads of the stage share the input as a queue; more than 1 need a " +
      '"stage". Results stay the same to the bit, since batches keep their numbers. Default 1.',
    1,
    16,
  ),
} as const;

/** `workload.optimisations`. */
export const optimisations = v.strictObject(
  Object.fromEntries(Object.entries(optimisationFields).map(([name, schema]) => [name, v.exactOptional(schema)])),
) as unknown as v.GenericSchema<Optimisations>;

const { stageWhat: _, ...switches } = optimisationFields;

/** `ablation`. */
export const ablation = v.strictObject({
  switches: described(
    v.pipe(
      v.strictObject({
        ...Object.fromEntries(Object.entries(switches).map(([name, schema]) => [name, v.exactOptional(schema)])),
        deterministic: v.exactOptional(flag(
          'Fast mode as a switch: false. See "workload.deterministic".',
        )),
      }),
      v.check((given) => Object.keys(given).length > 0, "expected at least one switch"),
    ),
    'The switches and what each is when it is on, such as "stage": 2. When it is off, it is what DeepRec calls off: 0, ' +
      '1 part or reader, false, "off", and the plain "pool" for "executor".',
  ),
  cases: v.exactOptional(described(
    v.pipe(
      v.array(v.picklist(["alone", "all", "all-but-one"])),
      v.minLength(1, 'expected at least one of "alone", "all", "all-but-one"'),
    ),
    'What runs beside "none": each switch alone, all of them, all but each. Default: all three.',
  )),
}) as unknown as v.GenericSchema<Ablation>;
