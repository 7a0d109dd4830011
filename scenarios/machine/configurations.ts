/**
 * Which configurations a machine allows: what can be measured because the medium is there and was verified, what can be
 * emulated, and what keeps the rest away. Nothing is guessed: a fact that the probe could not read counts against
 * `measured`.
 *
 * @module
 */

import type { Availability } from "./availability.ts";
import {
  bytesText,
  type DaxDevice,
  daxOf,
  type Facts,
  type MachineMount,
  mountsOf,
  namespacesOf,
  nodesOf,
  numberOf,
  regionsOf,
} from "./parts.ts";
import type { MachineRecord } from "../record.ts";
import { placeOf, provisionCommand } from "./place.ts";
import { probeSsd } from "./ssd.ts";

/** The configurations of the memory of a machine. */
export type ConfigurationName = "dram" | "memory-mode" | "fsdax" | "kmem-dax";

/** Whether a configuration can run here, and how. */
export interface ConfigurationState {
  /** Which one. */
  readonly configuration: ConfigurationName;
  /** `measured`: the medium is here and verified. `emulated`: it is not, a media model stands in. */
  readonly state: "measured" | "emulated" | "unavailable";
  /** One sentence: how it was verified, or what is missing. */
  readonly because: string;
  /** The command that comes next, where there is one. */
  readonly next?: string;
  /** Directory of the DAX file system (`fsdax`, measured). */
  readonly mount?: string;
  /** NUMA nodes of the medium (`kmem-dax`, measured), or the node that stands in (emulated). */
  readonly nodes?: readonly number[];
  /** Bytes of the DRAM cache (`memory-mode`, measured). */
  readonly cacheBytes?: number;
  /** True if a hypervisor provides the medium: no speed of it may be shown as that of PMEM. */
  readonly virtual?: boolean;
}

/** Providers of regions that are persistent memory or CXL memory; others set DRAM or a host's file aside. */
const PMEM_PROVIDERS: Readonly<Record<string, string>> = { "ACPI.NFIT": "NVDIMM", "CXL": "CXL persistent memory" };

/** What a region of PMEM really is, or why it is none. */
function regionKind(facts: Facts, region: string | undefined): { pmem: boolean; text: string } {
  const provider = region === undefined ? undefined : facts[`pmem.${region}.provider`];
  if (region === undefined || provider === undefined) {
    return { pmem: false, text: "its PMEM region cannot be found in /sys/bus/nd" };
  }
  const known = PMEM_PROVIDERS[provider];
  if (known !== undefined) return { pmem: true, text: `${known} (${region}, ${provider})` };
  if (provider === "e820") {
    return { pmem: false, text: `${region} is DRAM set aside with the kernel option memmap=, lost at power-off` };
  }
  if (provider === "virtio-pmem") {
    return { pmem: false, text: `${region} is a file of the host (virtio-pmem), mapped without MAP_SYNC` };
  }
  return { pmem: false, text: `${region} comes from "${provider}", which is not known to be persistent memory` };
}

const VIRTUAL = "a hypervisor runs this machine, so the medium may be virtual: no speed of it counts as that of PMEM";

function isVirtual(facts: Facts): boolean {
  // Unknown counts as virtual: real speed has to be proven.
  return facts["cpu.virtual"] !== "no";
}

function libraryMissing(facts: Facts, library: string, debian: string): string | undefined {
  return facts[`library.${library}.available`] === "no"
    ? `${library} cannot be opened (${facts[`library.${library}.error`] ?? "no reason given"}); install ${debian}`
    : undefined;
}

function dram(facts: Facts): ConfigurationState {
  const nodes = nodesOf(facts).filter((node) => node.cpus !== "" && (node.totalBytes ?? 0) > 0);
  // Firmware of a virtual machine may list any cache; what its memory is was decided by the host.
  if (!isVirtual(facts) && nodes.length > 0 && nodes.every((node) => node.sideCacheBytes !== undefined)) {
    return {
      configuration: "dram",
      state: "unavailable",
      because: "all DRAM here is a cache in front of other memory (memory_side_cache of every node with CPUs), " +
        "so plain DRAM cannot be measured",
    };
  }
  return { configuration: "dram", state: "measured", because: "Plain DRAM of this machine" };
}

