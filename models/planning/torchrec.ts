/**
 * What TorchRec's planner is told of a plan's tables: constraints with a cache size each, and statistics of how caches of other sizes
 * would do, from which it scales caches up (`EmbeddingOffloadScaleupProposer`).
 *
 * Its statistics are a histogram: n bins of equal width over load factors from 0 to 1, each with the hits that a least recently used
 * cache gains there. A cache whose size lies in a bin is credited with the whole bin, so each bin here ends with the hits of its
 * middle: half a bin too many or too few at most. Caches of skewed tables gain most in the first bin, so as many bins are taken as
 * keep the error small, and from which load factor on it is small is said.
 *
 * @module
 */

import { missRatioCurve, type PopularityLaw, type ZipfLaw } from "../../ffi/curve.ts";
import { cacheSize } from "../workloads/cache_size.ts";
import { lawOf } from "./inputs.ts";
import type { PlanFileTable, ResolvedPlanFile } from "./plan_file.ts";
import { planTables } from "./sizes.ts";

/** How good the caches and the statistics are to be. */
export interface TorchRecOptions {
  /** Share of a batch's different rows that each table's cache is to answer. Default 0.9. */
  readonly hits?: number;
  /** What a miss ratio of the statistics may be off, as far as the most bins allow. Default 0.01. */
  readonly error?: number;
  /**
   * Rows are kept on SSDs (TorchRec's kernel `key_value`) below two caches: the share of a batch's different rows that both together
   * are to answer, {@linkcode hits} at least. Absent: rows are kept in the host's memory.
   */
  readonly bothHits?: number;
}

/** The caches of a table on SSDs, in the units of TorchRec's `KeyValueParams`, rounded up. */
export interface TorchRecKeyValue {
  /** MiB of the cache in the device's memory: `max_l1_cache_size`. */
  readonly l1MiB: number;
  /** GiB of the cache in the host's memory: `l2_cache_size`. */
  readonly l2GiB: number;
}

/** What TorchRec is told of a table. */
export interface TorchRecTable {
  /** Its name; tables of a `count` have numbers behind it. */
  readonly name: string;
  /** Rows: TorchRec's `num_embeddings`. */
  readonly height: number;
  /** Weights of a row: TorchRec's `embedding_dim`. */
  readonly dim: number;
  /** Their type. */
  readonly dtype: "fp32" | "bf16";
  /** Lookups of it a sample. */
  readonly poolingFactor: number;
  /** Share of the rows that the cache holds. */
  readonly loadFactor: number;
  /** Share of a batch's different rows that such a cache answers. */
  readonly hits: number;
  /** Different rows of a global batch. */
  readonly expectedLookups: number;
  /** Area under the miss ratio curve over load factors. */
  readonly cacheability: number;
  /** Hits that a cache gains in each bin, as a share of all. */
  readonly histogram: Float32Array<ArrayBuffer>;
  /**
   * The least load factor from which on the statistics are as exact as asked; caches that hold less than the different rows of two
   * batches are none of these.
   */
  readonly exactFrom: number;
  /** Of rows on SSDs. */
  readonly keyValue?: TorchRecKeyValue;
}

/** Bins at least and at most: a histogram of the most is 64 KiB. */
const LEAST = 16, MOST = 1 << 14;

/** What bins may take of the error; the rest is the formula's, held against replays (`deno task bench:tools`). */
const BINS_SHARE = 0.5;
/** What a cache keeps that holds less than so many batches' different rows depends on the order inside them, which no statistics know. */
const BATCHES = 2;

/** Sizes that a curve is asked for, closer to one another where they are small; between two of them it is a straight line over the logarithm. */
const ASKED = 200;

/** The miss ratio of a least recently used cache of so many rows, each row of a batch counted once. */
function missesOf(law: PopularityLaw | ZipfLaw, height: number, batch: number): (rows: number) => number {
  const sizes = [...new Set(Array.from({ length: ASKED }, (_, i) => Math.round(height ** (i / (ASKED - 1)))))];
  const { missRatios } = missRatioCurve({ law, batch, sizes });
  return (rows) => {
    if (rows >= height) return 0;
    const after = sizes.findIndex((size) => size >= rows), [low = 1, high = 1] = [sizes[after - 1], sizes[after]];
    const [more = 1, less = 0] = [missRatios[after - 1], missRatios[after]];
    return high <= low ? less : more + (less - more) * Math.log(Math.max(rows, 1) / low) / Math.log(high / low);
  };
}

