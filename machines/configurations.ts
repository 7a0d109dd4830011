/**
 * Which configurations a machine allows: what can be measured because the medium is there and was verified, what can be
 * emulated, and what keeps the rest away. Nothing is guessed: a fact that the probe could not read counts against
 * `measured`.
 *
 * @module
 */

import type { Availability } from "./availability.ts";
import { formatBytes } from "../base/bytes.ts";
import {
  type DaxDevice,
  daxOf,
  type Facts,
  type MachineMount,
  mountsOf,
  nodesOf,
  numberOf,
} from "./inventory/parts.ts";
import { type FirmwareCxl, firmwareCxl } from "./inventory/firmware_cxl.ts";
import { hbmState } from "./hbm.ts";
import { probeHbmDevice } from "./hbm_device.ts";
import type { MachineRecord } from "./inventory/machine_record.ts";
import { probedPlace, provisionCommand } from "./provisioning/command.ts";
import { probeSsd } from "./ssd.ts";
import { unprovenMedia } from "./unproven.ts";
import {
  deviceKind,
  fsdaxNext,
  isVirtual,
  kmemNext,
  libpmemMissing,
  memkindMissing,
  type MissingPart,
  mountWayProblem,
  nodeWayProblem,
  regionBehind,
  regionKind,
  VIRTUAL,
  VOUCH,
} from "./ways.ts";

/** The configurations of the memory of a machine. */
export type ConfigurationName = "dram" | "memory-mode" | "fsdax" | "kmem-dax" | "hbm";

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
  /** Further DAX file systems on verified media (`fsdax`, measured); absent without. */
  readonly otherMounts?: readonly string[];
  /** NUMA nodes of the medium (`kmem-dax` and `hbm`, measured), or the node that stands in (emulated). */
  readonly nodes?: readonly number[];
  /** Those of the nodes that are CXL memory (`kmem-dax`, measured); absent: none. */
  readonly cxlNodes?: readonly number[];
  /** Those of the DAX file systems that are on CXL memory (`fsdax`, measured); absent: none. */
  readonly cxlMounts?: readonly string[];
  /** Bytes of the DRAM cache (`memory-mode`, measured). */
  readonly cacheBytes?: number;
  /** True if a hypervisor provides the medium: no speed of it may be shown as that of PMEM. */
  readonly virtual?: boolean;
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
      because: `Firmware lists a DRAM cache of ${formatBytes(cacheBytes)} in front of the memory of node ${where} ` +
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
      ? `the memory of node ${where} has a cache of ${
        formatBytes(cacheBytes)
      } in front (memory_side_cache), but ${other}`
      : "no memory_side_cache in sysfs: firmware lists no DRAM cache in front of other memory",
    // A guest cannot change how the modules of its host are used.
    ...(modules > 0 && probedPlace(facts) === "bare-metal" ? { next: provisionCommand("memory-mode", facts) } : {}),
  };
}

/** Why a mount is no place for a measured fsdax tier; undefined: it is one. */
function mountProblem(facts: Facts, mount: MachineMount): MissingPart | undefined {
  const way = mountWayProblem(facts, mount);
  if (way !== undefined) return way;
  const kind = regionKind(facts, regionBehind(facts, mount));
  return kind.proven ? undefined : { because: `${mount.path} is mounted with DAX, but ${kind.text}` };
}

function fsdax(facts: Facts): ConfigurationState {
  const missing = libpmemMissing(facts);
  if (missing !== undefined) {
    return { configuration: "fsdax", state: "unavailable", because: missing, next: "apt-get install libpmem1" };
  }
  const mounts = mountsOf(facts).filter((mount) => mount.fileSystem !== "tmpfs");
  const [good, ...others] = mounts.filter((mount) => mountProblem(facts, mount) === undefined);
  if (good !== undefined) {
    const kind = regionKind(facts, regionBehind(facts, good));
    const cxl = [good, ...others].filter((mount) => regionKind(facts, regionBehind(facts, mount)).medium === "cxl");
    const virtual = isVirtual(facts);
    return {
      configuration: "fsdax",
      state: "measured",
      because: `${good.path} is ${good.fileSystem} mounted with DAX on ${good.device}, ${kind.text}` +
        (virtual ? `; ${VIRTUAL}` : ""),
      mount: good.path,
      ...(others.length === 0 ? {} : { otherMounts: others.map(({ path }) => path) }),
      ...(cxl.length === 0 ? {} : { cxlMounts: cxl.map(({ path }) => path) }),
      virtual,
    };
  }
  const problem = mounts.map((mount) => mountProblem(facts, mount)).find((p) => p !== undefined) ?? fsdaxNext(facts);
  const word = unprovenMedia(facts).fsdax.possible ? { next: VOUCH } : {};
  return { configuration: "fsdax", state: "emulated", ...word, ...problem };
}

/** Why a DAX device that became memory is no PMEM or CXL node; undefined: it is one. */
function kmemProblem(facts: Facts, device: DaxDevice): string | undefined {
  const way = nodeWayProblem(facts, device.targetNode, device.name);
  if (way !== undefined) return way;
  const kind = deviceKind(facts, device);
  return kind.proven ? undefined : `${device.name} is memory of node ${device.targetNode}, but ${kind.text}`;
}

