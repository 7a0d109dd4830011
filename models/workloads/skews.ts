/**
 * Named skews of key streams: Zipf-Mandelbrot laws, weight of rank r proportional to (r + q)^-s.
 *
 * @module
 */

/** Parameters of a Zipf-Mandelbrot law. */
interface Skew {
  /** Exponent; 0 is uniform. */
  readonly s: number;
  /** Shift: flattens the head. */
  readonly q: number;
  /**
   * Rows of the table whose law has this q: for a column of n rows q is scaled by n / rows, which keeps the shape.
   * 0: each column's own rows in Criteo Kaggle.
   */
  readonly rows: number;
}

/**
 * - `criteo`: the generator's default, near the click logs' own skew.
 * - `oe-retail`: fitted to the access shares that OpenEmbedding (ICDE 2023, table II) reports for a retail model over
 *   2.1e9 rows: the hottest 0.05 % of rows take 85.7 % of the accesses, 0.1 % take 89.5 %, 1 % take 95.7 %.
 * - `zipf-1.1`, `zipf-1.2`: plain Zipf laws, as in TorchRec's benchmarks.
 * - `uniform`: every row equally likely; the worst case of every cache.
 */
export const SKEWS: Readonly<Record<string, Skew>> = {
  "criteo": { s: 1.15, q: 2.7, rows: 0 },
  "oe-retail": { s: 1.346, q: 4300, rows: 2.1e9 },
  "zipf-1.1": { s: 1.1, q: 0, rows: 0 },
  "zipf-1.2": { s: 1.2, q: 0, rows: 0 },
  "uniform": { s: 0, q: 0, rows: 0 },
};
