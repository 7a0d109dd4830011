/**
 * Everything provisioning decides on: the facts of the native probe, what the tools of the system say, and the files
 * that earlier steps have written. An inventory is plain data, so plans can be made and tested for any machine.
 *
 * @module
 */

import type { Facts } from "./parts.ts";
import type { Parsed } from "./tool.ts";

/** A tool of the system. */
export interface ToolState {
  /** Its name on the command line. */
  readonly name: "ndctl" | "daxctl" | "cxl" | "ipmctl" | "numactl";
  /** It is there. */
  readonly installed: boolean;
  /** Version as printed, e.g. `76.1`; undefined: not installed, or it could not be read. */
  readonly version?: string;
}

/** The parts of `/etc/os-release` that decide on commands. */
export interface OsRelease {
  /** `ID`, e.g. `debian`. */
  readonly id: string;
  /** `ID_LIKE`, split. */
  readonly like: readonly string[];
  /** `VERSION_ID`. */
  readonly version: string | undefined;
  /** `PRETTY_NAME`. */
  readonly name: string;
}

/** A namespace as `ndctl list -N` prints it. */
export interface NdNamespace {
  /** The kernel's name for it. */
  readonly dev: string;
  /** `raw`, `fsdax`, `devdax`, `sector`; undefined: not printed. */
  readonly mode: string | undefined;
  /** Where page structures are: `mem` or `dev`. */
  readonly map: string | undefined;
  /** Bytes that can be used. */
  readonly size: number | undefined;
  /** All zeros for those that nobody has made. */
  readonly uuid: string | undefined;
  /** Bytes of a sector of its block device. */
  readonly sectorSize: number | undefined;
  /** Bytes. */
  readonly align: number | undefined;
  /** Block device without `/dev/`, e.g. `pmem0`. */
  readonly blockdev: string | undefined;
  /** Character device of device DAX, e.g. `dax0.0`. */
  readonly chardev: string | undefined;
  /** Its name. */
  readonly name: string | undefined;
  /** NUMA node that its memory has, or would have as system memory. */
  readonly targetNode: number | undefined;
  /** The nearest NUMA node with CPUs. */
  readonly numaNode: number | undefined;
  /** `ndctl list -i` prints `disabled` for those not in use by a driver. */
  readonly disabled: boolean;
}

/** A region as `ndctl list -R` prints it. */
export interface NdRegion {
  /** The kernel's name for it. */
  readonly dev: string;
  /** Bytes. */
  readonly size: number | undefined;
  /** Bytes. */
  readonly align: number | undefined;
  /** Bytes that no namespace has. */
  readonly availableSize: number | undefined;
  /** The largest piece of these, in bytes. */
  readonly maxAvailableExtent: number | undefined;
  /** `pmem`, `volatile`, … */
  readonly type: string | undefined;
  /** `memory_controller`, `cpu_cache` or `unknown`. */
  readonly persistenceDomain: string | undefined;
  /** NUMA node that its memory has, or would have as system memory. */
  readonly targetNode: number | undefined;
  /** The nearest NUMA node with CPUs. */
  readonly numaNode: number | undefined;
  /** Number of the interleave set, in base 10. */
  readonly isetId: string | undefined;
  /** Its DIMMs. */
  readonly dimms: readonly string[];
  /** Those in it. */
  readonly namespaces: readonly NdNamespace[];
  /** No driver uses it. */
  readonly disabled: boolean;
}

/** A bus as `ndctl list -B` prints it. */
export interface NdBus {
  /** The kernel's name for it. */
  readonly dev: string;
  /** `ACPI.NFIT`, `CXL`, `e820`, `virtio-pmem`, … */
  readonly provider: string;
  /** Its DIMMs. */
  readonly dimms: readonly { readonly dev: string; readonly id: string | undefined; readonly disabled: boolean }[];
  /** Those in it. */
  readonly regions: readonly NdRegion[];
}

/** A device as `daxctl list` prints it. */
export interface DaxDeviceListing {
  /** Without `/dev/`, e.g. `dax0.0`. */
  readonly chardev: string;
  /** Bytes. */
  readonly size: number | undefined;
  /** NUMA node that its memory has, or would have as system memory. */
  readonly targetNode: number | undefined;
  /** Bytes. */
  readonly align: number | undefined;
  /** `devdax` or `system-ram`. */
  readonly mode: string | undefined;
  /** Memory blocks that are online (`system-ram`). */
  readonly onlineMemblocks: number | undefined;
  /** Memory blocks it has (`system-ram`). */
  readonly totalMemblocks: number | undefined;
  /** Whether its memory can be taken away again. */
  readonly movable: boolean | undefined;
  /** No driver uses it. */
  readonly disabled: boolean;
}

/** A CXL memory device, `cxl list -M`. */
export interface CxlMemdev {
  /** Its name, e.g. `mem0`. */
  readonly memdev: string;
  /** Persistent bytes. */
  readonly pmemSize: number | undefined;
  /** Volatile bytes. */
  readonly ramSize: number | undefined;
  /** Address of the PCI device. */
  readonly host: string | undefined;
  /** The nearest NUMA node with CPUs. */
  readonly numaNode: number | undefined;
  /** No driver uses it; absent: one does. */
  readonly disabled?: boolean;
}

