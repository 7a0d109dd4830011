/**
 * The summary as JSON, for programs.
 *
 * @module
 */

import type { Summary } from "../summary/summary_types.ts";

/** The whole summary, indented; absent values are left out. */
export function toJson(summary: Summary): string {
  return JSON.stringify(summary, null, 2) + "\n";
}
