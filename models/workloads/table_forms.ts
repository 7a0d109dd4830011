/**
 * Tables of a document in two forms: a list whose items have names, and by name. Simulations and plans take both, so that tables
 * of one can be put into the other; what reads them sees one.
 *
 * @module
 */

import * as v from "../../base/valibot.ts";
import { shownName } from "../../base/names.ts";
import { oneOf } from "../../base/one_of.ts";

/** Tables as a document may write them. */
export type WrittenTables<T> = readonly (T & { readonly name: string })[] | Readonly<Record<string, T>>;

function isListed<T>(tables: WrittenTables<T>): tables is readonly (T & { readonly name: string })[] {
  return Array.isArray(tables);
}

/** Tables as a list; those of a list stay what they are. */
export function listedTables<T>(tables: WrittenTables<T>): readonly (T & { readonly name: string })[] {
  return isListed(tables) ? tables : Object.entries(tables).map(([name, table]) => ({ name, ...table }));
}

/** Tables by name; those by name stay what they are. */
export function namedTables<T>(tables: WrittenTables<T>): Readonly<Record<string, T>> {
  if (!isListed(tables)) return tables;
  return Object.fromEntries(tables.map(({ name, ...table }) => [name, table as unknown as T]));
}

/** How a document addresses its tables: by position in a list, or by name. */
export function tableKeys(tables: WrittenTables<unknown>): readonly (string | number)[] {
  return isListed(tables) ? tables.map((_, i) => i) : Object.keys(tables);
}

/**
 * The schema of tables in both forms.
 *
 * @param table Schema of a table without its name.
 * @param listed Schema of one with it.
 * @param most Tables at most.
 */
export function tablesSchema<T>(
  table: v.GenericSchema<T>,
  listed: v.GenericSchema<T & { readonly name: string }>,
  most: number,
): v.GenericSchema<WrittenTables<T>> {
  const none = "expected at least one table", many = `expected at most ${most} tables`;
  const named = v.pipe(
    v.record(shownName, table),
    v.check((record) => Object.keys(record).length > 0, none),
    v.check((record) => Object.keys(record).length <= most, many),
  );
  const list = v.pipe(v.array(listed), v.minLength(1, none), v.maxLength(most, many));
  return oneOf([named, list], (input) => Array.isArray(input) ? 1 : 0) as v.GenericSchema<WrittenTables<T>>;
}
