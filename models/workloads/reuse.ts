/**
 * From a reuse histogram to rows: how many rows there must be of each rate, so that one batch shows as many rows used once,
 * twice, three to four times and so on, as were counted.
 *
 * @module
 */

import { pathText } from "../../base/diagnostics.ts";
import { validate } from "../../base/validate.ts";
import * as v from "../../base/valibot.ts";
import { type Profile, PROFILE_VERSION, ProfileError } from "./profile.ts";

/** What was counted in one batch. Bin 0 is one use, bin b > 0 more than 2^(b-1) and at most 2^b uses. */
export interface ReuseHistogram {
  /** Lookups of the batch. */
  readonly lookups: number;
  /** Rows that were used. */
  readonly rows: number;
  /** Share of these rows, by bin; later bins that are not told are left open. */
  readonly rowShares: readonly number[];
  /** Share of the lookups, by bin. */
  readonly accessShares: readonly number[];
}

/** Rates between which rows are shared out: a quarter octave apart. */
const RATE_STEP = 2 ** 0.25;
/** Uses a batch of the coldest rows. Colder ones could stand for these, and would only be more. */
const LEAST_USES = 0.25;
const ROUNDS = 4000;

/** Bin of a number of uses. */
function reuseBin(uses: number): number {
  return uses <= 1 ? 0 : Math.ceil(Math.log2(uses));
}

/** Probabilities and expected uses by bin of a row that is used `mean` times a batch on average (Poisson). */
function bins(mean: number, count: number): { rows: number[]; uses: number[] } {
  const rows = new Array<number>(count).fill(0), uses = new Array<number>(count).fill(0);
  const low = Math.max(1, Math.floor(mean - 10 * Math.sqrt(mean) - 10)),
    high = Math.ceil(mean + 10 * Math.sqrt(mean) + 20);
  let log = -mean; // of the probability of x uses
  for (let x = 1; x <= high; x++) {
    log += Math.log(mean / x);
    if (x < low) continue;
    const bin = Math.min(count - 1, reuseBin(x)), p = Math.exp(log);
    rows[bin]! += p;
    uses[bin]! += p * x;
  }
  return { rows, uses };
}

/** Rows of one rate. */
interface ReuseStep {
  /** How many, as a share of the rows that were used. */
  readonly rows: number;
  /** Uses a batch of each, on average. */
  readonly uses: number;
}

/**
 * Rows whose lookups, drawn independently, make the histogram: least deviation in likelihood by the multiplicative
 * rule of Richardson (1972) and Lucy (1974).
 */
export function fitReuse(histogram: ReuseHistogram): ReuseStep[] {
  const { rowShares, accessShares, lookups, rows } = histogram;
  const count = accessShares.length, mean = lookups / rows;
  const grid: { uses: number; row: number[]; amount: number }[] = [];
  for (let uses = LEAST_USES; uses <= 2 ** (count - 1); uses *= RATE_STEP) {
    const expected = bins(uses, count);
    const row = [...expected.rows.slice(0, rowShares.length), ...expected.uses.map((x) => x / mean)];
    grid.push({ uses, row, amount: 1 / (1 + uses) });
  }
  const targets = [...rowShares, ...accessShares];
  for (let round = 0; round < ROUNDS; round++) {
    const predicted = targets.map((_, i) => grid.reduce((sum, { row, amount }) => sum + amount * (row[i] ?? 0), 0));
    for (const part of grid) {
      const up = part.row.reduce((sum, x, i) => sum + x * (targets[i] ?? 0) / ((predicted[i] ?? 0) || 1), 0);
      part.amount *= up / part.row.reduce((sum, x) => sum + x, 0);
    }
  }
  return grid.filter(({ amount, uses }) => amount * uses / mean > 1e-5).map(({ uses, amount }) => ({
    uses,
    rows: amount,
  }))
    .sort((a, b) => b.uses - a.uses);
}

/**
 * The histogram of one batch of keys.
 *
 * @param keys The batch.
 * @param count Bins; uses beyond the last are in it.
 */
export function reuseHistogram(keys: BigInt64Array, count: number): ReuseHistogram {
  const sorted = keys.slice().sort();
  const rowShares = new Array<number>(count).fill(0), accessShares = new Array<number>(count).fill(0);
  let rows = 0;
  for (let i = 0; i < sorted.length;) {
    let end = i + 1;
    while (end < sorted.length && sorted[end] === sorted[i]) end++;
    const bin = Math.min(count - 1, reuseBin(end - i));
    rows++;
    rowShares[bin]!++;
    accessShares[bin]! += end - i;
    i = end;
  }
  return {
    lookups: sorted.length,
    rows,
    rowShares: rowShares.map((x) => x / rows),
    accessShares: accessShares.map((x) => x / sorted.length),
  };
}

