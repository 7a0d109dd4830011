/**
 * Which cases no other beats in both speed and cost.
 *
 * @module
 */

/** A case as a point: more `rate` is better, less `cost` is better. */
interface Worth {
  readonly rate: number;
  readonly cost: number;
}

/**
 * The points that no other beats: none is at least as fast and at least as cheap, and better in one of the two. Slowest
 * first, which is cheapest first.
 */
export function paretoLine<T extends Worth>(points: readonly T[]): T[] {
  const beats = (a: Worth, b: Worth): boolean =>
    a.rate >= b.rate && a.cost <= b.cost && (a.rate > b.rate || a.cost < b.cost);
  return points.filter((one) => !points.some((other) => beats(other, one))).sort((a, b) =>
    a.rate - b.rate || a.cost - b.cost
  );
}
