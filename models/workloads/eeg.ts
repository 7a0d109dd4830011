/**
 * FBGEMM's description of embedding indices ("EEG"), read; `eeg_export.ts` writes it. Read from FBGEMM's sources: `TBEDataConfig` and
 * `IndicesParams` in `fbgemm_gpu/tbe/bench`, whose JSON has `batch_params`, `indices_params` (`heavy_hitters`, `zipf_q`,
 * `zipf_s`, `index_dtype`, `offset_dtype`) and `pooling_params`, and the estimator's own statistics in
 * `src/tbe/eeg/eeg_models.h`, which say `zipfQ`, `zipfS`, `heavyHitters`. Since fbgemm-gpu 1.9 a config may have an
 * `indices_params` of each feature (`indices_params_list`), whose rows are in `Es` or, by `feature_table_map`, in
 * `embedding_specs`, and whose bags in `pooling_params.Ls`.
 *
 * FBGEMM counts ranks from 0 and the heavy hitters first: rank k has weight (k + q)^-s. Here ranks of the law count from 1 behind
 * the heavy hitters, so our q is FBGEMM's q plus their number minus 1.
 *
 * @module
 */

import { foundText } from "../../base/diagnostics.ts";
import { parseProfile, type Profile, PROFILE_VERSION, ProfileError, type ProfileTable } from "./profile.ts";
import { bagsOf } from "./reuse.ts";

/** What a file says that states no rows. */
const NO_ROWS = "E or maxIndex";

type Fields = Readonly<Record<string, unknown>>;

function fieldsOf(value: unknown): Fields | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? value as Fields : undefined;
}

function pick(fields: Fields, ...names: string[]): unknown {
  for (const name of names) if (fields[name] !== undefined && fields[name] !== null) return fields[name];
  return undefined;
}

function numberIn(source: string, fields: Fields, ...names: string[]): number | undefined {
  const found = pick(fields, ...names);
  if (found === undefined) return undefined;
  if (typeof found === "number" && Number.isFinite(found)) return found;
  throw new ProfileError(`Cannot import EEG ${source}: ${names[0]} is ${foundText(found)}, expected a number`);
}

/** The law of an `indices_params`. */
function popularityIn(source: string, indices: Fields, at: string) {
  const zipf = fieldsOf(indices["zipf"]) ?? indices;
  const q = numberIn(source, zipf, "zipf_q", "zipfQ", "q"), s = numberIn(source, zipf, "zipf_s", "zipfS", "s");
  if (q === undefined || s === undefined) {
    throw new ProfileError(`Cannot import EEG ${source}: ${at}zipf_q or zipf_s is missing; both are needed`);
  }
  if (!(q > 0)) throw new ProfileError(`Cannot import EEG ${source}: ${at}zipf_q is ${q}, expected a number above 0`);
  const hitters = pick(indices, "heavy_hitters", "heavyHitters") ?? [];
  if (!Array.isArray(hitters) || !hitters.every((x) => typeof x === "number")) {
    throw new ProfileError(`Cannot import EEG ${source}: ${at}heavy_hitters is no list of numbers`);
  }
  return { heavyHitters: hitters as number[], zipf: { s, q: Math.max(0, q + hitters.length - 1) } };
}

/** A list of so many numbers; undefined: there is none. */
function numbersIn(source: string, fields: Fields, name: string, count: number): number[] | undefined {
  const found = pick(fields, name);
  if (found === undefined) return undefined;
  if (
    Array.isArray(found) && found.length === count && found.every((x) => typeof x === "number" && Number.isFinite(x))
  ) {
    return found;
  }
  throw new ProfileError(`Cannot import EEG ${source}: ${name} is no list of ${count} numbers, one a feature`);
}

/** Rows of each feature's table, and which table that is. */
function rowsOfFeatures(source: string, document: Fields, count: number, rows: number | undefined) {
  const each = numbersIn(source, document, "Es", count), specs = pick(document, "embedding_specs");
  const map = numbersIn(source, document, "feature_table_map", count) ?? Array.from({ length: count }, (_, i) => i);
  if (each !== undefined) return { rows: each, map };
  if (specs !== undefined) {
    const found = map.map((table) => {
      const spec = Array.isArray(specs) ? specs[table] : undefined, height = Array.isArray(spec) ? spec[0] : undefined;
      if (typeof height === "number") return height;
      throw new ProfileError(`Cannot import EEG ${source}: embedding_specs has no rows of table ${table}`);
    });
    return { rows: found, map };
  }
  const one = count === 1 ? numberIn(source, document, "E") ?? rows : rows;
  if (one !== undefined) return { rows: Array<number>(count).fill(one), map };
  throw new ProfileError(
    `Cannot import EEG ${source}: it does not say how many rows each feature's table has (Es or embedding_specs); give ` +
      "them as an option",
  );
}