/**
 * What TorchRec's planner is told of every table of a plan.
 *
 * @throws {RangeError} If a share of hits or the error is not above 0 and below 1, or both caches are to answer less than one.
 */
export async function torchRecTables(
  file: ResolvedPlanFile,
  { hits = 0.9, error = 0.01, bothHits }: TorchRecOptions = {},
): Promise<TorchRecTable[]> {
  if (bothHits !== undefined && bothHits < hits) {
    throw new RangeError(
      `Cannot size two caches that answer ${bothHits} together: the first alone is to answer ${hits}`,
    );
  }
  if (!(error > 0 && error < 1)) {
    throw new RangeError(`Cannot make statistics with an error of ${error}: expected one above 0 and below 1`);
  }
  const tables = await Promise.all(
    planTables(file).map(async ({ name, rows: height, count, weightBytes }) => {
      const { profile, lookups, dim, dtype } = file.tables[name] as Required<PlanFileTable>;
      const law = await lawOf(height, profile, file.directory);
      const batch = Math.max(1, Math.round(file.batch * file.workers * lookups));
      const { rows = height, hits: found } = cacheSize({ law, hits, batch });
      const { lookups: expectedLookups } = missRatioCurve({ law, batch, sizes: [] });
      // Half bins: middles and ends.
      const missOf = missesOf(law, height, batch);
      const halves = (bins: number): number[] =>
        Array.from({ length: 2 * bins + 1 }, (_, i) => i === 0 ? 1 : missOf(i * height / (2 * bins)));
      let bins = Math.min(LEAST, height), misses = halves(bins);
      const worst = (): number => Math.max(...misses.slice(2).map((miss, i) => (misses[i] ?? 0) - miss));
      while (bins < Math.min(MOST, height) && worst() > BINS_SHARE * error) {
        bins = Math.min(2 * bins, MOST, height);
        misses = halves(bins);
      }
      const credited = Array.from({ length: bins }, (_, i) => i === bins - 1 ? 1 : 1 - (misses[2 * i + 1] ?? 0));
      const histogram = Float32Array.from(credited, (sum, i) => sum - (credited[i - 1] ?? 0));
      const offAt = (bin: number): number =>
        Math.max(...[2 * bin, 2 * bin + 2].map((at) => Math.abs((misses[at] ?? 0) - (1 - (credited[bin] ?? 1)))));
      let first = bins;
      while (first > 0 && offAt(first - 1) <= BINS_SHARE * error) first--;
      const exactFrom = Math.min(1, Math.max(first / bins, BATCHES * expectedLookups / height));
      const area = misses.reduce((sum, miss, i) => sum + (i % (2 * bins) === 0 ? miss / 2 : miss), 0) / (2 * bins);
      const both = bothHits === undefined ? undefined : cacheSize({ law, hits: bothHits, batch }).rows ?? height;
      const keyValue = both === undefined ? {} : {
        keyValue: {
          l1MiB: Math.ceil(rows * weightBytes / 2 ** 20),
          l2GiB: Math.ceil(both * weightBytes / 2 ** 30),
        },
      };
      const told = {
        height,
        dim,
        dtype: dtype === "bf16" ? "bf16" as const : "fp32" as const,
        poolingFactor: lookups,
        loadFactor: rows / height,
        hits: found,
        expectedLookups,
        cacheability: area,
        histogram,
        exactFrom,
        ...keyValue,
      };
      return Array.from({ length: count }, (_, i) => ({ name: count === 1 ? name : `${name}_${i}`, ...told }));
    }),
  );
  return tables.flat();
}

/** Arguments of `KeyValueParams`. */
function keyValueWords({ l1MiB, l2GiB }: TorchRecKeyValue): string[] {
  return [`max_l1_cache_size=${l1MiB}`, `l2_cache_size=${l2GiB}`];
}

