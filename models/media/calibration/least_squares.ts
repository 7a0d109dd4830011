/**
 * Least squares of few numbers, robust and bounded: Levenberg's and Marquardt's steps in the logarithm of the numbers, each
 * figure weighted down by how far off it is (iteratively reweighted, Cauchy's loss). Sources contradict each other, so a
 * large error counts little more than a middling one.
 *
 * @module
 */

/** What is fitted. */
export interface Problem {
  /** Numbers at the start, above zero. */
  readonly start: readonly number[];
  /** Least and most of each. */
  readonly bounds: readonly (readonly [least: number, most: number])[];
  /** What an error counts. */
  readonly weights: Float64Array;
  /** Errors at these numbers, in the logarithm. With `known`: those at numbers of which only the `changed` one differs. */
  readonly errors: (values: readonly number[], changed?: number, known?: Float64Array) => Float64Array;
}

/** Where an error begins to count less: ln(1.15). */
const SCALE = 0.14;
/** Step of the numbers, in the logarithm, for derivatives. */
const STEP = 0.01;

/** Loss of the errors: quadratic where they are small. */
export function lossOf(errors: Float64Array, weights: Float64Array): number {
  let sum = 0;
  errors.forEach((e, k) => sum += (weights[k] ?? 0) * Math.log1p((e / SCALE) ** 2));
  return sum * SCALE * SCALE / 2;
}

const clip = (value: number, [least, most]: readonly [number, number]): number =>
  Math.min(most, Math.max(least, value));

/** Solves `a x = b` for a positive definite matrix by Cholesky's factors; undefined if it is none. */
function solve(a: readonly Float64Array[], b: Float64Array): Float64Array | undefined {
  const n = b.length, low = a.map((row) => Float64Array.from(row)), x = Float64Array.from(b);
  const at = (i: number, j: number): number => low[i]?.[j] ?? NaN;
  for (let i = 0; i < n; i++) {
    for (let j = 0; j <= i; j++) {
      let sum = at(i, j);
      for (let k = 0; k < j; k++) sum -= at(i, k) * at(j, k);
      if (i === j && !(sum > 0)) return undefined;
      (low[i] as Float64Array)[j] = i === j ? Math.sqrt(sum) : sum / at(j, j);
    }
  }
  for (let i = 0; i < n; i++) {
    let sum = x[i] ?? NaN;
    for (let k = 0; k < i; k++) sum -= at(i, k) * (x[k] ?? NaN);
    x[i] = sum / at(i, i);
  }
  for (let i = n - 1; i >= 0; i--) {
    let sum = x[i] ?? NaN;
    for (let k = i + 1; k < n; k++) sum -= at(k, i) * (x[k] ?? NaN);
    x[i] = sum / at(i, i);
  }
  return x;
}

/** Derivatives of the errors by the logarithm of each number; towards the inside where a bound is near. */
function derivatives({ errors, bounds }: Problem, values: readonly number[], now: Float64Array): Float64Array[] {
  return values.map((value, i) => {
    const bound = bounds[i] ?? [0, Infinity];
    const step = value * Math.exp(STEP) <= bound[1] ? STEP : -STEP;
    const moved = errors(values.with(i, value * Math.exp(step)), i, now);
    return moved.map((e, k) => (e - (now[k] ?? 0)) / step);
  });
}

/**
 * Fits.
 *
 * @param problem What.
 * @param rounds Steps at most.
 * @returns The numbers and their loss.
 */
export function leastSquares(problem: Problem, rounds: number): { values: number[]; loss: number } {
  const { bounds, errors, weights } = problem;
  let values = problem.start.map((value, i) => clip(value, bounds[i] ?? [0, Infinity]));
  let now = errors(values), loss = lossOf(now, weights), damping = 0.01;
  for (let round = 0; round < rounds; round++) {
    const by = derivatives(problem, values, now);
    const weight = now.map((e, k) => (weights[k] ?? 0) / (1 + (e / SCALE) ** 2));
    const dot = (a: Float64Array, b: Float64Array) =>
      a.reduce((sum, x, k) => sum + x * (b[k] ?? 0) * (weight[k] ?? 0), 0);
    const normal = by.map((a) => Float64Array.from(by, (b) => dot(a, b)));
    const gradient = Float64Array.from(by, (a) => -dot(a, now));
    const before = loss;
    for (let tries = 0; tries < 8 && loss === before; tries++) {
      const damped = normal.map((row, i) => row.with(i, (row[i] ?? 0) * (1 + damping) + 1e-9));
      const delta = solve(damped, gradient);
      damping *= 5;
      if (delta === undefined) continue;
      const next = values.map((value, i) =>
        clip(value * Math.exp(clip(delta[i] ?? 0, [-1, 1])), bounds[i] ?? [0, Infinity])
      );
      const then = errors(next);
      const lossThen = lossOf(then, weights);
      if (!(lossThen < loss)) continue;
      values = next, now = then, loss = lossThen, damping /= 30;
    }
    if (before - loss < 1e-5 * before) break;
  }
  return { values, loss };
}
