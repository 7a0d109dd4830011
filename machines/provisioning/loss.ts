/**
 * What is on a device, as far as it can be seen, before a step overwrites it.
 *
 * @module
 */

import type { BlockDevice, Inventory } from "../inventory/inventory.ts";
import { mountsOf } from "../inventory/parts.ts";
import type { Loss } from "./contract.ts";
import { OURS } from "./context.ts";
import { memoryOf } from "./dax_memory.ts";
import { Refused } from "./refused.ts";
import type { SpaceView } from "./regions.ts";
import { words } from "./shell.ts";

/** A block device with its partitions. */
interface BlockContent {
  /** File system on the whole device; undefined: none. */
  readonly fileSystem: string | undefined;
  readonly label: string | undefined;
  /** Where it or a partition is mounted. */
  readonly mountPoints: readonly string[];
  /** In words; undefined: nothing was found. */
  readonly found: string | undefined;
}

/** What is on `/dev/<block>`. */
export function blockContent(inventory: Inventory, block: string): BlockContent {
  const { blocks, facts } = inventory;
  if (blocks === undefined || !blocks.known) {
    throw new Refused(
      `What is on /dev/${block} could not be read: ` +
        (blocks === undefined ? "lsblk is missing." : `the output of lsblk was not understood (${blocks.reason}).`),
      'Install lsblk (package util-linux), and look at the output of "lsblk -f".',
    );
  }
  const own = (name: string) =>
    name === block || (name.startsWith(`${block}p`) && /^p\d+$/.test(name.slice(block.length)));
  const devices = blocks.value.filter((device) => own(device.name));
  const whole = devices.find((device) => device.name === block);
  const parts = devices.filter((device) => device.name !== block);
  // The kernel's list of mounts knows the type also where lsblk, without udev's database in a container, does not.
  const mounted = mountsOf(facts).filter((mount) => own(mount.device.replace(/^\/dev\//, "")));
  const mountPoints = [...new Set([...devices.flatMap((device) => device.mountPoints), ...mounted.map((m) => m.path)])];
  const fileSystem = whole?.fileSystem ?? mounted.find((mount) => mount.device === `/dev/${block}`)?.fileSystem;
  const what = (device: BlockDevice) => `${device.fileSystem ?? "no known data"} on ${device.name}`;
  const found = [...(fileSystem === undefined ? [] : [fileSystem]), ...parts.map(what)];
  return {
    fileSystem,
    label: whole?.label,
    mountPoints,
    found: found.length === 0 && mountPoints.length === 0
      ? undefined
      : (words(found) || "a file system") + (mountPoints.length === 0 ? "" : `, mounted on ${words(mountPoints)}`),
  };
}

/** What is lost with a namespace. An untouched raw one is named too, with nothing found on it. */
export function namespaceLoss(inventory: Inventory, space: SpaceView): Loss {
  if (space.mode === "raw" && space.block !== undefined) {
    return { device: space.dev, found: blockContent(inventory, space.block).found };
  }
  const memory = space.dax === undefined ? undefined : memoryOf(inventory, space.dax);
  const inside = space.block !== undefined
    ? blockContent(inventory, space.block).found ?? "no file system found"
    : memory?.systemRam === true
    ? "memory in use by the kernel"
    : "its bytes have no structure to look for";
  return { device: space.dev, found: `namespace in ${space.mode ?? "unknown"} mode: ${inside}` };
}

/** What is lost when a device DAX becomes memory. Nothing, if the namespace carries our name: we made it for that. */
export function daxLoss(dax: string, space: SpaceView | undefined): Loss {
  return {
    device: dax,
    found: space === undefined || space.name === OURS
      ? undefined
      : `${space.dev} was in devdax mode before; its bytes have no structure to look for`,
  };
}
