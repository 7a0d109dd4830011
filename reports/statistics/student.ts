/**
 * Student's t distribution, for the small-sample widening of bootstrap intervals.
 *
 * @module
 */

/** 97.5 % quantile of the standard normal distribution. */
export const NORMAL_975 = 1.959963984540054;

/** Lanczos approximation of ln Γ(x) for x > 0 (g = 7, nine terms; relative error below 1e-13). */
function logGamma(x: number): number {
  const terms = [
    0.99999999999980993,
    676.5203681218851,
    -1259.1392167224028,
    771.32342877765313,
    -176.61502916214059,
    12.507343278686905,
    -0.13857109526572012,
    9.9843695780195716e-6,
    1.5056327351493116e-7,
  ];
  const shifted = x - 1;
  const t = shifted + 7.5;
  let sum = 0;
  terms.forEach((term, i) => sum += i === 0 ? term : term / (shifted + i));
  return 0.5 * Math.log(2 * Math.PI) + (shifted + 0.5) * Math.log(t) - t + Math.log(sum);
}

/** Regularised incomplete beta function by its continued fraction (modified Lentz). */
function incompleteBeta(x: number, a: number, b: number): number {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  if (x > (a + 1) / (a + b + 2)) return 1 - incompleteBeta(1 - x, b, a);
  const front = Math.exp(
    a * Math.log(x) + b * Math.log1p(-x) + logGamma(a + b) - logGamma(a) - logGamma(b) - Math.log(a),
  );
  const tiny = 1e-300;
  const guard = (v: number): number => Math.abs(v) < tiny ? tiny : v;
  let c = 1;
  let d = 1 / guard(1 - (a + b) * x / (a + 1));
  let fraction = d;
  for (let m = 1; m <= 500; m++) {
    const even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / guard(1 + even * d);
    c = guard(1 + even / c);
    fraction *= d * c;
    const odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / guard(1 + odd * d);
    c = guard(1 + odd / c);
    const step = d * c;
    fraction *= step;
    if (Math.abs(step - 1) < 1e-14) break;
  }
  return front * fraction;
}

/** P(T ≤ t) of Student's t with `df` degrees of freedom (any real number above 0). */
export function studentCdf(t: number, df: number): number {
  if (!(df > 0)) throw new RangeError(`Cannot evaluate Student's t: degrees of freedom are ${df}, above 0 is needed`);
  const tail = incompleteBeta(df / (df + t * t), df / 2, 0.5) / 2;
  return t >= 0 ? 1 - tail : tail;
}

/** Quantile of Student's t: the t with P(T ≤ t) = p, for 0 < p < 1, by bisection. */
export function studentQuantile(p: number, df: number): number {
  if (!(p > 0 && p < 1)) throw new RangeError(`Cannot invert Student's t: probability is ${p}, 0 < p < 1 is needed`);
  if (p < 0.5) return -studentQuantile(1 - p, df);
  let low = 0;
  let high = 1;
  while (studentCdf(high, df) < p) {
    high *= 2;
    if (high > 1e12) return high;
  }
  for (let i = 0; i < 200 && high - low > 1e-12 * high; i++) {
    const middle = (low + high) / 2;
    if (studentCdf(middle, df) < p) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}
