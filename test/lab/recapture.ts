/**
 * The variable in which `deno task lab --recapture <folder>` hands the folder to the cases that keep what tools print.
 *
 * @module
 */

/** Its name; the folder is absolute. */
export const RECAPTURE_VARIABLE = "TIERBENCH_LAB_RECAPTURE";
