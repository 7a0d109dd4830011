/**
 * Whose figures a 90 % band is made of.
 *
 * @module
 */

/**
 * Whose: those of the medium of this kind and `access`; of this `kind`; of the `medium`; of the kind in all media of its
 * `class` (DRAM, PMEM, …); of the kind in `all` media. `fit`: the medium's own, with the errors of the fit, which were larger
 * than those of all curves left out. `apart`: the medium's that no fit sees, whose errors were larger still. `measured`:
 * figures of the user's own machine.
 */
export type BandBasis = "access" | "kind" | "medium" | "class" | "all" | "fit" | "apart" | "measured";

/** All of them. */
export const BAND_BASES: readonly BandBasis[] = [
  "access",
  "kind",
  "medium",
  "class",
  "all",
  "fit",
  "apart",
  "measured",
];

/** How wide a band is, and whose figures say so. */
export interface BandWidth {
  /** The band is from the figure divided by this to the figure times this. */
  readonly factor: number;
  /** Whose figures that was found with. */
  readonly basis: BandBasis;
}
