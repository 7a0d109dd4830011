/**
 * What the name of a storage type says: its tiers, fastest first.
 *
 * @module
 */

/** A tier by what it needs. */
type TierName = "HBM" | "DRAM" | "PMEM" | "SSDHASH" | "LEVELDB";

/** A tier whose rows are in files on a disk, read and written in batches. */
export type SsdTier = Extract<TierName, "SSDHASH" | "LEVELDB">;

/** The tiers of every storage type that a scenario may have, fastest first. */
export const STORAGE_TIERS = {
  DRAM: ["DRAM"],
  PMEM_LIBPMEM: ["PMEM"],
  PMEM_MEMKIND: ["PMEM"],
  PMEM_MBIND: ["PMEM"],
  SSDHASH: ["SSDHASH"],
  LEVELDB: ["LEVELDB"],
  DRAM_PMEM: ["DRAM", "PMEM"],
  DRAM_SSDHASH: ["DRAM", "SSDHASH"],
  DRAM_LEVELDB: ["DRAM", "LEVELDB"],
  DRAM_PMEM_SSDHASH: ["DRAM", "PMEM", "SSDHASH"],
  DRAM_PMEM_LEVELDB: ["DRAM", "PMEM", "LEVELDB"],
  HBM: ["HBM"],
  HBM_DRAM: ["HBM", "DRAM"],
  HBM_DRAM_PMEM: ["HBM", "DRAM", "PMEM"],
  HBM_DRAM_LEVELDB: ["HBM", "DRAM", "LEVELDB"],
  HBM_DRAM_SSDHASH: ["HBM", "DRAM", "SSDHASH"],
  HBM_DRAM_PMEM_LEVELDB: ["HBM", "DRAM", "PMEM", "LEVELDB"],
  HBM_DRAM_PMEM_SSDHASH: ["HBM", "DRAM", "PMEM", "SSDHASH"],
} as const;

/** Storage types of a scenario, DeepRec's names, and `PMEM_MBIND`. */
export type ScenarioStorage = keyof typeof STORAGE_TIERS;

/** The storage type that keeps no row: what a store costs without memory behind it. For benches; no scenario has it. */
export type NullStorage = "NULL";

/**
 * Storage types, by DeepRec's names: the tiers, fastest first. `PMEM_MBIND` and `NULL` are no types of DeepRec's.
 */
export type StorageType = ScenarioStorage | NullStorage;

/** Every storage type of a scenario. */
export const STORAGE_TYPES = Object.keys(STORAGE_TIERS) as ScenarioStorage[];

/**
 * What holds a PMEM tier: a file that libpmem maps, or NUMA nodes whose memory comes through memkind or is bound with
 * mbind(2), without a library.
 */
export type PmemLibrary = "libpmem" | "memkind" | "mbind";

/**
 * What holds an HBM tier: NUMA nodes whose memory the CPU reads and writes itself, found by memkind, or named and bound with
 * mbind(2), without a library; or the memory of an OpenCL device, a GPU's or, for trials, a CPU's.
 */
export type HbmLibrary = "memkind" | "mbind" | "opencl";

/** Every way to hold an HBM tier. */
export const HBM_LIBRARIES: readonly HbmLibrary[] = ["memkind", "mbind", "opencl"];

/** Every way to hold a PMEM tier. */
export const PMEM_LIBRARIES: readonly PmemLibrary[] = ["libpmem", "memkind", "mbind"];

/** The part of a configuration that says what holds its rows. */
interface StorageChoice {
  readonly storage: ScenarioStorage;
  readonly pmem?: PmemLibrary;
}

/** The tiers of a storage type, fastest first. */
export function tiersOf(storage: ScenarioStorage): readonly TierName[] {
  return STORAGE_TIERS[storage];
}

/** The tier of a storage type that is on a disk, if it has one. */
export function ssdTierOf(storage: ScenarioStorage): SsdTier | undefined {
  return tiersOf(storage).find((tier): tier is SsdTier => tier === "SSDHASH" || tier === "LEVELDB");
}

/** Whether DRAM has a tier below it: then its bytes are the budget that such configurations share. */
export function hasDramTier(storage: ScenarioStorage): boolean {
  const at = dramTierOf(storage);
  return at !== undefined && at < tiersOf(storage).length - 1;
}

/** The position of the DRAM tier, from 0: after that of HBM, where there is one; undefined without. */
export function dramTierOf(storage: ScenarioStorage): number | undefined {
  const at = tiersOf(storage).indexOf("DRAM");
  return at < 0 ? undefined : at;
}

/** Whether HBM is the first tier. */
export function hasHbm(storage: ScenarioStorage): boolean {
  return tiersOf(storage)[0] === "HBM";
}

/** Whether the name leaves open what holds the PMEM tier, so that the configuration must say. */
export function needsPmemLibrary(storage: ScenarioStorage): boolean {
  return hasDramTier(storage) && tiersOf(storage).includes("PMEM");
}

/** Whether a library holds a tier of the configuration, by the type's own name or by `pmem`. */
function uses({ storage, pmem }: StorageChoice, library: PmemLibrary): boolean {
  return storage === `PMEM_${library.toUpperCase()}` || (needsPmemLibrary(storage) && pmem === library);
}

/** Whether a configuration's rows live in a file that libpmem maps. */
export function usesLibpmem(choice: StorageChoice): boolean {
  return uses(choice, "libpmem");
}

/** Whether a configuration's rows live on NUMA nodes that memkind allocates from. */
export function usesMemkind(choice: StorageChoice): boolean {
  return uses(choice, "memkind");
}

/** Whether a configuration's rows live on NUMA nodes that they are bound to with mbind(2). */
export function usesMbind(choice: StorageChoice): boolean {
  return uses(choice, "mbind");
}

/** Whether a configuration's rows live on NUMA nodes, by either way. */
export function usesNodes(choice: StorageChoice): boolean {
  return usesMemkind(choice) || usesMbind(choice);
}

/**
 * Whether the last tier of a configuration can keep restore points, so that a store on it can be `persistent`: SSDHASH, or
 * PMEM over libpmem.
 */
export function canLast(choice: StorageChoice): boolean {
  const last = tiersOf(choice.storage).at(-1);
  return last === "SSDHASH" || (last === "PMEM" && usesLibpmem(choice));
}
