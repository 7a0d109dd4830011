/**
 * Where the rows of a configuration lie here: on its own medium if the machine has it, else where that is emulated.
 *
 * @module
 */

import { normalize } from "node:path";
import { usesLibpmem, usesMemkind, usesNodes } from "../../ffi/storage.ts";
import type { Availability, Found } from "../../machines/availability.ts";
import type { ResolvedConfiguration, TierMedium } from "../scenario.ts";

/** Where the PMEM of a configuration is. */
export type Place =
  | { readonly kind: "none" }
  /** A directory that is there, real PMEM or named by the scenario. */
  | { readonly kind: "directory"; readonly path: string }
  /** A file that stands for PMEM: in memory if there is room, else on disk. */
  | { readonly kind: "scratch" }
  | { readonly kind: "nodes"; readonly nodes: readonly number[]; readonly by: "memkind" | "mbind" }
  /**
   * Pages of rows on nodes of DRAM and on slower ones, by the kernel's weights; `share` of them on the `slower`. Without
   * slower nodes the model stands for that share.
   */
  | {
    readonly kind: "interleaved";
    readonly nodes: readonly number[];
    readonly slower: readonly number[];
    readonly share: number;
  }
  /** The kernel moves pages between DRAM and these nodes. */
  | { readonly kind: "tiered"; readonly slower: readonly number[] }
  /** Memory Mode: nothing to place. */
  | { readonly kind: "memory-mode" };

/** Whether a path is a folder or below it. */
export function isWithin(path: string, folder: string): boolean {
  const [inner, outer] = [normalize(path), normalize(folder)];
  return inner === outer || inner.startsWith(outer.endsWith("/") ? outer : `${outer}/`);
}

/** Where a configuration's own medium is, and what it is. */
interface Medium {
  readonly place: Place;
  /** Absent for plain DRAM. */
  readonly medium?: TierMedium;
  readonly virtual: boolean;
  readonly cacheBytes?: number;
}

const NAMES: Readonly<Record<TierMedium, string>> = { pmem: "PMEM", cxl: "CXL memory" };

/** A file system that maps PMEM directly. */
function onFileSystem({ path = "auto", medium }: ResolvedConfiguration, here: Availability): Found<Medium> {
  const found = here.fsdax;
  if (!found.available) return found;
  const of = (folder: string): TierMedium => found.cxl?.includes(folder) === true ? "cxl" : "pmem";
  const folders = [found.path, ...found.others ?? []];
  const folder = path === "auto"
    ? folders.find((one) => medium === undefined || of(one) === medium)
    : folders.find((one) => isWithin(path, one));
  if (path === "auto" && folder === undefined) {
    return { available: false, reason: `${folders.join(", ")} is not on ${NAMES[medium ?? "pmem"]}` };
  }
  if (folder === undefined) {
    return { available: false, reason: `"${path}" is not on a file system that maps PMEM directly` };
  }
  if (medium !== undefined && of(folder) !== medium) {
    return { available: false, reason: `"${path}" is on ${NAMES[of(folder)]}, not on ${NAMES[medium]}` };
  }
  const place: Place = { kind: "directory", path: path === "auto" ? folder : path };
  return { available: true, place, medium: of(folder), virtual: found.virtual };
}

/** Nodes without CPUs, all of one kind of memory. */
function onNodes(configuration: ResolvedConfiguration, here: Availability): Found<Medium> {
  const { nodes = "auto", medium } = configuration;
  if (usesMemkind(configuration) && !here.memkind.available) return here.memkind;
  const found = here.kmemDax;
  if (!found.available) {
    return nodes === "auto"
      ? found
      : { available: false, reason: `node ${nodes.join(", ")} is not PMEM: ${found.reason}` };
  }
  const of = (node: number): TierMedium => found.cxl?.includes(node) === true ? "cxl" : "pmem";
  const wanted = medium ?? (nodes === "auto" ? found.nodes.map(of).sort().at(-1) : of(nodes[0] ?? -1)) ?? "pmem";
  const fitting = found.nodes.filter((node) => of(node) === wanted);
  const taken = nodes === "auto" ? fitting : nodes;
  if (taken.length > 0 && taken.every((node) => fitting.includes(node))) {
    const place: Place = { kind: "nodes", nodes: taken, by: nodeLibrary(configuration) };
    return { available: true, place, medium: wanted, virtual: found.virtual };
  }
  return {
    available: false,
    reason: nodes === "auto"
      ? `node ${found.nodes.join(", ")} is not ${NAMES[wanted]}`
      : `node ${nodes.join(", ")} is not ${NAMES[wanted]}: those are ${fitting.join(", ") || "none"}`,
  };
}

