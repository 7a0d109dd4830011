/**
 * Keys and rows as typed arrays: what goes to the native library is checked here, since a 64-bit argument that is out of
 * range would be cut silently on the way.
 *
 * @module
 */

/** Keys of rows: any signed 64-bit whole numbers. A `BigInt64Array` is passed on without a copy. */
export type Keys = BigInt64Array | readonly (number | bigint)[];

/**
 * The keys as a typed array.
 *
 * @throws {RangeError} If a key is no whole number, a number beyond 2^53 - 1 (a double does not hold it exactly: use a
 * bigint), or beyond 64 bits.
 */
export function toKeys(keys: Keys): BigInt64Array {
  if (keys instanceof BigInt64Array) return keys;
  const out = new BigInt64Array(keys.length);
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i];
    if (typeof key === "bigint") {
      if (BigInt.asIntN(64, key) !== key) {
        throw new RangeError(`Cannot use keys[${i}] = ${key}: a key has 64 bits, from -2^63 to 2^63 - 1`);
      }
      out[i] = key;
    } else if (typeof key === "number" && Number.isSafeInteger(key)) {
      out[i] = BigInt(key);
    } else {
      throw new RangeError(`Cannot use keys[${i}] = ${key}: expected a whole number up to 2^53 - 1, or a bigint`);
    }
  }
  return out;
}

/**
 * Checks that an array has one row per key.
 *
 * @throws {TypeError} If it is no `Float32Array`.
 * @throws {RangeError} If its length is not keys × dim.
 */
export function checkRows(what: string, rows: Float32Array, keys: number, dim: number): void {
  if (!(rows instanceof Float32Array)) throw new TypeError(`Cannot use ${what}: expected a Float32Array`);
  if (rows.length === keys * dim) return;
  throw new RangeError(
    `Cannot use ${what} of length ${rows.length}: expected ${keys * dim} (${keys} keys of dim ${dim})`,
  );
}
