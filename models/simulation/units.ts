/**
 * Durations and rates of simulations. Numbers are seconds, and bytes a second.
 *
 * @module
 */

const SECONDS: Readonly<Record<string, number>> = {
  ps: 1e-12,
  ns: 1e-9,
  us: 1e-6,
  ms: 1e-3,
  s: 1,
  min: 60,
  h: 3600,
};
const BYTES: Readonly<Record<string, number>> = {
  "B/s": 1,
  "kB/s": 1e3,
  "MB/s": 1e6,
  "GB/s": 1e9,
  "TB/s": 1e12,
  "MiB/s": 2 ** 20,
  "GiB/s": 2 ** 30,
  "Mbit/s": 1e6 / 8,
  "Gbit/s": 1e9 / 8,
};

/** What a duration looks like. */
export const DURATION_TEXT: RegExp = /^\d+(\.\d+)? ?(ps|ns|us|ms|s|min|h)$/;
/** An example of one. */
export const DURATION_FORM = '"20 ms"';
/** What a rate looks like. */
export const RATE_TEXT: RegExp = /^\d+(\.\d+)? ?([kMGT]?B|[MG]iB|[MG]bit)\/s$/;
/** An example of one. */
export const RATE_FORM = '"30 Gbit/s"';

/** Seconds of a duration. */
export function seconds(duration: string | number): number {
  if (typeof duration === "number") return duration;
  const factor = SECONDS[DURATION_TEXT.exec(duration)?.[2] ?? ""];
  if (factor === undefined) throw new SyntaxError(`Cannot read the duration "${duration}": expected ${DURATION_FORM}`);
  return Number.parseFloat(duration) * factor;
}

/** Bytes a second of a rate. */
export function bytesPerSecond(rate: string | number): number {
  if (typeof rate === "number") return rate;
  const unit = /[A-Za-z]+\/s$/.exec(rate)?.[0] ?? "";
  const factor = BYTES[unit];
  if (factor === undefined || !RATE_TEXT.test(rate)) {
    throw new SyntaxError(`Cannot read the rate "${rate}": expected ${RATE_FORM}`);
  }
  return Number.parseFloat(rate) * factor;
}

/** Whole picoseconds of seconds. */
export function picoseconds(duration: number): number {
  return Math.round(duration * 1e12);
}
