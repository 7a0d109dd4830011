/**
 * What spoils figures.
 *
 * @module
 */

import { type Facts, numberOf } from "../inventory/parts.ts";
import { type DoctorLine, line } from "./lines.ts";

/** Findings. */
export function noiseLines(facts: Facts): DoctorLine[] {
  const steal = numberOf(facts, "noise.steal_percent");
  const load = Number(facts["noise.loadavg"]?.split(" ")[0] ?? NaN);
  const governor = facts["noise.governor"];
  const lines: (DoctorLine | undefined)[] = [
    facts["cpu.virtual"] === undefined ? undefined : line(
      "hypervisor",
      facts["cpu.virtual"] === "yes" ? "yes: neighbours may share this host" : "no",
      facts["cpu.virtual"] === "yes" ? "note" : "ok",
    ),
    steal === undefined ? undefined : line(
      "CPU time taken by the host",
      `${steal} % since boot`,
      steal > 1 ? "warning" : "ok",
    ),
    Number.isNaN(load) ? undefined : line(
      "load",
      `${facts["noise.loadavg"]?.replaceAll(" ", ", ")} (1, 5, 15 minutes)` +
        (load > 0.5 ? ": other programs take time from a run" : ""),
      load > 0.5 ? "warning" : "ok",
    ),
    governor === undefined ? undefined : line(
      "frequency governor",
      governor,
      governor === "performance" ? "ok" : "warning",
      governor === "performance" ? undefined : "cpupower frequency-set -g performance",
    ),
    facts["noise.turbo"] === undefined
      ? undefined
      : line("turbo", facts["noise.turbo"], facts["noise.turbo"] === "on" ? "note" : "ok"),
    facts["noise.smt"] === undefined
      ? undefined
      : line("hyper-threads", facts["noise.smt"], facts["noise.smt"] === "on" ? "note" : "ok"),
    facts["noise.numa_balancing"] === undefined ? undefined : line(
      "automatic NUMA balancing",
      facts["noise.numa_balancing"] === "0" ? "off" : "on: the kernel may move pages during a run",
      facts["noise.numa_balancing"] === "0" ? "ok" : "note",
    ),
  ];
  const known = lines.filter((one) => one !== undefined);
  return known.length > 0 ? known : [line("noise", "nothing is known", "note")];
}
