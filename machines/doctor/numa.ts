/**
 * NUMA nodes.
 *
 * @module
 */

import { formatBytes } from "../../base/bytes.ts";
import { daxOf, type Facts, nodesOf, numberOf } from "../inventory/parts.ts";
import { type DoctorLine, line, sizeText } from "./lines.ts";

/** Findings. */
export function numaLines(facts: Facts): DoctorLine[] {
  const kmem = new Map(daxOf(facts).filter((d) => d.driver === "kmem").map((d) => [d.targetNode, d.name]));
  const lines = nodesOf(facts).map((node) => {
    const parts = [
      sizeText(node.totalBytes),
      node.cpus === undefined ? "CPUs unknown" : node.cpus === "" ? "no CPUs" : `CPUs ${node.cpus}`,
      ...(node.distance === undefined ? [] : [`distances ${node.distance}`]),
      ...(node.tier === undefined ? [] : [node.tier.replace("memory_tier", "memory tier ")]),
      ...(kmem.has(node.node) ? [`from ${kmem.get(node.node)}`] : []),
      ...(node.readLatencyNs === undefined ? [] : [`${node.readLatencyNs} ns by firmware (HMAT)`]),
      ...(node.readBandwidthMBs === undefined ? [] : [`${node.readBandwidthMBs} MB/s by firmware`]),
      ...(node.sideCacheBytes === undefined ? [] : [`behind a cache of ${formatBytes(node.sideCacheBytes)}`]),
    ];
    return line(`node ${node.node}`, parts.join(", "));
  });
  const nodes = lines.length > 0 ? lines : [line("NUMA", "no nodes in sysfs", "note")];
  // Memory that the kernel has not set up yet is missing from a node: sizes of nodes alone mislead.
  const sum = nodesOf(facts).reduce((bytes, node) => bytes + (node.totalBytes ?? 0), 0);
  const total = numberOf(facts, "memory.total") ?? 0;
  const lazy = lines.length > 0 && sum < total * 0.95
    ? [
      line(
        "node sizes",
        `together ${formatBytes(sum)} of ${formatBytes(total)}: the kernel sets memory up late`,
        "note",
      ),
    ]
    : [];
  return [...nodes, ...lazy];
}
