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
 * Where bags begin: bag b holds `keys[offsets[b]]` up to but not including `keys[offsets[b + 1]]`. One entry more than
 * bags; the first is 0, none is below the one before, the last is the number of keys. A `BigUint64Array` is passed on
 * without a copy.
 */
export type Offsets = BigUint64Array | ArrayLike<number>;

/**
 * The offsets as a typed array, and how many bags they make.
 *
 * The library sees to it that they do not fall; that they end with the keys is checked here, since it cannot know.
 *
 * @throws {RangeError} If they do not begin with 0, do not end with the number of keys, or hold no whole numbers.
 */
export function toOffsets(offsets: Offsets, keys: number): BigUint64Array {
  const out = offsets instanceof BigUint64Array ? offsets : new BigUint64Array(offsets.length);
  if (!(offsets instanceof BigUint64Array)) {
    for (let i = 0; i < out.length; i++) {
      const offset = offsets[i] ?? NaN;
      if (!Number.isSafeInteger(offset) || offset < 0) {
        throw new RangeError(`Cannot use offsets[${i}] = ${offset}: expected a whole number, 0 or more`);
      }
      out[i] = BigInt(offset);
    }
  }
  if (out[0] !== 0n) {
    throw new RangeError(`Cannot use offsets that begin with ${out[0] ?? "nothing"}: expected 0`);
  }
  if (out[out.length - 1] !== BigInt(keys)) {
    throw new RangeError(
      `Cannot use offsets that end with ${out[out.length - 1]}: expected the number of keys, ${keys}`,
    );
  }
  return out;
}

/**
 * Checks weights of keys in bags.
 *
 * @throws {TypeError} If they are no `Float32Array`.
 * @throws {RangeError} If there is not one for each key.
 */
export function checkWeights(weights: Float32Array | undefined, keys: number): void {
  if (weights === undefined) return;
  if (!(weights instanceof Float32Array)) throw new TypeError("Cannot use weights: expected a Float32Array");
  if (weights.length === keys) return;
  throw new RangeError(`Cannot use weights of length ${weights.length}: expected one for each of the ${keys} keys`);
}

/**
 * Checks that an array has one row per key, or per whatever `each` names.
 *
 * @throws {TypeError} If it is no `Float32Array`.
 * @throws {RangeError} If its length is not keys × dim.
 */
export function checkRows(what: string, rows: Float32Array, keys: number, dim: number, each: string = "keys"): void {
  if (!(rows instanceof Float32Array)) throw new TypeError(`Cannot use ${what}: expected a Float32Array`);
  if (rows.length === keys * dim) return;
  throw new RangeError(
    `Cannot use ${what} of length ${rows.length}: expected ${keys * dim} (${keys} ${each} of dim ${dim})`,
  );
}
