/**
 * DRAM, its limit, huge pages.
 *
 * @module
 */

import { bytesText, numberOf } from "../parts.ts";
import type { MachineRecord } from "../../scenarios/record.ts";
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
    return [line(`huge pages of ${bytesText(Number(kind) * 1024)}`, `${facts[key]} reserved, ${free} free`)];
  });
  return [
    line(
      "DRAM",
      `${bytesText(machine.memoryBytes)}${available === undefined ? "" : `, ${bytesText(available)} available`}`,
    ),
    ...(limit === undefined ? [] : [
      line(
        "limit of this process",
        `${bytesText(limit)} (${facts["memory.limit_source"]})`,
        limit < machine.memoryBytes ? "note" : "ok",
      ),
    ]),
    ...(facts["hugepages.transparent"] === undefined
      ? []
      : [line("transparent huge pages", facts["hugepages.transparent"])]),
    ...pools,
  ];
}
