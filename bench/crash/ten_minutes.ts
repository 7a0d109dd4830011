/**
 * From intervals of training as long as a bench has them to ten minutes (docs/checkpoints.md, "The ten-minute-equivalent
 * interval"). Pure functions.
 *
 * @module
 */

/** Where checkpoints go: restore points in the last tier of that kind, or deltas in files. */
export type CheckpointPlace = "SSDHASH" | "PMEM" | "files";

/** One interval of training without a checkpoint, and the same with one that was durable at its end. Seconds. */
export interface IntervalPair {
  /** Wall clock. */
  readonly without: number;
  readonly with: number;
  /** Processor time of all threads, those that write the checkpoint among them. */
  readonly withoutProcessor: number;
  readonly withProcessor: number;
  /** Rows that the interval's steps updated, each once a step, and rows that its restore point put down; 0 for files. */
  readonly updates: number;
  readonly rows: number;
}

/**
 * Rows that ten minutes of training update for each row that a restore point puts down, at the least: in the paper of
 * OpenEmbedding (ICDE 2023) a step takes 30 ms and touches 111,000 rows (Fig. 2), and 2 GB of DRAM hold the rows above PMEM, of
 * 64 weights (256 bytes: with optimizer state there are fewer), which a point puts down once each.
 */
export const TEN_MINUTE_UPDATES: number = 600 / 0.030 * 111_000 / (2e9 / 256);

/**
 * What an interval of ten minutes is slowed to, by what one was that is shorter or longer: a point costs what it costs, and the
 * more rows are updated for each row that it puts down, the smaller its share. What a point costs beside its rows (syncs, one walk
 * over the upper tiers) is taken as part of its rows' cost, which few rows bear here.
 *
 * @param slowdown Time of an interval with a point by that of one without.
 * @param pair What was updated and put down in it.
 */
export function atTenMinutes(slowdown: number, { updates, rows }: Pick<IntervalPair, "updates" | "rows">): number {
  return 1 + (slowdown - 1) * updates / (rows * TEN_MINUTE_UPDATES);
}
