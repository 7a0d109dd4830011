/**
 * A profile fitted to a trace, and how faithful it is.
 *
 * @module
 */

import type { KeyTableOptions } from "../../ffi/simulator/key_source.ts";
import { KeyStream } from "../../ffi/simulator/key_stream.ts";
import type { CurveError } from "./fit/bars.ts";
import { type Chance, fitKeys, type OrderKind, scoreApart, scoreOf } from "./fit/choose.ts";
import { Columns, type Parent } from "./fit/columns.ts";
import { CHOSEN_BY, type Fidelity } from "./fit/fidelity.ts";
import { type FittedLaw, type LawKind, shiftedGaps } from "./fit/laws.ts";
import { FEW_ROWS, NOISE, roundly, secretNumber } from "./fit/noise.ts";
import { fitZipf } from "./fit/zipf.ts";
import {
  parseProfile,
  type Profile,
  PROFILE_VERSION,
  ProfileError,
  type ProfileScore,
  type ProfileTable,
  profileText,
} from "./profile.ts";
import type { TraceBatch } from "./trace/batch.ts";
import { guessesTables, readTrace, type TraceOptions } from "./trace/read.ts";

export type { Fidelity } from "./fit/fidelity.ts";
export type { OrderKind } from "./fit/choose.ts";
export type { LawKind } from "./fit/laws.ts";

/** Options of {@linkcode fitProfile}. */
export interface FitProfileOptions {
  /** Name of the profile. */
  readonly name: string;
  /**
   * Accesses kept of each table at most; beyond, a sample of its rows. Default 4,194,304, and 8,388,608 of all tables, of which each
   * has the same share: some 45 bytes each.
   */
  readonly most?: number;
  /** `best`: whatever law is most faithful. `zipf`: Zipf-Mandelbrot with heavy hitters, as FBGEMM's EEG knows it (`"best"`). */
  readonly law?: "best" | "zipf";
  /** False: laws alone, without walks, epochs and eras, to see what these add (true). */
  readonly order?: boolean;
  /** How the trace is read, where it does not say so itself. */
  readonly trace?: TraceOptions;
  /** Seed of what is drawn to score laws (0). */
  readonly seed?: number;
  /**
   * Numbers in [0, 1) that the noise on counts of single rows is drawn from; absent: the system's, which nobody can make again.
   * Whoever knows them can take the noise off.
   */
  readonly noise?: () => number;
}

/** What is known of a fitted table. */
export interface FittedTable {
  /** Its name. */
  readonly name: string;
  /** Accesses of the trace. */
  readonly accesses: number;
  /** Distinct keys among the accesses that were kept. */
  readonly keys: number;
  /** The share of rows that was kept; below 1 the score is of a sample of rows. */
  readonly rate: number;
  /** What its law has beside popularity. */
  readonly law: LawKind | "zipf";
  /** Order in which its keys come again, beside the law. */
  readonly order?: OrderKind;
  /** Errors of miss-ratio curves, regenerated against original, by policy. */
  readonly fidelity: Fidelity;
  /** The same of a law of the first half alone, on the second; absent where there are too few lookups. */
  readonly apart?: Fidelity;
  /** The same for a plain Zipf law fitted to the counts, under LRU and LFU. */
  readonly zipf: Fidelity;
}

/** A fitted profile. */
export interface FittedProfile {
  /** The profile. */
  readonly profile: Profile;
  /** Its tables. */
  readonly tables: readonly FittedTable[];
  /** Means of the tables' errors, weighted by accesses. */
  readonly fidelity: Fidelity;
  /** The same for plain Zipf laws. */
  readonly zipf: Fidelity;
  /** Tables of the trace are numbered, as their names may be keys of users: nobody named the column that they stand in. */
  readonly numbered: boolean;
}

const MOST = 1 << 22;
/** Accesses that all tables together keep, and what each may keep in any case. */
const MOST_TOGETHER = 1 << 23, LEAST = 2048;
/** Significant digits of shares, and of errors. */
const DIGITS = 4, ERROR_DIGITS = 2;
/** Heavy hitters of EEG. */
const HITTERS = 20;

/** What a file says of its noise. */
const NOISE_SAYS =
  `Counts of single rows, and the mean of steps of fewer than ${FEW_ROWS} rows, have noise of the law of Laplace whose scale is ` +
  `${NOISE.accesses} access and ${
    100 * NOISE.share
  } % of the count; rows stand in the order of these. Lookups are told to 2 digits.`;

interface Measured {
  readonly stream: KeyStream;
  readonly bags: Map<number, number>;
}

const short = (x: number) => Number(x.toPrecision(DIGITS));

