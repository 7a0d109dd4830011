/**
 * Streams of keys of any length in bounded memory, for miss-ratio curves.
 *
 * @module
 */

import { checkFields, type FieldsOf } from "../base/fields.ts";
import { message } from "./errors.ts";
import { handleOf, NativeHandle, own } from "./handle.ts";
import { countKeys, type Keys, toKeys } from "./keys.ts";
import { native } from "./library.ts";
import { nativeOptions, withConfig } from "./options.ts";

/** What a {@linkcode KeySample} may keep. */
export interface KeySampleOptions {
  /** Lookups that come together, in which each row counts once; 1 if absent: every lookup counts. */
  readonly batch?: number;
  /** Memory that the sample and a curve of it may take together, in bytes; absent: any, so that all keys are kept. */
  readonly bytes?: number;
  /** Rows that may be kept; absent: any. */
  readonly rows?: number;
}

/** What a {@linkcode KeySample} has. */
export interface KeySampleFacts {
  /** Lookups that were added. */
  readonly added: number;
  /** Of them, those that are kept. */
  readonly kept: number;
  /** Share of the rows that is kept; 1: all. */
  readonly rate: number;
  /** Distinct rows of the whole stream, within 2 % or so. */
  readonly distinct: number;
  /** Rows of the whole stream, each once a batch. */
  readonly lookups: number;
  /** Memory that it has now, in bytes; a curve takes more, which {@linkcode MissRatioCurve.bytes} tells. */
  readonly bytes: number;
}

const FIELDS: FieldsOf<KeySampleOptions> = { batch: true, bytes: true, rows: true };
const FACTS = 6;

/** Of each sample, the lookups of its batches. */
const batches = new WeakMap<KeySample, number>();

/**
 * A stream of keys that is added block by block: kept whole while it fits, then as a sample of its rows, those whose hash is below a
 * threshold that is halved as often as need be (SHARDS, FAST 2015). What is kept depends on the keys and their order alone.
 *
 * @example A curve of a stream that is never in memory as a whole
 * ```ts
 * import { KeySample, missRatioCurve } from "../mod.ts";
 *
 * using sample = new KeySample({ rows: 10_000 });
 * for (let block = 0; block < 20; block++) {
 *   sample.add(BigInt64Array.from({ length: 50_000 }, (_, i) => BigInt((block * 7 + i * i) % 99_991)));
 * }
 * const { rate, errors } = missRatioCurve({ keys: sample, sizes: [1_000, 10_000] });
 * console.log(rate < 1, errors?.every((error) => error < 0.1)); // true true
 * ```
 *
 * @throws {TierstoreError} `TS_EINVAL` for a number that cannot be, or bytes that do not hold a batch.
 */
export class KeySample implements Disposable {
  /** Without any key. @param options Memory and batch. */
  constructor(options: KeySampleOptions = {}) {
    checkFields("a sample of keys", options, FIELDS);
    const { batch = 1, bytes, rows } = options, out = new BigUint64Array(1);
    for (const [name, value] of Object.entries({ batch, bytes, rows })) {
      if (value === undefined || (Number.isSafeInteger(value) && value >= 1)) continue;
      throw new RangeError(`Cannot sample keys: ${name} is ${value}; give a whole number, 1 or more`);
    }
    withConfig(
      nativeOptions({ batch, bytes, rows }),
      (config) =>
        message.check(native().ts_key_sample_create(config, out, message.bytes, message.capacity), "sample keys"),
    );
    batches.set(this, batch);
    own(this, new NativeHandle("sample of keys", out[0] ?? 0n, (sample) => native().ts_key_sample_close(sample)));
  }

  #address(): bigint {
    return handleOf(this, "sample of keys").exclusive("sample keys");
  }

  /**
   * Adds the next keys.
   *
   * @param keys They.
   * @param mix Combined with each by exclusive or; different numbers keep equal keys of tables apart that share a cache.
   */
  add(keys: Keys, mix: bigint = 0n): void {
    const block = toKeys(keys), count = BigInt(countKeys(block));
    const status = native().ts_key_sample_add(
      this.#address(),
      block,
      count,
      BigInt.asIntN(64, mix),
      message.bytes,
      message.capacity,
    );
    message.check(status, "sample keys");
  }

  /** What it has. */
  facts(): KeySampleFacts {
    const out = new Float64Array(FACTS);
    message.check(
      native().ts_key_sample_facts(this.#address(), out, message.bytes, message.capacity),
      "sample keys",
    );
    const [added = 0, kept = 0, rate = 1, distinct = 0, lookups = 0, bytes = 0] = out;
    return { added, kept, rate, distinct, lookups, bytes };
  }

  /** The kept keys in their order: a copy. */
  keys(): BigInt64Array<ArrayBuffer> {
    const out = new BigInt64Array(this.facts().kept), n = new BigUint64Array(1);
    const status = native().ts_key_sample_keys(
      this.#address(),
      out,
      BigInt(out.length),
      n,
      message.bytes,
      message.capacity,
    );
    message.check(status, "write the kept keys");
    return out;
  }

  /** Frees it. */
  [Symbol.dispose](): void {
    handleOf(this, "sample of keys").close();
  }
}

/** The native sample, for a curve of it, and the lookups of its batches. */
export function sampleHandle(sample: KeySample): { readonly address: bigint; readonly batch: number } {
  return {
    address: handleOf(sample, "sample of keys").exclusive("make a miss-ratio curve"),
    batch: batches.get(sample) ?? 1,
  };
}
