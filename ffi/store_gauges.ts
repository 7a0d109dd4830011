/**
 * Live gauges of a store: hits by tier, what its first tier would hit at other sizes, what one GiB more would give.
 *
 * @module
 */

import { parseBytes, type Size } from "../base/bytes.ts";
import { checkFields, type FieldsOf, listOption } from "../base/fields.ts";
import { message } from "./errors.ts";
import type { EmbeddingStore } from "./store.ts";

/** What {@linkcode EmbeddingStore.gauges} is asked. */
export interface GaugesOptions {
  /** An earlier reading of the same store: what came after it. Default: all since the store was opened, or its counters reset. */
  readonly since?: StoreGauges;
  /** Bytes of the first tier that the curve is of. Default: an eighth to eight times its size, by factors of two. */
  readonly sizes?: readonly Size[];
  /**
   * How much more, and less, memory {@linkcode StoreGauges.more} and `less` are about.
   *
   * @default {"1 GiB"}
   */
  readonly step?: Size;
}

/** Hits of a first tier of some size. */
export interface HitsOfSize {
  /** Its limit, as `size` of {@linkcode StoreOptions} has it. */
  readonly bytes: number;
  /** Lookups that it answers under LRU, as a share of all. */
  readonly hits: number;
  /** Half of the 95 % interval of `hits`. */
  readonly error: number;
}

/** What a first tier of another size answers beside what it does. */
export interface HitsOfStep {
  /** Bytes that are added to its limit, below 0 where they are taken away. */
  readonly bytes: number;
  /** Lookups that it answers more, as a share of all; below 0: less. */
  readonly hits: number;
  /** Half of the 95 % interval of `hits`. */
  readonly error: number;
}

/** A reading. Shares are of `lookups`; those of `tiers`, `created` and `notAdmitted` are counted, the others estimated. */
export interface StoreGauges {
  /** Looked-up keys, counted as `lookup_keys` is. */
  readonly lookups: number;
  /** Share whose row was in each tier, fastest first. What a call repeats is in the first tier from then on. */
  readonly tiers: readonly number[];
  /** Share that was in no tier and got a row. */
  readonly created: number;
  /** Share that was answered with the default value, a key once a call. */
  readonly notAdmitted: number;
  /** LRU at the size that the first tier has: what the curve is to be held against, beside `tiers[0]`, which the store's policy had. */
  readonly now: HitsOfSize;
  /** LRU at the sizes that were asked for, rising. */
  readonly curve: readonly HitsOfSize[];
  /** What `step` bytes more give under LRU. */
  readonly more: HitsOfStep;
  /** What is lost with `step` bytes less, or with all of them where there are not so many. */
  readonly less: HitsOfStep;
  /** Bytes of the first tier that a byte of a row takes, with what lies beside it: index, policy. */
  readonly bytesPerRowByte: number;
  /** What was looked at. */
  readonly sample: {
    /** Share of the rows. */
    readonly rate: number;
    /** Rows of it now, of all tables. */
    readonly rows: number;
  };
}

/** What a reading was made of, for those that come after it. */
interface Counted {
  readonly store: object;
  readonly statistics: Readonly<Record<string, number>>;
  readonly lookups: number;
  /** By group: lookups, those that no size hits, then by distance. */
  readonly groups: readonly Float64Array[];
}

const COUNTED = new WeakMap<StoreGauges, Counted>();
const FIELDS: FieldsOf<GaugesOptions> = { since: true, sizes: true, step: true };
/** Facts at the beginning of what `ts_store_gauges` writes. */
const FACTS = 7;

/** 97.5 % of Student's t with 14 degrees of freedom (16 groups, a line through them) and of the normal distribution. */
const T = 2.145, Z = 1.96;

/**
 * Reads gauges.
 *
 * @param store Whose.
 * @param options As of {@linkcode EmbeddingStore.gauges}.
 * @param call Calls C with the array to fill, its length and where it stores how many there are; returns the status.
 */
