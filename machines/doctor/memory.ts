/**
 * DRAM, its limit, huge pages.
 *
 * @module
 */

import { formatBytes } from "../../base/bytes.ts";
import { numberOf } from "../inventory/parts.ts";
import type { MachineRecord } from "../inventory/machine_record.ts";
import { type DoctorLine, line } from "./lines.ts";

/** Findings. */
export function memoryLines(machine: MachineRecord): DoctorLine[] {
  const { facts } = machine;
  const available = numberOf(facts, "memory.available");
  const limit = numberOf(facts, "memory.limit");
  const pools = Object.keys(facts).flatMap((key) => {
    const kind = /^hugepages\.(\d+)kB\.total$/.exec(key)?.[1];
    if (kind === undefined) return [];
    const free = facts[`hugepages.${kind}kB.free`] ?? "?";
    return [line(`huge pages of ${formatBytes(Number(kind) * 1024)}`, `${facts[key]} reserved, ${free} free`)];
  });
  return [
    line(
      "DRAM",
      `${formatBytes(machine.memoryBytes)}${available === undefined ? "" : `, ${formatBytes(available)} available`}`,
    ),
    ...(limit === undefined ? [] : [
      line(
        "limit of this process",
        `${formatBytes(limit)} (${facts["memory.limit_source"]})`,
        limit < machine.memoryBytes ? "note" : "ok",
      ),
    ]),
    ...(facts["hugepages.transparent"] === undefined
      ? []
      : [line("transparent huge pages", facts["hugepages.transparent"])]),
    ...pools,
  ];
}
