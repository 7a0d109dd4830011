/**
 * The most likely mixture of rows behind a stream: how many rows there are of each rate and each life, so that rows would be
 * used as often, and from when to when, as they were.
 *
 * A row of rate r and life L is asked for by a Poisson process of r per access while it lives. Rows that live all the time
 * are so many; others are born by a Poisson process and live for L accesses. Both numbers are found by maximum likelihood
 * over a fixed grid of rates and lives (the non-parametric estimate of a mixing law, Kiefer and Wolfowitz, Annals of
 * Mathematical Statistics 1956, by EM). So rows that nobody has seen yet are counted, too: what is drawn again from the
 * counts alone would have too few new rows.
 *
 * @module
 */

import type { RowGroups } from "../../../ffi/simulator/key_stream.ts";

/** Rows of one rate and one life. */
export interface Component {
  /** Accesses to one of its rows, per access of the stream, while it lives. */
  readonly rate: number;
  /** Accesses of the stream that a row lives for; `Infinity`: there all the time. */
  readonly life: number;
  /** Rows that are there at one time. */
  readonly rows: number;
}

/** A mixture and what it says of each group. */
export interface Mixture {
  /** Its parts, those without rows left out. */
  readonly components: readonly Component[];
  /** Expected rate of a row of each group, given how it was used. */
  readonly rates: Float64Array<ArrayBuffer>;
}

/** What may be in a mixture. */
interface MixtureOptions {
  /** Accesses of the stream. */
  readonly accesses: number;
  /** Whether rows may have lives. */
  readonly lives: boolean;
  /** Rounds of EM. */
  readonly rounds: number;
}

/** Rates of rows that are there all the time: a quarter octave apart, from a sixteenth of an access. */
const RATE_STEP = 2 ** 0.25;
const LEAST_USES = 1 / 16;
/** Rates of rows with lives: half an octave apart, from half an access a life. */
const LIFE_RATE_STEP = 2 ** 0.5;
const LEAST_LIFE_USES = 0.5;
/** Lives: an eighth of an octave apart where they are longest, then an octave, down to so many accesses. */
const LIFE_STEP = 2 ** 0.125;
const LEAST_LIFE = 8;
/** Parts with less than this share of the accesses are given up on the way. */
const NEGLIGIBLE = 1e-6;

/** Rows (or, of rows with lives, lives) of a part that are used at least once in so many accesses. */
export function usedOf({ rate, life, rows }: Component, accesses: number): number {
  return (life === Infinity ? rows : rows / life) * seen({ rate, life }, accesses);
}

interface Candidate {
  readonly rate: number;
  readonly life: number;
}

function candidates({ accesses: n, lives }: MixtureOptions, mostUses: number): Candidate[] {
  const out: Candidate[] = [];
  for (let uses = LEAST_USES; uses < mostUses * 1.2 + 1 && uses <= n; uses *= RATE_STEP) {
    out.push({ rate: uses / n, life: Infinity });
  }
  if (!lives) return out;
  for (let life = n; life >= LEAST_LIFE; life /= life > n / 64 ? LIFE_STEP : 2) {
    for (let uses = LEAST_LIFE_USES; uses <= Math.min(life, mostUses * 2); uses *= LIFE_RATE_STEP) {
      out.push({ rate: uses / life, life });
    }
  }
  return out;
}

/** Integral of e^(-r x) from a to b of a line: x goes from `from` to `to` while u goes over `length`. */
function decay(rate: number, from: number, to: number, length: number): number {
  if (length <= 0) return 0;
  const slope = rate * Math.abs(to - from) / length;
  const start = Math.exp(-rate * Math.min(from, to));
  return slope * length < 1e-9 ? start * length : start * -Math.expm1(-slope * length) / slope;
}

