/**
 * Miss ratios of caches of many sizes: of a stream of keys, and of popularity laws of up to 2^53 rows.
 *
 * @module
 */

import { isArrayOf, lengthOf } from "./arrays.ts";
import { message } from "./errors.ts";
import { checkFields, type FieldsOf } from "../base/fields.ts";
import { KeySample, sampleHandle } from "./key_sample.ts";
import { countKeys, type Keys, toKeys } from "./keys.ts";
import { native } from "./library.ts";
import { nativeOptions, seedText, withConfig } from "./options.ts";
import type { ReplayPolicy } from "./replay.ts";

/** How popular rows are: `rows[i]` rows of which each gets `weights[i]` / (sum of rows * weights) of the lookups. */
export interface PopularityLaw {
  /** Rows of each bucket. */
  readonly rows: BigUint64Array;
  /** Weight of one row of the bucket, in any unit. */
  readonly weights: Float64Array;
}

/** A Zipf-Mandelbrot law: rank r of 1..rows has weight (r + q)^-s. */
export interface ZipfLaw {
  /** Rows, 1 to 2^53. */
  readonly rows: number;
  /** Skew, 0 (all rows alike) or more; 1.05 if absent. */
  readonly s?: number;
  /** What flattens the head, 0 or more; 0 if absent. */
  readonly q?: number;
  /** Shares of all lookups of rows in front of the law, part of `rows` (`heavy_hitters` of FBGEMM's EEG). */
  readonly heavyHitters?: readonly number[];
}

/** A policy of a store, `opt` (Belady 1966), or one with a formula only: `fifo`, `random`, `popular`. */
export type CurvePolicy = ReplayPolicy | "fifo" | "random" | "popular";

/** How a curve is made. */
export type CurveMethod = "exact" | "sampled" | "analytic";

/** What {@linkcode missRatioCurve} needs: `keys` or `law`, and `sizes`. */
export interface CurveOptions {
  /** A stream of keys, in order; or a sample of one, which says how its batches are and what is kept. */
  readonly keys?: Keys | KeySample;
  /** Instead of keys: independent draws from a law, in the steady state. */
  readonly law?: PopularityLaw | ZipfLaw;
  /** Rows that the caches hold, rising; 0 is a cache that never hits. */
  readonly sizes: readonly number[];
  /** Which row leaves; `lru` if absent. */
  readonly policy?: CurvePolicy;
  /**
   * `exact` (keys; the default for them), `sampled` (keys: the rows whose hash is below a threshold in smaller caches;
   * laws: a model of the law with a smaller cache) or `analytic` (laws; the default for them).
   */
  readonly method?: CurveMethod;
  /** Lookups that come together, in which each row counts once; 1 if absent: every lookup counts. A sample has its own. */
  readonly batch?: number;
  /** Keys at the beginning that only fill the caches; 0 if absent. Keys only. */
  readonly uncounted?: number;
  /** Rows of the sample (1,048,576 if absent) or of the model's cache (16,384). */
  readonly samples?: number;
  /** Share of the rows that is sampled, instead of `samples`. Keys only. */
  readonly rate?: number;
  /** Seed of the draws of a law's model; 0 if absent. */
  readonly seed?: number | bigint;
}

/** Miss ratios by size, and what they are shares of. */
export interface MissRatioCurve {
  /** As asked. */
  readonly policy: CurvePolicy;
  /** How it was made. */
  readonly method: CurveMethod;
  /** As asked. */
  readonly batch: number;
  /** Rows of each cache. */
  readonly sizes: readonly number[];
  /** Misses of each cache as a share of `lookups`. */
  readonly missRatios: readonly number[];
  /** The denominator: rows looked up, each once a batch. Of a law: of one batch. */
  readonly lookups: number;
  /** Standard error of each ratio, of a {@linkcode KeySample} that keeps some rows: by the spread of eight parts of it. */
  readonly errors?: readonly number[];
  /** Distinct rows of the stream (estimated within 2 % unless counted exactly for `lru`), or rows of the law. */
  readonly distinct: number;
  /** Lookups of rows that came for the first time: misses of every size. Absent where nobody counted them. */
  readonly firstLookups?: number;
  /** Share of the rows that was looked at; 1: all. */
  readonly rate: number;
  /** Lookups that were simulated. */
  readonly replayed: number;
  /** Most memory that was used for it, in bytes: what a {@linkcode KeySample} holds among it, an array of keys not. */
  readonly bytes: number;
}

