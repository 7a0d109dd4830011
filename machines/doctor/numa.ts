/**
 * NUMA nodes.
 *
 * @module
 */

import { formatBytes } from "../../base/bytes.ts";
import { daxOf, type Facts, nodesOf, numberOf } from "../inventory/parts.ts";
import { firmwareCxl } from "../inventory/firmware_cxl.ts";
import { hbmNodes } from "../inventory/hbm_nodes.ts";
import { type DoctorLine, line, sizeText } from "./lines.ts";

const MODES: Readonly<Record<string, string>> = {
  "0": "off",
  "1": "on, for nodes with CPUs: pages are not promoted by how hot they are",
  "2": "memory tiering: hot pages are promoted",
  "3": "on, and memory tiering: hot pages are promoted",
};

/** The kernel's own tiering: what promotes pages and what demotes them. */
function tieringLines(facts: Facts): DoctorLine[] {
  const [balancing, demotion] = [facts["noise.numa_balancing"], facts["kernel.numa_demotion"]];
  return [
    ...(balancing === undefined
      ? []
      : [line("promotion", `numa_balancing is ${balancing}: ${MODES[balancing] ?? "not known"}`)]),
    ...(demotion === undefined ? [] : [
      line(
        "demotion",
        demotion === "true"
          ? "on: what reclaim takes from DRAM goes to slower nodes"
          : "off: reclaim swaps or drops pages",
      ),
    ]),
  ];
}

/** Findings. */
export function numaLines(facts: Facts): DoctorLine[] {
  const kmem = new Map(daxOf(facts).filter((d) => d.driver === "kmem").map((d) => [d.targetNode, d.name]));
  const mapped = new Map(firmwareCxl(facts).map(({ node, text }) => [node, text]));
  const hbm = new Set(hbmNodes(facts).map(({ node }) => node));
  const lines = nodesOf(facts).map((node) => {
    const parts = [
      sizeText(node.totalBytes),
      node.cpus === undefined ? "CPUs unknown" : node.cpus === "" ? "no CPUs" : `CPUs ${node.cpus}`,
      ...(node.distance === undefined ? [] : [`distances ${node.distance}`]),
      ...(node.tier === undefined ? [] : [node.tier.replace("memory_tier", "memory tier ")]),
      ...(kmem.has(node.node) ? [`from ${kmem.get(node.node)}`] : []),
      ...(mapped.has(node.node) ? [mapped.get(node.node) ?? ""] : []),
      ...(node.interleaveWeight === undefined ? [] : [`weight ${node.interleaveWeight} of interleaved pages`]),
      ...(node.readLatencyNs === undefined ? [] : [`${node.readLatencyNs} ns by firmware (HMAT)`]),
      ...(node.readBandwidthMBs === undefined ? [] : [`${node.readBandwidthMBs} MB/s by firmware`]),
      ...(hbm.has(node.node) ? ["more than DRAM: HBM"] : []),
      ...(node.sideCacheBytes === undefined ? [] : [`behind a cache of ${formatBytes(node.sideCacheBytes)}`]),
    ];
    return line(`node ${node.node}`, parts.join(", "));
  });
  // What moves pages between DRAM and slower nodes; nothing to tell where all nodes are DRAM.
  const slower = nodesOf(facts).some((node) => node.cpus === "" && (node.totalBytes ?? 0) > 0);
  const nodes = lines.length > 0
    ? [...lines, ...(slower ? tieringLines(facts) : [])]
    : [line("NUMA", "no nodes in sysfs", "note")];
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
