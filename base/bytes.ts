/**
 * Sizes as people write them: `"24 MiB"`, `"500 GB"`, or a number of bytes.
 *
 * @module
 */

import { significant } from "./numbers.ts";

/** Bytes, or text such as `"24 MiB"`. */
export type Size = string | number;

const KIBI = 1024;
const KILO = 1000;

/** Bytes per unit; names as in IEC 80000-13. */
const UNITS: Readonly<Record<string, number>> = {
  B: 1,
  KiB: KIBI,
  MiB: KIBI ** 2,
  GiB: KIBI ** 3,
  TiB: KIBI ** 4,
  kB: KILO,
  KB: KILO,
  MB: KILO ** 2,
  GB: KILO ** 3,
  TB: KILO ** 4,
};

/**
 * Reads a size.
 *
 * @example Binary and decimal units
 * ```ts
 * import { parseBytes } from "../mod.ts";
 *
 * console.log(parseBytes("24 MiB"), parseBytes("500 GB"), parseBytes(4096)); // 25165824 500000000000 4096
 * ```
 *
 * @param size A whole number of bytes, or a decimal number with a unit (B, KiB, MiB, GiB, TiB, kB, MB, GB, TB); without
 * a unit the number is bytes. A fraction of a byte that a unit leaves over is rounded off.
 * @returns Whole bytes, not negative.
 * @throws {SyntaxError} If the text is no size.
 * @throws {RangeError} If it is negative, no whole number of bytes, or beyond 2^53.
 */
export function parseBytes(size: Size): number {
  if (typeof size === "number") {
    if (Number.isSafeInteger(size) && size >= 0) return size;
    throw new RangeError(`Cannot read the size ${size}: expected a whole number of bytes, 0 or more`);
  }
  const [, digits = "", unit = ""] = /^\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*$/.exec(size) ?? [];
  if (digits === "") {
    throw new SyntaxError(`Cannot read the size "${size}": expected a number and a unit, as in "24 MiB"`);
  }
  const factor = UNITS[unit === "" ? "B" : unit];
  if (factor === undefined) {
    const close = Object.keys(UNITS).find((name) => name.toLowerCase() === unit.toLowerCase());
    const known = close === undefined ? `one of ${Object.keys(UNITS).join(", ")}` : `"${close}"`;
    throw new SyntaxError(`Cannot read the size "${size}": unknown unit "${unit}", expected ${known}`);
  }
  const bytes = Math.round(Number(digits) * factor);
  if (Number.isSafeInteger(bytes)) return bytes;
  throw new RangeError(`Cannot read the size "${size}": it is beyond 2^53 bytes`);
}

/**
 * Writes a size in the largest binary unit that leaves a number of 1 or more, with three significant digits.
 *
 * @example
 * ```ts
 * import { formatBytes } from "../mod.ts";
 *
 * console.log(formatBytes(25165824), formatBytes(1536), formatBytes(100)); // 24 MiB 1.5 KiB 100 B
 * ```
 *
 * @param bytes A number of bytes, 0 or more.
 */
export function formatBytes(bytes: number): string {
  const { value, unit } = scaled(bytes, BINARY);
  // 1023 KiB would print as 1020 KiB in three digits; whole numbers below 1024 keep all of theirs.
  return `${Math.abs(value) >= 100 ? Math.round(value) : Number(value.toPrecision(3))} ${unit}`;
}

/** Bytes in binary units, three significant digits: `24.0 MiB`. */
export function bytesText(bytes: number): string {
  const { value, unit } = scaled(bytes, BINARY);
  return `${unit === "B" ? Math.round(value) : significant(value)} ${unit}`;
}

/** Bytes in decimal units, for sizes that people name so: `500 GB`. */
export function decimalBytesText(bytes: number): string {
  const { value, unit } = scaled(bytes, DECIMAL);
  return `${Number(value.toPrecision(3))} ${unit}`;
}

const BINARY = { step: KIBI, units: ["B", "KiB", "MiB", "GiB", "TiB", "PiB"] };
const DECIMAL = { step: KILO, units: ["B", "kB", "MB", "GB", "TB", "PB"] };

/** A size in the largest unit in which it is 1 or more when written as a whole number. */
function scaled(bytes: number, { step, units }: typeof BINARY): { readonly value: number; readonly unit: string } {
  let value = bytes;
  let unit = 0;
  while (Math.abs(value) >= step - 0.5 && unit < units.length - 1) {
    value /= step;
    unit++;
  }
  return { value, unit: units[unit] ?? "B" };
}
