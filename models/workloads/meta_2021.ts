/**
 * Meta's embedding traces of 2021, first file (`_0`): what its text says of one batch, and the profile made of it. The
 * data set gives one batch a file and no row counts, so nothing is known of rows that the batch did not use.
 *
 * @module
 */

import { type Profile, PROFILE_VERSION } from "./profile.ts";
import { bagsOf, type ReuseHistogram, reuseSteps } from "./reuse.ts";

/** Tables of the file. */
export const META_TABLES = 856;
/** Samples of its batch. */
export const META_BATCH = 65_536;

/** facebookresearch/dlrm_datasets, 2021, file `_0`. */
export const META_2021: ReuseHistogram = {
  lookups: 468_084_223,
  rows: 61_644_628,
  rowShares: [0.423, 0.165, 0.167, 0.121, 0.073, 0.031, 0.011, 0.004, 0.002, 0.001, 0.001],
  accessShares: [
    0.056,
    0.043,
    0.075,
    0.099,
    0.112,
    0.091,
    0.064,
    0.052,
    0.049,
    0.050,
    0.054,
    0.058,
    0.061,
    0.052,
    0.038,
    0.026,
    0.020,
  ],
};

/**
 * The profile: one table that stands for `tables` of the file's. A sample's lookups in those tables are one bag. At this scale
 * rows of the hottest bins are whole numbers; with fewer tables there would be none of some.
 */
export function metaProfile(tables: number): Profile {
  const part = tables / META_TABLES, mean = META_2021.lookups * part / META_BATCH;
  const steps = reuseSteps(META_2021, part);
  return {
    tierbenchProfile: PROFILE_VERSION,
    name: "meta-2021",
    about:
      `Meta's embedding traces of 2021: ${tables} of the ${META_TABLES} tables of file _0 as one table, by how often a ` +
      `batch of ${META_BATCH} samples uses its rows.`,
    origin: {
      source: "facebookresearch/dlrm_datasets, 2021, reuse histogram of file _0; fitted by reuse.ts",
      mark: "computed",
    },
    tables: [{
      name: "tables",
      rows: steps.reduce((total, { rows }) => total + rows, 0),
      count: 1,
      bags: bagsOf(mean),
      popularity: { steps },
    }],
  };
}
