/**
 * Zipf laws by maximum likelihood on ranked counts: plain, for comparison, and Zipf-Mandelbrot with heavy hitters, which is
 * what FBGEMM's EEG can say.
 *
 * @module
 */

import type { KeyStream } from "../../../ffi/simulator/key_stream.ts";
import { noised } from "./noise.ts";

/** A fitted Zipf law: rank r of the rows behind the heavy hitters has weight (r + q)^-s. */
interface ZipfFit {
  /** Rows, heavy hitters included. */
  readonly rows: number;
  /** Exponent. */
  readonly s: number;
  /** Shift. */
  readonly q: number;
  /** Shares of the rows in front. */
  readonly heavyHitters: readonly number[];
}

/** Rows of about equal count, most used first. */
interface Ranked {
  readonly rows: number;
  readonly count: number;
}

const MOST_S = 4;
const SUMMED = 1000;

function ranked(stream: KeyStream): Ranked[] {
  stream.lives(false);
  const { rows, count } = stream.groups(), { rate } = stream.facts();
  const out: Ranked[] = stream.apart().map((row) => ({ rows: row.kept ? 1 / rate : 1, count: row.count }));
  rows.forEach((n, g) => out.push({ rows: n / rate, count: count[g] ?? 0 }));
  return out.sort((a, b) => b.count - a.count);
}

/** Sum of f(r + q) over ranks r in (from, to], by the integral at midpoints behind the first thousand. */
function sumLog(q: number, from: number, to: number): number {
  if (to - from <= SUMMED) {
    let sum = 0;
    for (let r = from; r < to; r++) sum += Math.log(r + Math.min(1, to - from) + q);
    return sum;
  }
  const primitive = (x: number) => x * Math.log(x) - x;
  return primitive(to + 0.5 + q) - primitive(from + 0.5 + q);
}

function sumPower(s: number, q: number, rows: number): number {
  let sum = 0;
  const head = Math.min(rows, SUMMED);
  for (let r = 1; r <= head; r++) sum += (r + q) ** -s;
  if (rows <= SUMMED) return sum;
  const [a, b] = [SUMMED + 0.5 + q, rows + 0.5 + q];
  return sum + (Math.abs(s - 1) < 1e-9 ? Math.log(b / a) : (b ** (1 - s) - a ** (1 - s)) / (1 - s));
}

function best(likelihood: (x: number) => number, low: number, high: number): number {
  const golden = (Math.sqrt(5) - 1) / 2;
  for (let round = 0; round < 60; round++) {
    const [a, b] = [high - golden * (high - low), low + golden * (high - low)];
    if (likelihood(a) < likelihood(b)) low = a;
    else high = b;
  }
  return (low + high) / 2;
}

/**
 * Fits a Zipf law.
 *
 * @param stream The measured stream.
 * @param options How many rows stand in front of the law, and whether q may differ from 0; numbers in [0, 1) that noise on the
 * shares of those rows is drawn from.
 */
export function fitZipf(
  stream: KeyStream,
  options: { readonly hitters: number; readonly shift: boolean; readonly random: () => number },
): ZipfFit {
  const all = ranked(stream), total = all.reduce((sum, { rows, count }) => sum + rows * count, 0);
  const front = all.slice(0, options.hitters).filter(({ rows }) => rows === 1);
  const rest = all.slice(front.length);
  const rows = Math.max(1, Math.round(rest.reduce((sum, part) => sum + part.rows, 0)));
  const weight = rest.reduce((sum, part) => sum + part.rows * part.count, 0);
  let found = { s: 0, q: 0, likelihood: -Infinity };
  const shifts = options.shift
    ? [0, ...Array.from({ length: 41 }, (_, i) => 2 ** (i / 2))].filter((q) => q <= rows)
    : [0];
  for (const q of shifts) {
    let from = 0, logs = 0;
    for (const part of rest) {
      logs += part.count * sumLog(q, from, from + part.rows);
      from += part.rows;
    }
    const likelihood = (s: number) => -s * logs - weight * Math.log(sumPower(s, q, rows));
    const s = best(likelihood, 0, MOST_S);
    if (likelihood(s) > found.likelihood) found = { s, q, likelihood: likelihood(s) };
  }
  const heavyHitters = front.map(({ count }) => noised(count, options.random) / total).sort((a, b) => b - a);
  return { rows: rows + front.length, s: found.s, q: found.q, heavyHitters };
}
