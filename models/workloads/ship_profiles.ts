/**
 * Writes the shipped profiles: `deno run -A models/workloads/ship_profiles.ts && deno fmt models`. What is published is written here once; the
 * files are what programs load.
 *
 * @module
 */

import { metaProfile } from "./meta_2021.ts";
import { type Profile, PROFILE_VERSION, type ProfileTable, profileText } from "./profile.ts";
import { KAGGLE_KEYS } from "./vocabulary.ts";

const FOLDER = new URL("./profiles/", import.meta.url);
/** Tables of the Meta file that the shipped profile stands for: enough for some rows in its hottest bin. */
const META_SHIPPED = 16;

const TERABYTE = [
  ...[45833188, 36746, 17245, 7413, 20243, 3, 7114, 1441, 62, 29275261, 1572176, 345138, 10],
  ...[2209, 11267, 128, 4, 974, 14, 48937457, 11316796, 40094537, 452104, 12606, 104, 35],
];
const MLPERF = [
  ...[40000000, 39060, 17295, 7424, 20265, 3, 7122, 1543, 63, 40000000, 3067956, 405282, 10],
  ...[2209, 11938, 155, 4, 976, 14, 40000000, 40000000, 40000000, 590152, 12973, 108, 36],
];
const MULTI_HOT = [3, 2, 1, 2, 6, 1, 1, 1, 1, 7, 3, 8, 1, 6, 9, 5, 1, 1, 1, 12, 100, 27, 10, 3, 1, 1];
/** The default skew of synthetic click logs (`skews.ts`). */
const CRITEO = { s: 1.15, q: 2.7 };

type Popularity = ProfileTable["popularity"];
type Mark = Profile["origin"]["mark"];

function table(name: string, rows: number, popularity: Popularity, bag = 1): ProfileTable {
  return { name, rows, count: 1, bags: [[bag, 1]], popularity };
}

function profile(name: string, about: string, source: string, mark: Mark, tables: ProfileTable[]): Profile {
  return { tierbenchProfile: PROFILE_VERSION, name, about, origin: { source, mark }, tables };
}

function criteo(rows: readonly number[], bags?: readonly number[]): ProfileTable[] {
  return rows.map((n, i) => table(`C${i + 1}`, n, { zipf: CRITEO }, bags?.[i]));
}

const RETAIL = 2_100_000_000;
/** Skew scaled as in the paper's figure 11: ranks times a factor, so q is divided by it. */
const retail = (scale: number) => [table("retail", RETAIL, { zipf: { s: 1.346, q: 4300 / scale } })];
const TABLE_II = "OpenEmbedding, ICDE 2023, table II: 85.7 / 89.5 / 95.7 % of accesses to 0.05 / 0.1 / 1 % of rows";

/** The shipped profiles. */
export const PROFILES: readonly Profile[] = [
  profile(
    "oe-retail",
    "A retail model over 2.1e9 rows.",
    `${TABLE_II}; fit s = 1.346, q = 4300`,
    "computed",
    retail(1),
  ),
  profile(
    "oe-retail-x2",
    "oe-retail with twice the skew: ranks count double.",
    `${TABLE_II}; figure 11`,
    "computed",
    retail(2),
  ),
  profile(
    "oe-retail-x0.5",
    "oe-retail with half the skew: ranks count half.",
    `${TABLE_II}; figure 11`,
    "computed",
    retail(0.5),
  ),
  profile(
    "criteo-kaggle",
    "The 26 columns of the Kaggle Display Advertising set; cardinalities are published, skew is assumed.",
    "Criteo Kaggle cardinalities as in DLRM",
    "published",
    criteo(KAGGLE_KEYS),
  ),
  profile(
    "criteo-1tb",
    "The 26 columns of Criteo 1 TB as TorchRec's DLRM has them; cardinalities are published, skew is assumed.",
    "TorchRec DLRM, num_embeddings_per_feature",
    "published",
    criteo(TERABYTE),
  ),
  profile(
    "mlperf-dlrmv2",
    "MLPerf DLRM-DCNv2: 26 tables of at most 40 M rows, 214 lookups a sample; skew is assumed for all of them, where the " +
      "benchmark's further lookups of a bag are even.",
    "MLPerf training, recommendation_v2: rows and multi-hot sizes",
    "published",
    criteo(MLPERF, MULTI_HOT),
  ),
  ...([["fbgemm-train", 1.15], ["fbgemm-infer", 1.09]] as const).map(([name, s]) =>
    profile(
      name,
      `FBGEMM's recommended skew: numpy's zipf(${s}) modulo 1e6 rows.`,
      "FBGEMM, help text of its table-batched embedding benchmarks",
      "published",
      [table("table", 1_000_000, { foldedZipf: { s } })],
    )
  ),
  ...[1.1, 1.2].map((s) =>
    profile(
      `torchrec-zipf-${s}`,
      `TorchRec's skewed benchmark keys: zipf(${s}) folded into 1e6 rows.`,
      "TorchRec, pull request 3708",
      "published",
      [table("table", 1_000_000, { foldedZipf: { s } })],
    )
  ),
  profile(
    "hps-80-20",
    "Two levels: 20 % of the rows take 80 % of the accesses.",
    "HugeCTR HPS, hot percentage and coverage",
    "published",
    [
      table("table", 1_000_000, { steps: [{ rows: 200_000, share: 0.8 }, { rows: 800_000, share: 0.2 }] }),
    ],
  ),
  profile("uniform", "Every row equally likely: the worst case of every cache.", "by definition", "assumed", [
    table("table", 1_000_000, { zipf: { s: 0, q: 0 } }),
  ]),
  metaProfile(META_SHIPPED),
];

if (import.meta.main) {
  for (const shipped of PROFILES) {
    await Deno.writeTextFile(new URL(`${shipped.name}.json`, FOLDER), profileText(shipped));
  }
}
