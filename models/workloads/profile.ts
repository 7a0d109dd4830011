/**
 * Profiles: what a stream of keys is like, in some 10 kB of JSON and without its keys. `docs/profiles.md` is the users' page.
 *
 * @module
 */

import { fileURLToPath } from "node:url";
import { nearest } from "../../base/nearest.ts";
import { pathText } from "../../base/diagnostics.ts";
import { readUserText, withoutMark } from "../../base/user_file.ts";
import * as v from "../../base/valibot.ts";
import { validate } from "../../base/validate.ts";
import type { KeyEra, KeyWalk } from "../../ffi/simulator/key_source.ts";
import type { CurveError } from "./fit/bars.ts";

const FOLDER = new URL("./profiles/", import.meta.url);

/** Version of the format that is written. */
export const PROFILE_VERSION = 2;
/** Versions that are read: 1 has no score, and no noise was told. */
const VERSIONS = [1, PROFILE_VERSION] as const;

const MOST_ROWS = 2 ** 53;
const MOST_BAG = 4095;

const rows = v.pipe(v.number(), v.integer("expected a whole number of rows"), v.minValue(1), v.maxValue(MOST_ROWS));
const samples = v.pipe(
  v.number(),
  v.integer("expected a whole number of samples"),
  v.minValue(1),
  v.maxValue(MOST_ROWS),
);
const keys = v.pipe(v.number(), v.integer("expected a whole number of keys"), v.minValue(1), v.maxValue(MOST_ROWS));
const from0 = v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(MOST_ROWS));
const share = v.pipe(v.number(), v.minValue(0), v.maxValue(1));

const step = v.pipe(
  v.strictObject({ rows, share, life: v.optional(samples) }),
  v.description(
    "Rows of equal popularity: their number, their share of the accesses together, samples that each lives for.",
  ),
);

const popularity = v.strictObject({
  heavyHitters: v.optional(v.pipe(v.array(share), v.maxLength(100, "expected at most 100 heavy hitters"))),
  steps: v.optional(v.pipe(v.array(step), v.maxLength(4096, "expected at most 4,096 steps"))),
  zipf: v.optional(v.strictObject({
    s: v.pipe(v.number(), v.minValue(0), v.maxValue(100)),
    q: v.optional(v.pipe(v.number(), v.minValue(0), v.maxValue(1e15)), 0),
  })),
  foldedZipf: v.optional(v.strictObject({ s: v.pipe(v.number(), v.minValue(1.0001), v.maxValue(100)) })),
});

const curveError = v.strictObject({ mean: share, largest: share });
const curveErrors = v.pipe(
  v.record(v.string(), curveError),
  v.check((errors) => Object.keys(errors).length > 0, "expected a policy at least"),
);
const about = v.pipe(v.number(), v.minValue(0), v.maxValue(MOST_ROWS));

const table = v.strictObject({
  name: v.pipe(v.string(), v.minLength(1), v.maxLength(200)),
  rows,
  count: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(4096)), 1),
  bags: v.optional(
    v.pipe(
      v.array(v.tuple([v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(MOST_BAG)), share])),
      v.minLength(1, "expected at least one length"),
      v.maxLength(256, "expected at most 256 lengths"),
    ),
    [[1, 1]],
  ),
  popularity,
  life: v.optional(samples),
  pool: v.optional(rows),
  repeats: v.optional(v.strictObject({
    share: v.pipe(v.number(), v.minValue(0), v.maxValue(0.999)),
    gaps: v.pipe(v.array(share), v.minLength(1), v.maxLength(200)),
  })),
  parent: v.optional(v.strictObject({ table: v.string(), share })),
  walk: v.optional(v.strictObject({
    rows,
    run: keys,
    turn: keys,
    start: from0,
    spread: v.picklist(["turns", "evenly"]),
    block: rows,
  })),
  epoch: v.optional(v.strictObject({ samples, block: samples })),
  era: v.optional(v.strictObject({ samples, start: from0, rows })),
  score: v.optional(v.strictObject({
    lookups: about,
    rowsKept: share,
    errors: curveErrors,
    apart: v.optional(v.strictObject({ lookups: about, errors: curveErrors })),
  })),
});

const schema: v.GenericSchema<unknown, Profile> = v.strictObject({
  tierbenchProfile: v.custom<1 | 2>(
    (version) => VERSIONS.some((known) => known === version),
    `expected version ${VERSIONS.join(" or ")}; a newer tierbench wrote it, or fit it again with tierbench profile`,
  ),
  name: v.pipe(v.string(), v.minLength(1), v.maxLength(100)),
  about: v.string(),
  origin: v.strictObject({
    source: v.string(),
    mark: v.picklist(["published", "computed", "measured", "assumed"]),
  }),
  noise: v.optional(v.strictObject({ law: v.literal("laplace"), accesses: about, share, says: v.string() })),
  tables: v.pipe(v.array(table), v.minLength(1, "expected at least one table"), v.maxLength(4096)),
});

