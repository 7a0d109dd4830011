/**
 * The units a scenario may use for sizes and durations. A number without a unit is bytes or seconds.
 *
 * @module
 */

const BYTES: Readonly<Record<string, number>> = {
  B: 1,
  kB: 1e3,
  KB: 1e3,
  MB: 1e6,
  GB: 1e9,
  TB: 1e12,
  KiB: 2 ** 10,
  MiB: 2 ** 20,
  GiB: 2 ** 30,
  TiB: 2 ** 40,
};

const SECONDS: Readonly<Record<string, number>> = { ms: 1e-3, s: 1, min: 60, h: 3600 };

/** What a size must look like: a number and a decimal (`GB`) or binary (`GiB`) unit. */
export const SIZE_PATTERN: RegExp = /^\d+(\.\d+)? ?(B|kB|KB|MB|GB|TB|KiB|MiB|GiB|TiB)$/;
/** What a duration must look like. */
export const DURATION_PATTERN: RegExp = /^\d+(\.\d+)? ?(ms|s|min|h)$/;

function parse(text: string, pattern: RegExp, units: Readonly<Record<string, number>>, example: string): number {
  const unit = pattern.exec(text)?.[2];
  if (unit === undefined) throw new SyntaxError(`Cannot read "${text}": expected a form such as "${example}"`);
  return Number.parseFloat(text) * (units[unit] ?? 1);
}

/**
 * Bytes of a size such as `"24 MiB"`, rounded down to a whole byte; a number is taken as bytes.
 *
 * @throws {SyntaxError} if the text has another form.
 */
export function sizeInBytes(size: string | number): number {
  return typeof size === "number" ? size : Math.floor(parse(size, SIZE_PATTERN, BYTES, "24 MiB"));
}

/**
 * Seconds of a duration such as `"150 s"` or `"2 min"`; a number is taken as seconds.
 *
 * @throws {SyntaxError} if the text has another form.
 */
export function durationInSeconds(duration: string | number): number {
  return typeof duration === "number" ? duration : parse(duration, DURATION_PATTERN, SECONDS, "150 s");
}

/** A size for people, three significant digits, in binary units: `24.0 MiB`. */
export function sizeText(bytes: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  let value = bytes;
  while (Math.abs(value) >= 1000 && unit < units.length - 1) {
    value /= 1024;
    unit++;
  }
  return `${unit === 0 ? value : value.toPrecision(3)} ${units[unit]}`;
}
