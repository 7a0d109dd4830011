/**
 * `daxctl list`: devices, alone or in their regions (`-R`); daxctl-list(1).
 *
 * @module
 */

import type { DaxDeviceListing } from "../inventory/inventory.ts";
import * as v from "../../base/valibot.ts";
import { bytes, count, deviceName, fitted, listed, listedObject, repeated, state } from "./json.ts";
import { known, type Parsed, unknown } from "../inventory/tool.ts";

const deviceSchema = v.pipe(
  listedObject({
    chardev: deviceName(/^dax\d+\.\d+$/),
    size: v.optional(bytes),
    target_node: v.optional(v.pipe(count, v.maxValue(1023, "is no NUMA node"))),
    align: v.optional(
      v.pipe(
        bytes,
        v.check(
          (value) => value === undefined || (value > 0 && Number.isInteger(Math.log2(value))),
          "is no power of 2",
        ),
      ),
    ),
    mode: v.optional(v.picklist(["devdax", "system-ram", "famfs", "unknown"], "is no mode of a DAX device")),
    online_memblocks: v.optional(count),
    total_memblocks: v.optional(count),
    movable: v.optional(v.boolean("is neither true nor false")),
    state: v.optional(state),
    // Namespaces have both, and are not what was asked for.
    dev: v.optional(v.never("is the name of a namespace")),
  }),
  v.rawTransform(({ dataset, addIssue, NEVER }): DaxDeviceListing => {
    const { value } = dataset;
    const { online_memblocks: online, total_memblocks: total } = value;
    if (online !== undefined && total !== undefined && online > total) {
      addIssue({ message: `(${value.chardev}) has more memory blocks online than there are` });
      return NEVER;
    }
    return {
      chardev: value.chardev,
      size: value.size,
      targetNode: value.target_node,
      align: value.align,
      mode: value.mode,
      onlineMemblocks: online,
      totalMemblocks: total,
      movable: value.movable,
      disabled: value.state !== undefined,
    };
  }),
);

const regionSchema = v.pipe(
  listedObject({
    path: v.string(),
    id: count,
    size: v.optional(bytes),
    align: v.optional(bytes),
    devices: v.optional(v.array(deviceSchema)),
  }),
  v.rawTransform(({ dataset, addIssue, NEVER }): readonly DaxDeviceListing[] => {
    const { id, size, devices = [] } = dataset.value;
    const problem = devices.some((device) => !device.chardev.startsWith(`dax${id}.`))
      ? "holds a device of another region"
      : devices.reduce((sum, device) => sum + (device.size ?? 0), 0) > (size ?? Infinity)
      ? "has more in it than its size"
      : undefined;
    if (problem !== undefined) {
      addIssue({ message: `(DAX region ${id}) ${problem}` });
      return NEVER;
    }
    return devices;
  }),
);

/** Parses what `daxctl list` or `daxctl reconfigure-device` printed. */
export function parseDaxctl(text: string): Parsed<readonly DaxDeviceListing[]> {
  const elements = listed(text);
  if (!elements.known) return elements;
  const devices: DaxDeviceListing[] = [];
  for (const element of elements.value) {
    const isRegion = typeof element === "object" && element !== null && "path" in element;
    const found = isRegion
      ? fitted(regionSchema, element, text)
      : fitted(v.pipe(deviceSchema, v.transform((one) => [one])), element, text);
    if (!found.known) return found;
    devices.push(...found.value);
  }
  const twice = repeated(devices.map((device) => device.chardev));
  return twice === undefined ? known(devices) : unknown(`"${twice}" is listed twice`, text);
}