function memoryMode(facts: Facts): ConfigurationState {
  const cached = nodesOf(facts).filter((node) => node.cpus !== "" && (node.sideCacheBytes ?? 0) > 0);
  const where = cached.map((node) => node.node).join(", ");
  const cacheBytes = cached.reduce((sum, node) => sum + (node.sideCacheBytes ?? 0), 0);
  const modules = numberOf(facts, "pmem.modules") ?? 0;
  if (cached.length > 0 && modules > 0 && !isVirtual(facts)) {
    return {
      configuration: "memory-mode",
      state: "measured",
      because: `Firmware lists a DRAM cache of ${bytesText(cacheBytes)} in front of the memory of node ${where} ` +
        `(memory_side_cache) and ${modules} PMEM module${modules === 1 ? "" : "s"}`,
      cacheBytes,
      nodes: cached.map((node) => node.node),
      virtual: false,
    };
  }
  const other = modules > 0
    ? "a hypervisor runs this machine: Memory Mode belongs to its host's firmware, and no guest can tell"
    : "no PMEM modules are listed in /sys/bus/nd: it may be a cache of another kind, such as HBM";
  return {
    configuration: "memory-mode",
    state: "emulated",
    because: cached.length > 0
      ? `the memory of node ${where} has a cache of ${bytesText(cacheBytes)} in front (memory_side_cache), but ${other}`
      : "no memory_side_cache in sysfs: firmware lists no DRAM cache in front of other memory",
    // A guest cannot change how the modules of its host are used.
    ...(modules > 0 && placeOf(facts) === "bare-metal" ? { next: provisionCommand("memory-mode", facts) } : {}),
  };
}

/** Why a mount is no place for a measured fsdax tier; undefined: it is one. */
function mountProblem(facts: Facts, mount: MachineMount): { because: string; next?: string } | undefined {
  const block = /^\/dev\/(pmem\d+(?:\.\d+)?)(?:p\d+)?$/.exec(mount.device)?.[1];
  if (block === undefined) {
    return { because: `${mount.path} is on ${mount.device}, which cannot be traced to a PMEM region` };
  }
  const next = provisionCommand("fsdax", facts);
  if (mount.dax === undefined || mount.dax === "never") {
    return { because: `${mount.path} is mounted without DAX`, next };
  }
  if (mount.dax === "inode") {
    return { because: `${mount.path} is mounted with dax=inode, so DAX depends on each file's flag`, next };
  }
  const kind = regionKind(facts, namespacesOf(facts).find((space) => space.block === block)?.region);
  if (!kind.pmem) return { because: `${mount.path} is mounted with DAX, but ${kind.text}` };
  if (!mount.writable) {
    return { because: `${mount.path} is not writable for this user`, next };
  }
  return undefined;
}

