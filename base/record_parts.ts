/**
 * What the schemas of records are made of: figures with limits that no arithmetic of a report leaves, texts, maps. Objects
 * may have fields that are not known here, which later versions write.
 *
 * @module
 */

import { foundText, pathText } from "./diagnostics.ts";
import * as v from "./valibot.ts";
import { validate } from "./validate.ts";

/** Beyond every figure of a record, so that sums and products stay finite. */
const LARGEST = 1e24;
const SMALLEST = 1e-24;

/** Text that can be written as UTF-8 and read back. */
export const text: v.GenericSchema<string> = v.pipe(
  v.string("expected text"),
  v.check((found) => found.isWellFormed(), "expected text of whole characters"),
);

/** One of some words. */
export function word<const T extends string>(...words: readonly T[]): v.GenericSchema<T> {
  return v.picklist(words, `expected one of ${words.map((one) => `"${one}"`).join(", ")}`) as v.GenericSchema<T>;
}

/** A point of time in ISO 8601. */
export const moment: v.GenericSchema<string> = v.pipe(
  v.string('expected a date and time such as "2026-11-20T12:00:00.000Z"'),
  v.check(
    (found) => /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(found) && Number.isFinite(Date.parse(found)),
    'expected a date and time such as "2026-11-20T12:00:00.000Z"',
  ),
);

function number(test: (value: number) => boolean, message: string): v.GenericSchema<number> {
  return v.pipe(v.number(message), v.check(test, message));
}

/** A finite number, 0 or above. */
export const figure: v.GenericSchema<number> = number(
  (value) => value >= 0 && value <= LARGEST,
  "expected a number from 0 to 1e24",
);
/** A finite number of either sign. */
export const difference: v.GenericSchema<number> = number(
  (value) => Math.abs(value) <= LARGEST,
  "expected a number from -1e24 to 1e24",
);
const POSITIVE = "expected a number above 0, at most 1e24";
const isPositive = (value: unknown): value is number =>
  typeof value === "number" && value >= SMALLEST && value <= LARGEST;
/** A finite number above 0. */
export const positive: v.GenericSchema<number> = number(isPositive, POSITIVE);
/** A whole number, 0 or above. */
export const count: v.GenericSchema<number> = number(
  (value) => Number.isInteger(value) && value >= 0 && value <= LARGEST,
  "expected a whole number, 0 or above",
);
/** A number from 0 to 1. */
export const share: v.GenericSchema<number> = number(
  (value) => value >= 0 && value <= 1,
  "expected a share from 0 to 1",
);
/** True or false. */
export const flag: v.GenericSchema<boolean> = v.boolean("expected true or false");
/** A value of a matrix. */
export const scalar: v.GenericSchema<string | number | boolean> = v.union(
  [text, difference, flag],
  "expected text, a number, true or false",
);

/** A list. */
export function listOf<T>(item: v.GenericSchema<T>): v.GenericSchema<T[]> {
  return v.array(item, "expected a list");
}

/** A list with something in it. */
export function someOf<T>(item: v.GenericSchema<T>): v.GenericSchema<T[]> {
  return v.pipe(listOf(item), v.minLength(1, "expected at least one"));
}

/** Positive figures, one at least: as {@linkcode someOf}, fast for a million of them. */
export const positives: v.GenericSchema<number[]> = v.pipe(
  v.custom<number[]>(Array.isArray, "expected a list"),
  v.minLength(1, "expected at least one"),
  v.rawCheck(({ dataset, addIssue }) => {
    if (!dataset.typed) return;
    const input = dataset.value;
    const key = input.findIndex((value) => !isPositive(value));
    if (key < 0) return;
    const value: unknown = input[key];
    addIssue({ message: POSITIVE, input: value, path: [{ type: "array", origin: "value", input, key, value }] });
  }),
);

/** A map by names. */
export function mapOf<T>(value: v.GenericSchema<T>): v.GenericSchema<Record<string, T>> {
  return v.record(v.string(), value, "expected an object");
}

/** A field that may be absent. */
export const maybe: typeof v.optional = v.optional;
/** An object with these fields, and perhaps others. */
export const object: typeof v.looseObject = v.looseObject;

/** A value, its fields checked. @throws {TypeError} saying what is wrong first, without a file or line. */
export function checked<T>(schema: v.GenericSchema<unknown, T>, value: unknown): T {
  const found = validate(schema, value);
  if (!("problems" in found)) return value as T; // as it was written: fields that are not known here stay
  const [{ path, message } = { path: [], message: `expected another value, found ${foundText(value)}` }] =
    found.problems;
  throw new TypeError(`${path.length === 0 ? "" : `${pathText(path)}: `}${message}`);
}
