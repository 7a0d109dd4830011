/**
 * Regions and namespaces of PMEM.
 *
 * @module
 */

import { type Facts, namespacesOf, regionsOf } from "../parts.ts";
import { type DoctorLine, line, sizeText } from "./lines.ts";

/** Findings. */
export function pmemLines(facts: Facts): DoctorLine[] {
  const regions = regionsOf(facts).map((region) =>
    line(
      region.name,
      `${sizeText(region.sizeBytes)} by ${region.provider ?? "an unknown provider"}, ` +
        `persistence domain ${region.persistenceDomain ?? "unknown"}`,
      region.provider === "ACPI.NFIT" || region.provider === "CXL" ? "ok" : "warning",
    )
  );
  const modes: Readonly<Record<string, string>> = { memory: "fsdax", dax: "devdax", safe: "sector", raw: "raw" };
  const spaces = namespacesOf(facts).map((space) =>
    line(
      space.name,
      `${sizeText(space.sizeBytes)}, ${space.mode === undefined ? "mode unknown" : modes[space.mode] ?? space.mode}` +
        (space.block === undefined ? "" : `, /dev/${space.block}`),
    )
  );
  const lines = [...regions, ...spaces];
  return lines.length > 0 ? lines : [line("PMEM", "no region in /sys/bus/nd", "note")];
}
