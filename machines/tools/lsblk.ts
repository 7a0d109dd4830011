/**
 * `lsblk -J -b`: block devices with what is on them. Versions before 2.37 print one mount point a device, those
 * before 2.33 print numbers as text; without `-b` sizes are rounded, and the bytes stay unknown.
 *
 * @module
 */

import type { BlockDevice } from "../inventory/inventory.ts";
import * as v from "../../base/valibot.ts";
import { count, fitted, listed, listedObject, repeated } from "./json.ts";
import { known, type Parsed, unknown } from "../inventory/tool.ts";

const size = v.union([
  v.pipe(v.string(), v.regex(/^\d+(\.\d+)?[BKMGTP]$/), v.transform(() => undefined)),
  count,
], "is no size");

const deviceSchema = listedObject({
  name: v.pipe(v.string(), v.regex(/^[A-Za-z][\w!.:+-]*$/, "is no name of a block device")),
  size: v.optional(size),
  fstype: v.optional(v.nullable(v.pipe(v.string(), v.regex(/^[A-Za-z0-9_.+-]+$/, "is no type of a file system")))),
  pttype: v.optional(v.nullable(v.pipe(v.string(), v.regex(/^[A-Za-z0-9]+$/, "is no type of a partition table")))),
  label: v.optional(v.nullable(v.string())),
  uuid: v.optional(v.nullable(v.string())),
  mountpoints: v.optional(v.array(v.nullable(v.string()))),
  mountpoint: v.optional(v.nullable(v.string())),
  children: v.optional(v.array(v.unknown())),
});

const listingSchema = v.object({ blockdevices: v.array(v.unknown()) });

/** Adds a device and what is on it to `devices`, by what was printed of each: what is printed alike is one device. */
function take(element: unknown, devices: Map<string, BlockDevice>, text: string): Parsed<undefined> {
  const found = fitted(deviceSchema, element, text);
  if (!found.known) return found;
  const { value } = found;
  const points = value.mountpoints ?? [value.mountpoint];
  const mounted = points.filter((path) => path !== null && path !== undefined);
  if (mounted.some((path) => !/^(\/|\[SWAP\]$)/.test(path))) {
    return unknown(`a mount point of ${value.name} is no path`, text);
  }
  // As printed: sizes that are rounded are no sizes here, and would make two devices one.
  devices.set(JSON.stringify(element), {
    name: value.name,
    size: value.size,
    fileSystem: value.fstype ?? value.pttype ?? undefined,
    ...(value.label === undefined || value.label === null ? {} : { label: value.label }),
    mountPoints: mounted,
  });
  for (const child of value.children ?? []) {
    const taken = take(child, devices, text);
    if (!taken.known) return taken;
  }
  return known(undefined);
}

/** Parses what `lsblk -J` printed, with partitions behind their device. */
export function parseLsblk(text: string): Parsed<readonly BlockDevice[]> {
  const elements = listed(text);
  if (!elements.known) return elements;
  const listing = fitted(listingSchema, elements.value[0], text);
  if (!listing.known || elements.value.length !== 1) return unknown('it is no object with "blockdevices"', text);
  // A device that is made of several, as RAID is, comes below each of them, printed alike.
  const devices = new Map<string, BlockDevice>();
  for (const element of listing.value.blockdevices) {
    const taken = take(element, devices, text);
    if (!taken.known) return taken;
  }
  const distinct = [...devices.values()];
  const twice = repeated(distinct.map((device) => device.name));
  return twice === undefined ? known(distinct) : unknown(`"${twice}" is listed twice, with different values`, text);
}

/** PMEM and its partitions among block devices. */
export function pmemOf(devices: readonly BlockDevice[]): BlockDevice[] {
  return devices.filter((device) => /^pmem\d/.test(device.name));
}
