/**
 * Where an axis begins and ends.
 *
 * @module
 */

/**
 * From the least to the most of some values; around them where all are one, which else would have no place on the axis.
 *
 * @param values One or more.
 * @param log Whether the axis is logarithmic; then values are above 0.
 */
export function extentOf(values: readonly number[], log: boolean): { readonly min: number; readonly max: number } {
  const [min, max] = [Math.min(...values), Math.max(...values)];
  if (min < max) return { min, max };
  return log ? { min: min / 2, max: max * 2 } : { min: Math.min(0, 2 * min), max: Math.max(0, 2 * max) || 1 };
}
