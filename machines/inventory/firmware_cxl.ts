/**
 * CXL memory that firmware mapped: the usual case of an expander, with neither a DAX device nor, often, a region.
 *
 * @module
 */

import { cxlRangesOf, daxOf, type Facts, nodesOf } from "./parts.ts";

/** A node without CPUs that firmware made of memory behind CXL: no device of ours leads to it, but its addresses do. */
export interface FirmwareCxl {
  readonly node: number;
  /** Part of a sentence: what proves it, and how fast firmware says it is. */
  readonly text: string;
}

/**
 * Nodes whose memory lies behind CXL as a whole, by its physical addresses: in one region, or in one window that firmware
 * gives to CXL (CFMWS). Whoever mapped it there: expanders that firmware sets up have no DAX device, often no region.
 */
export function firmwareCxl(facts: Facts): FirmwareCxl[] {
  const devices = daxOf(facts).filter(({ driver }) => driver === "kmem");
  const ranges = cxlRangesOf(facts);
  return nodesOf(facts).flatMap(({ node, cpus, totalBytes = 0, start, end, readLatencyNs, readBandwidthMBs }) => {
    if (cpus !== "" || totalBytes === 0 || start === undefined || end === undefined) return [];
    if (devices.some(({ targetNode }) => targetNode === node)) return [];
    const found = ranges.find((range) => range.start <= start && end <= range.end);
    if (found === undefined) return [];
    const speed = [
      ...(readLatencyNs === undefined ? [] : [`${readLatencyNs} ns`]),
      ...(readBandwidthMBs === undefined ? [] : [`${readBandwidthMBs} MB/s`]),
    ];
    const said = speed.length === 0 ? "firmware does not say how fast" : `${speed.join(" and ")} by HMAT or CDAT`;
    const range = found.name.startsWith("region") ? "region" : "CXL window";
    return [{ node, text: `CXL memory that firmware mapped (in ${range} ${found.name}, ${said})` }];
  });
}
