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

/** What of a doubling lies between two lines at one count, and beyond the first and the last. */
const APART = 0.06;

/**
 * Where lines have their points at a count, so that intervals do not cover one another: side by side around it on a logarithmic
 * axis, and an axis that has room for them.
 *
 * @param counts One or more whole numbers above 0.
 * @param lines How many lines.
 */
export function sideBySide(counts: readonly number[], lines: number): {
  /** The counts, each once, in their order. */
  readonly ticks: readonly number[];
  /** What a count is multiplied by for the line of this number. */
  readonly factor: (line: number) => number;
  readonly min: number;
  readonly max: number;
} {
  const ticks = [...new Set(counts)].sort((a, b) => a - b);
  const room = 2 ** (APART * (lines + 1) / 2);
  const { min, max } = extentOf(ticks, true);
  const factor = (line: number): number => 2 ** (APART * (line - (lines - 1) / 2));
  return { ticks, factor, min: min / room, max: max * room };
}
