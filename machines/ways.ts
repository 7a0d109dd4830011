/**
 * The ways in which configurations reach their media: a file system that maps what is behind it directly, a node with
 * memory and without CPUs. A way can be looked at; what the medium behind it is, only some devices tell.
 *
 * @module
 */

import {
  type DaxDevice,
  daxOf,
  type Facts,
  type MachineMount,
  namespacesOf,
  nodesOf,
  regionsOf,
} from "./inventory/parts.ts";
import { hbmNodes } from "./inventory/hbm_nodes.ts";
import { provisionCommand } from "./provisioning/command.ts";

/** What is missing, and the command that comes next, where there is one. */
export interface MissingPart {
  readonly because: string;
  readonly next?: string;
}

/** What a medium is by its device: proven to be persistent or CXL memory, or not. */
interface MediumKind {
  readonly proven: boolean;
  /** What it is, where it is proven. */
  readonly medium?: "pmem" | "cxl";
  /** Part of a sentence: what it is, or what keeps it from being proven. */
  readonly text: string;
}

/** Providers of regions that are persistent memory or CXL memory; others set DRAM or a host's file aside. */
const PMEM_PROVIDERS: Readonly<Record<string, string>> = { "ACPI.NFIT": "NVDIMM", "CXL": "CXL persistent memory" };

/** What a region of PMEM really is, or why it is not known to be any. */
export function regionKind(facts: Facts, region: string | undefined): MediumKind {
  const provider = region === undefined ? undefined : facts[`pmem.${region}.provider`];
  if (region === undefined || provider === undefined) {
    return { proven: false, text: "its PMEM region cannot be found in /sys/bus/nd" };
  }
  const known = PMEM_PROVIDERS[provider];
  if (known !== undefined) {
    return { proven: true, medium: provider === "CXL" ? "cxl" : "pmem", text: `${known} (${region}, ${provider})` };
  }
  if (provider === "e820") {
    return {
      proven: false,
      text: `${region} was set aside with the kernel option memmap=: lost at power-off, and nothing tells it from DRAM`,
    };
  }
  if (provider === "virtio-pmem") {
    return { proven: false, text: `${region} is a file of the host (virtio-pmem), mapped without MAP_SYNC` };
  }
  return { proven: false, text: `${region} comes from "${provider}", which is not known to be persistent memory` };
}

/** What memory that a DAX device became really is, or why that is not known. */
export function deviceKind(facts: Facts, device: DaxDevice): MediumKind {
  if (device.origin === "cxl") return { proven: true, medium: "cxl", text: "CXL memory" };
  if (device.origin === "pmem") return regionKind(facts, device.region);
  const why = device.origin === "hmem" ? "firmware calls it special purpose" : "no PMEM or CXL region";
  return { proven: false, text: `where it comes from is not known (${why})` };
}

/** What comes next where only the owner knows what a medium is. */
export const VOUCH = "tierbench run --vouch <medium>";

/** Said of a medium that a hypervisor may have made up. */
export const VIRTUAL =
  "a hypervisor runs this machine, so the medium may be virtual: no speed of it counts as that of PMEM";

/** Whether media here may be a hypervisor's. Unknown counts as virtual: real speed has to be proven. */
export function isVirtual(facts: Facts): boolean {
  return facts["cpu.virtual"] !== "no";
}

/** `pmem0` of `/dev/pmem0` and `/dev/pmem0p1`; undefined for other devices. */
function blockOf({ device }: MachineMount): string | undefined {
  return /^\/dev\/(pmem\d+(?:\.\d+)?)(?:p\d+)?$/.exec(device)?.[1];
}

/** The PMEM region behind a mount. */
export function regionBehind(facts: Facts, mount: MachineMount): string | undefined {
  const block = blockOf(mount);
  return block === undefined ? undefined : namespacesOf(facts).find((space) => space.block === block)?.region;
}

/** Why a mount does not map a PMEM device directly, for this user; undefined: it does. */
export function mountWayProblem(facts: Facts, mount: MachineMount): MissingPart | undefined {
  if (blockOf(mount) === undefined) {
    return { because: `${mount.path} is on ${mount.device}, which cannot be traced to a PMEM region` };
  }
  const next = provisionCommand("fsdax", facts);
  if (mount.dax === undefined || mount.dax === "never") {
    return { because: `${mount.path} is mounted without DAX`, next };
  }
  if (mount.dax === "inode") {
    return { because: `${mount.path} is mounted with dax=inode, so DAX depends on each file's flag`, next };
  }
  return mount.writable ? undefined : { because: `${mount.path} is not writable for this user`, next };
}

