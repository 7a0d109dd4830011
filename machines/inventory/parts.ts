/**
 * The facts of `ts_machine_probe` (keys: `native/machine/machine.h`) as nodes, PMEM regions, DAX devices and mounts.
 * What the probe could not read is `undefined` here too.
 *
 * @module
 */

/** Facts as `key` → `value`. */
export type Facts = Readonly<Record<string, string>>;

/** A NUMA node. */
export interface MachineNode {
  readonly node: number;
  /** List like `0-3,8`; empty: no CPUs. */
  readonly cpus: string | undefined;
  readonly totalBytes: number | undefined;
  readonly freeBytes: number | undefined;
  /** Physical addresses from its first memory block to the end of its last. */
  readonly start: number | undefined;
  /** Where the last of them ends. */
  readonly end: number | undefined;
  /** The kernel's weight of it for interleaved pages (Linux 6.9). */
  readonly interleaveWeight: number | undefined;
  /** Distances to nodes 0, 1, … */
  readonly distance: string | undefined;
  /** The kernel's memory tier, e.g. `memory_tier4`. */
  readonly tier: string | undefined;
  /** From firmware (HMAT) or a CXL device (CDAT). */
  readonly readLatencyNs: number | undefined;
  readonly readBandwidthMBs: number | undefined;
  /** Bytes of the cache in front of the node's memory. */
  readonly sideCacheBytes: number | undefined;
}

/** A region of persistent memory. */
interface PmemRegion {
  readonly name: string;
  /** Who offers it: `ACPI.NFIT`, `CXL`, `e820`, `virtio-pmem`, … */
  readonly provider: string | undefined;
  readonly sizeBytes: number | undefined;
  readonly persistenceDomain: string | undefined;
}

/** A namespace in a region. */
interface PmemNamespace {
  readonly name: string;
  readonly region: string | undefined;
  /** `raw`, `memory` (fsdax), `dax` (devdax), `safe` (sector). */
  readonly mode: string | undefined;
  readonly sizeBytes: number | undefined;
  /** Block device, e.g. `pmem0`. */
  readonly block: string | undefined;
}

/** A device DAX. */
export interface DaxDevice {
  readonly name: string;
  /** `kmem` (memory of a node) or `device_dax` (`/dev/daxN.M`). */
  readonly driver: string | undefined;
  readonly sizeBytes: number | undefined;
  readonly targetNode: number | undefined;
  readonly origin: string | undefined;
  readonly region: string | undefined;
}

/** A mounted file system that the probe kept. */
export interface MachineMount {
  readonly path: string;
  readonly device: string;
  readonly fileSystem: string;
  /** `always`, `inode`, `never`, or `dax` from kernels before 5.8; undefined: no such option. */
  readonly dax: string | undefined;
  readonly writable: boolean;
  readonly sizeBytes: number | undefined;
  readonly freeBytes: number | undefined;
}

/** A number among the facts, or undefined. */
export function numberOf(facts: Facts, key: string): number | undefined {
  const value = facts[key];
  return value === undefined || !/^-?\d+(\.\d+)?$/.test(value) ? undefined : Number(value);
}

/** Distinct names between `prefix.` and the last dot of keys, in the order they come. */
function names(facts: Facts, prefix: string, pattern: RegExp): string[] {
  const found = new Set<string>();
  for (const key of Object.keys(facts)) {
    if (!key.startsWith(`${prefix}.`)) continue;
    const name = key.slice(prefix.length + 1, key.lastIndexOf("."));
    if (pattern.test(name)) found.add(name);
  }
  return [...found];
}

/** A processor socket: NUMA nodes are none, a socket may be several of them (SNC, NPS4), or half of one (NPS0). */
interface MachineSocket {
  /** The kernel's number of it. */
  readonly socket: number;
  /** Its CPUs that are online, a list like `0-3,8`. */
  readonly cpus: string;
}

