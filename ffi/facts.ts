/**
 * Reads the line-based texts of the native library: `key=value` pairs, one a line or several.
 *
 * @module
 */

/** One pair a line, as `ts_machine_probe` and `ts_data_describe` write them. The value goes to the end of the line. */
export function parseLines(text: string): Record<string, string> {
  const pairs: Record<string, string> = {};
  for (const line of text.split("\n")) {
    const equals = line.indexOf("=");
    if (equals > 0) pairs[line.slice(0, equals)] = line.slice(equals + 1);
  }
  return pairs;
}

/**
 * Several pairs in a line, as `ts_store_memory` and `ts_store_describe` write them. A value goes to the next
 * ` key=`, so it may contain spaces.
 */
export function parsePairs(line: string): Record<string, string> {
  const pairs: Record<string, string> = {};
  for (const part of line.split(/ (?=[a-z][a-z0-9_.]*=)/)) Object.assign(pairs, parseLines(part));
  return pairs;
}

/** A number of such a text; absent or unreadable is an error of this code's, not the user's. */
export function numberOf(pairs: Readonly<Record<string, string>>, key: string): number {
  const value = Number(pairs[key]);
  if (pairs[key] === undefined || Number.isNaN(value)) {
    throw new Error(`Cannot read "${key}" from the native library: found ${JSON.stringify(pairs)}`);
  }
  return value;
}

/** What moves in a tier: a line of `ts_simulate` and of `ts_step_cost`. */
export function trafficOf(pairs: Readonly<Record<string, string>>): {
  readonly tier: number;
  readonly op: "read" | "write";
  readonly bytes: number;
  readonly accesses: number;
} {
  return {
    tier: numberOf(pairs, "tier"),
    op: pairs["op"] === "write" ? "write" : "read",
    bytes: numberOf(pairs, "bytes"),
    accesses: numberOf(pairs, "accesses"),
  };
}

/** A 64-bit digest as 16 hexadecimal digits. */
export function digestText(digest: bigint): string {
  return digest.toString(16).padStart(16, "0");
}
