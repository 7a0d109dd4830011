/**
 * The machine: what it is, which configurations it allows, and what to tell a user about it.
 *
 * @module
 */

import { probeMachine } from "../ffi/machine.ts";
import { daxOf, type Facts, nodesOf, numberOf } from "./inventory/parts.ts";
import type { MachineRecord } from "./inventory/machine_record.ts";
import { firmwareCxl } from "./inventory/firmware_cxl.ts";
import { hbmNodes } from "./inventory/hbm_nodes.ts";

export type { Availability, Found } from "./availability.ts";
export type { MachineRecord } from "./inventory/machine_record.ts";
export { collectInventory } from "./tools/collect.ts";
export type {
  BlockDevice,
  CxlInventory,
  CxlMemdev,
  CxlRegion,
  CxlRootDecoder,
  DaxDeviceListing,
  Inventory,
  IpmctlInventory,
  IpmctlModule,
  IpmctlResources,
  NdBus,
  NdNamespace,
  NdRegion,
  NumactlNode,
  OsRelease,
  ToolState,
} from "./inventory/inventory.ts";
export type { Facts } from "./inventory/parts.ts";
export type { Parsed, ToolOutput } from "./inventory/tool.ts";
export { localSystem } from "./inventory/local_system.ts";
export type { RunToolOptions, System } from "./inventory/system.ts";
export { doctor, type DoctorLine, type DoctorReport, type DoctorSection, machineText } from "./doctor.ts";
export { availability, type ConfigurationName, configurations, type ConfigurationState } from "./configurations.ts";

/** Bytes of nodes that are not DRAM: their memory comes from a DAX device, lies behind CXL, or is HBM. */
function otherNodeBytes(facts: Facts): number {
  const targets = new Set([
    ...daxOf(facts).filter((d) => d.driver === "kmem").map((d) => d.targetNode),
    ...firmwareCxl(facts).map(({ node }) => node),
    ...hbmNodes(facts).map(({ node }) => node),
  ]);
  return nodesOf(facts)
    .filter((node) => node.cpus === "" && targets.has(node.node))
    .reduce((sum, node) => sum + (node.totalBytes ?? 0), 0);
}

/**
 * The machine for a result file.
 *
 * @param probe Facts of another machine; without it, this one is asked.
 * @throws {Error} if not even the number of CPUs or the bytes of memory can be read.
 *
 * @example
 * ```ts
 * import { configurations, inspectMachine, machineText } from "../mod.ts";
 *
 * const machine = inspectMachine();
 * console.log(machineText(machine));
 * console.log(configurations(machine).map(({ configuration, state }) => `${configuration}: ${state}`));
 * ```
 */
export function inspectMachine(probe?: Readonly<Record<string, string>>): MachineRecord {
  const facts = probe ?? probeMachine();
  const cpus = numberOf(facts, "cpu.allowed_count") ?? numberOf(facts, "cpu.online_count");
  const total = numberOf(facts, "memory.total");
  if (cpus === undefined || total === undefined) {
    const missing = cpus === undefined ? "the CPUs of this process (/proc/self/status)" : "the memory (/proc/meminfo)";
    throw new Error(`Cannot inspect the machine: ${missing} could not be read; is /proc mounted?`);
  }
  const withMemory = nodesOf(facts).filter((node) => (node.totalBytes ?? 0) > 0).length;
  return {
    cpu: facts["cpu.model"] ?? "unknown",
    cpus,
    // MemTotal counts these nodes too.
    memoryBytes: total - otherNodeBytes(facts),
    nodes: Math.max(1, withMemory),
    kernel: facts["kernel.release"] ?? "unknown",
    facts,
  };
}
