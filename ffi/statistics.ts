/**
 * Counters of a store or a table, by the names that the library gives them.
 *
 * @module
 */

import { message, readText } from "./errors.ts";
import { native } from "./library.ts";

/** A line of each counter: its name and its unit. */
function lines(): string[] {
  return readText("name the statistics", (...buffer) => native().ts_statistics_names(...buffer)).trim().split("\n");
}

/** Counter to unit: `keys`, `rows`, `bytes`, `ns`, ... */
export function statisticUnits(): Record<string, string> {
  return Object.fromEntries(lines().map((line) => line.split(" ") as [string, string]));
}

/**
 * Reads counters.
 *
 * @param call Calls C with the array to fill, its length and where it stores how many there are; returns the status.
 */
export function readStatistics(
  call: (out: BigUint64Array<ArrayBuffer>, n: number, needed: Uint32Array<ArrayBuffer>) => number,
): Record<string, number> {
  const names = lines().map((line) => line.split(" ")[0] ?? "");
  const counts = new BigUint64Array(names.length);
  message.check(call(counts, counts.length, new Uint32Array(1)), "read statistics");
  return Object.fromEntries(names.map((name, i) => [name, Number(counts[i])]));
}
