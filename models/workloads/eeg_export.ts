/**
 * Tables in FBGEMM's description of embedding indices ("EEG"), which `eeg.ts` reads: `TBEDataConfig` of
 * `fbgemm_gpu/tbe/bench`, fbgemm-gpu 1.9, for tables that are alike with one law, for others with a law of each
 * (`indices_params_list`).
 *
 * FBGEMM counts ranks from 0 and the heavy hitters first, so its `zipf_q` is our q plus 1 less their number.
 *
 * @module
 */

import { ProfileError, type ProfileTable } from "./profile.ts";
import { bagsOf } from "./reuse.ts";

/** Heavy hitters that FBGEMM's estimator writes at most. */
const MOST_HITTERS = 20;

/** FBGEMM wants an exponent above 0; this one is uniform to the sixth digit over 10^12 rows. */
const LEAST_EXPONENT = 1e-8;

/** FBGEMM's JSON of tables. */
export interface EegExport {
  /** A `TBEDataConfig` as JSON. */
  readonly text: string;
  /** What was left out or stands for something else, sentence by sentence. */
  readonly lost: readonly string[];
}

/** A table for FBGEMM. */
export interface EegTable {
  /** The table; its popularity must be a Zipf law with or without heavy hitters. */
  readonly table: ProfileTable;
  /** Weights of a row. */
  readonly dim: number;
}

/** What a profile does not have. */
export interface EegOptions {
  /** Samples of a batch. */
  readonly batch: number;
  /** Whether features are told one by one, of which FBGEMM's `device-with-speclist` has its tables. Default: if there are several entries. */
  readonly byFeature?: boolean;
}

/** `indices_params` of a table. */
function indicesOf({ name, popularity }: ProfileTable, lost: Set<string>) {
  const { zipf, heavyHitters = [], steps = [] } = popularity;
  if (zipf === undefined || steps.length > 0) {
    throw new ProfileError(
      `Cannot export table "${name}" as EEG: FBGEMM knows a Zipf-Mandelbrot law with heavy hitters only; fit the trace with ` +
        '"law": "zipf"',
    );
  }
  if (heavyHitters.length > MOST_HITTERS) {
    throw new ProfileError(
      `Cannot export table "${name}" as EEG: it has ${heavyHitters.length} heavy hitters, FBGEMM takes ${MOST_HITTERS}`,
    );
  }
  const q = zipf.q + 1 - heavyHitters.length;
  if (q <= 0) {
    throw new ProfileError(`Cannot export table "${name}" as EEG: zipf_q would be ${q}, FBGEMM needs a number above 0`);
  }
  if (zipf.s < LEAST_EXPONENT) {
    lost.add(`A zipf_s of ${LEAST_EXPONENT} stands for uniform popularity, since FBGEMM takes no 0.`);
  }
  return {
    heavy_hitters: heavyHitters,
    zipf_q: q,
    zipf_s: Math.max(zipf.s, LEAST_EXPONENT),
    index_dtype: "torch.int64",
    offset_dtype: "torch.int64",
  };
}

/** Mean and deviation of a table's bags. */
function bagOf({ bags }: ProfileTable): { mean: number; deviation: number } {
  const sum = bags.reduce((total, [, share]) => total + share, 0);
  const mean = bags.reduce((total, [length, share]) => total + length * share, 0) / sum;
  const square = bags.reduce((total, [length, share]) => total + (length - mean) ** 2 * share, 0) / sum;
  return { mean, deviation: Math.sqrt(square) };
}

const mean = (numbers: readonly number[]): number => numbers.reduce((sum, one) => sum + one, 0) / numbers.length;

/**
 * Tables as FBGEMM's `TBEDataConfig`: one entry with its `count` as tables alike (`T`, `E`, `D`, `L`), several entries feature by
 * feature (`Es`, `Ds`, `Ls`, `indices_params_list`; beside them the first law, and means). Names are left out.
 *
 * @param tables At least one; features one by one if there are several.
 * @throws {ProfileError} If a popularity is not a Zipf law, or one that FBGEMM cannot draw: which, and why.
 */
export function exportEeg(tables: readonly EegTable[], options: EegOptions): EegExport {
  const [first] = tables;
  if (first === undefined) throw new ProfileError("Cannot export EEG: there is no table");
  const lost = new Set<string>();
  for (const { table: { life, repeats, parent } } of tables) {
    if (life !== undefined || repeats !== undefined || parent !== undefined) {
      lost.add("Drift, repeats and parents have no place in EEG.");
    }
  }
  const alike = !(options.byFeature ?? tables.length > 1),
    entries = tables.map(({ table }) => ({ ...bagOf(table), table }));
  const features = tables.flatMap(({ table, dim }, i) =>
    Array.from({ length: alike ? 1 : table.count }, () => ({ dim, entry: i, rows: table.rows }))
  );
  const laws = tables.map(({ table }) => indicesOf(table, lost));
  // Whole bags around a mean come back from the mean.
  const whole = ({ table, mean }: typeof entries[number]) =>
    JSON.stringify(bagsOf(mean)) === JSON.stringify(table.bags);
  const { mean: bag, deviation } = entries[0] ?? { mean: 1, deviation: 0 };
  if (alike ? deviation > 0 : !entries.every(whole)) {
    lost.add(`Bag lengths became a mean${alike ? " and a standard deviation, in whole numbers" : ""}.`);
  }
  const bags = features.map(({ entry }) => entries[entry]?.mean ?? 1);
  const [Es, Ds] = [features.map(({ rows }) => rows), features.map(({ dim }) => dim)];
  const document = {
    T: alike ? first.table.count : features.length,
    E: Math.round(mean(Es)),
    D: Math.round(mean(Ds)),
    mixed_dim: new Set(Ds).size > 1,
    weighted: false,
    batch_params: { B: options.batch, sigma_B: null, vbe_distribution: "normal", vbe_num_ranks: null },
    indices_params: laws[0],
    pooling_params: {
      L: Math.max(1, Math.round(alike ? bag : mean(bags))),
      sigma_L: alike && deviation > 0 ? Math.max(1, Math.round(deviation)) : null,
      length_distribution: "normal",
      ...(alike ? {} : { Ls: bags }),
    },
    use_cpu: false,
    Es: alike ? null : Es,
    Ds: alike ? null : Ds,
    max_indices: null,
    ...(alike ? {} : { indices_params_list: features.map(({ entry }) => laws[entry]) }),
  };
  return { text: `${JSON.stringify(document, undefined, 2)}\n`, lost: [...lost] };
}
