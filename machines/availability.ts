/**
 * What of a configuration's medium this machine has. `machines/machine.ts` finds it out; what follows from it for a
 * scenario is decided in `scenarios/run/configurations.ts`.
 *
 * @module
 */

import type { SsdTier } from "../ffi/storage.ts";

/** A medium that is here and was verified, or why it is not. */
export type Found<T> =
  | ({ readonly available: true } & T)
  | {
    readonly available: false;
    readonly reason: string;
    /** False if not even emulation can run, since a library is missing. */
    readonly emulable?: boolean;
  };

/**
 * Ways of a configuration's own kind to media of which nothing here proves what they are, and what the machine itself
 * shows of each, part of a sentence; or why there is none.
 */
type Unproven<T> =
  | { readonly possible: true; readonly ways: readonly (T & { readonly shows: string })[] }
  | { readonly possible: false; readonly why: string };

/** Media that only the owner can name. */
export interface UnprovenMedia {
  /** File systems that map what is behind them directly. */
  readonly fsdax: Unproven<{ readonly path: string }>;
  /** Nodes without CPUs; `device`: a DAX device became it, else firmware made it. */
  readonly kmemDax: Unproven<{ readonly node: number; readonly device: boolean }>;
}

/** An OpenCL device whose memory can hold rows; words of the driver, with _ for spaces. */
export interface HbmDevice {
  /** Name of the device. */
  readonly name: string;
  /** Name of its platform. */
  readonly platform: string;
  /** Version of its driver. */
  readonly driver: string;
  /** Version of OpenCL that it speaks, with what the driver adds. */
  readonly version: string;
  /** True if it is a CPU: what is timed there is no GPU's memory. */
  readonly isCpu: boolean;
}

/** The media of this machine. */
export interface Availability {
  /** Plain DRAM; not available where all DRAM is a cache in front of PMEM. */
  readonly dram: Found<object>;
  /** A mounted file system that maps PMEM directly. */
  readonly fsdax: Found<{
    readonly path: string;
    /** Further such file systems, where there are some. */
    readonly others?: readonly string[];
    /** Those of them that are on persistent memory behind CXL; absent: none. */
    readonly cxl?: readonly string[];
    readonly virtual: boolean;
  }>;
  /** PMEM or CXL memory as NUMA nodes without CPUs; `cxl`: those of the nodes that are CXL memory, absent: none. */
  readonly kmemDax: Found<{
    readonly nodes: readonly number[];
    readonly cxl?: readonly number[];
    readonly virtual: boolean;
  }>;
  /** Nodes with CPUs and memory: DRAM. */
  readonly dramNodes: readonly number[];
  /** The kernel's weight of each node for pages that are interleaved by weights; absent before Linux 6.9. */
  readonly weights?: Readonly<Record<number, number>>;
  /** The kernel moves hot pages up and cold ones down by itself; the bytes of DRAM it has for that. */
  readonly tiering: Found<{ readonly dramBytes: number }>;
  /** NUMA nodes that firmware shows to have more bandwidth than DRAM. */
  readonly hbm: Found<{ readonly nodes: readonly number[]; readonly virtual: boolean }>;
  /** The OpenCL device that a store would take, by a part of its name: asked when a scenario needs it. */
  readonly hbmDevice: (wanted: string | undefined) => Found<{ readonly device: HbmDevice }>;
  /** The library memkind, which one of the ways to such nodes takes. */
  readonly memkind: Found<object>;
  /** DRAM that is a cache in front of PMEM, and its bytes. */
  readonly memoryMode: Found<{ readonly cacheBytes: number; readonly virtual: boolean }>;
  /**
   * Whether a tier on a disk can be opened: its library is there, and the directory can be written to and is on a disk.
   * Without a directory, the project's cache folder is meant.
   */
  readonly ssd: (tier: SsdTier, directory: string | undefined) => Found<object>;
  /** What is here in a configuration's own way, without a proof of what it is. */
  readonly unproven: UnprovenMedia;
  /** A node that stands in for such a node in emulation: any node with memory. */
  readonly existingNode: number;
}
