/**
 * The form of sizes and durations in a scenario. A number without a unit is bytes or seconds.
 *
 * @module
 */

const SECONDS: Readonly<Record<string, number>> = { ms: 1e-3, s: 1, min: 60, h: 3600 };

/** What a size must look like: a number and a decimal (`GB`) or binary (`GiB`) unit. */
export const SIZE_PATTERN: RegExp = /^\d+(\.\d+)? ?(B|kB|KB|MB|GB|TB|KiB|MiB|GiB|TiB)$/;
/** What a duration must look like. */
export const DURATION_PATTERN: RegExp = /^\d+(\.\d+)? ?(ms|s|min|h)$/;

/**
 * Seconds of a duration such as `"150 s"` or `"2 min"`; a number is taken as seconds.
 *
 * @throws {SyntaxError} if the text has another form.
 */
export function durationInSeconds(duration: string | number): number {
  if (typeof duration === "number") return duration;
  const factor = SECONDS[DURATION_PATTERN.exec(duration)?.[2] ?? ""];
  if (factor !== undefined) return Number.parseFloat(duration) * factor;
  throw new SyntaxError(`Cannot read the duration "${duration}": expected a number and a unit, as in "150 s"`);
}
