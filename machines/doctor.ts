/**
 * What this machine has, in sections for the terminal; the same object is the JSON answer of the command.
 *
 * @module
 */

import { configurations, type ConfigurationState } from "./configurations.ts";
import { containerLines } from "./doctor/container.ts";
import { crossCheck } from "./doctor/cross_check.ts";
import { cxlLines } from "./doctor/cxl.ts";
import { daxLines } from "./doctor/dax.ts";
import { gpuLines } from "./doctor/gpu.ts";
import { ipmctlLines } from "./doctor/ipmctl.ts";
import { libraryLines } from "./doctor/libraries.ts";
import { type DoctorLine, type DoctorSection, line } from "./doctor/lines.ts";
import { memoryLines } from "./doctor/memory.ts";
import { noiseLines } from "./doctor/noise.ts";
import { numaLines } from "./doctor/numa.ts";
import { pmemLines } from "./doctor/pmem.ts";
import { processorLines } from "./doctor/processor.ts";
import { toolLines } from "./doctor/tools.ts";
import { unfinishedLines } from "./doctor/unfinished.ts";
import type { Inventory } from "./inventory/inventory.ts";
import { formatBytes } from "../base/bytes.ts";
import type { MachineRecord } from "./inventory/machine_record.ts";

export type { DoctorLine, DoctorSection } from "./doctor/lines.ts";

/** What `tierbench doctor` says. */
export interface DoctorReport {
  /** The machine in one line. */
  readonly summary: string;
  /** Every configuration and whether it runs here. */
  readonly configurations: readonly ConfigurationState[];
  /** Findings by subject. */
  readonly sections: readonly DoctorSection[];
}

function configurationLines(states: readonly ConfigurationState[]): DoctorLine[] {
  return states.map(({ configuration, state, because, next }) =>
    line(configuration, `${state}: ${because}`, state === "measured" ? "ok" : "note", next)
  );
}

/** One line: `AMD EPYC, 2 CPUs, 23.5 GiB DRAM, 1 NUMA node · no PMEM, no CXL, no GPU`. */
export function machineText(machine: MachineRecord): string {
  const { cpu, cpus, memoryBytes, nodes, facts } = machine;
  const some = (prefix: string) => Object.keys(facts).some((key) => key.startsWith(prefix));
  const has = [["PMEM", some("pmem.region")], ["CXL", some("cxl.mem")], ["GPU", some("gpu.")]] as const;
  const count = (n: number, word: string) => `${n} ${word}${n === 1 ? "" : "s"}`;
  return `${cpu}, ${count(cpus, "CPU")}, ${formatBytes(memoryBytes)} DRAM, ${count(nodes, "NUMA node")} · ` +
    has.map(([word, there]) => there ? word : `no ${word}`).join(", ");
}

/**
 * What this machine has: configurations first, then what they rest on.
 *
 * @param machine The machine as {@linkcode inspectMachine} gives it.
 * @param inventory What its tools say. Without it, sections that need them are left out.
 *
 * @example
 * ```ts
 * import { collectInventory, doctor, inspectMachine, localSystem } from "./machine.ts";
 *
 * const machine = inspectMachine();
 * const inventory = await collectInventory(localSystem(), machine.facts);
 * for (const { title, lines } of doctor(machine, inventory).sections) {
 *   for (const { label, text } of lines) console.log(`${title}: ${label}: ${text}`);
 * }
 * ```
 */
export function doctor(machine: MachineRecord, inventory?: Inventory): DoctorReport {
  const { facts } = machine;
  const states = configurations(machine);
  const asked = (lines: (inventory: Inventory) => DoctorLine[]) => inventory === undefined ? [] : lines(inventory);
  const sections: DoctorSection[] = [
    { title: "Configurations", lines: configurationLines(states) },
    { title: "Unfinished", lines: asked((all) => unfinishedLines(facts, all)) },
    { title: "Disagreements", lines: asked((all) => crossCheck(facts, all)) },
    { title: "Processor", lines: processorLines(machine) },
    { title: "Memory", lines: memoryLines(machine) },
    { title: "NUMA", lines: numaLines(facts) },
    { title: "PMEM", lines: pmemLines(facts, inventory) },
    { title: "ipmctl", lines: asked(ipmctlLines) },
    { title: "DAX", lines: daxLines(facts) },
    { title: "CXL", lines: cxlLines(facts, inventory) },
    { title: "GPU", lines: gpuLines(facts) },
    { title: "Container", lines: containerLines(facts) },
    { title: "Noise", lines: noiseLines(facts) },
    { title: "Tools", lines: asked(toolLines) },
    { title: "Libraries", lines: libraryLines(facts) },
  ];
  return {
    summary: machineText(machine),
    configurations: states,
    sections: sections.filter((section) => section.lines.length > 0),
  };
}