/** The node that stands in for a medium: the first with CPUs and memory, or 0 where nodes are not known. */
function existingNode(facts: Facts): number {
  return nodesOf(facts).find((node) => node.cpus !== "" && (node.totalBytes ?? 0) > 0)?.node ?? 0;
}

function kmemDax(facts: Facts): ConfigurationState {
  const missing = memkindMissing(facts);
  return missing === undefined
    ? memoryNodes(facts)
    : { configuration: "kmem-dax", state: "unavailable", because: missing, next: "apt-get install libmemkind0" };
}

/** The same for whoever takes the nodes without memkind. */
function memoryNodes(facts: Facts): ConfigurationState {
  const devices = daxOf(facts).filter((device) => device.driver === "kmem");
  const good = devices.filter((device) => kmemProblem(facts, device) === undefined);
  const mapped = firmwareCxl(facts);
  if (good.length + mapped.length > 0) {
    const became = (devices: readonly DaxDevice[], more: readonly FirmwareCxl[]) =>
      [...new Set([...devices.map((device) => device.targetNode ?? -1), ...more.map(({ node }) => node)])]
        .sort((a, b) => a - b);
    const cxl = became(good.filter((device) => deviceKind(facts, device).medium === "cxl"), mapped);
    const virtual = isVirtual(facts);
    const origins = [
      ...good.map((device) => `node ${device.targetNode} from ${device.name}, ${deviceKind(facts, device).text}`),
      ...mapped.map(({ node, text }) => `node ${node}, ${text}`),
    ];
    return {
      configuration: "kmem-dax",
      state: "measured",
      because: `Memory without CPUs${good.length === 0 ? "" : " that a DAX device became"}: ${origins.join("; ")}` +
        (virtual ? `; ${VIRTUAL}` : ""),
      nodes: became(good, mapped),
      ...(cxl.length === 0 ? {} : { cxlNodes: cxl }),
      virtual,
    };
  }
  const problem = devices.map((device) => kmemProblem(facts, device)).find((p) => p !== undefined);
  const found = problem === undefined ? kmemNext(facts) : { because: problem, next: "daxctl list -u" };
  return { configuration: "kmem-dax", state: "emulated", nodes: [existingNode(facts)], ...found };
}

function dramNodes(facts: Facts): number[] {
  return nodesOf(facts).filter((node) => node.cpus !== "" && (node.totalBytes ?? 0) > 0).map(({ node }) => node);
}

function weightsOf(facts: Facts): Pick<Availability, "weights"> {
  const known = nodesOf(facts).flatMap(({ node, interleaveWeight }) =>
    interleaveWeight === undefined ? [] : [[node, interleaveWeight] as const]
  );
  return known.length === 0 ? {} : { weights: Object.fromEntries(known) };
}

/** Whether the kernel promotes hot pages (NUMA balancing in its mode for memory tiers) and demotes cold ones. */
function kernelTiering({ facts, memoryBytes }: MachineRecord): Availability["tiering"] {
  const [balancing, demotion] = [facts["noise.numa_balancing"], facts["kernel.numa_demotion"]];
  const off = [
    ...((Number(balancing ?? 0) & 2) === 0
      ? [`hot pages are not promoted (numa_balancing is ${balancing ?? "not there"}, 2 is needed)`]
      : []),
    ...(demotion === "true" ? [] : [`cold pages are not demoted (demotion_enabled is ${demotion ?? "not there"})`]),
  ];
  return off.length === 0 ? { available: true, dramBytes: memoryBytes } : { available: false, reason: off.join("; ") };
}

/** Every configuration with its state on this machine: `dram`, `memory-mode`, `fsdax`, `kmem-dax`, `hbm`. */
export function configurations(machine: MachineRecord): ConfigurationState[] {
  const { facts } = machine;
  return [dram(facts), memoryMode(facts), fsdax(facts), kmemDax(facts), { configuration: "hbm", ...hbmState(facts) }];
}

/** The same for the planner: the media that are here and verified, or the reason. Disks are looked at when asked for. */
export function availability(machine: MachineRecord): Availability {
  const [plain, mode, file, , hbm] = configurations(machine);
  const nodes = memoryNodes(machine.facts);
  const noMemkind = memkindMissing(machine.facts);
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
      ? {
        available: true,
        path: file.mount,
        ...(file.otherMounts === undefined ? {} : { others: file.otherMounts }),
        ...(file.cxlMounts === undefined ? {} : { cxl: file.cxlMounts }),
        virtual: file.virtual ?? true,
      }
      : absent(file),
    kmemDax: nodes.state === "measured"
      ? {
        available: true,
        nodes: nodes.nodes ?? [],
        ...(nodes.cxlNodes === undefined ? {} : { cxl: nodes.cxlNodes }),
        virtual: nodes.virtual ?? true,
      }
      : absent(nodes),
    hbm: hbm?.state === "measured"
      ? { available: true, nodes: hbm.nodes ?? [], virtual: hbm.virtual ?? true }
      : { ...absent(hbm), emulable: false },
    hbmDevice: probeHbmDevice,
    dramNodes: dramNodes(machine.facts),
    ...weightsOf(machine.facts),
    tiering: kernelTiering(machine),
    memkind: noMemkind === undefined ? { available: true } : { available: false, reason: noMemkind, emulable: false },
    ssd: probeSsd,
    unproven: unprovenMedia(machine.facts),
    existingNode: existingNode(machine.facts),
  };
}
