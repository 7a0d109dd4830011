/**
 * Whether a device DAX is memory already.
 *
 * @module
 */

import type { Inventory } from "../inventory/inventory.ts";
import { daxOf, nodesOf } from "../inventory/parts.ts";
import { Refused } from "./refused.ts";

/** A device DAX as memory. */
interface DaxMemory {
  /** The kernel's kmem driver has it. */
  readonly systemRam: boolean;
  /** All of its memory blocks are online. */
  readonly online: boolean;
  /** All of them are in ZONE_MOVABLE; undefined: not known. */
  readonly movable: boolean | undefined;
  readonly targetNode: number | undefined;
}

/** What `daxctl list` says of a device, or sysfs while daxctl is not installed; undefined: it is not there. */
export function memoryOf(inventory: Inventory, dax: string): DaxMemory | undefined {
  const { daxctl, facts } = inventory;
  if (daxctl !== undefined && !daxctl.known) {
    throw new Refused(
      `What "daxctl list" printed was not understood (${daxctl.reason}), so it is not known which device is memory.`,
      'Compare the output of "daxctl list" with the pages on provisioning, and report it.',
    );
  }
  if (daxctl !== undefined) {
    const device = daxctl.value.find((one) => one.chardev === dax);
    if (device === undefined) return undefined;
    const systemRam = device.mode === "system-ram" && !device.disabled;
    return {
      systemRam,
      online: systemRam && (device.onlineMemblocks ?? 0) > 0 && device.onlineMemblocks === device.totalMemblocks,
      movable: device.movable,
      targetNode: device.targetNode,
    };
  }
  const device = daxOf(facts).find((one) => one.name === dax);
  if (device === undefined) return undefined;
  const systemRam = device.driver === "kmem";
  const node = nodesOf(facts).find((one) => one.node === device.targetNode);
  return {
    systemRam,
    online: systemRam && (node?.totalBytes ?? 0) > 0,
    movable: undefined,
    targetNode: device.targetNode,
  };
}
