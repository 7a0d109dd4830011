/**
 * Names that people choose: what they may be, and how values are looked up by them. A name that every JavaScript object
 * has (`constructor`, `__proto__`, `toString`, …) would be found in each map without ever being put there; no document
 * may use one, and no map is asked for a name that it does not hold itself.
 *
 * @module
 */

import * as v from "./valibot.ts";

const RESERVED: ReadonlySet<string> = new Set([...Object.getOwnPropertyNames(Object.prototype), "prototype"]);

/** Whether a name is one that every object has, which no document may choose. */
export function isReserved(name: string): boolean {
  return RESERVED.has(name);
}

/** What a map itself holds under a name; undefined for what it merely inherits. */
export function own<T>(map: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(map, name) ? map[name] : undefined;
}

/** Puts a value into an object under any name; a plain assignment to `__proto__` would set its prototype. */
export function put(object: object, name: string, value: unknown): void {
  Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true });
}

/** The schema of a name that becomes part of files and commands. */
export function named(what: string): v.GenericSchema<string> {
  return v.pipe(v.string(), v.regex(/^[A-Za-z0-9][A-Za-z0-9_-]*$/, `expected ${what} of letters, digits, "-" and "_"`));
}

const SHOWN_FORM = "expected a name of 1 to 100 letters, digits, spaces and ._-+/&()";

/** The schema of a name that is only shown. */
export const shownName: v.GenericSchema<string> = v.pipe(
  v.string(SHOWN_FORM),
  v.regex(/^[\p{L}\p{N}][\p{L}\p{N} ._+/&()-]{0,99}$/u, SHOWN_FORM),
);

const FIELD_FORM = 'expected a dotted field such as "workload.batch"';

/** The schema of a field that a matrix or a study varies. */
export const variedField: v.GenericSchema<string> = v.pipe(
  v.string(FIELD_FORM),
  v.regex(/^[^.\p{C}]+(\.[^.\p{C}]+)*$/u, FIELD_FORM),
);
