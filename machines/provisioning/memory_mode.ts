/**
 * `memory-mode`: all PMEM as memory with the DRAM as its cache. The firmware does it, on bare metal only.
 *
 * @module
 */

import { nodesOf } from "../inventory/parts.ts";
import type { PlanContext, PlanParts } from "./context.ts";
import { memoryModeStep, modules } from "./goal.ts";
import { packagesStep } from "./packages.ts";
import { nvdimm } from "./providers.ts";
import { Refused } from "./refused.ts";
import { regionViews } from "./regions.ts";

/** The way to `memory-mode`, or {@linkcode Refused}. */
export function planMemoryMode(context: PlanContext): PlanParts {
  const { inventory, place } = context;
  if (place === "cloud-vm") {
    throw new Refused(
      "Memory Mode cannot be set in a virtual machine: the firmware of the host sets it before any system starts, " +
        "and to its guests it is plain memory (docs/Embedding-on-PMEM.md of DeepRec says so of cloud VMs).",
      'Set it on the host; in the VM run the configuration "memory-mode" emulated.',
    );
  }
  if (context.request.only !== undefined && context.request.only.length > 0) {
    throw new Refused("Memory Mode is set for all PMEM modules of the machine.", "Leave out the names of regions.");
  }
  const count = modules(context) ?? 0;
  const resources = inventory.ipmctl?.resources;
  if (count === 0) {
    throw new Refused(
      "No PMEM module is listed in /sys/bus/nd, nor by ipmctl.",
      'Without them run the configuration "memory-mode" emulated.',
    );
  }
  if (resources !== undefined && !resources.known) {
    throw new Refused(
      `What "ipmctl show -memoryresources" printed was not understood (${resources.reason}), so it cannot be seen ` +
        "how the PMEM is used now.",
    );
  }
  const now = resources?.value;
  const regions = regionViews(inventory).filter(nvdimm);
  const done = now !== undefined && (now.volatilePmem ?? 0) > 0 && (now.cacheDdr ?? 0) > 0 && (now.appDirect ?? 0) === 0
    ? "ipmctl lists the PMEM as volatile and the DRAM as cache"
    : undefined;
  return {
    summary: `${count} PMEM modules as memory, with the DRAM as their cache`,
    warnings: done === undefined
      ? [
        "everything on the PMEM modules is lost (App Direct regions, namespaces, file systems)",
        "plain DRAM cannot be measured on this machine any more: all of it is the cache",
      ]
      : [],
    steps: [
      packagesStep(context, { tools: ["ipmctl", ...(regions.length > 0 ? ["ndctl" as const] : [])], libraries: [] }),
      memoryModeStep(context, done === undefined ? regions : [], done),
    ],
    results: {
      mounts: [],
      nodes: nodesOf(inventory.facts).filter((one) => one.cpus !== "" && one.cpus !== undefined).map((one) => one.node),
    },
  };
}
