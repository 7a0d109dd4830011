/**
 * HBM that the CPU addresses, as NUMA nodes: nothing names it, but firmware says how fast memory is.
 *
 * @module
 */

import { formatBytes } from "../../base/bytes.ts";
import { firmwareCxl } from "./firmware_cxl.ts";
import { daxOf, type Facts, nodesOf, numberOf } from "./parts.ts";

/** A node without CPUs whose memory has more bandwidth than DRAM, by the firmware's HMAT. */
export interface HbmNode {
  readonly node: number;
  /** Part of a sentence: both bandwidths. */
  readonly text: string;
  /** Bandwidth of reads, MB/s. */
  readonly readBandwidthMBs: number;
}

/** Nodes with memory and without CPUs, of which neither a device nor an address says that they are PMEM or CXL memory. */
export function plainNodes(facts: Facts): ReturnType<typeof nodesOf> {
  const devices = daxOf(facts).filter(({ driver, origin }) => driver === "kmem" && origin !== "hmem");
  const known = new Set([
    ...devices.map(({ targetNode }) => targetNode),
    ...firmwareCxl(facts).map(({ node }) => node),
  ]);
  return nodesOf(facts).filter(({ node, cpus, totalBytes }) =>
    cpus === "" && (totalBytes ?? 0) > 0 && !known.has(node)
  );
}

/** Bandwidth of reads that firmware gives the DRAM, the nodes with CPUs: the highest, MB/s; undefined if it leaves one out. */
export function dramBandwidth(facts: Facts): number | undefined {
  const dram = nodesOf(facts).filter(({ cpus, totalBytes }) =>
    cpus !== "" && cpus !== undefined && (totalBytes ?? 0) > 0
  );
  const known = dram.flatMap(({ readBandwidthMBs }) => readBandwidthMBs === undefined ? [] : [readBandwidthMBs]);
  return dram.length === 0 || known.length < dram.length ? undefined : Math.max(...known);
}

/** The nodes of HBM: more bandwidth than DRAM's is what makes memory that. */
export function hbmNodes(facts: Facts): HbmNode[] {
  const dram = dramBandwidth(facts);
  if (dram === undefined) return [];
  return plainNodes(facts).flatMap(({ node, readBandwidthMBs }) =>
    readBandwidthMBs === undefined || readBandwidthMBs <= dram ? [] : [{
      node,
      readBandwidthMBs,
      text: `node ${node} without CPUs, ${readBandwidthMBs} MB/s by HMAT where DRAM has ${dram} MB/s`,
    }]
  );
}

/** HBM that is a cache in front of DRAM, as far as it can be told: a cache that is not PMEM's Memory Mode. */
export function hbmCache(facts: Facts): string | undefined {
  const cached = nodesOf(facts).filter((node) => node.cpus !== "" && (node.sideCacheBytes ?? 0) > 0);
  if (cached.length === 0 || facts["cpu.virtual"] !== "no" || (numberOf(facts, "pmem.modules") ?? 0) > 0) {
    return undefined;
  }
  const bytes = cached.reduce((sum, node) => sum + (node.sideCacheBytes ?? 0), 0);
  return `a cache of ${formatBytes(bytes)} is in front of the DRAM of node ${
    cached.map(({ node }) => node).join(", ")
  } ` +
    "(memory_side_cache), and there is no PMEM: that is how HBM in cache mode shows; the hardware decides what is in it, " +
    "so no row can be placed there. In flat mode, a setting of the firmware, HBM is a node of its own";
}
