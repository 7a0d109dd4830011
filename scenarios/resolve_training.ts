/**
 * Fills in the defaults of what a scenario says about training.
 *
 * @module
 */

import { resolveRowFilter } from "../models/workloads/row_filter.ts";
import type { Workload } from "./scenario.ts";
import {
  COLUMNS,
  DEFAULT_OPTIMISATIONS,
  type EmbeddingOptimizer,
  type Optimisations,
  type Optimizers,
  type PartOptimizer,
  type PartOptimizerName,
  type PartOptimizers,
  type ResolvedEmbeddingOptimizer,
  type ResolvedOptimisations,
  type ResolvedOptimizers,
  type ResolvedPartOptimizer,
  type ResolvedTable,
  type RowOptimizers,
  type WrittenTable,
} from "../models/workloads/training.ts";

/** Every parameter that an optimizer of embeddings or dense layers may have. */
type Parameters = Readonly<Record<string, number | undefined>>;

/** Defaults, as the native library has them. */
const DEFAULTS = { learningRate: 0.01, initialAccumulator: 0.1, beta1: 0.9, beta2: 0.999, epsilon: 1e-8 } as const;

/** The parameters of each optimizer, filled in. */
const FILL: { readonly [Name in PartOptimizerName]: (given: Parameters) => Required<PartOptimizers[Name]> } = {
  sgd: ({ learningRate = DEFAULTS.learningRate }) => ({ learningRate }),
  adagrad,
  adagradDecay: (given) => {
    const { learningRate, initialAccumulator } = adagrad(given);
    const { decayStep = 100_000, decayRate = 0.9, decayBaseline = initialAccumulator } = given;
    return { learningRate, initialAccumulator, decayStep, decayRate, decayBaseline };
  },
  adam,
  adamAsync: adam,
  adamW: (given) => ({ ...adam(given), weightDecay: given["weightDecay"] ?? 1e-4 }),
};

function adagrad(given: Parameters): { learningRate: number; initialAccumulator: number } {
  const { learningRate = DEFAULTS.learningRate, initialAccumulator = DEFAULTS.initialAccumulator } = given;
  return { learningRate, initialAccumulator };
}

function adam(given: Parameters): { learningRate: number; beta1: number; beta2: number; epsilon: number } {
  const { learningRate = DEFAULTS.learningRate, beta1 = DEFAULTS.beta1 } = given;
  const { beta2 = DEFAULTS.beta2, epsilon = DEFAULTS.epsilon } = given;
  return { learningRate, beta1, beta2, epsilon };
}

/** Name of an optimizer of embeddings. */
type RuleName = PartOptimizerName | keyof RowOptimizers;

/** Name and parameters of an optimizer as written. */
export function partOf(written: EmbeddingOptimizer): { readonly name: RuleName; readonly parameters: Parameters } {
  if (typeof written === "string") return { name: written, parameters: {} };
  const [name, parameters] = Object.entries(written)[0] as [RuleName, Parameters];
  return { name, parameters };
}

/** An optimizer with its parameters filled in; those that are absent are `shared`, if it has them. */
function resolvePart(written: PartOptimizer): ResolvedPartOptimizer {
  const { name, parameters } = partOf(written);
  return { [name]: FILL[name as PartOptimizerName](parameters) } as ResolvedPartOptimizer;
}

function resolveEmbedding(written: EmbeddingOptimizer, shared: Parameters): ResolvedEmbeddingOptimizer {
  const { name, parameters } = partOf(written);
  const given = { ...shared, ...parameters };
  if (name === "ftrl") return { ftrl: { ...adagrad(given), l1: given["l1"] ?? 0, l2: given["l2"] ?? 0 } };
  if (name !== "rowwiseAdagrad") return { [name]: FILL[name](given) } as ResolvedPartOptimizer;
  // Its sum is of other things than the dense layers' numbers, so they are not taken.
  const { initialAccumulator = 0, epsilon = DEFAULTS.epsilon } = parameters;
  return {
    rowwiseAdagrad: { learningRate: given["learningRate"] ?? DEFAULTS.learningRate, initialAccumulator, epsilon },
  };
}

/** The optimizers of the parts that a model has. */
export function resolveOptimizers(model: Workload["model"], written: Optimizers = {}): ResolvedOptimizers {
  const { wide = "ftrl", deep: deepWritten = "adagrad", embedding } = written;
  const ftrl = wide === "ftrl" ? {} : wide.ftrl;
  const deep = resolvePart(deepWritten);
  return {
    ...(model === "dlrm" ? {} : {
      wide: {
        ftrl: {
          learningRate: ftrl.learningRate ?? 0.2,
          initialAccumulator: ftrl.initialAccumulator ?? 0.1,
          l1: ftrl.l1 ?? 0,
          l2: ftrl.l2 ?? 0,
        },
      },
    }),
    deep,
    ...(embedding === undefined
      ? {}
      : { embedding: resolveEmbedding(embedding, partOf(deep as PartOptimizer).parameters) }),
  };
}

/** The optimisations with those that are absent as they are by default. */
export function resolveOptimisations(written: Optimisations = {}): ResolvedOptimisations {
  return { ...DEFAULT_OPTIMISATIONS, ...written };
}

/** The tables with what is absent filled in; columns and names have been checked. */
export function resolveTables(written: Readonly<Record<string, WrittenTable>>): Record<string, ResolvedTable> {
  const entries = Object.entries(written).map(([name, { columns = [name], admission, expiry, record, ...others }]) => {
    const filter = Object.entries({ admission, expiry, record }).filter(([, value]) => value !== undefined);
    return [name, { columns: [...columns], ...others, ...resolveRowFilter(Object.fromEntries(filter)) }] as const;
  });
  return Object.fromEntries(entries);
}

/** Widths of single columns by name, of a list or of such names. */
export function resolveDims(written: NonNullable<Workload["dims"]> = {}): Record<string, number> {
  if (!Array.isArray(written)) return { ...written };
  return Object.fromEntries(written.map((width, i) => [COLUMNS[i] as string, width]));
}