/** Integral over births u in [low, high] of e^(-rate × accesses that the life [u, u + life] shares with [0, n]). */
function unused(rate: number, life: number, n: number, low: number, high: number): number {
  const shared = (u: number) => Math.min(u + life, n) - Math.max(u, 0);
  const bounds = [low, ...[0, n - life].filter((u) => u > low && u < high).sort((a, b) => a - b), high];
  let sum = 0;
  for (let i = 1; i < bounds.length; i++) {
    const [a = 0, b = 0] = [bounds[i - 1], bounds[i]];
    sum += decay(rate, shared(a), shared(b), b - a);
  }
  return sum;
}

/** Log likelihood that a row of a candidate is used so, per row that is there (or is born, per access). */
function logUse({ rate, life }: Candidate, n: number, count: number, first: number, last: number): number {
  if (life === Infinity) return count * Math.log(rate) - rate * n;
  const low = Math.max(last - life, -life), high = Math.min(first, n);
  if (low >= high) return -Infinity;
  return count * Math.log(rate) + Math.log(unused(rate, life, n, low, high));
}

/** Probability that such a row is used at all; of births, per access, the expected number that is. */
function seen({ rate, life }: Candidate, n: number): number {
  return life === Infinity ? -Math.expm1(-rate * n) : n + life - unused(rate, life, n, -life, n);
}

/**
 * Fits a mixture to groups of rows.
 *
 * @param groups What was seen.
 * @param options What the mixture may be made of.
 */
export function fitMixture(groups: RowGroups, options: MixtureOptions): Mixture {
  const n = options.accesses, size = groups.rows.length;
  const mostUses = groups.count.reduce((most, count) => Math.max(most, count), 1);
  const grid = candidates(options, mostUses);
  // Likelihoods, row by row of the grid, each group scaled by its largest.
  const table = grid.map((candidate) =>
    Float64Array.from({ length: size }, (_, g) => {
      return logUse(candidate, n, groups.count[g] ?? 0, groups.first[g] ?? 0, groups.last[g] ?? 0);
    })
  );
  const largest = new Float64Array(size).fill(-Infinity);
  for (const row of table) row.forEach((x, g) => largest[g] = Math.max(largest[g] ?? 0, x));
  let live = grid.map((candidate, i) => {
    const likelihood = (table[i] ?? new Float64Array()).map((x, g) => Math.exp(x - (largest[g] ?? 0)));
    return { candidate, likelihood, seen: seen(candidate, n), amount: 0 };
  });
  const rows = groups.rows.reduce((sum, x) => sum + x, 0);
  for (const part of live) part.amount = rows / live.length / part.seen;
  const total = new Float64Array(size), mean = new Float64Array(size);
  for (let round = 0; round < options.rounds; round++) {
    total.fill(0);
    for (const { likelihood, amount } of live) {
      for (let g = 0; g < size; g++) total[g]! += amount * likelihood[g]!;
    }
    for (let g = 0; g < size; g++) total[g] = (groups.rows[g] ?? 0) / (total[g] || 1);
    for (const part of live) {
      let sum = 0;
      for (let g = 0; g < size; g++) sum += total[g]! * part.likelihood[g]!;
      part.amount *= sum / part.seen;
    }
    if (round % 20 === 19) {
      live = live.filter((part) => shareOf(part.candidate, part.amount) > NEGLIGIBLE);
    }
  }
  total.fill(0);
  for (const { candidate, likelihood, amount } of live) {
    for (let g = 0; g < size; g++) {
      const odds = amount * (likelihood[g] ?? 0);
      total[g]! += odds;
      mean[g]! += odds * candidate.rate;
    }
  }
  return {
    components: live.map(({ candidate: { rate, life }, amount }) => ({
      rate,
      life,
      rows: life === Infinity ? amount : amount * life,
    })),
    rates: mean.map((x, g) => x / (total[g] || 1)),
  };
}

function shareOf({ rate, life }: Candidate, amount: number): number {
  return rate * (life === Infinity ? amount : amount * life);
}