const shares = v.pipe(
  v.array(v.pipe(v.number(), v.minValue(0), v.maxValue(1))),
  v.minLength(1, "expected at least one bin"),
  v.maxLength(50, "expected at most 50 bins"),
);
const positive = v.pipe(v.number(), v.integer("expected a whole number"), v.minValue(1), v.maxValue(2 ** 53 - 1));

const reuseFile = v.strictObject({
  about: v.optional(v.string(), ""),
  source: v.pipe(v.string(), v.minLength(1, "expected where the histogram is from")),
  batch: positive,
  tables: v.pipe(
    v.array(v.strictObject({
      name: v.pipe(v.string(), v.minLength(1), v.maxLength(200)),
      lookups: positive,
      rows: positive,
      rowShares: shares,
      accessShares: shares,
    })),
    v.minLength(1, "expected at least one table"),
    v.maxLength(4096, "expected at most 4,096 tables"),
  ),
});

/** Bags of a mean length: the two whole numbers around it. */
export function bagsOf(mean: number): [number, number][] {
  const low = Math.floor(mean), more = Number((mean - low).toFixed(6));
  return more === 0 ? [[low, 1]] : [[low, Number((1 - more).toFixed(6))], [low + 1, more]];
}

/** Rows in steps and their shares of the lookups, of `part` of what was counted. */
export function reuseSteps(histogram: ReuseHistogram, part: number = 1): { rows: number; share: number }[] {
  const { rows: all, lookups } = histogram;
  const steps = fitReuse(histogram).map(({ rows, uses }) => ({
    rows: Math.max(1, Math.round(rows * all * part)),
    share: rows * uses * all / lookups,
  }));
  const sum = steps.reduce((total, { share }) => total + share, 0);
  return steps.map(({ rows, share }) => ({ rows, share: Number((share / sum).toPrecision(8)) }));
}

/**
 * The profile of a file of reuse histograms: what was counted in one batch of each table.
 *
 * @param text JSON: `source`, `batch` (samples), and `tables` with `name`, `lookups`, `rows` (used), `rowShares`,
 * `accessShares`.
 * @param source What to call it in errors.
 * @param name Of the profile.
 * @throws {ProfileError} where it is none, or its numbers contradict each other.
 */
export function importReuse(text: string, source: string, name: string): Profile {
  const refuse = (what: string): never => {
    throw new ProfileError(`Cannot read the reuse histogram ${source}: ${what}`);
  };
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch (error) {
    return refuse(`it is no JSON: ${(error as Error).message}`);
  }
  const found = validate(reuseFile, document);
  if ("problems" in found) {
    const [{ path, message } = { path: [], message: "expected a histogram" }] = found.problems;
    return refuse(`${path.length === 0 ? "" : `${pathText(path)}: `}${message}`);
  }
  const { about, source: from, batch, tables } = found.value;
  for (const [i, { rows, lookups, rowShares, accessShares }] of tables.entries()) {
    const at = `tables[${i}]`;
    if (lookups < rows) refuse(`${at}.lookups: expected at least one a row (${rows} rows), found ${lookups}`);
    if (lookups / batch > 4095) refuse(`${at}.lookups: expected at most 4,095 a sample, found ${lookups / batch}`);
    for (const [field, list] of [["rowShares", rowShares], ["accessShares", accessShares]] as const) {
      const sum = list.reduce((total, share) => total + share, 0);
      if (sum > 1.02) refuse(`${at}.${field}: its shares add up to ${sum}, expected at most 1`);
      if (field === "accessShares" && sum < 0.9) refuse(`${at}.${field}: its shares add up to ${sum}, expected 1`);
    }
  }
  return {
    tierbenchProfile: PROFILE_VERSION,
    name,
    about: about === "" ? `By how often a batch of ${batch} samples uses its rows.` : about,
    origin: { source: `${from}; reuse histogram of a batch of ${batch} samples`, mark: "computed" },
    tables: tables.map(({ name, ...histogram }) => {
      const steps = reuseSteps(histogram);
      return {
        name,
        rows: steps.reduce((total, { rows }) => total + rows, 0),
        count: 1,
        bags: bagsOf(histogram.lookups / batch),
        popularity: { steps },
      };
    }),
  };
}
