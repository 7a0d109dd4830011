/** Inventories built by hand, with the values of captured outputs, for tests of single plans. */

import type { Inventory, NdBus, NdNamespace, NdRegion } from "../../../machines/inventory/inventory.ts";
import { known } from "../../../machines/inventory/tool.ts";

/** Debian 12 with all tools, nothing else. */
export function bareInventory(facts: Record<string, string> = {}, parts: Partial<Inventory> = {}): Inventory {
  return {
    facts: {
      "cpu.virtual": "no",
      "container.kind": "none",
      "kernel.release": "6.1.0-56-cloud-amd64",
      "kernel.auto_online_blocks": "online",
      "memory.total": "1577058304",
      "library.libpmem.available": "yes",
      "library.memkind.available": "yes",
      ...facts,
    },
    os: known({ id: "debian", like: [], version: "12", name: "Debian GNU/Linux 12 (bookworm)" }),
    tools: ["ndctl", "daxctl", "cxl", "numactl"].map((name) => ({
      name: name as "ndctl",
      installed: true,
      version: "76.1",
    })),
    ndctl: known([]),
    daxctl: known([]),
    cxl: known({ memdevs: [], regions: [], rootDecoders: [] }),
    ipmctl: undefined,
    blocks: known([]),
    files: {},
    units: {},
    root: true,
    ...parts,
  };
}

/** A namespace as `ndctl list -N -v` prints it. */
export function namespace(dev: string, parts: Partial<NdNamespace> = {}): NdNamespace {
  return {
    dev,
    mode: "raw",
    map: undefined,
    size: 1073741824,
    uuid: undefined,
    sectorSize: 512,
    align: undefined,
    blockdev: `pmem${dev.slice("namespace".length).replace(/\.0$/, "")}`,
    chardev: undefined,
    name: undefined,
    targetNode: undefined,
    numaNode: undefined,
    disabled: false,
    ...parts,
  };
}

/** A region of 1 GiB as `ndctl list -R -v` prints it. */
export function region(dev: string, namespaces: readonly NdNamespace[], parts: Partial<NdRegion> = {}): NdRegion {
  const used = namespaces.reduce((sum, one) => sum + (one.size ?? 0), 0);
  return {
    dev,
    size: 1073741824,
    align: 16777216,
    availableSize: Math.max(0, 1073741824 - used),
    maxAvailableExtent: Math.max(0, 1073741824 - used),
    type: "pmem",
    persistenceDomain: "memory_controller",
    targetNode: 2 + Number(dev.slice("region".length)),
    numaNode: 0,
    isetId: undefined,
    dimms: [],
    namespaces,
    disabled: false,
    ...parts,
  };
}

/** A bus. */
export function bus(provider: string, regions: readonly NdRegion[]): NdBus {
  return { dev: "ndbus0", provider, dimms: [], regions };
}
