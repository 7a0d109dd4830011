/**
 * Who offers a region (`ndctl list -B`), and what follows for a configuration.
 *
 * @module
 */

import type { RegionView } from "./regions.ts";

/** Regions of NVDIMMs, virtual ones included. */
export function nvdimm(region: RegionView): boolean {
  return region.provider === "ACPI.NFIT";
}

/** Regions of CXL memory devices. */
export function cxl(region: RegionView): boolean {
  return region.provider === "CXL";
}

/** Memory set aside with the kernel option memmap=: DRAM. */
export function setAside(region: RegionView): boolean {
  return region.provider === "e820";
}

/** A file of the host: can be mounted with DAX, but not mapped with MAP_SYNC, so stores cannot be made durable. */
export function virtioPmem(region: RegionView): boolean {
  return region.provider === "virtio-pmem";
}

/** The plain statement on memory that only looks persistent. */
export const DRAM_STATEMENT: string =
  "memory set aside with memmap= is DRAM to this machine: its file system is lost at power-off, unless the provider " +
  "backs the range with PMEM; no speed of it counts as that of PMEM";