/** The law in numbers of samples, short. */
function tableOf(name: string, { whole, kept }: FittedLaw, bags: ProfileTable["bags"], stretch: number): ProfileTable {
  const weight = bags.reduce((sum, [, share]) => sum + share, 0);
  const bag = bags.reduce((sum, [length, share]) => sum + length * share, 0) / weight;
  const samples = (count: number) => Math.max(1, Math.round(count / bag)), { walk, epoch, era } = whole;
  const steps = whole.steps.map(({ rows, share, life }) => ({
    rows,
    share: short(share),
    ...(life === 0 ? {} : { life: samples(life) }),
  }));
  const repeats = kept.repeats === undefined ? undefined : shiftedGaps(kept.repeats, stretch / bag);
  return {
    name,
    rows: steps.reduce((sum, { rows }) => sum + rows, walk?.rows ?? 0),
    count: 1,
    bags,
    popularity: { steps },
    ...(walk === undefined ? {} : { walk }),
    ...(epoch === undefined
      ? {}
      : { epoch: { samples: samples(epoch.samples), block: epoch.block === 1 ? 1 : samples(epoch.block) } }),
    ...(era === undefined
      ? {}
      : { era: { ...era, samples: samples(era.samples), start: Math.round(era.start / bag) } }),
    ...(whole.pool === undefined ? {} : { pool: whole.pool }),
    ...(repeats === undefined ? {} : { repeats: { share: short(repeats.share), gaps: repeats.gaps.map(short) } }),
  };
}

function bagsOf({ bags }: Measured): ProfileTable["bags"] {
  const lengths = [...bags].sort(([a], [b]) => a - b), sum = lengths.reduce((total, [, n]) => total + n, 0);
  if (lengths.length === 0) return [[1, 1]];
  if (lengths.length <= 64) return lengths.map(([length, n]) => [length, short(n / sum)]);
  // Many lengths: sixteen of equal numbers of samples, each with its mean.
  const out: [number, number][] = [];
  let rank = 0;
  for (let part = 0; part < 16; part++) {
    let weight = 0, keys = 0;
    for (; rank < lengths.length && weight < sum / 16; rank++) {
      const [length = 0, n = 0] = lengths[rank] ?? [];
      weight += n;
      keys += n * length;
    }
    if (weight > 0) out.push([Math.round(keys / weight), short(weight / sum)]);
  }
  return out;
}

function plainZipf(stream: KeyStream, { random }: Chance): KeyTableOptions {
  const { s, q } = fitZipf(stream, { hitters: 0, shift: false, random });
  return { steps: [], tail: { law: "zipf", rows: stream.facts().rows, s, q, life: 0 } };
}

/** What FBGEMM's EEG can say of a table, with the law of it. */
function zipfTable(
  name: string,
  stream: KeyStream,
  bags: ProfileTable["bags"],
  { random }: Chance,
): { table: ProfileTable; law: KeyTableOptions } {
  const { rows } = stream.facts();
  const law = fitZipf(stream, { hitters: HITTERS, shift: true, random });
  const hitters = law.heavyHitters.map(short), q = Math.max(law.q, hitters.length);
  const table: ProfileTable = {
    name,
    rows: law.rows,
    count: 1,
    bags,
    popularity: {
      ...(hitters.length === 0 ? {} : { heavyHitters: hitters }),
      ...(law.rows > hitters.length ? { zipf: { s: short(law.s), q: short(q) } } : {}),
    },
  };
  const tail = { law: "zipf" as const, rows: rows - hitters.length, s: law.s, q, life: 0 };
  const steps = hitters.map((share) => ({ rows: 1, share, life: 0 }));
  return { table, law: { steps, ...(tail.rows > 0 ? { tail } : {}) } };
}

/** Errors as they stand in the file. */
function written(errors: Fidelity): Record<string, CurveError> {
  const few = (x: number) => Number(x.toPrecision(ERROR_DIGITS));
  return Object.fromEntries(
    Object.entries(errors).map(([policy, { mean, largest }]) => [policy, { mean: few(mean), largest: few(largest) }]),
  );
}

function fitTable(
  name: string,
  measured: Measured,
  options: FitProfileOptions,
): { table: ProfileTable; fitted: FittedTable } {
  const { stream } = measured, bags = bagsOf(measured);
  const chance: Chance = { seed: BigInt(options.seed ?? 0), random: options.noise ?? secretNumber };
  const { accesses, kept, rows, rate } = stream.facts(), keys = stream.keys();
  const zipf = scoreOf(plainZipf(stream, chance), keys, chance, CHOSEN_BY);
  let table: ProfileTable, law: KeyTableOptions, kind: FittedTable["law"];
  let order: OrderKind | undefined, again: Parameters<typeof scoreApart>[0];
  if (options.law === "zipf") {
    ({ table, law } = zipfTable(name, stream, bags, chance));
    kind = "zipf";
    again = (half) => zipfTable(name, half, bags, chance).law;
  } else {
    const fitted = fitKeys(stream, keys, chance, options.order === false ? { order: undefined } : {});
    if (fitted === undefined) throw new ProfileError("Cannot fit a law: the table has no accesses");
    ({ kept: law, kind, order } = fitted);
    table = tableOf(name, fitted, bags, accesses / Math.max(1, kept));
    again = (half, own) => fitKeys(half, own, chance, { kind: fitted.kind, order: fitted.order })?.kept;
  }
  const fidelity = scoreOf(law, keys, chance), apart = scoreApart(again, keys, chance);
  const score: ProfileScore = {
    lookups: roundly(keys.length),
    rowsKept: short(rate),
    errors: written(fidelity),
    ...(apart === undefined ? {} : { apart: { lookups: roundly(apart.lookups), errors: written(apart.errors) } }),
  };
  const facts = { name, accesses, keys: rows, rate, law: kind, ...(order === undefined ? {} : { order }) };
  return {
    table: { ...table, score },
    fitted: { ...facts, fidelity, ...(apart === undefined ? {} : { apart: apart.errors }), zipf },
  };
}

