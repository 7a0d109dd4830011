/**
 * Places the labels of points so that they cover neither each other nor, where there is room, points and whiskers.
 *
 * @module
 */

/** A rectangle: left, top, right, bottom, in pixels. */
interface Box {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
}

/** A point that wants a label. */
export interface Labelled {
  readonly x: number;
  readonly y: number;
  /** Size of its label. */
  readonly width: number;
  readonly height: number;
}

/** Where a label goes. */
export interface Placed {
  readonly box: Box;
  /** How far the label's nearest edge is from the point: from some distance on, a line should join the two. */
  readonly distance: number;
}

const DISTANCES = [12, 20, 30, 42, 56, 72, 90, 110];
const ANGLES = [-45, 45, -135, 135, -90, 90, -20, 20, -160, 160, -65, 65, -115, 115];

/**
 * A place for every label, in their order. Each takes the best place that those before it leave: near its point, inside
 * the area, not nearer to another point, off labels and points, and off whiskers if that is to be had.
 *
 * @param points The points and the sizes of their labels.
 * @param marks What labels must not cover: the points as drawn.
 * @param whiskers What labels should not cover.
 * @param area Where labels may be.
 */
export function placeLabels(
  points: readonly Labelled[],
  marks: readonly Box[],
  whiskers: readonly Box[],
  area: Box,
): Placed[] {
  const placed: Placed[] = [];
  for (const point of points) {
    let best: Placed | undefined;
    let least = Infinity;
    for (const distance of DISTANCES) {
      ANGLES.forEach((angle, preference) => {
        const box = boxAt(point, distance, angle, area);
        const stray = points.some((other) => other !== point && away(other, box) < away(point, box)) ? 40 : 0;
        const cost = distance + preference + stray +
          60 * total([...placed.map((one) => one.box), ...marks], box) + 2 * total(whiskers, box);
        if (cost < least) [least, best] = [cost, { box, distance }];
      });
    }
    placed.push(best as Placed);
  }
  return placed;
}

/** The box of a label that begins at a distance from its point in a direction (degrees, clockwise from the right). */
function boxAt({ x, y, width, height }: Labelled, distance: number, angle: number, area: Box): Box {
  const [cos, sin] = [Math.cos(angle * Math.PI / 180), Math.sin(angle * Math.PI / 180)];
  const [nearX, nearY] = [x + distance * cos, y + distance * sin];
  const wanted = Math.abs(cos) < 0.2 ? nearX - width / 2 : cos > 0 ? nearX : nearX - width;
  const left = Math.max(area.left, Math.min(wanted, area.right - width));
  const top = Math.max(area.top, Math.min(nearY - height / 2 + sin * height / 2, area.bottom - height));
  return { left, top, right: left + width, bottom: top + height };
}

/** Pixels between a point and the nearest place of a box. */
function away({ x, y }: Labelled, box: Box): number {
  return Math.hypot(Math.max(box.left - x, 0, x - box.right), Math.max(box.top - y, 0, y - box.bottom));
}

/** Square pixels that a box shares with others. */
function total(others: readonly Box[], box: Box): number {
  return others.reduce((sum, other) => sum + overlap(other, box), 0);
}

/** Square pixels that two boxes share. */
export function overlap(a: Box, b: Box): number {
  return Math.max(0, Math.min(a.right, b.right) - Math.max(a.left, b.left)) *
    Math.max(0, Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top));
}
