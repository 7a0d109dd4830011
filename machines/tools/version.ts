/**
 * Versions as tools print them.
 *
 * @module
 */

import { known, type Parsed, unknown } from "../inventory/tool.ts";

/**
 * `76.1`, or `65` where a release has no second number (ndctl, daxctl, cxl); `… Version 03.00.00.0468` (ipmctl). A number
 * alone has to be a whole line, or it could be the first half of another version.
 */
export function parseVersion(text: string): Parsed<string> {
  const alone = /^(\d{1,3})\n$/.exec(text);
  if (alone?.[1] !== undefined) return known(alone[1]);
  const match = /^(?:.* Version )?(\d+(?:\.\d+)+(?:[-+.~\w]*))$/.exec(text.trim());
  return match?.[1] === undefined ? unknown("it is no version", text) : known(match[1]);
}
