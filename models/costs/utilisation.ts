/**
 * How much of its time an accelerator computes, as MLPerf Storage counts it (Submission_guidelines.md, section 4).
 *
 * @module
 */

/** A run as MLPerf Storage describes it. */
export interface StorageRun {
  readonly files: number;
  readonly recordsPerFile: number;
  readonly batch: number;
  readonly accelerators: number;
  readonly epochs: number;
  /** Seconds of computation of a step (their `sleep`). */
  readonly computeSeconds: number;
}

/** Seconds of computation of a whole run: records ÷ accelerators ÷ batch × seconds of a step × epochs. */
export function totalComputeSeconds(run: StorageRun): number {
  return run.recordsPerFile * run.files / run.accelerators / run.batch * run.computeSeconds * run.epochs;
}

/**
 * Accelerator utilisation: seconds of computation ÷ seconds of the run, the first step in neither.
 *
 * @param stepSeconds Wall time of every step, the first one included.
 * @param computeSeconds Seconds of computation of a step.
 * @returns A share, 0 to 1.
 */
export function acceleratorUtilisation(stepSeconds: readonly number[], computeSeconds: number): number {
  const counted = stepSeconds.slice(1);
  const total = counted.reduce((sum, own) => sum + own, 0);
  if (counted.length === 0 || !(total > 0)) {
    throw new RangeError(
      `Cannot tell the utilisation: found ${stepSeconds.length} steps, at least 2 that take time are needed`,
    );
  }
  return counted.length * computeSeconds / total;
}
