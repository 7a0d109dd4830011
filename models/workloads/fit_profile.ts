/**
 * A profile fitted to a trace, and how faithful it is.
 *
 * @module
 */

import type { KeyTableOptions } from "../../ffi/simulator/key_source.ts";
import { KeyStream } from "../../ffi/simulator/key_stream.ts";
import { calibrateGaps } from "./fit/calibrate.ts";
import { Columns, type Parent } from "./fit/columns.ts";
import { type Curves, curvesOfLaw, distanceOf, type Fidelity, originalCurves } from "./fit/fidelity.ts";
import { fitLaw, type FittedLaw, LAW_KINDS, type LawKind, shiftedGaps } from "./fit/laws.ts";
import { fitZipf } from "./fit/zipf.ts";
import {
  parseProfile,
  type Profile,
  PROFILE_VERSION,
  ProfileError,
  type ProfileTable,
  profileText,
} from "./profile.ts";
import type { TraceBatch } from "./trace/batch.ts";
import { readTrace, type TraceOptions } from "./trace/read.ts";

export type { Fidelity } from "./fit/fidelity.ts";
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
  /** How the trace is read, where it does not say so itself. */
  readonly trace?: TraceOptions;
  /** Seed of what is drawn to score laws (0). */
  readonly seed?: number;
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
  /** Largest distance of miss-ratio curves, original against regenerated. */
  readonly fidelity: Fidelity;
  /** The same for a plain Zipf law fitted to the counts. */
  readonly zipf: Fidelity;
}

/** A fitted profile. */
export interface FittedProfile {
  /** The profile. */
  readonly profile: Profile;
  /** Its tables. */
  readonly tables: readonly FittedTable[];
  /** Distances of all tables together, weighted by accesses. */
  readonly fidelity: Fidelity;
  /** The same for plain Zipf laws. */
  readonly zipf: Fidelity;
}

const MOST = 1 << 22;
/** Accesses that all tables together keep, and what each may keep in any case. */
const MOST_TOGETHER = 1 << 23, LEAST = 2048;
/** A law with more parts must be this much more faithful. */
const LEAST_BETTER = 0.002;
/** Significant digits of shares. */
const DIGITS = 6;
/** Heavy hitters of EEG. */
const HITTERS = 20;

interface Measured {
  readonly stream: KeyStream;
  readonly bags: Map<number, number>;
}

/** The score that laws are chosen by: distances in units of their targets, 0.01 for LRU and 0.02 for LFU. */
function badness({ lru, lfu }: Fidelity): number {
  return Math.max(lru, lfu / 2);
}

function chooseLaw(stream: KeyStream, keys: BigInt64Array, original: Curves, seed: bigint) {
  let chosen: { law: FittedLaw; fidelity: Fidelity } | undefined;
  for (const kind of LAW_KINDS) {
    const fitted = fitLaw(stream, kind, seed);
    if (fitted === undefined) continue;
    const variants = fitted.kept.repeats === undefined
      ? [fitted.kept]
      : [fitted.kept, calibrateGaps(fitted.kept, keys, seed + 1000n)];
    for (const kept of variants) {
      const fidelity = distanceOf(original, curvesOfLaw(kept, keys.length, original.sizes, seed));
      if (chosen !== undefined && badness(fidelity) > badness(chosen.fidelity) - LEAST_BETTER) continue;
      chosen = { law: { ...fitted, kept }, fidelity };
    }
    if (chosen !== undefined && badness(chosen.fidelity) < LEAST_BETTER) break;
  }
  if (chosen === undefined) throw new ProfileError("Cannot fit a law: the table has no accesses");
  return chosen;
}

const short = (x: number) => Number(x.toPrecision(DIGITS));

