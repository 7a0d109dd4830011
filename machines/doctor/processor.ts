/**
 * Its CPUs and kernel.
 *
 * @module
 */

import { numberOf, socketsOf } from "../inventory/parts.ts";
import type { MachineRecord } from "../inventory/machine_record.ts";
import { type DoctorLine, line } from "./lines.ts";

/** Findings. */
export function processorLines(machine: MachineRecord): DoctorLine[] {
  const { facts } = machine;
  const online = numberOf(facts, "cpu.online_count");
  const limited = online !== undefined && online > machine.cpus ? ` of ${online}` : "";
  const sockets = socketsOf(facts);
  return [
    line("CPU", machine.cpu),
    line("CPUs for this process", `${machine.cpus}${limited} (${facts["cpu.allowed"] ?? "which is unknown"})`),
    ...(sockets.length === 0 ? [] : [
      line("sockets", sockets.map(({ socket, cpus }) => `${socket} (CPUs ${cpus})`).join(", ")),
    ]),
    line("instruction sets", facts["cpu.flags"]?.replaceAll(",", ", ") || "none of those that matter"),
    line("kernel", machine.kernel),
  ];
}
