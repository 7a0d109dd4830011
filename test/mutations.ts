/**
 * Every place of a value changed in every way that a damaged or forged file may show.
 *
 * @module
 */

import { seededRandom } from "../reports/statistics/random.ts";

/** Where in a value. */
export type Place = readonly (string | number)[];

/** A value with one place changed. */
export interface Mutation {
  /** What was done, for messages. */
  readonly name: string;
  readonly value: unknown;
}

const DELETED = Symbol("deleted");
const REPLACEMENTS: readonly unknown[] = [
  null,
  "constructor",
  "",
  -7,
  0,
  1e300,
  5e-324,
  [],
  {},
  [null],
  { constructor: 1 },
  true,
  "9".repeat(400),
  "\ud800",
  DELETED,
];

/** Places of a value: of a list the first and the last item alone. */
export function placesIn(value: unknown, at: Place = []): Place[] {
  if (typeof value !== "object" || value === null) return [at];
  const keys = Array.isArray(value) ? [...new Set([0, value.length - 1])].filter((i) => i >= 0) : Object.keys(value);
  return [
    at,
    ...keys.flatMap((key) => placesIn((value as Record<string | number, unknown>)[key], [...at, key])),
  ];
}

function replaced(value: unknown, place: Place, by: unknown): unknown {
  const copy = structuredClone(value) as Record<string | number, unknown>;
  const last = place.at(-1);
  if (last === undefined) return by === DELETED ? null : by;
  let object = copy;
  for (const key of place.slice(0, -1)) object = object[key] as Record<string | number, unknown>;
  if (by !== DELETED) object[last] = by;
  else if (Array.isArray(object)) object.splice(last as number, 1);
  else delete object[last];
  return copy;
}

/** Some mutations of a value, drawn by a seed. */
export function mutationsOf(value: unknown, most: number, seed: string): Mutation[] {
  const all = placesIn(value).filter((place) => place.length > 0).flatMap((place) =>
    REPLACEMENTS.map((by) => ({ place, by }))
  );
  const random = seededRandom(seed);
  for (let i = all.length - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1));
    [all[i], all[j]] = [all[j] as typeof all[0], all[i] as typeof all[0]];
  }
  return all.slice(0, most).map(({ place, by }) => ({
    name: `${place.join(".")} = ${by === DELETED ? "deleted" : JSON.stringify(by)}`,
    value: replaced(value, place, by),
  }));
}

/** What an error of the runtime says, and none of ours. */
export const RUNTIME_WORDS: RegExp =
  /undefined|is not a function|not iterable|Cannot read propert|Cannot convert|Invalid array length|call stack|Invalid time value|Unexpected token|NaN|\[object/;
