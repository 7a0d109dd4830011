/**
 * Versions of the kernel and of ndctl that a step needs. They warn and do not refuse: distributions carry newer parts
 * in older numbers, such as the CXL drivers in the 5.14 kernel of RHEL 9.
 *
 * @module
 */

import type { Inventory, ToolState } from "../inventory/inventory.ts";

/** Something that a version may be too old for. */
export interface Need {
  readonly of: "kernel" | ToolState["name"];
  readonly from: string;
  readonly why: string;
}

/** What can need a version. */
type NeedName =
  | "namespaceModes"
  | "daxAlways"
  | "kmem"
  | "reconfigure"
  | "cxlPmem"
  | "cxlRam"
  | "createRegion"
  | "createRamRegion"
  | "promotion";

/** What needs which version, with the source of it. */
export const NEEDS: Readonly<Record<NeedName, Need>> = {
  /** Documentation/filesystems/dax.rst of Linux; the option's spelling: fs/ext4, since 5.8. */
  daxAlways: { of: "kernel", from: "5.8", why: "the mount option dax=always; before it is written dax" },
  /** Commit c221c0b0308f of Linux, "device-dax: Hotplug persistent memory for use like normal RAM". */
  kmem: { of: "kernel", from: "5.1", why: "device DAX as memory (CONFIG_DEV_DAX_KMEM)" },
  /** ndctl-create-namespace(1) of 61, whose predecessors call the modes memory and dax. */
  namespaceModes: { of: "ndctl", from: "61", why: "ndctl create-namespace --mode=fsdax and --mode=devdax" },
  /** docs/Embedding-on-PMEM.md of DeepRec; daxctl-reconfigure-device(1) came in 2019, after 65. */
  reconfigure: { of: "daxctl", from: "66", why: "daxctl reconfigure-device --mode=system-ram" },
  /** Documentation/ABI/testing/sysfs-bus-cxl of Linux, create_{pmem,ram}_region. */
  cxlPmem: { of: "kernel", from: "6.0", why: "CXL regions of persistent memory" },
  /** The same. */
  cxlRam: { of: "kernel", from: "6.3", why: "CXL regions of volatile memory" },
  /** cxl-create-region(1) of ndctl. */
  createRegion: { of: "cxl", from: "74", why: "cxl create-region" },
  /** 76.1 knows the option and says "region type 'ram' not supported yet" (the lab, Debian 12); 81 makes them (Debian 13). */
  createRamRegion: { of: "cxl", from: "77", why: "cxl create-region --type=ram" },
  /** Commit c574bbe91703 of Linux, "NUMA balancing: optimize page placement for memory tiering system". */
  promotion: { of: "kernel", from: "5.18", why: "promotion of hot pages (kernel.numa_balancing = 2)" },
};

/** -1, 0, 1 as `a` is older than, as old as, newer than `b`; undefined if either has no number at its start. */
export function compareVersions(a: string, b: string): number | undefined {
  const [left, right] = [a, b].map((text) => /^v?(\d+(?:\.\d+)*)/.exec(text)?.[1]?.split(".").map(Number));
  if (left === undefined || right === undefined) return undefined;
  for (let i = 0; i < Math.max(left.length, right.length); i++) {
    const difference = (left[i] ?? 0) - (right[i] ?? 0);
    if (difference !== 0) return Math.sign(difference);
  }
  return 0;
}

/** The version that is there; undefined: not installed, or it could not be read. */
function found(inventory: Inventory, of: Need["of"]): string | undefined {
  return of === "kernel"
    ? inventory.facts["kernel.release"]
    : inventory.tools.find((tool) => tool.name === of && tool.installed)?.version;
}

/** Whether the version needed is there; undefined: not known. */
export function meets(inventory: Inventory, need: Need): boolean | undefined {
  const version = found(inventory, need.of);
  const order = version === undefined ? undefined : compareVersions(version, need.from);
  return order === undefined ? undefined : order >= 0;
}

/** A sentence for each need that is not met, or not known to be. A tool not installed yet is not judged. */
export function versionWarnings(inventory: Inventory, needs: readonly Need[]): string[] {
  return needs.flatMap((need) => {
    if (need.of !== "kernel" && !inventory.tools.some((tool) => tool.name === need.of && tool.installed)) return [];
    const met = meets(inventory, need);
    if (met === true) return [];
    const version = found(inventory, need.of);
    return met === false
      ? [`${need.of} ${version} is here, but ${need.why} came with ${need.from}`]
      : [`the version of ${need.of} could not be read; ${need.why} came with ${need.from}`];
  });
}