const LAW_FIELDS: FieldsOf<ZipfLaw> = { rows: true, s: true, q: true, heavyHitters: true };
const FIELDS: FieldsOf<CurveOptions> = {
  keys: true,
  law: true,
  sizes: true,
  policy: true,
  method: true,
  batch: true,
  uncounted: true,
  samples: true,
  rate: true,
  seed: true,
};

/** No law of doubles needs as many: neighbouring ranks whose weights differ by 4 % share a bucket. */
const MOST_BUCKETS = 1 << 16;

/**
 * The buckets of a Zipf-Mandelbrot law.
 *
 * @example OpenEmbedding's production table (ICDE 2023, Table II)
 * ```ts
 * import { popularityLaw } from "../mod.ts";
 *
 * const law = popularityLaw({ rows: 2.1e9, s: 1.346, q: 4300 });
 * console.log(law.rows.length < 500); // true
 * ```
 *
 * @throws {TierstoreError} `TS_EINVAL` for a law that cannot be.
 * @throws {RangeError} If `rows` is no whole number.
 */
export function popularityLaw(options: ZipfLaw): PopularityLaw {
  checkFields("the popularity law", options, LAW_FIELDS);
  whole("rows", options.rows, 1);
  const hitters = Float64Array.from(options.heavyHitters ?? []);
  const rows = new BigUint64Array(MOST_BUCKETS + hitters.length), weights = new Float64Array(rows.length);
  const needed = new Uint32Array(1);
  withConfig(nativeOptions({ rows: options.rows, s: options.s, q: options.q }), (config) => {
    const status = native().ts_simulate_law(
      config,
      hitters,
      hitters.length,
      rows,
      weights,
      rows.length,
      needed,
      message.bytes,
      message.capacity,
    );
    message.check(status, "make the popularity law");
  });
  return { rows: rows.slice(0, needed[0]), weights: weights.slice(0, needed[0]) };
}

/**
 * The share of lookups that miss, for caches of many sizes.
 *
 * LRU of all sizes takes one pass over the keys, 17 bytes a distinct row; other policies are replayed size by size. With
 * `batch` above 1 rows count once a batch: hit ratios with another denominator cannot be compared.
 *
 * @example What the published 2 GiB cache of 256-byte rows misses, with 10,000 lookups a batch
 * ```ts
 * import { missRatioCurve } from "../mod.ts";
 *
 * const law = { rows: 2.1e9, s: 1.346, q: 4300 };
 * const curve = missRatioCurve({ law, sizes: [2 ** 31 / 256], batch: 10_000 });
 * console.log(curve.missRatios[0]?.toFixed(3)); // 0.096
 * ```
 *
 * @throws {TypeError} For an option that does not exist, or both or neither of keys and law.
 * @throws {RangeError} For a number that cannot be.
 * @throws {TierstoreError} `TS_EINVAL` for an unknown policy or method or sizes that do not rise, `TS_ENOMEM`.
 */
