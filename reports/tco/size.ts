/**
 * The plain calculator: bytes of tables, to the byte, slots, index and policy included. Rows follow from dim, type and
 * optimizer alone; what lies beside them is the store's (`docs/store.md`, bytes a row), where the index grows in steps, so that it
 * has a range.
 *
 * @module
 */

/** What a table is made of. */
export interface SizedTable {
  /** Its name. */
  readonly name: string;
  /** Rows. */
  readonly rows: number;
  /** Weights of a row. */
  readonly dim: number;
  /** Type of the weights; slots are fp32 always. */
  readonly dtype: "fp32" | "bf16";
  /** Vectors of `dim` fp32 slots beside the weights, and single 32-bit numbers. */
  readonly slots: { readonly vectors: number; readonly scalars: number };
  /** Whether rows record how often they are looked up: 4 bytes. */
  readonly frequency?: boolean;
  /** Whether rows record their version: 8 bytes. */
  readonly version?: boolean;
}

/** Bytes of one table. */
export interface TableSize {
  readonly name: string;
  /** Bytes of a row: weights and each slot vector padded to 16, scalars, frequency, version. */
  readonly rowBytes: number;
  /** Bytes of the weights alone, without padding. */
  readonly weightBytes: number;
  /** All rows. */
  readonly rows: number;
  /** Index when all rows are in memory: from just grown to just before it grows. */
  readonly index: { readonly low: number; readonly high: number };
  /** Policy, key and flags beside rows, if they can leave their tier. */
  readonly beside: number;
}

/** Weights and slot vectors are padded to so many bytes (`ts_table_row_bytes`). */
const PADDING = 16;
/** A bucket of the index is a cache line of five slots. */
const BYTES_A_SLOT = 64 / 5;
/** A segment is rebuilt when 82 % of its slots are used, and is at least 74 % full after that. */
const FILL = { low: 0.74, high: 0.82 };
/** Beside a row that can leave: key 8, flags 1, place of its copy 4, policy 4 and an eighth of a byte for candidates. */
const BESIDE = 8 + 1 + 4 + 4 + 1 / 8;
/** DRAM for a row that is a record in SSDHASH, at most. */
const RECORD_INDEX = 16;

/** Bytes beside a row, for the planner: the upper ends. */
export const OVERHEAD: { readonly memoryRow: number; readonly recordRow: number } = {
  memoryRow: BYTES_A_SLOT / FILL.low + BESIDE,
  recordRow: RECORD_INDEX,
};

/** Bytes of a row. @throws {RangeError} A size is no whole number, or not positive. */
export function rowSize({ dim, dtype, slots, frequency, version }: Omit<SizedTable, "name" | "rows">): number {
  for (
    const [what, value, least] of [["dim", dim, 1], ["slots", slots.vectors, 0], ["scalars", slots.scalars, 0]] as const
  ) {
    if (!Number.isSafeInteger(value) || value < least) {
      throw new RangeError(`Cannot size a row: ${what} is ${value}, a whole number of ${least} or more is needed`);
    }
  }
  const padded = (bytes: number): number => Math.ceil(bytes / PADDING) * PADDING;
  return padded(dim * (dtype === "bf16" ? 2 : 4)) + slots.vectors * padded(dim * 4) + slots.scalars * 4 +
    (frequency === true ? 4 : 0) + (version === true ? 8 : 0);
}

/** Bytes of a table. @throws {RangeError} A size cannot be. */
export function tableSize(table: SizedTable): TableSize {
  const { name, rows, dim, dtype } = table;
  if (!Number.isSafeInteger(rows) || rows < 0) {
    throw new RangeError(`Cannot size the table "${name}": rows is ${rows}, a whole number of 0 or more is needed`);
  }
  const rowBytes = rowSize(table);
  return {
    name,
    rowBytes,
    weightBytes: dim * (dtype === "bf16" ? 2 : 4),
    rows: rows * rowBytes,
    index: { low: Math.ceil(rows * BYTES_A_SLOT / FILL.high), high: Math.ceil(rows * BYTES_A_SLOT / FILL.low) },
    beside: Math.ceil(rows * BESIDE),
  };
}