/** Sockets in the order of their numbers; none: the kernel does not tell which CPUs belong together. */
export function socketsOf(facts: Facts): MachineSocket[] {
  return names(facts, "cpu.package", /^\d+$/).map((name) => ({
    socket: Number(name),
    cpus: facts[`cpu.package.${name}.cpus`] ?? "",
  })).sort((a, b) => a.socket - b.socket);
}

/** NUMA nodes in the order of their numbers. */
export function nodesOf(facts: Facts): MachineNode[] {
  return names(facts, "node", /^\d+$/).map((name) => ({
    node: Number(name),
    cpus: facts[`node.${name}.cpus`],
    totalBytes: numberOf(facts, `node.${name}.total`),
    freeBytes: numberOf(facts, `node.${name}.free`),
    start: numberOf(facts, `node.${name}.start`),
    end: numberOf(facts, `node.${name}.end`),
    interleaveWeight: numberOf(facts, `node.${name}.interleave_weight`),
    distance: facts[`node.${name}.distance`],
    tier: facts[`node.${name}.tier`],
    readLatencyNs: numberOf(facts, `node.${name}.read_latency_ns`),
    readBandwidthMBs: numberOf(facts, `node.${name}.read_bandwidth_mb_s`),
    sideCacheBytes: numberOf(facts, `node.${name}.side_cache_size`),
  })).sort((a, b) => a.node - b.node);
}

/** Regions of persistent memory. */
export function regionsOf(facts: Facts): PmemRegion[] {
  return names(facts, "pmem", /^region\d+$/).map((name) => ({
    name,
    provider: facts[`pmem.${name}.provider`],
    sizeBytes: numberOf(facts, `pmem.${name}.size`),
    persistenceDomain: facts[`pmem.${name}.persistence_domain`],
  }));
}

/** Namespaces of persistent memory. */
export function namespacesOf(facts: Facts): PmemNamespace[] {
  return names(facts, "pmem", /^namespace\d+\.\d+$/).map((name) => ({
    name,
    region: facts[`pmem.${name}.region`],
    mode: facts[`pmem.${name}.mode`],
    sizeBytes: numberOf(facts, `pmem.${name}.size`),
    block: facts[`pmem.${name}.block`],
  }));
}

/** DAX devices. */
export function daxOf(facts: Facts): DaxDevice[] {
  return names(facts, "dax", /^dax\d+\.\d+$/).map((name) => ({
    name,
    driver: facts[`dax.${name}.driver`],
    sizeBytes: numberOf(facts, `dax.${name}.size`),
    targetNode: numberOf(facts, `dax.${name}.target_node`),
    origin: facts[`dax.${name}.origin`],
    region: facts[`dax.${name}.region`],
  }));
}

/** Physical addresses that lead to CXL: a region, or a window that firmware gives to CXL (CFMWS), a decoder of the root. */
interface CxlRange {
  readonly name: string;
  readonly start: number;
  readonly end: number;
}

/** Regions and windows of CXL whose addresses are known; those of windows only root may read. */
export function cxlRangesOf(facts: Facts): CxlRange[] {
  return names(facts, "cxl", /^(region\d+|decoder\d+\.\d+)$/).flatMap((name) => {
    const start = numberOf(facts, `cxl.${name}.start`);
    const bytes = numberOf(facts, `cxl.${name}.size`);
    return start === undefined || bytes === undefined || bytes === 0 ? [] : [{ name, start, end: start + bytes }];
  });
}

/** Mounts with DAX or on PMEM, and `/dev/shm`. */
export function mountsOf(facts: Facts): MachineMount[] {
  return names(facts, "mount", /^\d+$/).map((name) => ({
    path: facts[`mount.${name}.path`] ?? "",
    device: facts[`mount.${name}.device`] ?? "",
    fileSystem: facts[`mount.${name}.filesystem`] ?? "",
    dax: facts[`mount.${name}.dax`],
    writable: facts[`mount.${name}.writable`] === "yes",
    sizeBytes: numberOf(facts, `mount.${name}.size`),
    freeBytes: numberOf(facts, `mount.${name}.free`),
  }));
}