export function missRatioCurve(options: CurveOptions): MissRatioCurve {
  checkFields("a miss-ratio curve", options, FIELDS);
  const { keys, law, policy = "lru" } = options;
  if (keys instanceof KeySample) return sampleCurve(keys, options);
  const { method = keys === undefined ? "analytic" : "exact", batch = 1 } = options;
  if ((keys === undefined) === (law === undefined)) {
    throw new TypeError(`Cannot make a miss-ratio curve of ${keys ? "keys and a law" : "nothing"}: give keys or a law`);
  }
  for (const name of law === undefined ? ["seed"] as const : ["uncounted", "rate"] as const) {
    if (options[name] === undefined) continue;
    const of = law === undefined ? "keys" : "a law";
    throw new TypeError(`Cannot use the option "${name}" for a miss-ratio curve of ${of}: it has no meaning there`);
  }
  whole("batch", batch, 1);
  const { wanted, sizes, ratios, facts } = outputs(options);
  const { uncounted, samples, rate } = options;
  const out = [sizes, sizes.length, ratios, facts, message.bytes, message.capacity] as const;
  const asked = nativeOptions({ policy, method, batch, uncounted, samples, rate, seed: seedText(options.seed) });
  const stream = keys === undefined ? undefined : toKeys(keys);
  const buckets = law === undefined ? undefined : toLaw(law);
  withConfig(asked, (config) => {
    const status = stream === undefined
      ? native().ts_simulate_law_curve(config, buckets!.rows, buckets!.weights, countBuckets(buckets!), ...out)
      : native().ts_simulate_curve(config, stream, BigInt(countKeys(stream)), ...out);
    message.check(status, `make a miss-ratio curve with the policy "${policy}"`);
  });
  return curveOf({ policy, method, batch, sizes: wanted }, ratios, facts, keys !== undefined && policy === "lru");
}

/** Checked sizes, and room for what is found at them. */
function outputs(options: CurveOptions) {
  const wanted = [...options.sizes];
  for (const size of wanted) whole("a size", size, 0);
  const sizes = BigUint64Array.from(wanted, BigInt);
  return { wanted, sizes, ratios: new Float64Array(sizes.length), facts: new Float64Array(6) };
}

function sampleCurve(sample: KeySample, options: CurveOptions): MissRatioCurve {
  const { policy = "lru", batch: asked, method: named } = options;
  for (const name of ["law", "uncounted", "samples", "rate", "seed"] as const) {
    if (options[name] === undefined) continue;
    throw new TypeError(
      `Cannot use the option "${name}" for a miss-ratio curve of a sample of keys: it has no meaning there`,
    );
  }
  const { wanted, sizes, ratios, facts } = outputs(options), { rate } = sample.facts();
  const { address, batch } = sampleHandle(sample), method = rate < 1 ? "sampled" : "exact";
  if (asked !== undefined && asked !== batch) {
    throw new RangeError(`Cannot make a miss-ratio curve: batch is ${asked}, and the sample has batches of ${batch}`);
  }
  if (named !== undefined && named !== method && rate < 1) {
    throw new RangeError(
      `Cannot make a miss-ratio curve: the method is "${named}", and ${rate} of the rows were kept; give the sample more memory`,
    );
  }
  const errors = new Float64Array(sizes.length);
  withConfig(nativeOptions({ policy }), (config) => {
    const status = native().ts_key_sample_curve(
      address,
      config,
      sizes,
      sizes.length,
      ratios,
      errors,
      facts,
      message.bytes,
      message.capacity,
    );
    message.check(status, `make a miss-ratio curve with the policy "${policy}"`);
  });
  return {
    ...curveOf({ policy, method, batch, sizes: wanted }, ratios, facts, policy === "lru"),
    ...(rate < 1 ? { errors: [...errors] } : {}),
  };
}

/** A curve of what the library found. @param firsts First lookups were counted. */
function curveOf(
  asked: Pick<MissRatioCurve, "policy" | "method" | "batch" | "sizes">,
  ratios: Float64Array,
  [lookups = 0, distinct = 0, first = 0, share = 1, replayed = 0, bytes = 0]: Float64Array,
  firsts: boolean,
): MissRatioCurve {
  return {
    ...asked,
    missRatios: [...ratios],
    lookups,
    distinct,
    ...(firsts ? { firstLookups: first } : {}),
    rate: asked.method === "analytic" ? 1 : share,
    replayed,
    bytes,
  };
}