/** What comes before a mount: a region, a namespace in fsdax mode, a file system. */
function fsdaxNext(facts: Facts): { because: string; next?: string } {
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

function fsdax(facts: Facts): ConfigurationState {
  const missing = libraryMissing(facts, "libpmem", "libpmem1");
  if (missing !== undefined) {
    return { configuration: "fsdax", state: "unavailable", because: missing, next: "apt-get install libpmem1" };
  }
  const mounts = mountsOf(facts).filter((mount) => mount.fileSystem !== "tmpfs");
  const good = mounts.find((mount) => mountProblem(facts, mount) === undefined);
  if (good !== undefined) {
    const block = /^\/dev\/(pmem\d+(?:\.\d+)?)/.exec(good.device)?.[1];
    const kind = regionKind(facts, namespacesOf(facts).find((space) => space.block === block)?.region);
    const virtual = isVirtual(facts);
    return {
      configuration: "fsdax",
      state: "measured",
      because: `${good.path} is ${good.fileSystem} mounted with DAX on ${good.device}, ${kind.text}` +
        (virtual ? `; ${VIRTUAL}` : ""),
      mount: good.path,
      virtual,
    };
  }
  const problem = mounts.map((mount) => mountProblem(facts, mount)).find((p) => p !== undefined) ?? fsdaxNext(facts);
  return { configuration: "fsdax", state: "emulated", ...problem };
}

/** Why a DAX device that became memory is no PMEM or CXL node; undefined: it is one. */
function kmemProblem(facts: Facts, device: DaxDevice): string | undefined {
  const node = nodesOf(facts).find((one) => one.node === device.targetNode);
  if (node === undefined || (node.totalBytes ?? 0) === 0) {
    return `${device.name} is system memory, but its node ${device.targetNode ?? "?"} has none of it online`;
  }
  if (node.cpus === undefined) return `whether node ${node.node} of ${device.name} has CPUs could not be read`;
  if (node.cpus !== "") return `${device.name} is memory of node ${node.node}, which has CPUs: it cannot be told apart`;
  if (device.origin === "cxl") return undefined;
  if (device.origin === "pmem") {
    const kind = regionKind(facts, device.region);
    return kind.pmem ? undefined : `${device.name} is memory of node ${node.node}, but ${kind.text}`;
  }
  return `${device.name} is memory of node ${node.node}, but where it comes from is not known ` +
    `(${device.origin === "hmem" ? "firmware calls it special purpose" : "no PMEM or CXL region"})`;
}

function kmemNext(facts: Facts): { because: string; next?: string } {
  const devices = daxOf(facts);
  const waiting = devices.find((device) => device.driver !== "kmem");
  if (waiting !== undefined) {
    const isCxl = waiting.origin === "cxl" || facts[`pmem.${waiting.region}.provider`] === "CXL";
    return {
      because: `${waiting.name} is a device, not memory of a NUMA node`,
      next: provisionCommand(isCxl ? "cxl-kmem" : "kmem-dax", facts),
    };
  }
  const bare = nodesOf(facts).find((node) => node.cpus === "" && (node.totalBytes ?? 0) > 0);
  if (bare !== undefined) {
    return {
      because:
        `node ${bare.node} has memory and no CPUs, but no DAX device belongs to it: that is how cloud machines ` +
        `show plain memory as well, so it is not proven to be PMEM or CXL memory`,
      next: "daxctl list",
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

/** The node that stands in for a medium: the first with CPUs and memory, or 0 where nodes are not known. */
function existingNode(facts: Facts): number {
  return nodesOf(facts).find((node) => node.cpus !== "" && (node.totalBytes ?? 0) > 0)?.node ?? 0;
}

function kmemDax(facts: Facts): ConfigurationState {
  const missing = libraryMissing(facts, "memkind", "libmemkind0");
  if (missing !== undefined) {
    return { configuration: "kmem-dax", state: "unavailable", because: missing, next: "apt-get install libmemkind0" };
  }
  const devices = daxOf(facts).filter((device) => device.driver === "kmem");
  const good = devices.filter((device) => kmemProblem(facts, device) === undefined);
  if (good.length > 0) {
    const nodes = [...new Set(good.map((device) => device.targetNode ?? -1))].sort((a, b) => a - b);
    const virtual = isVirtual(facts);
    const origins = good.map((device) =>
      `node ${device.targetNode} from ${device.name}, ` +
      (device.origin === "cxl" ? "CXL memory" : regionKind(facts, device.region).text)
    );
    return {
      configuration: "kmem-dax",
      state: "measured",
      because: `Memory without CPUs that a DAX device became: ${origins.join("; ")}${virtual ? `; ${VIRTUAL}` : ""}`,
      nodes,
      virtual,
    };
  }
  const problem = devices.map((device) => kmemProblem(facts, device)).find((p) => p !== undefined);
  const found = problem === undefined ? kmemNext(facts) : { because: problem, next: "daxctl list -u" };
  return { configuration: "kmem-dax", state: "emulated", nodes: [existingNode(facts)], ...found };
}

/** Every configuration with its state on this machine: `dram`, `memory-mode`, `fsdax`, `kmem-dax`. */
export function configurations(machine: MachineRecord): ConfigurationState[] {
  const { facts } = machine;
  return [dram(facts), memoryMode(facts), fsdax(facts), kmemDax(facts)];
}

/** The same for the planner: the media that are here and verified, or the reason. Disks are looked at when asked for. */
export function availability(machine: MachineRecord): Availability {
  const [plain, mode, file, nodes] = configurations(machine);
  const absent = (state: ConfigurationState | undefined) => ({
    available: false as const,
    reason: state?.because ?? "not known",
    emulable: state?.state === "emulated",
  });
  return {
    dram: plain?.state === "measured" ? { available: true } : absent(plain),
    memoryMode: mode?.state === "measured"
      ? { available: true, cacheBytes: mode.cacheBytes ?? 0, virtual: mode.virtual ?? true }
      : absent(mode),
    fsdax: file?.state === "measured" && file.mount !== undefined
      ? { available: true, path: file.mount, virtual: file.virtual ?? true }
      : absent(file),
    kmemDax: nodes?.state === "measured"
      ? { available: true, nodes: nodes.nodes ?? [], virtual: nodes.virtual ?? true }
      : absent(nodes),
    ssd: probeSsd,
    existingNode: existingNode(machine.facts),
  };
}
