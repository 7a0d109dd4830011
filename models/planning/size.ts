/**
 * The plain calculator: bytes of tables, to the byte, slots, index and policy included. Rows follow from dim, type and
 * optimizer alone; what lies beside them is the store's (`docs/store.md`, bytes a row), where the index grows in steps, so that it
 * has a range.
 *
 * @module
 */

import { BESIDE, INDEX, SMALL } from "../workloads/row_bytes.ts";

/** What a table is made of. */
export interface SizedTable {
  /** Its name. */
  readonly name: string;
  /** Rows. */
  readonly rows: number;
  /** Bytes of a row: weights and each slot vector padded to 16 (`ts_table_row_bytes`). */
  readonly rowBytes: number;
}

/** Bytes of one table. */
export interface TableSize {
  /** Its name. */
  readonly name: string;
  /** Bytes of a row. */
  readonly rowBytes: number;
  /** All rows. */
  readonly rows: number;
  /** Index when all rows are in memory: from just before it grows to just grown. */
  readonly index: { readonly low: number; readonly high: number };
  /** Policy, key and flags beside rows, if they can leave their tier. */
  readonly beside: number;
}

/** Bytes of a table. @throws {RangeError} A size cannot be. */
export function tableSize({ name, rows, rowBytes }: SizedTable): TableSize {
  for (const [what, value] of [["rows", rows], ["bytes of a row", rowBytes]] as const) {
    if (Number.isSafeInteger(value) && value >= 0) continue;
    throw new RangeError(
      `Cannot size the table "${name}": ${what}: found ${value}, a whole number of 0 or more is needed`,
    );
  }
  return {
    name,
    rowBytes,
    rows: rows * rowBytes,
    index: { low: Math.ceil(rows * INDEX.low), high: Math.ceil(rows * (rows < SMALL ? INDEX.small : INDEX.high)) },
    beside: Math.ceil(rows * BESIDE),
  };
}
