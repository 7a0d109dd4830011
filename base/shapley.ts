/**
 * Takes a difference apart into what each of its causes adds. What a cause adds depends on which others are already
 * there; the Shapley value is the mean over all orders (Shapley, 1953), and the values of all causes add up to the whole.
 *
 * @module
 */

/**
 * The Shapley value of every cause: the mean of what it adds over all orders.
 *
 * @param causes At most 16: the function is evaluated for each of their subsets.
 * @param value Of the causes that are present.
 */
export function shapley<P extends string>(
  causes: readonly P[],
  value: (present: ReadonlySet<P>) => number,
): Readonly<Record<P, number>> {
  return fromValues(causes, subsets(causes).map(value));
}

/** {@linkcode shapley} where a value takes its time. */
export async function shapleyOf<P extends string>(
  causes: readonly P[],
  value: (present: ReadonlySet<P>) => Promise<number>,
): Promise<Readonly<Record<P, number>>> {
  const values: number[] = [];
  for (const present of subsets(causes)) values.push(await value(present)); // one after the other: each takes all threads
  return fromValues(causes, values);
}

/** All subsets; the bits of a subset's number are its members. */
function subsets<P>(causes: readonly P[]): ReadonlySet<P>[] {
  const n = causes.length;
  if (n > 16) throw new RangeError(`Cannot take ${n} causes apart: at most 16`);
  return Array.from({ length: 1 << n }, (_, subset) => members(causes, subset));
}

function fromValues<P extends string>(causes: readonly P[], values: readonly number[]): Readonly<Record<P, number>> {
  const n = causes.length;
  const terms = causes.map((cause, i) => {
    let sum = 0;
    for (let subset = 0; subset < 1 << n; subset++) {
      if ((subset >> i & 1) === 1) continue;
      const weight = 1 / (n * binomial(n - 1, bits(subset)));
      sum += weight * ((values[subset | 1 << i] as number) - (values[subset] as number));
    }
    return [cause, sum];
  });
  return Object.fromEntries(terms) as Record<P, number>;
}

function members<P>(causes: readonly P[], subset: number): ReadonlySet<P> {
  return new Set(causes.filter((_, i) => (subset >> i & 1) === 1));
}

function bits(subset: number): number {
  let count = 0;
  for (let rest = subset; rest > 0; rest &= rest - 1) count++;
  return count;
}

function binomial(n: number, k: number): number {
  let value = 1;
  for (let i = 1; i <= k; i++) value = value * (n - k + i) / i;
  return value;
}
