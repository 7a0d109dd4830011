/**
 * Versions as tools print them.
 *
 * @module
 */

import { known, type Parsed, unknown } from "./tool.ts";

/** `76.1` (ndctl, daxctl, cxl) or `… Version 03.00.00.0468` (ipmctl). */
export function parseVersion(text: string): Parsed<string> {
  const match = /^(?:.* Version )?(\d+(?:\.\d+)+(?:[-+.~\w]*))$/.exec(text.trim());
  return match?.[1] === undefined ? unknown("it is no version", text) : known(match[1]);
}
