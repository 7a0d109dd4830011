/**
 * A matrix varies dotted fields of a scenario; its points are all combinations, the last field fastest.
 *
 * @module
 */

import { own, put } from "./names.ts";

/** A value that a matrix gives to a field. */
export type MatrixValue = string | number | boolean;
/** A point of a matrix: dotted field to value. */
export type MatrixPoint = Readonly<Record<string, MatrixValue>>;

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
 * are missing; a value on the way that is no object, or a list without such an item, is replaced.
 */
export function atPoint<T extends object>(document: T, point: Readonly<Record<string, unknown>>): T {
  const copy = structuredClone(document) as Record<string, unknown>;
  delete copy["matrix"];
  for (const [field, value] of Object.entries(point)) {
    const keys = field.split(".");
    const last = keys.pop() ?? field;
    let object = copy;
    for (const [i, key] of keys.entries()) {
      let next = own(object, key);
      if (typeof next !== "object" || next === null || (Array.isArray(next) && !hasItem(next, keys[i + 1] ?? last))) {
        put(object, key, next = {});
      }
      object = next as Record<string, unknown>;
    }
    put(object, last, value);
  }
  return copy as T;
}

function hasItem(list: readonly unknown[], key: string): boolean {
  return /^\d+$/.test(key) && Number(key) < list.length;
}

/** `workload.batch=512 workload.dim=8`; empty for the point of no matrix. */
export function pointText(point: MatrixPoint): string {
  return Object.entries(point).map(([field, value]) => `${field}=${value}`).join(" ");
}
