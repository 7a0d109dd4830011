/**
 * A matrix varies dotted fields of a scenario; its points are all combinations, the last field fastest.
 *
 * @module
 */

import type { MatrixPoint, MatrixValue } from "./scenario.ts";

/** Every combination of a matrix's values; one empty point without a matrix. */
export function matrixPoints(matrix: Readonly<Record<string, readonly MatrixValue[]>>): MatrixPoint[] {
  let points: MatrixPoint[] = [{}];
  for (const [field, values] of Object.entries(matrix)) {
    points = points.flatMap((point) => values.map((value) => ({ ...point, [field]: value })));
  }
  return points;
}

/**
 * A copy of `document` with the fields of `point` set and without its matrix. Objects on the way are made where they
 * are missing; a value on the way that is no object is replaced.
 */
export function atPoint<T extends object>(document: T, point: Readonly<Record<string, unknown>>): T {
  const copy = structuredClone(document) as Record<string, unknown>;
  delete copy["matrix"];
  for (const [field, value] of Object.entries(point)) {
    const keys = field.split(".");
    const last = keys.pop() ?? field;
    let object = copy;
    for (const key of keys) {
      const next = object[key];
      if (typeof next !== "object" || next === null) object[key] = {};
      object = object[key] as Record<string, unknown>;
    }
    object[last] = value;
  }
  return copy as T;
}

/** `workload.batch=512 workload.dim=8`; empty for the point of no matrix. */
export function pointText(point: MatrixPoint): string {
  return Object.entries(point).map(([field, value]) => `${field}=${value}`).join(" ");
}
