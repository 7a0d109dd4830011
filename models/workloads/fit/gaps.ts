/**
 * Classes of gaps between uses: 1, 2, 3, and from 4 on four classes an octave; as `native/simulator/gaps.h`.
 *
 * @module
 */

/** Class of a gap of 1 or more. */
export function gapClass(gap: number): number {
  if (gap < 4) return gap - 1;
  const top = Math.floor(Math.log2(gap));
  return 3 + (top - 2) * 4 + Math.floor(gap / 2 ** (top - 2)) % 4;
}

/** How many gaps a class has. */
export function gapCount(index: number): number {
  return index < 3 ? 1 : 2 ** ((index - 3) >> 2);
}

/** The shortest gap of a class. */
export function gapFirst(index: number): number {
  return index < 3 ? index + 1 : (4 + (index - 3) % 4) * gapCount(index);
}
