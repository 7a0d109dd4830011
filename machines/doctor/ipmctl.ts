/**
 * How the capacity of Optane modules is used, as ipmctl says.
 *
 * @module
 */

import type { Inventory, IpmctlModule, IpmctlResources } from "../inventory/inventory.ts";
import { formatBytes } from "../../base/bytes.ts";
import { type DoctorLine, line } from "./lines.ts";

function resourceLines(resources: IpmctlResources): DoctorLine[] {
  const shares: [string, number | undefined][] = [
    ["PMEM as memory (Memory Mode)", resources.volatilePmem],
    ["DRAM as its cache", resources.cacheDdr],
    ["App Direct", resources.appDirect],
    ["inaccessible", resources.inaccessible],
    ["PMEM in all", resources.physicalPmem],
    ["DRAM in all", resources.physicalDdr],
  ];
  return shares.flatMap(([label, bytes]) => bytes === undefined ? [] : [line(label, formatBytes(bytes))]);
}

function moduleLine(module: IpmctlModule): DoctorLine {
  const { id, capacity, health, lock } = module;
  return line(
    `module ${id}`,
    `${capacity === undefined ? "capacity not told" : formatBytes(capacity)}, ${health ?? "health not told"}` +
      (lock === undefined || lock === "Disabled" ? "" : `, lock ${lock}`),
    health !== "Healthy" || lock?.startsWith("Locked") ? "warning" : "ok",
  );
}

/** Findings; none where ipmctl is missing or its modules are. */
export function ipmctlLines(inventory: Inventory): DoctorLine[] {
  const { resources, modules } = inventory.ipmctl ?? {};
  const hasModules = resources?.known && (resources.value.physicalPmem ?? 0) > 0;
  return [
    ...(hasModules ? resourceLines(resources.value) : []),
    ...(modules?.known ? modules.value.map(moduleLine) : []),
  ];
}