/** Tables of a config that has a law of each feature. */
function featuresIn(
  source: string,
  document: Fields,
  laws: readonly unknown[],
  rows: number | undefined,
): ProfileTable[] {
  const count = laws.length, tables = numberIn(source, document, "T") ?? count;
  if (count === 0 || tables !== count) {
    throw new ProfileError(`Cannot import EEG ${source}: indices_params_list has ${count} laws, expected T, ${tables}`);
  }
  const { rows: heights, map } = rowsOfFeatures(source, document, count, rows);
  const pooling = fieldsOf(pick(document, "pooling_params")) ?? {};
  const bags = numbersIn(source, pooling, "Ls", count) ??
    Array<number>(count).fill(numberIn(source, pooling, "L") ?? 1);
  return laws.map((law, i) => {
    const at = `indices_params_list[${i}]`, fields = fieldsOf(law), mean = bags[i] ?? 1;
    if (fields === undefined) {
      throw new ProfileError(`Cannot import EEG ${source}: ${at} is ${foundText(law)}, expected an object`);
    }
    if (!(mean > 0)) {
      throw new ProfileError(
        `Cannot import EEG ${source}: pooling_params.Ls[${i}] is ${mean}, expected a number above 0`,
      );
    }
    // Several features of one table have laws of their own.
    const shared = map.filter((table) => table === map[i]).length > 1;
    return {
      name: shared ? `table${map[i]}_feature${i}` : `table${map[i]}`,
      rows: heights[i] ?? 0,
      count: 1,
      bags: bagsOf(mean),
      popularity: popularityIn(source, fields, `${at}.`),
    };
  });
}

/** Tables of a config that has one law. */
function tablesIn(source: string, document: Fields, rows: number | undefined): ProfileTable[] {
  const indices = fieldsOf(pick(document, "indices_params", "indices")) ?? document;
  const popularity = popularityIn(source, indices, "");
  const largest = numberIn(source, indices, "maxIndex", "max_index");
  const each = pick(document, "Es");
  const counted = numberIn(source, document, "E") ?? (largest === undefined ? undefined : largest + 1) ?? rows;
  const sizes = Array.isArray(each) && each.length > 0 ? each.map(Number) : counted === undefined ? [] : [counted];
  if (sizes.length === 0) {
    throw new ProfileError(
      `Cannot import EEG ${source}: it does not say how many rows there are (${NO_ROWS}); give them as an option`,
    );
  }
  const tables = numberIn(source, document, "T") ?? 1;
  const pooling = fieldsOf(pick(document, "pooling_params", "pooling")) ?? {};
  // The estimator's C++ writes L under the name B.
  const bag = Math.round(numberIn(source, pooling, "L", "B") ?? 1);
  const means = sizes.length === 1 ? undefined : numbersIn(source, pooling, "Ls", sizes.length);
  const table = (height: number, name: string, count: number, mean?: number): ProfileTable => ({
    name,
    rows: height,
    count,
    bags: mean === undefined || !(mean > 0) ? [[bag, 1]] : bagsOf(mean),
    popularity,
  });
  return sizes.length === 1
    ? [table(sizes[0] ?? 0, "table", tables)]
    : sizes.map((height, i) => table(height, `table${i}`, 1, means?.[i]));
}

/**
 * A profile from FBGEMM's JSON: a `TBEDataConfig`, with one law or one of each feature, its `indices_params` alone, or the
 * estimator's statistics. Features of one table become tables of their own.
 *
 * @param text JSON. The comma that FBGEMM's C++ leaves behind the last heavy hitter is accepted.
 * @param source What to call it in errors; also the name of the profile.
 * @param options Rows of a table, for files that do not state them.
 * @throws {ProfileError} If it lacks what a law needs.
 */
export function importEeg(text: string, source: string, options: { readonly rows?: number } = {}): Profile {
  let document: Fields | undefined;
  try {
    document = fieldsOf(JSON.parse(text.replaceAll(/,(\s*\])/g, "$1")));
  } catch (error) {
    throw new ProfileError(`Cannot import EEG ${source}: it is no JSON: ${(error as Error).message}`);
  }
  if (document === undefined) throw new ProfileError(`Cannot import EEG ${source}: expected an object`);
  const laws = pick(document, "indices_params_list");
  if (laws !== undefined && !Array.isArray(laws)) {
    throw new ProfileError(`Cannot import EEG ${source}: indices_params_list is ${foundText(laws)}, expected a list`);
  }
  return parseProfile(
    JSON.stringify({
      tierbenchProfile: PROFILE_VERSION,
      name: source.replaceAll(/^"|"$/g, ""),
      about: "Imported from FBGEMM's EEG JSON.",
      origin: { source, mark: "measured" },
      tables: laws === undefined
        ? tablesIn(source, document, options.rows)
        : featuresIn(source, document, laws, options.rows),
    }),
    `from EEG ${source}`,
  );
}
