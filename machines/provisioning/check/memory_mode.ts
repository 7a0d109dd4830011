/**
 * Whether Memory Mode is on: the firmware's word in sysfs and the modules' own.
 *
 * @module
 */

import { formatBytes } from "../../../base/bytes.ts";
import type { Inventory } from "../../inventory/inventory.ts";
import { nodesOf } from "../../inventory/parts.ts";
import type { CheckLine } from "../contract.ts";
import { line } from "./line.ts";

/** The lines of `memory-mode`. */
export function checkMemoryMode(inventory: Inventory): CheckLine[] {
  const { facts, ipmctl } = inventory;
  const cached = nodesOf(facts).filter(({ sideCacheBytes }) => (sideCacheBytes ?? 0) > 0);
  const cache = cached.reduce((sum, { sideCacheBytes }) => sum + (sideCacheBytes ?? 0), 0);
  const lines = [
    line(
      "side-cache",
      cached.length > 0,
      `firmware lists a DRAM cache of ${formatBytes(cache)} in front of node ${
        cached.map(({ node }) => node).join(", ")
      }`,
      "no memory_side_cache in sysfs: firmware lists no DRAM cache in front of other memory",
    ),
  ];
  if (ipmctl === undefined) {
    const text = "ipmctl is not installed, so the modules' own word is missing; next: install ipmctl";
    lines.push(line("ipmctl", false, text));
  } else if (!ipmctl.resources.known) {
    const { reason, raw } = ipmctl.resources;
    const text = `ipmctl show -memoryresources is not understood: ${reason}: ${raw.trim().split("\n")[0]}`;
    lines.push(line("ipmctl", false, text));
  } else {
    const { volatilePmem, cacheDdr } = ipmctl.resources.value;
    const on = (volatilePmem ?? 0) > 0 && (cacheDdr ?? 0) > 0;
    lines.push(line(
      "ipmctl",
      on,
      `${formatBytes(volatilePmem ?? 0)} of PMEM as memory behind ${formatBytes(cacheDdr ?? 0)} of DRAM as its cache`,
      `not in Memory Mode: PMEM as memory ${volatilePmem === undefined ? "unknown" : formatBytes(volatilePmem)}, ` +
        `DRAM as cache ${
          cacheDdr === undefined ? "none" : formatBytes(cacheDdr)
        }; next: tierbench provision memory-mode`,
    ));
    if (on && cached.length > 0) {
      const ratio = cache / (cacheDdr ?? 1);
      lines.push(line(
        "agree",
        ratio > 0.8 && ratio < 1.25,
        "both name a cache of the same size",
        `sysfs names a cache of ${formatBytes(cache)}, ipmctl one of ${formatBytes(cacheDdr ?? 0)}: they do not agree`,
      ));
    }
  }
  if (facts["cpu.virtual"] === "yes") {
    const text = "a hypervisor runs this machine: Memory Mode belongs to the host, not to a VM";
    lines.push(line("bare-metal", false, text));
  }
  return lines;
}