export function readGauges(
  store: EmbeddingStore,
  options: GaugesOptions,
  call: (out: BigUint64Array<ArrayBuffer>, n: number, needed: Uint32Array<ArrayBuffer>) => number,
): StoreGauges {
  checkFields("gauges()", options, FIELDS);
  const step = parseBytes(options.step ?? 2 ** 30);
  const asked = listOption("gauges()", "sizes", options.sizes)?.map(parseBytes);
  const needed = new Uint32Array(1);
  message.check(call(new BigUint64Array(0), 0, needed), "read gauges");
  const words = new BigUint64Array(needed[0] ?? 0);
  message.check(call(words, words.length, needed), "read gauges");
  const numbers = Float64Array.from(words, Number);
  const [groupCount = 0, bins = 0, shift = 0, rows = 0, bytes = 0, lookups = 0, rowsOnly = 0] = numbers;
  const bounds = numbers.subarray(FACTS, FACTS + bins);
  const counted: Counted = {
    store,
    statistics: store.statistics(),
    lookups,
    groups: Array.from({ length: groupCount }, (_, g) => {
      const at = FACTS + bins + g * (bins + 2);
      return numbers.subarray(at, at + bins + 2);
    }),
  };
  const window = after(counted, options.since);
  const tier = firstTier(store, rowsOnly === 1);
  const rate = 2 ** -shift;
  const curve = new Curve(window, bounds, rate, rows === 0 ? 0 : bytes / rows);
  const at = (limit: number): HitsOfSize => ({ bytes: limit, ...curve.hits(tier.rowsOf(limit)) });
  const by = (added: number): HitsOfStep => ({
    bytes: added,
    ...curve.change(tier.rowsOf(tier.limit), tier.rowsOf(tier.limit + added)),
  });
  const share = (name: string): number => window.lookups === 0 ? 0 : (window.statistics[name] ?? 0) / window.lookups;
  const sizes = asked ?? [-3, -2, -1, 0, 1, 2, 3].map((log2) => Math.round(tier.limit * 2 ** log2));
  const gauges: StoreGauges = {
    lookups: window.lookups,
    tiers: Array.from({ length: tier.count }, (_, t) => share(`tier${t}_hits`)),
    created: share("created"),
    notAdmitted: share("not_admitted"),
    now: at(tier.limit),
    curve: sizes.sort((a, b) => a - b).map(at),
    more: by(step),
    less: by(-Math.min(step, tier.limit)),
    bytesPerRowByte: tier.perByte,
    sample: { rate, rows },
  };
  COUNTED.set(gauges, counted);
  return gauges;
}

/** What was counted after an earlier reading. */
function after(now: Counted, since: StoreGauges | undefined): Counted {
  if (since === undefined) return now;
  const before = COUNTED.get(since);
  if (before?.store !== now.store) {
    throw new RangeError("Cannot read gauges since another reading: it is none of this store");
  }
  if (before.lookups > now.lookups) {
    throw new RangeError("Cannot read gauges since another reading: the counters were set to 0 after it");
  }
  const less = (a: number | undefined, b: number | undefined) => (a ?? 0) - (b ?? 0);
  return {
    store: now.store,
    statistics: Object.fromEntries(
      Object.entries(now.statistics).map(([name, count]) => [name, less(count, before.statistics[name])]),
    ),
    lookups: now.lookups - before.lookups,
    groups: now.groups.map((counts, g) => counts.map((count, i) => less(count, before.groups[g]?.[i]))),
  };
}

/** The first tier: its limit, and how many bytes of rows another limit would hold. */
function firstTier(store: EmbeddingStore, rowsOnly: boolean): {
  readonly limit: number;
  readonly count: number;
  readonly perByte: number;
  readonly rowsOf: (limit: number) => number;
} {
  const { tiers } = store.memory();
  const [first, second] = tiers;
  const { limitBytes = 0, usedBytes = 0, purposes = {} } = first ?? {};
  const rows = purposes["rows"] ?? 0, lower = second?.purposes["rows"] ?? 0;
  // Above memory, the index has the rows of both and the policy those that can leave either: more rows here need no more of it.
  const beside = store.describe()[1]?.type.startsWith("PMEM") || store.describe()[1]?.type === "DRAM"
    ? (purposes["policy"] ?? 0) * rows / Math.max(rows + lower, 1)
    : (purposes["index"] ?? 0) + (purposes["policy"] ?? 0);
  const perByte = rowsOnly || rows === 0 ? 1 : (rows + beside) / rows;
  const free = Math.max(limitBytes - usedBytes, 0) + (rowsOnly ? 0 : purposes["slack"] ?? 0);
  const rowsNow = rows + free / perByte;
  return {
    limit: limitBytes,
    count: tiers.length,
    perByte,
    rowsOf: (limit) => Math.max(0, rowsNow + (limit - limitBytes) / perByte),
  };
}

