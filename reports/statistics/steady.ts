/**
 * From where on a series is steady.
 *
 * @module
 */

/** Values in a group, where there are enough of them: MSER-5. */
const GROUP = 5;
/** Fewest values that are asked; fewer than ten times the group are not grouped. */
const FEWEST = 20;

/**
 * Where the steady state of a series begins, by the marginal standard error rule: what is left out is what makes the squared
 * standard error of the mean of the rest least (MSER, K. P. White Jr., "An effective truncation heuristic for bias reduction
 * in simulation output", Simulation 69 (6), 1997; with means of five values where there are 50 or more, MSER-5, White, Cobb
 * and Spratt, "A comparison of five steady-state truncation heuristics for simulation", WSC 2000). As there, the least is
 * looked for in the first half: one at its end says that the series is too short to tell.
 *
 * @param values In the order of time.
 * @returns How many values come before the steady state; undefined if that cannot be told.
 */
export function steadyFrom(values: readonly number[]): number | undefined {
  if (values.length < FEWEST) return undefined;
  const size = values.length >= 10 * GROUP ? GROUP : 1;
  const groups = Array.from({ length: Math.floor(values.length / size) }, (_, i) => {
    let sum = 0;
    for (let k = 0; k < size; k++) sum += values[i * size + k] as number;
    return sum / size;
  });
  const half = Math.floor(groups.length / 2);
  // From the end: mean and squared deviations of what is kept (Welford).
  let [count, mean, squares] = [0, 0, 0];
  let best = { from: half, error: Infinity };
  for (let i = groups.length - 1; i >= 0; i--) {
    const value = groups[i] as number;
    count++;
    const off = value - mean;
    mean += off / count;
    squares += off * (value - mean);
    const error = squares / count ** 2;
    if (i <= half && error <= best.error) best = { from: i, error };
  }
  return best.from >= half ? undefined : best.from * size;
}
