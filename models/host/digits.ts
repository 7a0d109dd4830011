/**
 * Numbers of files that are measured: rounded so that no interval loses its width.
 *
 * @module
 */

/** Digits of a number in the file: more than any interval has. */
const DIGITS = 5;

/** With as many digits as files have. */
export const short = (value: number): number => Number(value.toPrecision(DIGITS));

const stepOf = (value: number): number =>
  10 ** (Math.floor(Math.log10(Math.max(value, Number.MIN_VALUE))) - DIGITS + 1);

/** The same, not above the value: the low end of an interval. */
export function down(value: number): number {
  return value <= 0 ? 0 : Number((Math.floor(value / stepOf(value)) * stepOf(value)).toPrecision(DIGITS));
}

/** The same, not below the value: the high end of an interval. */
export function up(value: number): number {
  return Number((Math.ceil(value / stepOf(value)) * stepOf(value)).toPrecision(DIGITS));
}
