/**
 * Everything provisioning decides on: the facts of the native probe, what the tools of the system say, and the files
 * that earlier steps have written. An inventory is plain data, so plans can be made and tested for any machine.
 *
 * @module
 */

import type { Facts } from "./parts.ts";
import type { Parsed } from "./tools/tool.ts";

/** A tool of the system. */
export interface ToolState {
  /** Its name on the command line. */
  readonly name: "ndctl" | "daxctl" | "cxl" | "ipmctl" | "numactl";
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
  readonly dev: string;
  /** `raw`, `fsdax`, `devdax`, `sector`; undefined: not printed. */
  readonly mode: string | undefined;
  /** Where page structures are: `mem` or `dev`. */
  readonly map: string | undefined;
  /** Bytes that can be used. */
  readonly size: number | undefined;
  readonly uuid: string | undefined;
  readonly sectorSize: number | undefined;
  readonly align: number | undefined;
  /** Block device without `/dev/`, e.g. `pmem0`. */
  readonly blockdev: string | undefined;
  /** Character device of device DAX, e.g. `dax0.0`. */
  readonly chardev: string | undefined;
  readonly name: string | undefined;
  readonly targetNode: number | undefined;
  readonly numaNode: number | undefined;
  /** `ndctl list -i` prints `disabled` for those not in use by a driver. */
  readonly disabled: boolean;
}

/** A region as `ndctl list -R` prints it. */
export interface NdRegion {
  readonly dev: string;
  /** Bytes. */
  readonly size: number | undefined;
  readonly align: number | undefined;
  readonly availableSize: number | undefined;
  readonly maxAvailableExtent: number | undefined;
  /** `pmem`, `volatile`, … */
  readonly type: string | undefined;
  readonly persistenceDomain: string | undefined;
  readonly targetNode: number | undefined;
  readonly numaNode: number | undefined;
  readonly isetId: string | undefined;
  readonly dimms: readonly string[];
  readonly namespaces: readonly NdNamespace[];
  readonly disabled: boolean;
}

/** A bus as `ndctl list -B` prints it. */
export interface NdBus {
  readonly dev: string;
  /** `ACPI.NFIT`, `CXL`, `e820`, `virtio-pmem`, … */
  readonly provider: string;
  readonly dimms: readonly { readonly dev: string; readonly id: string | undefined; readonly disabled: boolean }[];
  readonly regions: readonly NdRegion[];
}

/** A device as `daxctl list` prints it. */
export interface DaxDeviceListing {
  /** Without `/dev/`, e.g. `dax0.0`. */
  readonly chardev: string;
  readonly size: number | undefined;
  readonly targetNode: number | undefined;
  readonly align: number | undefined;
  /** `devdax` or `system-ram`. */
  readonly mode: string | undefined;
  readonly onlineMemblocks: number | undefined;
  readonly totalMemblocks: number | undefined;
  readonly movable: boolean | undefined;
  readonly disabled: boolean;
}

/** A CXL memory device, `cxl list -M`. */
export interface CxlMemdev {
  readonly memdev: string;
  readonly pmemSize: number | undefined;
  readonly ramSize: number | undefined;
  readonly host: string | undefined;
  readonly numaNode: number | undefined;
}

/** A CXL region, `cxl list -R`. */
export interface CxlRegion {
  readonly region: string;
  readonly size: number | undefined;
  /** `pmem` or `ram`; older tools print none. */
  readonly type: string | undefined;
  /** `commit`: in use. */
  readonly decodeState: string | undefined;
  readonly memdevs: readonly string[];
}

/** A decoder of a CXL root, `cxl list -D -d root`. */
export interface CxlRootDecoder {
  readonly decoder: string;
  readonly size: number | undefined;
  readonly maxAvailableExtent: number | undefined;
  readonly pmemCapable: boolean;
  readonly volatileCapable: boolean;
}

/** What `cxl list` says. */
export interface CxlInventory {
  readonly memdevs: readonly CxlMemdev[];
  readonly regions: readonly CxlRegion[];
  readonly rootDecoders: readonly CxlRootDecoder[];
}

/** `ipmctl show -memoryresources`, bytes. A value printed as `-` or absent is undefined. */
export interface IpmctlResources {
  readonly layout: "1.x" | "2.x" | "3.x";
  readonly volatilePmem: number | undefined;
  readonly volatileDdr: number | undefined;
  readonly appDirect: number | undefined;
  /** DRAM that is a cache in front of PMEM (Memory Mode). */
  readonly cacheDdr: number | undefined;
  readonly inaccessible: number | undefined;
  readonly physicalPmem: number | undefined;
  readonly physicalDdr: number | undefined;
}

/** A module as `ipmctl show -dimm` prints it. */
export interface IpmctlModule {
  readonly id: string;
  /** Bytes. */
  readonly capacity: number | undefined;
  readonly health: string | undefined;
  readonly lock: string | undefined;
}

/** What `ipmctl` says; each part on its own, since each can fail on its own. */
export interface IpmctlInventory {
  readonly resources: Parsed<IpmctlResources>;
  readonly modules: Parsed<readonly IpmctlModule[]>;
}

/** A block device as `lsblk -J -b -o NAME,SIZE,FSTYPE,LABEL,UUID,MOUNTPOINTS` prints it. */
export interface BlockDevice {
  readonly name: string;
  readonly size: number | undefined;
  /** File system or partition table found on it; undefined: none. */
  readonly fileSystem: string | undefined;
  /** Label of the file system; absent or undefined: it has none. Tells those that provisioning made from others. */
  readonly label?: string | undefined;
  readonly mountPoints: readonly string[];
}

/** Everything provisioning decides on. A part whose tool is missing is undefined. */
export interface Inventory {
  readonly facts: Facts;
  readonly os: Parsed<OsRelease>;
  readonly tools: readonly ToolState[];
  readonly ndctl: Parsed<readonly NdBus[]> | undefined;
  readonly daxctl: Parsed<readonly DaxDeviceListing[]> | undefined;
  readonly cxl: Parsed<CxlInventory> | undefined;
  readonly ipmctl: IpmctlInventory | undefined;
  /** Block devices of PMEM (`pmem*`) only. */
  readonly blocks: Parsed<readonly BlockDevice[]> | undefined;
  /**
   * Files that provisioning writes, as they are now: path → text. Looked at: what its steps name under
   * `/etc/systemd/system`, `/etc/udev/rules.d`, `/etc/default/grub.d`, and `/etc/default/grub` itself.
   */
  readonly files: Readonly<Record<string, string>>;
  /** `systemctl is-enabled` of the units among `files`: unit → `enabled`, `disabled`, … */
  readonly units: Readonly<Record<string, string>>;
  /** The user runs as root. */
  readonly root: boolean;
}
