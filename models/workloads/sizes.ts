/**
 * The embedding tables of a workload and the bytes of their rows.
 *
 * @module
 */

import { rowBytes, type RowOptimizer } from "./row_bytes.ts";
import { type ResolvedRowFilter, rowFilterOf } from "./row_filter.ts";
import { COLUMNS, type ResolvedEmbeddingOptimizer, type ResolvedTable } from "./training.ts";
import type { ResolvedWorkload } from "./workload.ts";

/** Name and parameters of an optimizer of a part. */
interface PartRule {
  readonly name: RowOptimizer;
  readonly parameters: Readonly<Record<string, number>>;
}

function ruleOf(optimizer: ResolvedEmbeddingOptimizer): PartRule {
  const [name, parameters] = Object.entries(optimizer)[0] as [RowOptimizer, Record<string, number>];
  return { name, parameters };
}

/** The optimizer of the dense layers. */
export function deepRule({ optimizer: { deep } }: ResolvedWorkload): PartRule {
  return ruleOf(deep);
}

/** The optimizer of the embeddings. */
export function embeddingRule({ optimizer: { deep, embedding } }: ResolvedWorkload): PartRule {
  return ruleOf(embedding ?? deep);
}

/** An embedding table with its name. */
export interface NamedTable extends ResolvedTable {
  /** Unique in the store. */
  readonly name: string;
  /** Weights of a row. */
  readonly dim: number;
}

/** The embedding tables: those of the workload, or one for each of the columns C1 to C26. */
export function tablesOf({ dim, dims, tables }: Pick<ResolvedWorkload, "dim" | "dims" | "tables">): NamedTable[] {
  if (tables !== undefined) return Object.entries(tables).map(([name, table]) => ({ name, dim, ...table }));
  return COLUMNS.map((name) => ({ name, columns: [name], dim: dims[name] ?? dim }));
}

/**
 * Bytes of the rows of all embedding tables when every key has one. Columns of a table that have keys in common count them
 * each: the data does not say which.
 *
 * @param cardinalities Keys of every column.
 */
export function tableBytes(cardinalities: readonly number[], workload: ResolvedWorkload): number {
  const { name } = embeddingRule(workload);
  const weightBytes = ["rows", "all"].includes(workload.optimisations.bf16) ? 2 : 4;
  const keysOf = (column: string) => cardinalities[COLUMNS.indexOf(column)] ?? 0;
  return tablesOf(workload).reduce((sum, { columns, dim, ...own }) => {
    const row = rowBytes(dim, name, weightBytes) + recordedBytes(rowFilterOf(workload, own));
    return sum + columns.reduce((keys, column) => keys + keysOf(column), 0) * row;
  }, 0);
}

/** Bytes that rows have for their frequency and version. */
function recordedBytes({ record = [], expiry }: ResolvedRowFilter): number {
  const version = record.includes("version") || (typeof expiry === "object" && expiry.steps !== undefined);
  return (record.includes("frequency") ? 4 : 0) + (version ? 8 : 0);
}
