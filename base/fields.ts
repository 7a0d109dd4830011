/**
 * Refuses options with fields that do not exist: programs in JavaScript, and data read from files, have no type check
 * that would find a slip of the pen.
 *
 * @module
 */

import { foundText } from "./diagnostics.ts";
import { nearest } from "./nearest.ts";

/** Every field of `T`, once: a table that the compiler compares with the type. */
export type FieldsOf<T> = { readonly [K in keyof Required<T>]: true };

/**
 * Checks the fields of an options object.
 *
 * @param what Whose options they are, e.g. `the store`.
 * @param given The object; a field whose value is `undefined` counts as absent.
 * @param known The fields there are.
 * @throws {TypeError} Naming the first field that does not exist, and the one that was probably meant.
 */
export function checkFields(what: string, given: object, known: Readonly<Record<string, unknown>>): void {
  if (typeof given !== "object" || given === null || Array.isArray(given)) {
    throw new TypeError(`Cannot use the options of ${what}: expected an object, found ${foundText(given)}`);
  }
  for (const [field, value] of Object.entries(given)) {
    if (value === undefined || Object.hasOwn(known, field)) continue;
    const names = Object.keys(known);
    const meant = nearest(field, names);
    const hint = meant === undefined ? `known fields: ${names.join(", ")}` : `did you mean "${meant}"?`;
    throw new TypeError(`Cannot use the option "${field}" of ${what}: there is no such option; ${hint}`);
  }
}

/**
 * An option that is a list, or absent.
 *
 * @param what Whose option it is, e.g. `the store`.
 * @throws {TypeError} If it is anything else.
 */
export function listOption<T>(
  what: string,
  field: string,
  value: readonly T[] | undefined,
): readonly T[] | undefined {
  if (value === undefined || Array.isArray(value)) return value;
  throw new TypeError(`Cannot use the option "${field}" of ${what}: expected a list, found ${foundText(value)}`);
}
