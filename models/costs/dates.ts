/**
 * Dates of prices: a month is as fine as they get.
 *
 * @module
 */

/** Months since year 0 of a date text; a bare year is its first or last month. */
export function monthIndex(date: string, end: "first" | "last"): number {
  const match = /^(\d{4})(?:-(\d{2})(?:-\d{2})?)?$/.exec(date);
  const month = match?.[2] === undefined ? (end === "first" ? 1 : 12) : Number(match[2]);
  if (match === null || month < 1 || month > 12) {
    throw new RangeError(`Cannot read the date "${date}": write it as "2026", "2026-11" or "2026-11-20"`);
  }
  return Number(match[1]) * 12 + month - 1;
}
