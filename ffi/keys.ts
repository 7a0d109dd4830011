/**
 * Keys and rows as typed arrays: what goes to the native library is checked here, since a 64-bit argument that is out of
 * range would be cut silently on the way.
 *
 * Conversions run the caller's code where they read arrays of numbers, which may close a store or take the memory of
 * another array away. So callers convert everything first, then measure (`countKeys`, `countBags`, `checkRows`,
 * `checkWeights`), then ask for the handle's address, with nothing in between.
 *
 * @module
 */

import { bufferOf, isArrayOf, isShared, lengthOf } from "./arrays.ts";

/**
 * Keys of rows: any signed 64-bit whole numbers. A `BigInt64Array` is passed on without a copy, unless other threads can
 * write to it.
 */
export type Keys = BigInt64Array | readonly (number | bigint)[];

/**
 * The keys as a typed array.
 *
 * @throws {TypeError} If they are no array.
 * @throws {RangeError} If a key is no whole number, a number beyond 2^53 - 1 (a double does not hold it exactly: use a
 * bigint), or beyond 64 bits.
 */
export function toKeys(keys: Keys): BigInt64Array {
  if (isArrayOf("BigInt64Array", keys)) return isShared(keys) ? new BigInt64Array(keys) : keys;
  const out = new BigInt64Array(listLength("keys", keys));
  for (let i = 0; i < out.length; i++) {
    const key = keys[i];
    if (typeof key === "bigint") {
      if (BigInt.asIntN(64, key) !== key) {
        throw new RangeError(`Cannot use keys[${i}] = ${key}: a key has 64 bits, from -2^63 to 2^63 - 1`);
      }
      out[i] = key;
    } else if (typeof key === "number" && Number.isSafeInteger(key)) {
      out[i] = BigInt(key);
    } else {
      throw new RangeError(
        `Cannot use keys[${i}] = ${String(key)}: expected a whole number up to 2^53 - 1, or a bigint`,
      );
    }
  }
  return out;
}

/** How many keys there are now. */
export function countKeys(keys: BigInt64Array): number {
  return lengthOf("keys", "BigInt64Array", keys);
}

/** The keys, or a copy of them where they are in the memory that the call writes to. */
export function apartFrom(keys: BigInt64Array, out: Float32Array): BigInt64Array {
  return bufferOf(keys) === bufferOf(out) ? new BigInt64Array(keys) : keys;
}

/**
 * Where bags begin: bag b holds `keys[offsets[b]]` up to but not including `keys[offsets[b + 1]]`. One entry more than
 * bags; the first is 0, none is below the one before, the last is the number of keys. A `BigUint64Array` is passed on
 * without a copy, unless other threads can write to it.
 */
export type Offsets = BigUint64Array | ArrayLike<number>;

/**
 * The offsets as a typed array.
 *
 * @throws {TypeError} If they are no array.
 * @throws {RangeError} If they hold no whole numbers.
 */
export function toOffsets(offsets: Offsets): BigUint64Array {
  if (isArrayOf("BigUint64Array", offsets)) return isShared(offsets) ? new BigUint64Array(offsets) : offsets;
  const out = new BigUint64Array(listLength("offsets", offsets));
  for (let i = 0; i < out.length; i++) {
    const offset = offsets[i] ?? NaN;
    if (!Number.isSafeInteger(offset) || offset < 0) {
      throw new RangeError(`Cannot use offsets[${i}] = ${String(offset)}: expected a whole number, 0 or more`);
    }
    out[i] = BigInt(offset);
  }
  return out;
}

/**
 * How many bags the offsets make now.
 *
 * The library sees to it that they do not fall; that they end with the keys is checked here, since it cannot know.
 *
 * @throws {RangeError} If they do not begin with 0 or do not end with the number of keys.
 */
export function countBags(offsets: BigUint64Array, keys: number): number {
  const length = lengthOf("offsets", "BigUint64Array", offsets);
  if (offsets[0] !== 0n) {
    throw new RangeError(`Cannot use offsets that begin with ${offsets[0] ?? "nothing"}: expected 0`);
  }
  if (offsets[length - 1] !== BigInt(keys)) {
    throw new RangeError(
      `Cannot use offsets that end with ${offsets[length - 1]}: expected the number of keys, ${keys}`,
    );
  }
  return length - 1;
}

/**
 * Checks weights of keys in bags.
 *
 * @throws {TypeError} If they are no `Float32Array`.
 * @throws {RangeError} If there is not one for each key.
 */
export function checkWeights(weights: Float32Array | undefined, keys: number): void {
  if (weights === undefined) return;
  const length = lengthOf("weights", "Float32Array", weights);
  if (length === keys) return;
  throw new RangeError(`Cannot use weights of length ${length}: expected one for each of the ${keys} keys`);
}

/**
 * Checks that an array has one row per key, or per whatever `each` names.
 *
 * @throws {TypeError} If it is no `Float32Array`.
 * @throws {RangeError} If its length is not keys × dim.
 */
export function checkRows(what: string, rows: Float32Array, keys: number, dim: number, each: string = "keys"): void {
  const length = lengthOf(what, "Float32Array", rows);
  if (length === keys * dim) return;
  throw new RangeError(
    `Cannot use ${what} of length ${length}: expected ${keys * dim} (${keys} ${each} of dim ${dim})`,
  );
}

/** The length of a list of numbers, read once. */
function listLength(what: string, list: ArrayLike<unknown>): number {
  let length: unknown;
  try {
    length = typeof list === "object" && list !== null ? list.length : undefined;
  } catch (cause) { // a proxy or an heir of a typed array is none
    throw new TypeError(`Cannot use ${what}: expected an array`, { cause });
  }
  if (typeof length === "number" && Number.isSafeInteger(length) && length >= 0) return length;
  throw new TypeError(`Cannot use ${what}: expected an array`);
}
