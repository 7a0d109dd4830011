/**
 * `blkid -p -o export`: what is on a device, read from the device itself. lsblk asks udev, and says nothing where no
 * udev runs.
 *
 * @module
 */

import type { BlockDevice } from "../inventory/inventory.ts";
import { known, type Parsed, type ToolOutput, unknown } from "../inventory/tool.ts";

/** Exit status of blkid(8) if nothing was found, or the device cannot be read. */
const NOTHING = 2;

/** File system, or partition table, on a device, and its label; undefined: nothing that blkid knows. */
export function parseBlkid(output: ToolOutput): Parsed<Pick<BlockDevice, "fileSystem" | "label">> {
  const { code, stdout, stderr } = output;
  const raw = stdout + stderr;
  if (code === NOTHING && raw.trim() === "") return known({ fileSystem: undefined });
  if (code !== 0) return unknown(`blkid ended with status ${code}`, raw);
  const lines = stdout.split("\n");
  if (lines.pop() !== "") return unknown("its last line is not complete", raw);
  const found = new Map<string, string>();
  for (const line of lines) {
    const match = /^([A-Z][A-Z0-9_]*)=(.*)$/.exec(line);
    if (match === null || found.has(match[1] ?? "")) return unknown(`"${line}" is no property, or comes twice`, raw);
    found.set(match[1] ?? "", match[2] ?? "");
  }
  const type = found.get("TYPE") ?? found.get("PTTYPE");
  if (type === undefined || type === "") return unknown("it names neither TYPE nor PTTYPE", raw);
  const label = found.get("LABEL");
  return known({ fileSystem: type, ...(label === undefined ? {} : { label }) });
}