/**
 * Why a node is none whose memory can be told apart from DRAM; undefined: it has memory, and no CPUs.
 *
 * @param whose The device that became its memory, for messages.
 */
export function nodeWayProblem(facts: Facts, number: number | undefined, whose: string): string | undefined {
  const node = nodesOf(facts).find((one) => one.node === number);
  if (node === undefined || (node.totalBytes ?? 0) === 0) {
    return `${whose} is system memory, but its node ${number ?? "?"} has none of it online`;
  }
  if (node.cpus === undefined) return `whether node ${node.node} of ${whose} has CPUs could not be read`;
  return node.cpus === ""
    ? undefined
    : `${whose} is memory of node ${node.node}, which has CPUs: it cannot be told apart`;
}

/** What comes before a mount: a region, a namespace in fsdax mode, a file system. */
export function fsdaxNext(facts: Facts): MissingPart {
  const regions = regionsOf(facts);
  if (regions.length === 0) {
    return { because: "no PMEM region in /sys/bus/nd: this machine shows no persistent memory" };
  }
  const spaces = namespacesOf(facts);
  const next = provisionCommand("fsdax", facts);
  const ready = spaces.find((space) => space.mode === "memory" && space.block !== undefined);
  if (ready !== undefined) {
    return { because: `${ready.name} is in fsdax mode, but /dev/${ready.block} is not mounted`, next };
  }
  const other = spaces[0];
  return {
    because: other === undefined
      ? `${regions[0]?.name} has no namespace`
      : `no namespace is in fsdax mode (${other.name}: ${other.mode ?? "unknown"})`,
    next,
  };
}

/** What comes before memory of a node without CPUs. */
export function kmemNext(facts: Facts): MissingPart {
  const devices = daxOf(facts);
  const waiting = devices.find((device) => device.driver !== "kmem");
  if (waiting !== undefined) {
    const isCxl = waiting.origin === "cxl" || facts[`pmem.${waiting.region}.provider`] === "CXL";
    return {
      because: `${waiting.name} is a device, not memory of a NUMA node`,
      next: provisionCommand(isCxl ? "cxl-kmem" : "kmem-dax", facts),
    };
  }
  const hbm = new Set(hbmNodes(facts).map(({ node }) => node));
  const bare = nodesOf(facts).find(({ node, cpus, totalBytes }) =>
    cpus === "" && (totalBytes ?? 0) > 0 && !hbm.has(node)
  );
  if (bare !== undefined) {
    return {
      because:
        `node ${bare.node} has memory and no CPUs, but no DAX device belongs to it: that is how cloud machines ` +
        `show plain memory as well, so it is not proven to be PMEM or CXL memory` +
        (hiddenWindow(facts) ? "; where the windows of CXL begin, only root may read: try as root" : ""),
      next: VOUCH,
    };
  }
  const region = regionsOf(facts)[0];
  if (region !== undefined) {
    const isCxl = facts[`pmem.${region.name}.provider`] === "CXL";
    return {
      because: `no DAX device: ${region.name} has no namespace in devdax mode`,
      next: provisionCommand(isCxl ? "cxl-kmem" : "kmem-dax", facts),
    };
  }
  const cxl = Object.keys(facts).some((key) => key.startsWith("cxl.mem"));
  return cxl
    ? { because: "there is CXL memory, but no DAX device on it", next: provisionCommand("cxl-kmem", facts) }
    : { because: "no DAX device in /sys/bus/dax, no PMEM region, no CXL memory" };
}

/** Whether there are windows of CXL whose addresses this user may not read. */
function hiddenWindow(facts: Facts): boolean {
  return Object.keys(facts).some((key) => {
    const name = /^cxl\.(decoder\d+\.\d+)\.size$/.exec(key)?.[1];
    return name !== undefined && facts[`cxl.${name}.start`] === undefined;
  });
}

/** Why libpmem cannot be opened; undefined: it can. */
export function libpmemMissing(facts: Facts): string | undefined {
  return libraryMissing(facts, "libpmem", "libpmem1");
}

/** Why memkind cannot be opened; undefined: it can. */
export function memkindMissing(facts: Facts): string | undefined {
  return libraryMissing(facts, "memkind", "libmemkind0");
}

function libraryMissing(facts: Facts, library: string, debian: string): string | undefined {
  return facts[`library.${library}.available`] === "no"
    ? `${library} cannot be opened (${facts[`library.${library}.error`] ?? "no reason given"}); install ${debian}`
    : undefined;
}