/** The law in numbers of samples, short. */
function tableOf(name: string, { whole, kept }: FittedLaw, bags: ProfileTable["bags"], stretch: number): ProfileTable {
  const weight = bags.reduce((sum, [, share]) => sum + share, 0);
  const bag = bags.reduce((sum, [length, share]) => sum + length * share, 0) / weight;
  const steps = whole.steps.map(({ rows, share, life }) => ({
    rows,
    share: short(share),
    ...(life === 0 ? {} : { life: Math.max(1, Math.round(life / bag)) }),
  }));
  const repeats = kept.repeats === undefined ? undefined : shiftedGaps(kept.repeats, stretch / bag);
  return {
    name,
    rows: steps.reduce((sum, { rows }) => sum + rows, 0),
    count: 1,
    bags,
    popularity: { steps },
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

function plainZipf(stream: KeyStream): KeyTableOptions {
  const { s, q } = fitZipf(stream, { hitters: 0, shift: false });
  return { steps: [], tail: { law: "zipf", rows: stream.facts().rows, s, q, life: 0 } };
}

function fitTable(
  name: string,
  measured: Measured,
  options: FitProfileOptions,
): { table: ProfileTable; fitted: FittedTable } {
  const { stream } = measured, seed = BigInt(options.seed ?? 0);
  const { accesses, kept, rows, rate } = stream.facts(), keys = stream.keys(), bags = bagsOf(measured);
  const facts = { name, accesses, keys: rows, rate };
  const original = originalCurves(keys);
  const score = (law: KeyTableOptions) => distanceOf(original, curvesOfLaw(law, keys.length, original.sizes, seed));
  const zipf = score(plainZipf(stream));
  if (options.law === "zipf") {
    const law = fitZipf(stream, { hitters: HITTERS, shift: true });
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
    return {
      table,
      fitted: { ...facts, law: "zipf", fidelity: score({ steps, ...(tail.rows > 0 ? { tail } : {}) }), zipf },
    };
  }
  const { law, fidelity } = chooseLaw(stream, keys, original, seed);
  return {
    table: tableOf(name, law, bags, accesses / Math.max(1, kept)),
    fitted: { ...facts, law: law.kind, fidelity, zipf },
  };
}

/** Accesses that one of so many tables may keep: it halves as their number doubles. */
function shareOf(tables: number): number {
  return Math.max(LEAST, Math.min(MOST, MOST_TOGETHER / 2 ** Math.ceil(Math.log2(tables))));
}

/** Distances of several tables, weighted by their accesses. */
function together(tables: readonly FittedTable[], of: "fidelity" | "zipf"): Fidelity {
  const sum = tables.reduce((total, { accesses }) => total + accesses, 0);
  const mean = (policy: keyof Fidelity) => tables.reduce((total, t) => total + t[of][policy] * t.accesses, 0) / sum;
  return { lru: mean("lru"), lfu: mean("lfu") };
}

/** Parents stand before their children. */
function ordered(tables: readonly ProfileTable[], parents: ReadonlyMap<string, Parent>): ProfileTable[] {
  const out: ProfileTable[] = [];
  const place = (table: ProfileTable) => {
    if (out.some(({ name }) => name === table.name)) return;
    const parent = parents.get(table.name), above = tables.find(({ name }) => name === parent?.table);
    if (above !== undefined) place(above);
    out.push(
      parent === undefined || above === undefined
        ? table
        : { ...table, parent: { table: parent.table, share: short(parent.share) } },
    );
  };
  tables.forEach(place);
  return out;
}

/**
 * Fits a profile to a trace. The profile holds no keys.
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
  try {
    for await (
      const { table, keys, bags } of typeof trace === "string"
        ? readTrace(trace, { ...options.trace, reuse: true })
        : trace
    ) {
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
        about: `Fitted to a trace of ${tables.reduce((sum, { accesses }) => sum + accesses, 0)} accesses.`,
        origin: { source: "tierbench profile", mark: "measured" },
        tables: ordered(fits.map(({ table }) => table), columns.parents()),
      }),
      `"${options.name}"`,
    );
    return { profile, tables, fidelity: together(tables, "fidelity"), zipf: together(tables, "zipf") };
  } finally {
    for (const { stream } of measured.values()) stream[Symbol.dispose]();
  }
}
