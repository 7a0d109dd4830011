/**
 * JSON as ndctl, daxctl, cxl and lsblk print it: nothing at all for "none", an object where there is one, an array where
 * there are more; numbers of 64 bits; sizes as numbers, as hexadecimal text, or as rounded text for people.
 *
 * @module
 */

import * as v from "../../base/valibot.ts";
import { known, type Parsed, unknown } from "../inventory/tool.ts";

/** A number literal that no double holds stays exact; one that is no plain integer, which no tool prints, becomes NaN. */
function exact(_key: string, value: unknown, context?: { readonly source?: string }): unknown {
  const source = context?.source;
  if (typeof value !== "number" || source === undefined) return value;
  if (!/^-?(0|[1-9]\d*)$/.test(source)) return NaN;
  return Number.isSafeInteger(value) ? value : BigInt(source);
}

/**
 * The elements of a listing: an array's, or the one object; none for a text without any.
 *
 * @param text What a tool printed.
 */
export function listed(text: string): Parsed<readonly unknown[]> {
  if (text.trim() === "") return known([]);
  let value: unknown;
  try {
    value = JSON.parse(text, exact);
  } catch (error) {
    // The message may quote the text; the place is enough.
    const place = /position (\d+)/.exec(String(error))?.[1];
    return unknown(`it is no JSON${place === undefined ? "" : ` from character ${place} on`}`, text);
  }
  if (Array.isArray(value)) return known(value);
  return typeof value === "object" && value !== null ? known([value]) : unknown("it is JSON, but no listing", text);
}

/** Sizes as `-u` prints them: `512.00 MiB (536.87 MB)`; `util_json_object_size()` of ndctl. */
const ROUNDED =
  /^(\d+\.\d\d) (KiB|MiB|GiB|TiB) \((\d+\.\d\d) (KB|MB|GB|TB)\)$|^(\d+\.\d\d) (KB|MB|GB|TB|KiB|MiB|GiB|TiB)$/;

/** Bytes of the units that the tools print. */
export const UNITS: Readonly<Record<string, number>> = {
  B: 1,
  KiB: 2 ** 10,
  MiB: 2 ** 20,
  GiB: 2 ** 30,
  TiB: 2 ** 40,
  KB: 1e3,
  MB: 1e6,
  GB: 1e9,
  TB: 1e12,
};

/** Whether a text is a rounded size, and both its figures name the same one. */
function isRounded(text: string): boolean {
  const match = ROUNDED.exec(text);
  if (match === null) return false;
  const [, binary, binaryUnit = "", decimal, decimalUnit = ""] = match;
  if (binary === undefined) return true;
  const [a, b] = [UNITS[binaryUnit] ?? NaN, UNITS[decimalUnit] ?? NaN];
  return Math.abs(Number(binary) * a - Number(decimal) * b) <= 0.0051 * (a + b);
}

/** A whole number of 0 or more, given as a number or as text in base 10 or 16; undefined: it is none. */
function whole(value: number | bigint | string): bigint | undefined {
  if (typeof value === "string") {
    return /^(0x[0-9a-f]+|\d+)$/i.test(value) ? BigInt(value) : undefined;
  }
  if (typeof value === "number" && !Number.isSafeInteger(value)) return undefined;
  return value >= 0 && !Object.is(value, -0) ? BigInt(value) : undefined;
}

const numeric = v.union([v.number(), v.bigint(), v.string()], "is no number");

/** The number, or what is wrong with it. */
function countOf(value: number | bigint | string): number | string {
  const number = whole(value);
  return number === undefined || number > BigInt(Number.MAX_SAFE_INTEGER)
    ? `is ${JSON.stringify(String(value))}, not a whole number from 0 to 2^53 - 1`
    : Number(number);
}

/** A number that a double holds. */
export const count: v.GenericSchema<number | bigint | string, number> = v.pipe(
  numeric,
  v.rawTransform(({ dataset, addIssue, NEVER }) => {
    const value = countOf(dataset.value);
    if (typeof value === "number") return value;
    addIssue({ message: value });
    return NEVER;
  }),
);

/**
 * Bytes. Sizes for people are rounded to two decimals, so they are recognised, and the bytes stay undefined.
 */
