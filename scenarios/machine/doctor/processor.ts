/**
 * Its CPUs and kernel.
 *
 * @module
 */

import { numberOf } from "../parts.ts";
import type { MachineRecord } from "../../record.ts";
import { type DoctorLine, line } from "./lines.ts";

/** Findings. */
export function processorLines(machine: MachineRecord): DoctorLine[] {
  const { facts } = machine;
  const online = numberOf(facts, "cpu.online_count");
  const limited = online !== undefined && online > machine.cpus ? ` of ${online}` : "";
  return [
    line("CPU", machine.cpu),
    line("CPUs for this process", `${machine.cpus}${limited} (${facts["cpu.allowed"] ?? "which is unknown"})`),
    line("instruction sets", facts["cpu.flags"]?.replaceAll(",", ", ") || "none of those that matter"),
    line("kernel", machine.kernel),
  ];
}
