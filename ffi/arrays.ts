/**
 * What typed arrays really are: their kind and length by the engine's own getters, which no property, subclass, proxy or
 * prototype of the caller's can answer for. The native library reads as many elements as it is told, so the number must
 * be true at the moment of the call: convert everything that runs the caller's code (getters, iterators) first, measure
 * what is handed over last.
 *
 * @module
 */

/** The typed arrays that are handed to the native library. */
interface ArrayKinds {
  /** Keys. */
  readonly BigInt64Array: BigInt64Array;
  /** Offsets, counts. */
  readonly BigUint64Array: BigUint64Array;
  /** Weights, gradients, parameters. */
  readonly Float32Array: Float32Array;
  /** Laws, queries. */
  readonly Float64Array: Float64Array;
}

const { apply } = Reflect;
const prototype: object = Object.getPrototypeOf(Uint8Array.prototype);

function getterOf(owner: object, name: PropertyKey): (this: unknown) => unknown {
  const getter = Object.getOwnPropertyDescriptor(owner, name)?.get;
  if (getter === undefined) throw new Error(`Cannot find the getter of ${String(name)} in this JavaScript engine`);
  return getter;
}

const kindGetter = getterOf(prototype, Symbol.toStringTag);
const lengthGetter = getterOf(prototype, "length");
const bufferGetter = getterOf(prototype, "buffer");
const sharedBytesGetter = getterOf(SharedArrayBuffer.prototype, "byteLength");
const at = Object.getOwnPropertyDescriptor(prototype, "at")?.value as (this: unknown, index: number) => unknown;

/** Whether a value is a typed array of this kind. */
export function isArrayOf<K extends keyof ArrayKinds>(kind: K, value: unknown): value is ArrayKinds[K] {
  return apply(kindGetter, value, []) === kind;
}

/**
 * The elements of a typed array as it is now.
 *
 * @param what What it is in messages, e.g. `keys`.
 * @param kind What it must be.
 * @param array The array; a view whose buffer was transferred or has become too short for it is refused.
 * @throws {TypeError} If it is no such array.
 */
export function lengthOf(what: string, kind: keyof ArrayKinds, array: unknown): number {
  if (!isArrayOf(kind, array)) throw new TypeError(`Cannot use ${what}: expected a ${kind}`);
  const length = apply(lengthGetter, array, []) as number;
  if (length === 0) checkAlive(what, array);
  return length;
}

/** An empty array, or one that has lost its memory? `at` refuses the latter. */
function checkAlive(what: string, array: object): void {
  try {
    apply(at, array, [0]);
  } catch {
    throw new TypeError(`Cannot use ${what}: their buffer was transferred or is shorter than the array was`);
  }
}

/** The buffer under a typed array. */
export function bufferOf(array: object): unknown {
  return apply(bufferGetter, array, []);
}

/** Whether other threads may write to a typed array while a call reads it. */
export function isShared(array: object): boolean {
  try {
    apply(sharedBytesGetter, bufferOf(array), []);
    return true;
  } catch {
    return false;
  }
}