/** Rows of equal popularity. */
export interface ProfileStep {
  /** How many. */
  readonly rows: number;
  /** Their share of the table's accesses, together. */
  readonly share: number;
  /** Samples that each of them lives for before another takes its place; absent: the table's `life`. */
  readonly life?: number | undefined;
}

/** How popular the rows of a table are. The heavy hitters and steps come first, a law has what they leave. */
export interface ProfilePopularity {
  /** Shares of single rows. */
  readonly heavyHitters?: readonly number[] | undefined;
  /** Rows in steps. */
  readonly steps?: readonly ProfileStep[] | undefined;
  /** Zipf-Mandelbrot: rank r of the other rows has weight (r + q)^-s. */
  readonly zipf?: { readonly s: number; readonly q: number } | undefined;
  /** Zipf draws without end, folded into the other rows by modulo, as numpy's zipf is used. */
  readonly foldedZipf?: { readonly s: number } | undefined;
}

/** One table of a profile. */
export interface ProfileTable {
  /** Its name. */
  readonly name: string;
  /** Rows that are there at one time. */
  readonly rows: number;
  /** Tables that this entry stands for, alike and independent. */
  readonly count: number;
  /** Pairs of keys in a sample and the share of samples with so many. */
  readonly bags: readonly (readonly [number, number])[];
  /** How popular its rows are. */
  readonly popularity: ProfilePopularity;
  /** Drift: samples that a row lives for before another takes its place; heavy hitters stay. */
  readonly life?: number | undefined;
  /** Rows that take the places are drawn from so many, which come and go; absent: they are new. */
  readonly pool?: number | undefined;
  /** Share of keys that are the key some samples before; the gaps are the shares of 1, 2, 3 samples, then of four classes an octave. */
  readonly repeats?: { readonly share: number; readonly gaps: readonly number[] } | undefined;
  /** A table before this one, and the share of samples that take the rank at the quantile of its rank. */
  readonly parent?: { readonly table: string; readonly share: number } | undefined;
  /** Rows of its own that come each once a pass: a share of the keys, in one order or shuffled in blocks of so many rows. */
  readonly walk?: KeyWalk | undefined;
  /** Samples that come again and again, in order or shuffled in blocks of so many. */
  readonly epoch?: { readonly samples: number; readonly block: number } | undefined;
  /** Samples after which the ranks of rows without a life are dealt anew: popularity that changes all at once. */
  readonly era?: KeyEra | undefined;
  /** How faithful keys made from it are to the trace that it was fitted to. */
  readonly score?: ProfileScore | undefined;
}

/** Errors of miss-ratio curves, keys made from a table against its trace, by policy: those of the store, and `opt`. */
export interface ProfileScore {
  /** About so many lookups of the trace, from its beginning, that were compared. */
  readonly lookups: number;
  /** Share of the trace's rows whose lookups these are: below 1 a sample of rows. */
  readonly rowsKept: number;
  /** The errors. */
  readonly errors: Readonly<Record<string, CurveError>>;
  /** The same of a law that was fitted to the first half alone, on about so many lookups of the second, which it never saw. */
  readonly apart?: { readonly lookups: number; readonly errors: Readonly<Record<string, CurveError>> } | undefined;
}

/** A profile: what a stream of keys is like. */
export interface Profile {
  /** Version of the format. */
  readonly tierbenchProfile: 1 | 2;
  /** Its name. */
  readonly name: string;
  /** One sentence for people. */
  readonly about: string;
  /** Where its numbers come from, and how sure they are. */
  readonly origin: { readonly source: string; readonly mark: "published" | "computed" | "measured" | "assumed" };
  /** Noise on what it says of single rows: its law, its scale (so many accesses and such a share of the count), and that in words. */
  readonly noise?:
    | { readonly law: "laplace"; readonly accesses: number; readonly share: number; readonly says: string }
    | undefined;
  /** Its tables. */
  readonly tables: readonly ProfileTable[];
}

/** A profile that is not there or is not valid. */
export class ProfileError extends Error {
  /** Name of the class. */
  override readonly name = "ProfileError";
}

/** Names of the shipped profiles, sorted. */
export async function listProfiles(): Promise<string[]> {
  const names: string[] = [];
  for await (const entry of Deno.readDir(FOLDER)) {
    if (entry.isFile && entry.name.endsWith(".json")) names.push(entry.name.slice(0, -".json".length));
  }
  return names.sort();
}

