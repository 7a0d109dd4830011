/**
 * From a reuse histogram to rows: how many rows there must be of each rate, so that one batch shows as many rows used once,
 * twice, three to four times and so on, as were counted.
 *
 * @module
 */

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
