/**
 * The sum at the end of every line of a `result.jsonl`: whoever reads a figure knows that it is the one that was written.
 *
 * @module
 */

import { createHash } from "node:crypto";

/** The last field of a line, and the brace that ends it. */
const SUM = /,"sum":"([0-9a-f]{16})"\}$/;

/** The first 64 bits of the SHA-256 of a line without its sum. */
function sumOf(line: string): string {
  return createHash("sha256").update(line).digest("hex").slice(0, 16);
}

/** The line of a record: its JSON with the sum as the last field. */
export function summedLine(record: object): string {
  const line = JSON.stringify(record);
  return `${line.slice(0, -1)},"sum":"${sumOf(line)}"}`;
}

/** Whether lines carry sums. Those of earlier versions have none; where one line has a sum, all must. */
export function haveSums(lines: readonly string[]): boolean {
  return lines.some((line) => SUM.test(line));
}

/**
 * A line without its sum.
 *
 * @param summed Whether the file has sums.
 * @throws {SyntaxError} if the sum is not that of the line, or missing.
 */
export function unsummedLine(line: string, summed: boolean): string {
  if (!summed) return line;
  const [suffix, sum] = SUM.exec(line) ?? [];
  if (suffix === undefined) throw new SyntaxError("the line is damaged: its sum is missing, all others have one");
  const whole = `${line.slice(0, -suffix.length)}}`;
  const found = sumOf(whole);
  if (found === sum) return whole;
  throw new SyntaxError(`the line is damaged: its sum is ${found}, ${sum} was written`);
}

/** Whether what stands after the last line is one, whole, whose line end was damaged. */
export function isDamagedEnd(tail: string): boolean {
  try {
    return haveSums([tail.slice(0, -1)]) && unsummedLine(tail.slice(0, -1), true) !== "";
  } catch {
    return false;
  }
}
