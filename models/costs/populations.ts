/**
 * Which memory a server can be populated with. Channels are populated alike, as vendors ask for full bandwidth, so sizes
 * come in steps: that is the over-buy of owned hardware.
 *
 * Rules of the PMem platform: six channels a socket with two slots each; one PMem module a channel at most, beside a DRAM
 * module; 2, 4 or 6 PMem modules a socket (2-1-1, 2-2-1, 2-2-2); PMem to DRAM between 4 : 1 and 16 : 1 in Memory Mode
 * (from Intel's guides, from memory). Rules of the CXL platform: eight channels a socket with two slots; up to four cards
 * of 256 GB, as Micron showed with its CZ120.
 *
 * @module
 */

import type { Medium } from "./price_book.ts";

/** A server that memory is put into. */
export interface Platform {
  /** Sockets and generation: `2 × Cascade Lake`. */
  readonly name: string;
  /** Processors of a server. */
  readonly sockets: number;
  /** Memory channels of a socket. */
  readonly channels: number;
  /** Slots of a channel. */
  readonly slots: number;
  /** Virtual CPUs of all sockets: an assumption. */
  readonly vcpus: number;
  /** Network in each direction, GB/s. */
  readonly networkGBs: number;
  /** DRAM modules that fit: their kind and their sizes in GB as sold. */
  readonly dram: { readonly medium: Medium; readonly sizesGB: readonly number[] };
  /** PMem modules that fit beside DRAM; absent on a platform without PMem. Sizes in GB as sold. */
  readonly pmem?: {
    readonly medium: Medium;
    readonly sizesGB: readonly number[];
    /** Modules of a socket that can be built. */
    readonly perSocket: readonly number[];
    /** PMem ÷ DRAM allowed in Memory Mode. */
    readonly memoryModeRatio: readonly [number, number];
  };
  /** CXL memory cards that fit: GB of one, and how many at most; absent on a platform without CXL. */
  readonly cxl?: { readonly sizeGB: number; readonly mostCards: number };
}

/** The platforms that are known. */
export const PLATFORMS: readonly Platform[] = [
  {
    name: "2 × Cascade Lake",
    sockets: 2,
    channels: 6,
    slots: 2,
    vcpus: 96,
    networkGBs: 12.5,
    dram: { medium: "DDR4", sizesGB: [16, 32, 64, 128] },
    pmem: { medium: "PMem 100", sizesGB: [128, 256, 512], perSocket: [2, 4, 6], memoryModeRatio: [4, 16] },
  },
  {
    name: "2 × Sapphire Rapids",
    sockets: 2,
    channels: 8,
    slots: 2,
    vcpus: 128,
    networkGBs: 12.5,
    dram: { medium: "DDR5", sizesGB: [16, 32, 64, 96, 128, 256] },
    cxl: { sizeGB: 256, mostCards: 4 },
  },
];

/** Modules in a server. */
export interface Population {
  /** The server that they are in. */
  readonly platform: Platform;
  /** Modules and their size. */
  readonly dram: { readonly count: number; readonly sizeGB: number };
  /** PMem modules and GB of one as sold; count 0: none. */
  readonly pmem: { readonly count: number; readonly sizeGB: number };
  /** CXL cards and GB of one; count 0: none. */
  readonly cxl: { readonly count: number; readonly sizeGB: number };
  /** Whether Memory Mode is allowed on it. */
  readonly memoryMode: boolean;
}

/** Every population of a platform that can be built, the least DRAM first. */
export function populations(platform: Platform): Population[] {
  const { sockets, channels, slots, dram, pmem, cxl } = platform;
  const none = { count: 0, sizeGB: 0 };
  const found: Population[] = [];
  for (const sizeGB of dram.sizesGB) {
    for (let perChannel = 1; perChannel <= slots; perChannel++) {
      const modules = { count: sockets * channels * perChannel, sizeGB };
      found.push({ platform, dram: modules, pmem: none, cxl: none, memoryMode: false });
      for (let cards = 1; cards <= (cxl?.mostCards ?? 0); cards++) {
        const held = { count: cards, sizeGB: cxl?.sizeGB ?? 0 };
        found.push({ platform, dram: modules, pmem: none, cxl: held, memoryMode: false });
      }
      if (perChannel === slots) continue; // no slot is left for PMem
      for (const pmemSize of pmem?.sizesGB ?? []) {
        for (const count of pmem?.perSocket ?? []) {
          const held = { count: sockets * count, sizeGB: pmemSize };
          const ratio = held.count * pmemSize / (modules.count * sizeGB);
          const [least, most] = pmem?.memoryModeRatio ?? [Infinity, 0];
          found.push({ platform, dram: modules, pmem: held, cxl: none, memoryMode: ratio >= least && ratio <= most });
        }
      }
    }
  }
  return found.sort((a, b) => a.dram.count * a.dram.sizeGB - b.dram.count * b.dram.sizeGB);
}
