/**
 * From a profile to keys, and to the law of popularity that models need.
 *
 * @module
 */

import type { PopularityLaw } from "../../ffi/curve.ts";
import { KeySource, type KeyStep, type KeyTableOptions } from "../../ffi/simulator/key_source.ts";
import { type Profile, ProfileError, type ProfileTable } from "./profile.ts";

/** Options of {@linkcode generateKeys}. */
export interface GenerateKeysOptions {
  /** Name of the table; absent: the first. Of a table that stands for many, `name#3` is the fourth. */
  readonly table?: string;
  /** An unsigned 64-bit number (0). */
  readonly seed?: number | bigint;
  /** Samples in all; absent: without end. */
  readonly samples?: number;
  /** The first sample (0). */
  readonly first?: number;
  /** Samples of one batch (65,536). */
  readonly batch?: number;
  /** Keys spread over 64 bits, or numbers of rows from 0 (`"hashed"`). */
  readonly keys?: "hashed" | "rows";
}

/** Keys of consecutive samples of one table. */
export interface KeyBatch {
  /** The first sample. */
  readonly first: number;
  /** Samples. */
  readonly samples: number;
  /** Keys, sample after sample. */
  readonly keys: BigInt64Array<ArrayBuffer>;
  /** Entry i is where sample i's keys begin; one more than samples. */
  readonly offsets: BigUint64Array<ArrayBuffer>;
}

const BATCH = 65_536;

function keyTable(table: ProfileTable, parent: number | undefined, keys: "hashed" | "rows"): KeyTableOptions {
  const {
    popularity: { heavyHitters = [], steps = [], zipf, foldedZipf },
    life = 0,
    pool,
    repeats,
    bags,
    walk,
    epoch,
    era,
  } = table;
  const list: KeyStep[] = [
    ...heavyHitters.map((share) => ({ rows: 1, share, life: 0 })),
    ...steps.map((step) => ({ rows: step.rows, share: step.share, life: step.life ?? life })),
  ];
  const rows = table.rows - list.reduce((sum, step) => sum + step.rows, walk?.rows ?? 0);
  const tail = rows === 0 || (zipf === undefined && foldedZipf === undefined)
    ? undefined
    : zipf !== undefined
    ? { law: "zipf" as const, rows, s: zipf.s, q: zipf.q, life }
    : { law: "folded" as const, rows, s: foldedZipf?.s ?? 0, q: 0, life };
  return {
    steps: list,
    bags,
    keys,
    ...(tail === undefined ? {} : { tail }),
    ...(pool === undefined ? {} : { pool }),
    ...(repeats === undefined ? {} : { repeats }),
    ...(walk === undefined ? {} : { walk }),
    ...(epoch === undefined ? {} : { epoch }),
    ...(era === undefined ? {} : { era }),
    ...(parent === undefined ? {} : { parent: { table: parent, share: table.parent?.share ?? 0 } }),
  };
}

/** A source of keys with every table of a profile, and the numbers of its tables by name. */
interface ProfileKeys {
  /** Where keys come from. */
  readonly source: KeySource;
  /** Names, `name#1` and so on for the further tables that one entry stands for, with their numbers. */
  readonly tables: ReadonlyMap<string, number>;
}

/**
 * Opens a source of keys for all tables of a profile. The source must be disposed of.
 *
 * @param profile The profile.
 * @param options Seed and form of the keys.
 */
function profileKeys(
  profile: Profile,
  { seed = 0, keys = "hashed" }: Pick<GenerateKeysOptions, "seed" | "keys"> = {},
): ProfileKeys {
  const source = new KeySource(BigInt(seed)), tables = new Map<string, number>();
  try {
    for (const table of profile.tables) {
      const parent = table.parent === undefined ? undefined : tables.get(table.parent.table);
      for (let copy = 0; copy < table.count; copy++) {
        tables.set(copy === 0 ? table.name : `${table.name}#${copy}`, source.add(keyTable(table, parent, keys)));
      }
    }
  } catch (error) {
    source[Symbol.dispose]();
    throw error;
  }
  return { source, tables };
}

function numberOf({ name, tables: [first] }: Profile, { tables }: ProfileKeys, table: string | undefined): number {
  const found = tables.get(table ?? first?.name ?? "");
  if (found !== undefined) return found;
  const known = [...tables.keys()].slice(0, 40).join(", ");
  throw new ProfileError(`Cannot use table "${table}" of the profile "${name}": there is none. Known: ${known}`);
}

/**
 * Keys of a table, batch after batch: the same for the same profile, table and seed on every machine.
 *
 * @param profile The profile.
 * @param options Which table, which samples, which seed.
 * @throws {ProfileError} If there is no such table.
 *
 * @example
 * ```ts
 * import { generateKeys, loadProfile } from "../../mod.ts";
 *
 * const profile = await loadProfile("oe-retail");
 * for (const { keys } of generateKeys(profile, { samples: 3, seed: 1 })) console.log(keys.length); // 3
 * ```
 */
export function* generateKeys(profile: Profile, options: GenerateKeysOptions = {}): Generator<KeyBatch, void> {
  const { samples = Infinity, first = 0, batch = BATCH } = options;
  for (const [name, value, least] of [["samples", samples, 0], ["first", first, 0], ["batch", batch, 1]] as const) {
    if (value >= least && (Number.isSafeInteger(value) || (name === "samples" && value === Infinity))) continue;
    throw new RangeError(`Cannot generate keys: ${name} must be a whole number, ${least} or more: current is ${value}`);
  }
  const made = profileKeys(profile, options);
  using source = made.source;
  const table = numberOf(profile, made, options.table);
  for (let at = first; at < first + samples; at += batch) {
    const count = Math.min(batch, first + samples - at);
    yield { first: at, samples: count, ...source.keys(table, at, count) };
  }
}

/**
 * The law of popularity of a table's rows: buckets of rows of equal share, heaviest first. With drift, that of the rows that
 * are there at one time.
 *
 * @param profile The profile.
 * @param table Name of the table; absent: the first.
 * @throws {ProfileError} If there is no such table.
 */
export function profileLaw(profile: Profile, table?: string): PopularityLaw {
  const made = profileKeys(profile);
  using source = made.source;
  return source.law(numberOf(profile, made, table));
}

/** Share of a table's accesses that its most popular rows have, from its {@linkcode profileLaw}. */
export function topShare({ rows, weights }: PopularityLaw, top: number): number {
  let sum = 0, left = top;
  for (let i = 0; i < rows.length && left > 0; i++) {
    const take = Math.min(left, Number(rows[i]));
    sum += take * (weights[i] ?? 0);
    left -= take;
  }
  return Math.min(1, sum);
}