/** What the schema cannot say by itself. */
function faultOf(profile: Profile): string | undefined {
  const names = new Set<string>();
  for (const { name, popularity: law, rows: all, bags, parent, repeats, walk, era } of profile.tables) {
    const at = `tables["${name}"]`;
    if (names.has(name)) return `${at}: there are two tables of this name`;
    if (parent !== undefined && !names.has(parent.table)) {
      return `${at}.parent.table: expected a table that stands before it, found "${parent.table}"`;
    }
    names.add(name);
    if (law.zipf !== undefined && law.foldedZipf !== undefined) {
      return `${at}.popularity: zipf and foldedZipf exclude one another`;
    }
    const own = law.heavyHitters?.length ?? 0;
    const stepped = (law.steps ?? []).reduce((sum, { rows: some }) => sum + some, own) + (walk?.rows ?? 0);
    if (stepped > all) return `${at}.popularity: its steps and its walk have ${stepped} rows, the table has ${all}`;
    if (walk !== undefined && walk.run > walk.turn) {
      return `${at}.walk.run: ${walk.run} of ${walk.turn} keys, expected at most all`;
    }
    if (era !== undefined && era.rows < all - (walk?.rows ?? 0)) {
      return `${at}.era.rows: expected at least the ${all - (walk?.rows ?? 0)} of the law`;
    }
    if (!bags.some(([length, some]) => length > 0 && some > 0)) return `${at}.bags: no bag holds a key`;
    if (repeats !== undefined && !repeats.gaps.some((gap) => gap > 0)) return `${at}.repeats.gaps: all are 0`;
    if (walk !== undefined && walk.run === walk.turn) continue; // the law has no key
    const sum = (law.steps ?? []).reduce((total, { share: some }) => total + some, 0) +
      (law.heavyHitters ?? []).reduce((total, some) => total + some, 0);
    const tail = law.zipf !== undefined || law.foldedZipf !== undefined;
    if (sum > 1 + (tail ? 1e-6 : 1e-3)) return `${at}.popularity: its shares add up to ${sum}, expected at most 1`;
    if (!tail && !(sum > 0)) return `${at}.popularity: no row has a share of the accesses`;
    if (!tail && Math.abs(sum - 1) > 1e-3) {
      return `${at}.popularity: its shares add up to ${sum}, expected 1, or a law for the rest`;
    }
  }
  return undefined;
}

/**
 * Reads a profile from its text.
 *
 * @param text JSON.
 * @param source What to call it in errors.
 * @throws {ProfileError} If it is no JSON or no profile: where, what was found, what was expected.
 */
export function parseProfile(text: string, source: string): Profile {
  let document: unknown;
  try {
    document = JSON.parse(withoutMark(text));
  } catch (error) {
    throw new ProfileError(`Cannot read the profile ${source}: it is no JSON: ${(error as Error).message}`);
  }
  const found = validate(schema, document);
  if ("problems" in found) {
    const [{ path, message } = { path: [], message: "expected a profile" }] = found.problems;
    const at = path.length === 0 ? "" : `${pathText(path)}: `;
    throw new ProfileError(`Cannot read the profile ${source}: ${at}${message}`);
  }
  const fault = faultOf(found.value);
  if (fault !== undefined) throw new ProfileError(`Cannot read the profile ${source}: ${fault}`);
  return found.value;
}

/**
 * Loads a profile.
 *
 * @param nameOrPath Name of a shipped profile, or path of a file that ends with `.json`.
 * @throws {ProfileError} Naming the profiles there are.
 *
 * @example
 * ```ts
 * import { loadProfile } from "../../mod.ts";
 *
 * const profile = await loadProfile("oe-retail");
 * console.log(profile.tables[0]?.rows); // 2100000000
 * ```
 */
export async function loadProfile(nameOrPath: string): Promise<Profile> {
  if (nameOrPath.endsWith(".json")) return parseProfile(await readUserText(nameOrPath, "profile"), `"${nameOrPath}"`);
  const known = await listProfiles();
  if (!known.includes(nameOrPath)) {
    const near = nearest(nameOrPath, known);
    const hint = near === undefined ? "" : `, did you mean "${near}"?`;
    throw new ProfileError(
      `Cannot load the profile "${nameOrPath}": there is no such profile${hint === "" ? ";" : hint} known: ${
        known.join(", ")
      }; or give the ` +
        "path of a .json file",
    );
  }
  return parseProfile(
    await readUserText(fileURLToPath(new URL(`${nameOrPath}.json`, FOLDER)), "profile"),
    `"${nameOrPath}"`,
  );
}

/** The text of a profile's file. */
export function profileText(profile: Profile): string {
  const text = JSON.stringify(profile, undefined, 1);
  // Steps and pairs of numbers on one line each.
  return `${
    text.replaceAll(
      /[[{][^[\]{}"]*(?:"(?:rows|share|life|mean|largest)": [^[\]{}"]*)*[\]}]/g,
      (part) => part.replaceAll(/\s+/g, " "),
    )
  }\n`;
}