/** What {@linkcode marginalBytes} needs besides a curve's options. */
export interface MarginalOptions extends Omit<CurveOptions, "sizes"> {
  /** Bytes of a row, as the cache holds it. */
  readonly rowBytes: number;
  /** Bytes that the cache has for rows. */
  readonly bytes: number;
  /** Bytes more; 1 GiB if absent. */
  readonly added?: number;
}

/** What more memory would buy. */
export interface MarginalBytes {
  /** Rows of the cache as it is. */
  readonly rows: number;
  /** Rows of the larger one. */
  readonly rowsWithMore: number;
  /** Misses as a share of lookups, each row once a batch. */
  readonly missRatio: number;
  /** The same of the larger cache. */
  readonly missRatioWithMore: number;
  /** Misses that the added bytes save, as a share of lookups. */
  readonly saved: number;
  /** The same for one GiB, if each of its bytes saved as much as the added ones do on average. */
  readonly savedPerGiB: number;
  /** The miss ratio of the best policy in the cache as it is: what a better policy could buy instead. */
  readonly optimum: number;
  /** Which best: `opt` knows the keys to come, `popular` only how popular rows are. */
  readonly optimumPolicy: "opt" | "popular";
}

/**
 * What 1 GiB more would buy, and what the best policy would.
 *
 * @example A second GiB in front of OpenEmbedding's table
 * ```ts
 * import { marginalBytes } from "../mod.ts";
 *
 * const law = { rows: 2.1e9, s: 1.346, q: 4300 };
 * const more = marginalBytes({ law, rowBytes: 256, bytes: 2 ** 30 });
 * console.log(more.saved > 0.02, more.optimum < more.missRatio); // true true
 * ```
 *
 * @throws {RangeError} If `rowBytes`, `bytes` or `added` is no positive number.
 */
export function marginalBytes(options: MarginalOptions): MarginalBytes {
  const { rowBytes, bytes, added = 2 ** 30, ...curve } = options;
  for (const [name, value] of Object.entries({ rowBytes, bytes, added })) {
    const least = name === "bytes" ? 0 : Number.MIN_VALUE;
    if (typeof value === "number" && value >= least && value < Infinity) continue;
    throw new RangeError(`Cannot tell what more memory buys: ${name} is ${value}; give a positive number of bytes`);
  }
  const rows = Math.floor(bytes / rowBytes), rowsWithMore = Math.floor((bytes + added) / rowBytes);
  const sizes = rows === rowsWithMore ? [rows] : [rows, rowsWithMore];
  const { missRatios } = missRatioCurve({ ...curve, sizes });
  const missRatio = missRatios[0] ?? NaN, missRatioWithMore = missRatios.at(-1) ?? NaN;
  const optimumPolicy = curve.keys === undefined && (curve.method ?? "analytic") === "analytic" ? "popular" : "opt";
  const [optimum = NaN] = missRatioCurve({ ...curve, policy: optimumPolicy, sizes: [rows] }).missRatios;
  const saved = missRatio - missRatioWithMore;
  return {
    rows,
    rowsWithMore,
    missRatio,
    missRatioWithMore,
    saved,
    savedPerGiB: saved / added * 2 ** 30,
    optimum,
    optimumPolicy,
  };
}

function toLaw(law: PopularityLaw | ZipfLaw): PopularityLaw {
  if (!("weights" in law)) return popularityLaw(law);
  const { rows, weights } = law;
  return { rows, weights };
}

/** How many buckets a law has now. */
function countBuckets({ rows, weights }: PopularityLaw): number {
  const fits = isArrayOf("BigUint64Array", rows) && isArrayOf("Float64Array", weights);
  const count = fits ? lengthOf("rows of a law", "BigUint64Array", rows) : -1;
  if (fits && count === lengthOf("weights of a law", "Float64Array", weights)) return count;
  throw new TypeError(
    "Cannot use the popularity law: rows must be a BigUint64Array and weights a Float64Array as long",
  );
}

function whole(what: string, value: number, least: number): void {
  if (Number.isSafeInteger(value) && value >= least) return;
  throw new RangeError(`Cannot make a miss-ratio curve: ${what} is ${value}; give a whole number, ${least} or more`);
}
