/**
 * Whether this is a container, and what it may do.
 *
 * @module
 */

import type { Facts } from "../inventory/parts.ts";
import { formatBytes } from "../../base/bytes.ts";
import { type DoctorLine, line } from "./lines.ts";

/** Findings; none where the facts do not tell. */
export function containerLines(facts: Facts): DoctorLine[] {
  const kind = facts["container.kind"];
  if (kind === undefined) return [];
  const evidence = facts["container.evidence"];
  const container = line(
    "container",
    `${kind === "none" ? "no" : kind}${evidence === undefined ? "" : ` (${evidence})`}`,
    kind === "none" ? "ok" : "note",
  );
  if (kind === "none") return [container];
  const nice = facts["process.sys_nice"];
  const lock = facts["memory.lock_limit"];
  const lines = [
    nice === undefined ? undefined : line(
      "NUMA policies",
      nice === "yes" ? "allowed (CAP_SYS_NICE)" : "may be refused: CAP_SYS_NICE is missing",
      nice === "yes" ? "ok" : "warning",
    ),
    facts["process.seccomp"] === undefined ? undefined : line("system calls", `seccomp ${facts["process.seccomp"]}`),
    facts["memory.nodes_allowed"] === undefined
      ? undefined
      : line("NUMA nodes for this process", facts["memory.nodes_allowed"]),
    lock === undefined ? undefined : line("memory it may lock", /^\d+$/.test(lock) ? formatBytes(Number(lock)) : lock),
  ];
  return [container, ...lines.filter((one) => one !== undefined)];
}