/** Accesses that one of so many tables may keep: it halves as their number doubles. */
function shareOf(tables: number): number {
  return Math.max(LEAST, Math.min(MOST, MOST_TOGETHER / 2 ** Math.ceil(Math.log2(tables))));
}

/** Errors of several tables, weighted by their accesses. */
function together(tables: readonly FittedTable[], of: "fidelity" | "zipf"): Fidelity {
  const sum = tables.reduce((total, { accesses }) => total + accesses, 0);
  const policies = Object.keys(tables[0]?.[of] ?? {}) as (keyof Fidelity)[];
  return Object.fromEntries(policies.map((policy) => {
    const mean = (what: keyof CurveError) =>
      tables.reduce((total, table) => total + (table[of][policy]?.[what] ?? 0) * table.accesses, 0) / sum;
    return [policy, { mean: mean("mean"), largest: mean("largest") }];
  }));
}

/** Parents stand before their children. A walk has no quantiles that children could follow, nor follows one. */
function ordered(tables: readonly ProfileTable[], parents: ReadonlyMap<string, Parent>): ProfileTable[] {
  const out: ProfileTable[] = [];
  const place = (table: ProfileTable) => {
    if (out.some(({ name }) => name === table.name)) return;
    const parent = parents.get(table.name), above = tables.find(({ name }) => name === parent?.table);
    if (above !== undefined) place(above);
    out.push(
      parent === undefined || above === undefined || (above.walk ?? table.walk) !== undefined
        ? table
        : { ...table, parent: { table: parent.table, share: short(parent.share) } },
    );
  };
  tables.forEach(place);
  return out;
}

/**
 * Fits a profile to a trace. The profile holds no keys, no exact count of a row, and its own score.
 *
 * @param trace Path of a trace (`docs/profiles.md` tells its forms), or its batches.
 * @param options Name of the profile; how much is kept.
 * @throws {TraceError} Naming the line that cannot be read.
 * @throws {ProfileError} If the trace has no keys.
 */
export async function fitProfile(
  trace: string | AsyncIterable<TraceBatch> | Iterable<TraceBatch>,
  options: FitProfileOptions,
): Promise<FittedProfile> {
  const measured = new Map<string, Measured>(), columns = new Columns();
  const numbered = typeof trace === "string" && await guessesTables(trace, options.trace);
  const numbers = new Map<string, string>();
  try {
    for await (
      const { table: word, keys, bags } of typeof trace === "string"
        ? readTrace(trace, { ...options.trace, reuse: true })
        : trace
    ) {
      const table = numbered ? numbers.get(word) ?? `table ${numbers.size + 1}` : word;
      numbers.set(word, table);
      let found = measured.get(table);
      if (found === undefined) {
        const share = shareOf(measured.size + 1), before = shareOf(Math.max(1, measured.size));
        if (options.most === undefined && share < before) {
          for (const { stream } of measured.values()) stream.limit(share);
        }
        found = { stream: new KeyStream(options.most ?? share), bags: new Map() };
        measured.set(table, found);
      }
      found.stream.add(keys instanceof BigInt64Array ? keys : BigInt64Array.from(keys));
      for (const bag of bags ?? []) found.bags.set(bag, (found.bags.get(bag) ?? 0) + 1);
      columns.add(table, keys, bags);
    }
    if (measured.size === 0) throw new ProfileError("Cannot fit a profile: the trace has no keys");
    const fits = [...measured].map(([name, each]) => {
      const fit = fitTable(name, each, options);
      each.stream[Symbol.dispose](); // what the next one takes can be this one's
      return fit;
    });
    const tables = fits.map(({ fitted }) => fitted);
    const profile = parseProfile(
      profileText({
        tierbenchProfile: PROFILE_VERSION,
        name: options.name,
        about: `Fitted to a trace of about ${
          roundly(tables.reduce((sum, { accesses }) => sum + accesses, 0))
        } accesses.`,
        origin: { source: "tierbench profile", mark: "measured" },
        noise: { law: "laplace", ...NOISE, says: NOISE_SAYS },
        tables: ordered(fits.map(({ table }) => table), columns.parents()),
      }),
      `"${options.name}"`,
    );
    return { profile, tables, fidelity: together(tables, "fidelity"), zipf: together(tables, "zipf"), numbered };
  } finally {
    for (const { stream } of measured.values()) stream[Symbol.dispose]();
  }
}
