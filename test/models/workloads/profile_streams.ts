/**
 * Streams of keys that profiles are held against. Each is made from parameters: those that the fit was designed on (`DESIGN`), and
 * others for judging it (`JUDGE`), which were drawn once and never looked at while it was made.
 *
 * @module
 */

import { randomNumbers, shuffled } from "../../../base/random.ts";

/** What a stream is made from. */
export interface StreamParameters {
  /** Keys. */
  readonly n: number;
  /** Seed of its random numbers. */
  readonly seed: number;
  /** Factor of its numbers of rows and lengths. */
  readonly size: number;
  /** Added to its exponents. */
  readonly skew: number;
}

/** Parameters of the design. */
export const DESIGN: StreamParameters = { n: 100_000, seed: 7, size: 1, skew: 0 };
/** Parameters of the judging. */
export const JUDGE: readonly StreamParameters[] = [
  { n: 100_000, seed: 1009, size: 0.73, skew: 0.07 },
  { n: 130_000, seed: 2003, size: 1.31, skew: -0.06 },
];

/** Makes a stream. */
type Make = (made: {
  readonly n: number;
  /** A number in [0, 1). */
  readonly random: () => number;
  /** A number from 0 to below `rows`, drawn by rank^-s, ranks scattered. */
  readonly zipf: (s: number, rows: number) => () => number;
  /** A whole number, of this size. */
  readonly of: (count: number) => number;
  /** A whole number below. */
  readonly below: (count: number) => number;
  /** Keys in a random order. */
  readonly order: (count: number) => number[];
}) => (i: number, before: Float64Array) => number;

/** Streams by name; numbers are those of the design. */
export const PROFILE_STREAMS: Readonly<Record<string, Make>> = {
  "Zipf 0.8": ({ zipf, of }) => zipf(0.8, of(100_000)),
  "Zipf 1.0": ({ zipf, of }) => zipf(1, of(100_000)),
  "Zipf 1.2": ({ zipf, of }) => zipf(1.2, of(100_000)),
  uniform: ({ below, of }) => () => below(of(30_000)),
  "new rows": ({ zipf, random, of }) => {
    const rank = zipf(1, of(20_000));
    return (i) => random() < 0.3 ? 1e6 + i : rank();
  },
  repeats: ({ zipf, random, of, below }) => {
    const rank = zipf(0.8, of(30_000)), back = of(200);
    return (i, before) => i > back && random() < 0.4 ? before[i - 1 - below(back)] ?? 0 : rank();
  },
  "rows that live": ({ zipf, of }) => {
    const rows = of(5000), rank = zipf(0.9, rows), life = of(10_000);
    return (i) => {
      const row = rank();
      return row + rows * Math.floor((i + row * 7919 % life) / life);
    };
  },
  loop: ({ of }) => (i) => i % of(13_392),
  "loop that nearly fits": ({ of }) => (i) => i % of(16_000),
  "slow drift": ({ below, of }) => (i) => below(of(20_000)) + Math.floor(i / 40),
  "fast drift": ({ below, of }) => (i) => below(of(20_000)) + Math.floor(i / 4),
  scans: ({ below, of }) => (i) => i % 20 < 10 ? below(of(5000)) : 3e6 + i,
  rescans: ({ zipf, of }) => {
    const hot = zipf(1, of(20_000)), half = of(20_000);
    return (i) => i % (2 * half) < half ? hot() : 3e6 + i % half;
  },
  "shuffled epochs": ({ of, order }) => {
    const rows = of(25_000);
    let pass: number[] = [];
    return (i) => (i % rows === 0 ? pass = order(rows) : pass)[i % rows] ?? 0;
  },
  "epochs in blocks": ({ of, below }) => {
    const rows = of(18_000), block = of(1000);
    let pass: number[] = [];
    return (i) => {
      if (i % rows === 0) {
        pass = Array.from({ length: rows }, (_, row) => row);
        for (let j = rows - 1; j > 0; j--) {
          const first = j - j % block, other = first + below(j - first + 1);
          [pass[j], pass[other]] = [pass[other] ?? 0, pass[j] ?? 0];
        }
      }
      return pass[i % rows] ?? 0;
    };
  },
  "epochs of Zipf": ({ zipf, of, order }) => {
    const rank = zipf(0.9, of(40_000)), length = of(28_000), data = Array.from({ length }, rank);
    let pass: number[] = [];
    return (i) => data[(i % length === 0 ? pass = order(length) : pass)[i % length] ?? 0] ?? 0;
  },
  "Zipf that shifts": ({ zipf, of, n }) => {
    const rows = of(20_000), rank = zipf(1, rows);
    return (i) => i < n / 2 ? rank() : (rank() + rows / 2 | 0) % rows;
  },
  "ranks dealt anew": ({ zipf, of, order }) => {
    const rows = of(8000), rank = zipf(1, rows), era = of(14_000);
    let dealt: number[] = [];
    return (i) => (i % era === 0 ? dealt = order(rows) : dealt)[rank()] ?? 0;
  },
  mixture: ({ zipf, of }) => {
    const hot = zipf(1, of(20_000));
    return (i) => i % 3 === 0 ? 1e6 + i / 3 % of(9000) : hot();
  },
  recent: ({ below, of }) => {
    const back = of(400);
    return (i) => i > back && i % 8 > 0 ? Math.floor((i - 1 - below(back)) / 8) * 8 : i;
  },
};

/**
 * Keys of a stream.
 *
 * @param name Which of {@linkcode PROFILE_STREAMS}.
 */
export function profileStream(name: string, { n, seed, size, skew }: StreamParameters): BigInt64Array<ArrayBuffer> {
  const random = randomNumbers(seed), below = (count: number) => Math.floor(random() * count);
  const order = (count: number) => shuffled(Array.from({ length: count }, (_, i) => i), random);
  const zipf = (s: number, rows: number) => {
    const sums = new Float64Array(rows), place = order(rows);
    let total = 0;
    for (let rank = 0; rank < rows; rank++) sums[rank] = total += (rank + 1) ** -(s + skew);
    return () => {
      const x = random() * total;
      let [low, high] = [0, rows - 1];
      while (low < high) {
        const middle = (low + high) >> 1;
        if (sums[middle]! < x) low = middle + 1;
        else high = middle;
      }
      return place[low] ?? 0;
    };
  };
  const make = PROFILE_STREAMS[name];
  if (make === undefined) throw new RangeError(`Cannot make the stream "${name}": there is none`);
  const next = make({ n, random, zipf, below, order, of: (count) => Math.round(count * size) });
  const keys = new Float64Array(n);
  for (let i = 0; i < n; i++) keys[i] = next(i, keys);
  return BigInt64Array.from(keys, BigInt);
}
