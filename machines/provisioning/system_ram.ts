/**
 * Device DAX as memory of NUMA nodes without CPUs, at every start.
 *
 * @module
 */

import { formatBytes } from "../../base/bytes.ts";
import { nodesOf, numberOf } from "../inventory/parts.ts";
import { type PlanContext, step } from "./context.ts";
import type { Loss, Step } from "./contract.ts";
import { memoryOf } from "./dax_memory.ts";
import { writeFile } from "./shell.ts";
import { kmemUnit } from "./systemd_units.ts";
import { kmemRule } from "./udev.ts";

/** A device that becomes memory. */
export interface MemoryDevice {
  /** Name in steps, e.g. `region0`. */
  readonly id: string;
  readonly dax: string;
  readonly bytes: number;
  /** Known beforehand from the region, else only once the device is there. */
  readonly targetNode: number | undefined;
  readonly loss: Loss;
}

const AUTO_ONLINE = "/sys/devices/system/memory/auto_online_blocks";

/** Before any memory is plugged in: the kernel leaves new blocks to daxctl, which makes them movable. */
export function autoOnlineStep({ inventory }: PlanContext, devices: readonly string[]): Step | undefined {
  const policy = inventory.facts["kernel.auto_online_blocks"];
  if (policy === undefined) return undefined;
  const all = devices.length > 0 && devices.every((dax) => memoryOf(inventory, dax)?.online === true);
  return step({
    id: "auto-online",
    title:
      "Keep the kernel from bringing new memory online by itself: daxctl refuses otherwise, for such memory may not " +
      "be movable and could not be taken away again",
    commands: [`echo offline > ${AUTO_ONLINE}`],
    // Only words that the kernel knows go back.
    undo: /^(online|online_kernel|online_movable)$/.test(policy) ? [`echo ${policy} > ${AUTO_ONLINE}`] : [],
    done: policy === "offline" ? `${AUTO_ONLINE} is offline` : all ? "all devices are memory already" : undefined,
    expected: `cat ${AUTO_ONLINE} prints offline`,
  });
}

/** The step that makes a device memory. */
export function systemRamStep({ inventory }: PlanContext, device: MemoryDevice): Step {
  const memory = memoryOf(inventory, device.dax);
  const node = memory?.targetNode ?? device.targetNode;
  const done = memory?.online === true
    ? `${device.dax} is memory of node ${memory.targetNode ?? "(not known)"}`
    : undefined;
  return step({
    id: `system-ram-${device.id}`,
    title: `Make ${device.dax} memory of a NUMA node without CPUs${node === undefined ? "" : `, node ${node}`}`,
    commands: [`daxctl reconfigure-device --mode=system-ram ${device.dax}`],
    undo: [`daxctl offline-memory ${device.dax}`, `daxctl reconfigure-device --mode=devdax ${device.dax}`],
    done,
    destroys: done === undefined && memory?.systemRam !== true ? [device.loss] : [],
    expected: '"mode":"system-ram", "movable":true, and as many "online_memblocks" as "total_memblocks"',
  });
}

/** The steps that do the same at every start. */
export function atEveryStart({ inventory, inside }: PlanContext, devices: readonly MemoryDevice[]): Step[] {
  const unit = kmemUnit();
  const seen = (path: string, text: string) =>
    inside
      ? "files of the host cannot be seen from a container"
      : inventory.files[path] === text
      ? `${path} has it`
      : undefined;
  return [
    step({
      id: "boot-unit",
      title: "Write the service that makes a device memory at every start: a device DAX does not remember its mode",
      commands: [writeFile(unit.path, unit.text), "systemctl daemon-reload"],
      undo: [`rm -f ${unit.path}`, "systemctl daemon-reload"],
      done: seen(unit.path, unit.text),
      expected: `systemctl cat ${unit.name} prints it`,
    }),
    ...devices.map((device) => {
      const rule = kmemRule(device.dax);
      return step({
        id: `boot-rule-${device.id}`,
        title: `Write the udev rule that starts it for ${device.dax}`,
        commands: [writeFile(rule.path, rule.text), "udevadm control --reload"],
        undo: [`rm -f ${rule.path}`, "udevadm control --reload"],
        done: seen(rule.path, rule.text),
        expected: `after a restart daxctl list -d ${device.dax} prints "mode":"system-ram"`,
      });
    }),
  ];
}

/**
 * What else has to be known: DRAM for page structures, a node that has CPUs, memory that cannot be taken away, a policy
 * not read.
 */
export function memoryWarnings({ inventory }: PlanContext, devices: readonly MemoryDevice[]): string[] {
  const bytes = devices.reduce((sum, device) => sum + device.bytes, 0);
  const total = numberOf(inventory.facts, "memory.total");
  const structures = bytes / 64;
  const fixed = devices.filter((device) => memoryOf(inventory, device.dax)?.movable === false).map((one) => one.dax);
  return [
    ...(total !== undefined && structures > total / 16
      ? [
        `page structures of ${formatBytes(bytes)} take ${formatBytes(structures)} of the ${
          formatBytes(total)
        } of DRAM` +
        (inventory.facts["kernel.memmap_on_memory"] === "N"
          ? "; the kernel option memory_hotplug.memmap_on_memory=1 puts them on the device itself"
          : ""),
      ]
      : []),
    ...devices.flatMap((device) => {
      const node = nodesOf(inventory.facts).find((one) =>
        one.node === (memoryOf(inventory, device.dax)?.targetNode ?? device.targetNode)
      );
      return node?.cpus === undefined || node.cpus === "" ? [] : [
        `memory of ${device.dax} gets into node ${node.node}, which has CPUs ${node.cpus}: nothing can tell it from ` +
        "DRAM then; the firmware gives devices nodes of their own (SRAT)",
      ];
    }),
    ...fixed.map((dax) =>
      `${dax} is memory that is not movable: something else brought it online, and it may not come back`
    ),
    ...(inventory.facts["kernel.auto_online_blocks"] === undefined
      ? [`${AUTO_ONLINE} could not be read: if daxctl refuses, write "offline" to it`]
      : []),
  ];
}
