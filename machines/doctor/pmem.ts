/**
 * Regions and namespaces of PMEM.
 *
 * @module
 */

import type { Inventory } from "../inventory/inventory.ts";
import { formatBytes } from "../../base/bytes.ts";
import { type Facts, namespacesOf, regionsOf } from "../inventory/parts.ts";
import { type DoctorLine, line, sizeText } from "./lines.ts";

/** A page that spares TLB misses; memory aligned to less may not be mapped by such pages. */
const HUGE = 2 * 1024 ** 2;

/** Findings; how namespaces are aligned only `ndctl list` says. */
export function pmemLines(facts: Facts, inventory?: Inventory): DoctorLine[] {
  const ndctl = inventory?.ndctl;
  const listed = ndctl?.known === true
    ? ndctl.value.flatMap((bus) => bus.regions.flatMap((one) => one.namespaces))
    : [];
  const regions = regionsOf(facts).map((region) =>
    line(
      region.name,
      `${sizeText(region.sizeBytes)} by ${region.provider ?? "an unknown provider"}, ` +
        `persistence domain ${region.persistenceDomain ?? "unknown"}`,
      region.provider === "ACPI.NFIT" || region.provider === "CXL" ? "ok" : "warning",
    )
  );
  const modes: Readonly<Record<string, string>> = { memory: "fsdax", dax: "devdax", safe: "sector", raw: "raw" };
  const spaces = namespacesOf(facts).map((space) => {
    const align = listed.find(({ dev }) => dev === space.name)?.align;
    const wrong = (space.mode === "memory" || space.mode === "dax") && align !== undefined && align % HUGE !== 0;
    return line(
      space.name,
      `${sizeText(space.sizeBytes)}, ${space.mode === undefined ? "mode unknown" : modes[space.mode] ?? space.mode}` +
        (space.block === undefined ? "" : `, /dev/${space.block}`) +
        (wrong ? `, aligned to ${formatBytes(align)}: pages of 2 MiB may not fit` : ""),
      wrong ? "warning" : "ok",
    );
  });
  const lines = [...regions, ...spaces];
  return lines.length > 0 ? lines : [line("PMEM", "no region in /sys/bus/nd", "note")];
}
