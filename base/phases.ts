/**
 * What a training step's time is told by.
 *
 * @module
 */

/** The phases of a training step, in the order of `TS_PHASE_*` in `tierstore.h`. */
export const PHASES = ["input", "lookup", "dense", "update", "eviction"] as const;
/** One of {@linkcode PHASES}. */
export type Phase = (typeof PHASES)[number];
