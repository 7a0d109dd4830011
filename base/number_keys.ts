/**
 * Rows by numbers, in the order in which they come first.
 *
 * @module
 */

/** Keys by numbers of their rows. */
export interface NumberedKeys {
  /** The row of each key: 0, 1 and so on. */
  readonly ids: Int32Array<ArrayBuffer>;
  /** Rows that there are. */
  readonly rows: number;
  /** Where each row came first. */
  readonly firsts: Uint32Array<ArrayBuffer>;
}

/** Numbers the rows of a stream. */
export function numberKeys(keys: BigInt64Array): NumberedKeys {
  const known = new Map<bigint, number>(), ids = new Int32Array(keys.length), firsts: number[] = [];
  keys.forEach((key, i) => {
    let id = known.get(key);
    if (id === undefined) {
      id = firsts.push(i) - 1;
      known.set(key, id);
    }
    ids[i] = id;
  });
  return { ids, rows: firsts.length, firsts: Uint32Array.from(firsts) };
}