/** Estimates of what LRU of some bytes of rows hits. */
class Curve {
  readonly #window: Counted;
  readonly #bounds: Float64Array;
  readonly #rate: number;
  readonly #rowBytes: number;

  constructor(window: Counted, bounds: Float64Array, rate: number, rowBytes: number) {
    this.#window = window;
    this.#bounds = bounds;
    this.#rate = rate;
    this.#rowBytes = rowBytes;
  }

  /** A share of all lookups, and half of its 95 % interval. */
  hits(bytes: number): { readonly hits: number; readonly error: number } {
    const { share, error } = this.#shareOf((counts) => missesAt(counts, this.#bounds, bytes));
    return { hits: 1 - share, error: Math.min(1, Math.hypot(error, Z * this.#steepness(bytes))) };
  }

  /** What it is more with `to` bytes than with `from`. */
  change(from: number, to: number): { readonly hits: number; readonly error: number } {
    const [low, high, sign] = from < to ? [from, to, 1] as const : [to, from, -1] as const;
    const { share, error } = this.#shareOf((counts) =>
      missesAt(counts, this.#bounds, low) - missesAt(counts, this.#bounds, high)
    );
    const steep = Math.abs(this.#steepness(high) - this.#steepness(low));
    return { hits: sign * share, error: Math.min(1, Math.hypot(error, Z * steep)) };
  }

  /**
   * An estimate of what the groups counted as a share of the lookups. How many these are is known: groups that happen to have
   * more of them than their part have more of what is asked for as well, as far as the groups themselves say so (the
   * regression estimator: Cochran, Sampling Techniques, 3rd ed. 1977, chapter 7). What is left over between the groups is the error.
   */
  #shareOf(of: (counts: Float64Array) => number): { readonly share: number; readonly error: number } {
    const { lookups, groups } = this.#window;
    if (lookups === 0) return { share: 0, error: 1 };
    const x = groups.map((counts) => counts[0] ?? 0), y = groups.map(of);
    const sum = (values: readonly number[]) => values.reduce((a, b) => a + b, 0);
    const meanX = sum(x) / x.length, meanY = sum(y) / y.length;
    const xx = sum(x.map((value) => (value - meanX) ** 2));
    const xy = sum(x.map((value, g) => (value - meanX) * ((y[g] ?? 0) - meanY)));
    const missing = lookups - sum(x), usual = Math.abs(missing) <= 3 * Math.sqrt(x.length * xx / (x.length - 1));
    const slope = xx === 0 || !usual ? 0 : Math.min(1, Math.max(0, xy / xx));
    const rest = sum(x.map((value, g) => ((y[g] ?? 0) - meanY - slope * (value - meanX)) ** 2));
    const share = (sum(y) + slope * missing) / lookups;
    const error = T * Math.sqrt(x.length * rest / (x.length - 2)) / lookups;
    // What none of n independent lookups did may still be 3 of n (Hanley, Lippman-Hand, JAMA 249, 1983).
    return { share: Math.min(1, Math.max(0, share)), error: Math.max(error, 3 / (this.#rate * lookups)) };
  }

  /** By how much hits differ where the size is one standard deviation of its number of sampled rows off. */
  #steepness(bytes: number): number {
    const wide = 1.25, rows = bytes * this.#rate / Math.max(this.#rowBytes, 1);
    if (rows === 0) return 0;
    const misses = (size: number) => this.#shareOf((counts) => missesAt(counts, this.#bounds, size)).share;
    return (misses(bytes / wide) - misses(bytes * wide)) / (2 * Math.log(wide)) / Math.sqrt(rows);
  }
}

/** Of a group: lookups that a tier of so many bytes of rows does not answer. Within a bin, distances lie evenly. */
function missesAt(counts: Float64Array, bounds: Float64Array, bytes: number): number {
  let misses = counts[1] ?? 0;
  for (let bin = bounds.length - 1; bin >= 0; bin--) {
    const below = bin === 0 ? 0 : bounds[bin - 1] ?? 0, upTo = bounds[bin] ?? 0;
    if (upTo <= bytes) break;
    misses += (counts[bin + 2] ?? 0) * Math.min(1, (upTo - bytes) / (upTo - below));
  }
  return misses;
}
