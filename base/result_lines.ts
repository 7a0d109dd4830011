/**
 * The lines of a `result.jsonl`: one JSON value each, with a sum where they were written with one.
 *
 * @module
 */

import { haveSums, isDamagedEnd, unsummedLine } from "./line_sum.ts";

/** What the lines of a file hold. */
interface ParsedLines<T> {
  /** One a complete line. */
  readonly records: readonly T[];
  /** Whether every line has a sum; those of earlier versions have none, so that damage in them cannot be told. */
  readonly sums: boolean;
  /** What stands after the last complete line: one that was being written when its process died. */
  readonly tail: string;
}

/**
 * Parses the lines of a result file.
 *
 * @param text The text.
 * @param name What messages call it.
 * @param check Makes a record of a line's value, or throws what is wrong with it; told whether it is the first.
 * @throws {SyntaxError} naming the line that is broken.
 */
export function parseLines<T>(
  text: string,
  name: string,
  check: (value: unknown, first: boolean) => T,
): ParsedLines<T> {
  const end = text.lastIndexOf("\n") + 1;
  const lines = text.slice(0, end).split("\n").slice(0, -1);
  const tail = text.slice(end);
  const sums = haveSums([...lines, tail.slice(0, -1)]);
  const at = (i: number, error: Error) =>
    new SyntaxError(`Cannot read the results: ${name}:${i + 1}: ${error.message}`, { cause: error });
  const records = lines.map((line, i) => {
    try {
      return check(JSON.parse(unsummedLine(line, sums)), i === 0);
    } catch (error) {
      throw at(i, error as Error);
    }
  });
  // A line that was being written when its process died ends before its newline, never with another byte in its place.
  if (isDamagedEnd(tail)) {
    throw at(lines.length, new SyntaxError("the line is damaged: it does not end with a newline"));
  }
  return { records, sums, tail };
}
