/**
 * Bytes of the tables of a plan, measured: the store builds them and counts.
 *
 * @module
 */

import { EmbeddingStore } from "../../ffi/store.ts";
import { type LimitOptions, PAST_LIMIT } from "../../base/document.ts";
import { rowBytes, type TableOptimizer } from "../workloads/row_bytes.ts";
import type { ResolvedPlanFile } from "./plan_file.ts";

/** Bytes of one table, by purpose, as {@linkcode EmbeddingStore.memory} counts them. */
export interface MeasuredSize {
  /** Name of the table in the plan. */
  readonly name: string;
  /** Rows that were created. */
  readonly rows: number;
  /** Bytes of a row as the store counts them: weights and slots, padded. */
  readonly rowBytes: number;
  /** Bytes by what they are for: `rows`, `index`, `policy`, ... */
  readonly purposes: Readonly<Record<string, number>>;
  /** Bytes of all purposes together. */
  readonly total: number;
}

/** Rows of a table and what each takes. */
export interface PlanTableBytes {
  /** Its name in the file. */
  readonly name: string;
  /** Rows of one table of this kind. */
  readonly rows: number;
  /** Tables of this kind. */
  readonly count: number;
  /** Bytes of a row: weights and slots, padded. */
  readonly rowBytes: number;
  /** Bytes of its weights alone, without padding. */
  readonly weightBytes: number;
}

/** Keys that are created at a time. */
const BATCH = 65_536;
/** Index and more beside a row, about, for the limit. */
const BESIDE = 20;
/** What a table may take at most here. */
const MOST_BYTES = 8 * 2 ** 30;

/**
 * Builds every table of a plan by itself in DRAM, with the ids 0, 1, 2, … and counts its bytes.
 *
 * @param options `limit: false` builds tables of any size, as far as memory goes.
 * @throws {RangeError} A table is larger than 8 GiB: that is computed, not measured, unless there is no limit.
 */
export function measureSizes(file: ResolvedPlanFile, { limit = true }: LimitOptions = {}): MeasuredSize[] {
  return planTables(file).map(({ name, rows, rowBytes }) => {
    const { dim, dtype, optimizer } = file.tables[name] as ResolvedPlanFile["tables"][string];
    const estimate = rows * (rowBytes + BESIDE);
    if (limit && estimate > MOST_BYTES) {
      throw new RangeError(
        `Cannot measure the table "${name}": ${rows} rows are about ${
          Math.round(estimate / 2 ** 30)
        } GiB, at most 8 GiB ` +
          `are built; leave --measure out to compute them; ${PAST_LIMIT}`,
      );
    }
    using store = EmbeddingStore.open({ storage: "DRAM", size: [2 * Math.max(MOST_BYTES, estimate)] });
    const table = store.table({ name, dim, dtype, optimizer: ruleOf(optimizer) });
    const keys = new BigInt64Array(BATCH);
    for (let first = 0; first < rows; first += BATCH) {
      const n = Math.min(BATCH, rows - first);
      for (let i = 0; i < n; i++) keys[i] = BigInt(first + i);
      table.lookup(keys.subarray(0, n));
    }
    const [tier] = store.memory().tiers;
    if (tier === undefined) throw new Error(`Cannot measure the table "${name}": the store has no tier`);
    return {
      name,
      rows,
      rowBytes: (tier.purposes["rows"] ?? 0) / rows,
      purposes: tier.purposes,
      total: tier.usedBytes,
    };
  });
}

function ruleOf(optimizer: TableOptimizer): Exclude<TableOptimizer, "none"> {
  return optimizer === "none" ? "sgd" : optimizer;
}

/** Rows and bytes of the tables of a plan. */
export function planTables({ tables }: ResolvedPlanFile): PlanTableBytes[] {
  return Object.entries(tables).map(([name, { rows, dim, dtype, optimizer, count }]) => ({
    name,
    rows,
    count,
    rowBytes: rowBytes(dim, ruleOf(optimizer), dtype === "bf16" ? 2 : 4),
    weightBytes: dim * (dtype === "bf16" ? 2 : 4),
  }));
}