/** A CXL region, `cxl list -R`. */
export interface CxlRegion {
  /** Its name, e.g. `region0`. */
  readonly region: string;
  /** Bytes. */
  readonly size: number | undefined;
  /** `pmem` or `ram`; older tools print none. */
  readonly type: string | undefined;
  /** `commit`: in use. */
  readonly decodeState: string | undefined;
  /** Memory devices. */
  readonly memdevs: readonly string[];
  /** No driver uses it; absent: one does. */
  readonly disabled?: boolean;
}

/** A decoder of a CXL root, `cxl list -D -d root`. */
export interface CxlRootDecoder {
  /** Its name, e.g. `decoder0.0`. */
  readonly decoder: string;
  /** Bytes. */
  readonly size: number | undefined;
  /** The largest piece of these, in bytes. */
  readonly maxAvailableExtent: number | undefined;
  /** Takes persistent memory. */
  readonly pmemCapable: boolean;
  /** Takes volatile memory. */
  readonly volatileCapable: boolean;
  /** Host bridges that the window is dealt out over: a region in it has a device behind each. */
  readonly interleaveWays: number | undefined;
}

/** What `cxl list` says. */
export interface CxlInventory {
  /** Memory devices. */
  readonly memdevs: readonly CxlMemdev[];
  /** Those in it. */
  readonly regions: readonly CxlRegion[];
  /** Decoders of roots. */
  readonly rootDecoders: readonly CxlRootDecoder[];
}

/** `ipmctl show -memoryresources`, bytes. A value printed as `-` or absent is undefined. */
export interface IpmctlResources {
  /** Version whose layout it was. */
  readonly layout: "1.x" | "2.x" | "3.x";
  /** PMEM that is memory (Memory Mode). */
  readonly volatilePmem: number | undefined;
  /** DRAM that is memory. */
  readonly volatileDdr: number | undefined;
  /** PMEM for regions. */
  readonly appDirect: number | undefined;
  /** DRAM that is a cache in front of PMEM (Memory Mode). */
  readonly cacheDdr: number | undefined;
  /** PMEM that nothing can use. */
  readonly inaccessible: number | undefined;
  /** All PMEM. */
  readonly physicalPmem: number | undefined;
  /** All DRAM. */
  readonly physicalDdr: number | undefined;
}

/** A module as `ipmctl show -dimm` prints it. */
export interface IpmctlModule {
  /** `DimmID`, e.g. `0x0001`. */
  readonly id: string;
  /** Bytes. */
  readonly capacity: number | undefined;
  /** `HealthState`. */
  readonly health: string | undefined;
  /** `LockState`. */
  readonly lock: string | undefined;
}

/** What `ipmctl` says; each part on its own, since each can fail on its own. */
export interface IpmctlInventory {
  /** `-memoryresources`. */
  readonly resources: Parsed<IpmctlResources>;
  /** `-dimm`. */
  readonly modules: Parsed<readonly IpmctlModule[]>;
}

/** A NUMA node as `numactl --hardware` prints it. */
export interface NumactlNode {
  /** Its number. */
  readonly node: number;
  /** Numbers of its CPUs; empty: it has none. */
  readonly cpus: readonly number[];
  /** MiB of memory, rounded down; numactl calls them MB. */
  readonly sizeMiB: number;
  /** The same of what is free. */
  readonly freeMiB: number;
  /** Node → distance. */
  readonly distances: Readonly<Record<number, number>>;
}

/** A block device as `lsblk -J -b -o NAME,SIZE,FSTYPE,PTTYPE,LABEL,UUID,MOUNTPOINTS` prints it. */
export interface BlockDevice {
  /** Its name. */
  readonly name: string;
  /** Bytes. */
  readonly size: number | undefined;
  /** File system or partition table found on it; undefined: none. */
  readonly fileSystem: string | undefined;
  /** Label of the file system; absent or undefined: it has none. Tells those that provisioning made from others. */
  readonly label?: string | undefined;
  /** Where it is mounted. */
  readonly mountPoints: readonly string[];
}

/** Everything provisioning decides on. A part whose tool is missing is undefined. */
export interface Inventory {
  /** What the native probe says. */
  readonly facts: Facts;
  /** The distribution. */
  readonly os: Parsed<OsRelease>;
  /** Which tools there are. */
  readonly tools: readonly ToolState[];
  /** `ndctl list`. */
  readonly ndctl: Parsed<readonly NdBus[]> | undefined;
  /** `daxctl list`. */
  readonly daxctl: Parsed<readonly DaxDeviceListing[]> | undefined;
  /** `cxl list`. */
  readonly cxl: Parsed<CxlInventory> | undefined;
  /** `ipmctl show`. */
  readonly ipmctl: IpmctlInventory | undefined;
  /** `numactl --hardware`. */
  readonly numactl?: Parsed<readonly NumactlNode[]> | undefined;
  /** Block devices of PMEM (`pmem*`) only. */
  readonly blocks: Parsed<readonly BlockDevice[]> | undefined;
  /**
   * Files that provisioning writes, as they are now: path → text. Looked at: what its steps name under
   * `/etc/systemd/system`, `/etc/udev/rules.d`, `/etc/default/grub.d`, `/etc/sysctl.d`, `/etc/tmpfiles.d`, and `/etc/default/grub` itself.
   */
  readonly files: Readonly<Record<string, string>>;
  /** `systemctl is-enabled` of the units among `files`: unit → `enabled`, `disabled`, … */
  readonly units: Readonly<Record<string, string>>;
  /** The user runs as root. */
  readonly root: boolean;
  /** Files and folders that could not be read, and why: what they say is not known. */
  readonly unread?: readonly string[];
}