export const bytes: v.GenericSchema<number | bigint | string, number | undefined> = v.pipe(
  numeric,
  v.rawTransform(({ dataset, addIssue, NEVER }) => {
    if (typeof dataset.value === "string" && isRounded(dataset.value)) return undefined;
    const value = countOf(dataset.value);
    if (typeof value === "number") return value;
    addIssue({ message: value });
    return NEVER;
  }),
);

/** A number of 64 bits that names something, as text in base 10, however it was printed. */
export const identity: v.GenericSchema<number | bigint | string, string> = v.pipe(
  numeric,
  v.rawTransform(({ dataset, addIssue, NEVER }) => {
    const value = whole(dataset.value);
    if (value === undefined || value >= 2n ** 64n) {
      addIssue({ message: "is no number of 64 bits" });
      return NEVER;
    }
    return value.toString();
  }),
);

/** `state`: printed where no driver uses the thing. */
export const state: v.GenericSchema<string, "disabled"> = v.literal("disabled", 'is not "disabled"');

/** A name as the kernel gives it, e.g. `region0` for `region`. */
export function deviceName(pattern: RegExp): v.GenericSchema<string, string> {
  return v.pipe(v.string(), v.regex(pattern, `does not match ${pattern.source}`));
}

/** What a container of cxl belongs to, e.g. `root0` in `decoders:root0`. */
const OWNER = /^(root|port|endpoint|decoder\d+\.|region)\d+$/;

/** Whether two names of one length differ in one character. */
function nearlyEqual(a: string, b: string): boolean {
  if (a.length !== b.length) return false;
  let different = 0;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) different++;
  return different === 1;
}

/**
 * An object of a listing. Names that are not asked for may be there, since newer tools print more; but one that differs
 * from a name that is asked for in one character is taken for damage, since the value would be missing unnoticed.
 *
 * @param entries What is asked for.
 * @param containers Names with a suffix that hold other objects, e.g. `decoders` for `decoders:root0`.
 */
export function listedObject<const T extends v.ObjectEntries>(
  entries: T,
  containers: readonly string[] = [],
): v.GenericSchema<unknown, v.InferOutput<v.ObjectSchema<T, undefined>>> {
  const names = [...Object.keys(entries), ...containers];
  const schema = v.pipe(
    v.unknown(),
    v.check((value) => typeof value === "object" && value !== null && !Array.isArray(value), "is no object"),
    v.looseObject(entries),
    v.rawCheck(({ dataset, addIssue }) => {
      if (!dataset.typed) return;
      for (const key of Object.keys(dataset.value)) {
        if (Object.hasOwn(entries, key)) continue;
        const [name = "", owner] = key.split(":", 2);
        if (containers.includes(name) && (owner === undefined || OWNER.test(owner))) continue;
        // A damaged name may have a colon of its own.
        const looks = [name, key, key.replace(/:[^:]*$/, "")];
        const near = names.find((one) => looks.some((word) => nearlyEqual(one, word))) ??
          containers.find((one) => key.startsWith(one));
        if (near !== undefined) addIssue({ message: `has "${key}", which looks like a damaged "${near}"` });
        else if (!/^[a-z][a-z0-9_ ]*$/.test(name)) addIssue({ message: `has a name "${key}"` });
      }
    }),
  );
  return schema as unknown as v.GenericSchema<unknown, v.InferOutput<v.ObjectSchema<T, undefined>>>;
}

/** A value by a schema, or why it does not fit. */
export function fitted<T>(schema: v.GenericSchema<unknown, T>, value: unknown, text: string): Parsed<T> {
  const result = v.safeParse(schema, value);
  if (result.success) return known(result.output);
  const issue = result.issues[0];
  const path = v.getDotPath(issue);
  return unknown(`${path === null ? "an entry" : `"${path}"`} ${issue.message}`, text);
}

/** The first name that comes twice; undefined: none does. */
export function repeated(names: readonly (string | undefined)[]): string | undefined {
  const seen = new Set<string>();
  for (const name of names) {
    if (name === undefined) continue;
    if (seen.has(name)) return name;
    seen.add(name);
  }
  return undefined;
}
