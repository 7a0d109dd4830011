/**
 * What tables tell of their rows.
 *
 * @module
 */

/** What {@linkcode Table.find} returns. */
export interface FoundRows {
  /** keys × dim numbers; zeros where a key has no row. */
  readonly rows: Float32Array<ArrayBuffer>;
  /** 1 where the key has a row, else 0. */
  readonly found: Uint8Array<ArrayBuffer>;
}

/** What {@linkcode Table.metadata} returns. */
export interface RowMetadata {
  /**
   * Lookups of each key that were counted, for a key that is not admitted those so far; 0 where there is no row or the
   * table records none.
   */
  readonly frequencies: BigUint64Array<ArrayBuffer>;
  /** Step of the last update of each key's row; -1 where there is none, no row, or the table records none. */
  readonly versions: BigInt64Array<ArrayBuffer>;
}

/** Some rows of a table, as {@linkcode Table.entries} gives them. */
export interface TableRows {
  /** Their keys. */
  readonly keys: BigInt64Array<ArrayBuffer>;
  /** keys × dim weights. */
  readonly rows: Float32Array<ArrayBuffer>;
}

/** Keys without a row, as {@linkcode Table.waiting} gives them. */
export interface WaitingKeys {
  /** The keys. */
  readonly keys: BigInt64Array<ArrayBuffer>;
  /** Lookups of each so far. */
  readonly frequencies: BigUint64Array<ArrayBuffer>;
  /** -1 each: no update reaches a key without a row. */
  readonly versions: BigInt64Array<ArrayBuffer>;
}

/**
 * Checks how many rows or keys come at a time.
 *
 * @throws {RangeError} If it is no whole number from 1 to 2^26.
 */
export function checkPiece(count: number): void {
  if (Number.isSafeInteger(count) && count >= 1 && count <= 2 ** 26) return;
  throw new RangeError(`Cannot read ${String(count)} rows at a time: expected a whole number from 1 to 67108864`);
}
