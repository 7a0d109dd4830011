/**
 * `/etc/os-release`: which distribution this is; os-release(5).
 *
 * @module
 */

import type { OsRelease } from "../inventory/inventory.ts";
import { known, type Parsed, unknown } from "../inventory/tool.ts";

/** A value without quotes, as a shell reads it; undefined: it is none. */
function unquoted(text: string): string | undefined {
  if (/^[\w.+:/@%,~-]*$/.test(text)) return text;
  if (/^'[^']*'$/.test(text)) return text.slice(1, -1);
  return /^"(?:[^"\\$`]|\\["\\$`])*"$/.test(text) ? text.slice(1, -1).replaceAll(/\\(["\\$`])/g, "$1") : undefined;
}

/** Parses the file. */
export function parseOsRelease(text: string): Parsed<OsRelease> {
  const found = new Map<string, string>();
  for (const line of text.split("\n").map((one) => one.trim())) {
    if (line === "" || line.startsWith("#")) continue;
    const match = /^([A-Z][A-Z0-9_]*)=(.*)$/.exec(line);
    const value = unquoted(match?.[2] ?? "\n");
    if (match === null || value === undefined) return unknown(`"${line}" is no assignment`, text);
    if (found.has(match[1] ?? "")) return unknown(`${match[1]} comes twice`, text);
    found.set(match[1] ?? "", value);
  }
  const id = found.get("ID");
  if (id === undefined || !/^[a-z0-9._-]+$/.test(id)) return unknown("it has no ID", text);
  const like = (found.get("ID_LIKE") ?? "").split(/\s+/).filter((one) => one !== "");
  return known({
    id,
    like,
    version: found.get("VERSION_ID"),
    name: found.get("PRETTY_NAME") ?? found.get("NAME") ?? id,
  });
}