function base64(floats: Float32Array<ArrayBuffer>): string {
  return btoa(Array.from(new Uint8Array(floats.buffer), (byte) => String.fromCharCode(byte)).join(""));
}

/** A text as a Python literal. */
function literal(text: string): string {
  return JSON.stringify(text).replaceAll(
    /[\u007f-\uffff]/g,
    (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/**
 * A Python module with `constraints`, what `EmbeddingShardingPlanner(constraints=...)` takes, for TorchRec 1.9.
 *
 * @param name Of the plan.
 */
export function torchRecModule(name: string, tables: readonly TorchRecTable[]): string {
  const lines = tables.map((table) =>
    `    ${literal(table.name)}: _table(${table.loadFactor}, ${table.poolingFactor}, ${table.cacheability}, ` +
    `${Math.round(table.expectedLookups)}, ${table.height}, "${base64(table.histogram)}"` +
    (table.keyValue === undefined ? "" : `, KeyValueParams(${keyValueWords(table.keyValue).join(", ")})`) + "),"
  );
  return `"""What TorchRec's planner is told of the tables of ${literal(name).slice(1, -1)}, written by tierbench.

    from torchrec.distributed.planner import EmbeddingShardingPlanner
    EmbeddingShardingPlanner(topology=..., constraints=constraints)

A histogram of n bins is exact to half a bin; tierbench says from which load factor on that is little.
"""

import base64

import torch
from fbgemm_gpu.split_table_batched_embeddings_ops_common import CacheAlgorithm
from torchrec.distributed.planner.shard_estimators import EmbeddingOffloadStats
from torchrec.distributed.planner.types import ParameterConstraints
from torchrec.distributed.types import CacheParams, KeyValueParams


def _table(load_factor, pooling_factor, cacheability, expected_lookups, height, counts, key_value=None):
    histogram = torch.frombuffer(bytearray(base64.b64decode(counts)), dtype=torch.float32).double()
    stats = EmbeddingOffloadStats(cacheability, expected_lookups, histogram, height)
    cache = CacheParams(algorithm=CacheAlgorithm.LRU, load_factor=load_factor, stats=stats)
    kernels = None if key_value is None else ["key_value"]
    return ParameterConstraints(
        compute_kernels=kernels, pooling_factors=[pooling_factor], cache_params=cache, key_value_params=key_value
    )


constraints = {
${lines.join("\n")}
}
`;
}

/**
 * The same tables and constraints as the YAML of TorchRec's own benchmark (`benchmark_train_pipeline.py --yaml_config`), of
 * TorchRec 1.9; its YAML has no place for statistics.
 *
 * @param plan Its name, samples a step of a worker and workers.
 */
export function torchRecYaml(
  { name, batch, workers }: Pick<ResolvedPlanFile, "name" | "batch" | "workers">,
  tables: readonly TorchRecTable[],
): string {
  const specs = tables.map(({ name, height, dim, dtype }) =>
    `      {name: ${literal(name)}, num_embeddings: ${height}, embedding_dim: ${dim}, ` +
    `feature_names: [${literal(name)}], data_type: ${dtype.toUpperCase()}}`
  );
  const constraints = tables.map(({ name, poolingFactor, loadFactor, keyValue }) =>
    `    ${literal(name)}: {pooling_factors: [${poolingFactor}], cache_params: {load_factor: ${loadFactor}}, ` +
    (keyValue === undefined
      ? `compute_kernels: [fused_uvm_caching]}`
      : `compute_kernels: [key_value], key_value_params: {${
        keyValueWords(keyValue).join(", ").replaceAll("=", ": ")
      }}}`)
  );
  return `# The tables of ${
    literal(name).slice(1, -1)
  } for TorchRec's benchmark_train_pipeline.py, written by tierbench.
RunOptions:
  world_size: ${workers}
  batch_size: ${batch}
EmbeddingTablesConfig:
  num_unweighted_features: 0
  num_weighted_features: 0
  additional_tables:
    - [
${specs.join(",\n")}
      ]
PlannerConfig:
  world_size: ${workers}
  batch_size: ${batch}
  additional_constraints:
${constraints.join("\n")}
`;
}