function nodeLibrary(configuration: ResolvedConfiguration): "memkind" | "mbind" {
  return usesMemkind(configuration) ? "memkind" : "mbind";
}

/** Pages in turn from each node of DRAM and each slower node, as the kernel's weights say. */
function interleaved(configuration: ResolvedConfiguration, here: Availability): Found<Medium> {
  const found = onNodes(configuration, here);
  if (!found.available || found.place.kind !== "nodes") return found;
  const { weights: kernel, dramNodes } = here;
  if (kernel === undefined) {
    return { available: false, reason: "the kernel has no weighted interleave (Linux 6.9 has it)" };
  }
  const slower = found.place.nodes;
  const [fast, slow] = weightsOf(configuration);
  const wanted = [...dramNodes.map((node) => [node, fast] as const), ...slower.map((node) => [node, slow] as const)];
  const wrong = wanted.filter(([node, weight]) => kernel[node] !== weight);
  if (wrong.length > 0) {
    const lines = wrong.map(([node, weight]) => `echo ${weight} > ${WEIGHTS}/node${node}`);
    return { available: false, reason: `the kernel's weights are not those asked for; as root: ${lines.join("; ")}` };
  }
  const share = slow * slower.length / (fast * dramNodes.length + slow * slower.length);
  return { ...found, place: { kind: "interleaved", nodes: [...dramNodes, ...slower], slower, share } };
}

const WEIGHTS = "/sys/kernel/mm/mempolicy/weighted_interleave";

function weightsOf({ weights: [fast = 1, slow = 1] = [] }: ResolvedConfiguration): [number, number] {
  return [fast, slow];
}

/** All DRAM of the machine, and slower nodes that the kernel uses by itself. It has no emulation. */
function tiered(configuration: ResolvedConfiguration, here: Availability): Found<Medium> {
  const found = onNodes(configuration, here);
  if (!found.available || found.place.kind !== "nodes") return { ...found, emulable: false } as Found<Medium>;
  if (!here.tiering.available) return { ...here.tiering, emulable: false };
  return { ...found, place: { kind: "tiered", slower: found.place.nodes }, cacheBytes: here.tiering.dramBytes };
}

/** What the medium of a configuration is here. */
export function mediumOf(
  configuration: ResolvedConfiguration,
  here: Availability,
): Found<Medium> {
  if (configuration.memory === "memory-mode") {
    const found = here.memoryMode;
    return found.available ? { ...found, place: { kind: "memory-mode" }, medium: "pmem" } : found;
  }
  if (configuration.memory === "weighted-interleave") return interleaved(configuration, here);
  if (configuration.memory === "kernel-tiering") return tiered(configuration, here);
  if (usesLibpmem(configuration)) return onFileSystem(configuration, here);
  if (usesNodes(configuration)) return onNodes(configuration, here);
  return here.dram.available ? { available: true, place: { kind: "none" }, virtual: false } : here.dram;
}

/** Where a configuration is emulated, or undefined if it cannot be: plain DRAM has no stand-in. */
export function standIn(configuration: ResolvedConfiguration, here: Availability): Place | undefined {
  const { path, nodes, memory } = configuration;
  if (memory === "memory-mode") return { kind: "memory-mode" };
  if (memory === "weighted-interleave") {
    const [fast, slow] = weightsOf(configuration);
    return { kind: "interleaved", nodes: [], slower: [], share: slow / (fast + slow) };
  }
  if (memory === "kernel-tiering") return undefined;
  if (usesLibpmem(configuration)) {
    return path === undefined || path === "auto" ? { kind: "scratch" } : { kind: "directory", path };
  }
  if (!usesNodes(configuration)) return undefined;
  const by = nodeLibrary(configuration);
  return { kind: "nodes", nodes: nodes === undefined || nodes === "auto" ? [here.existingNode] : nodes, by };
}
