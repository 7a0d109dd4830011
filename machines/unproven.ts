/**
 * Media that are reached in a configuration's own way, and of which nothing on this machine proves what they are: PMEM
 * that a cloud's hypervisor hands out as plain memory, CXL memory that firmware maps as an ordinary node. Only the owner
 * knows; `scenarios/run/vouch.ts` takes the word.
 *
 * @module
 */

import type { UnprovenMedia } from "./availability.ts";
import { firmwareCxl } from "./inventory/firmware_cxl.ts";
import { hbmNodes } from "./inventory/hbm_nodes.ts";
import { daxOf, type Facts, mountsOf, nodesOf, numberOf } from "./inventory/parts.ts";
import {
  deviceKind,
  fsdaxNext,
  isVirtual,
  kmemNext,
  libpmemMissing,
  mountWayProblem,
  nodeWayProblem,
  regionBehind,
  regionKind,
} from "./ways.ts";

const VERIFIED = "what it is was verified, which needs nobody's word";

/** A way that was looked at: what is shown of the medium behind it, or why it cannot be vouched for. */
type Way = { readonly shows: string } | { readonly why: string };

const shown = (facts: Facts, text: string): Way => ({
  shows: isVirtual(facts) ? `${text}; a hypervisor runs this machine` : text,
});

/** Memory that was set aside from a node with CPUs is what else is on that node: DRAM. */
function takenFromDram(facts: Facts, region: string | undefined): string | undefined {
  if (region === undefined || facts[`pmem.${region}.provider`] !== "e820") return undefined;
  const number = numberOf(facts, `pmem.${region}.target_node`);
  const node = nodesOf(facts).find((one) => one.node === number);
  if (node === undefined || (node.totalBytes ?? 0) === 0 || node.cpus === "") return undefined;
  return `${region} was set aside from node ${number}, which has CPUs: that is DRAM of this machine`;
}

function mountWays(facts: Facts): (Way & { readonly path: string })[] {
  return mountsOf(facts).filter(({ fileSystem }) => fileSystem !== "tmpfs").map((mount) => {
    const { path } = mount;
    const region = regionBehind(facts, mount);
    const kind = regionKind(facts, region);
    const hosts = region !== undefined && facts[`pmem.${region}.provider`] === "virtio-pmem" ? kind.text : undefined;
    const why = mountWayProblem(facts, mount)?.because ?? hosts ?? takenFromDram(facts, region) ??
      (kind.proven && !isVirtual(facts) ? VERIFIED : undefined);
    return { path, ...(why === undefined ? shown(facts, `${path}: ${kind.text}`) : { why: `${path}: ${why}` }) };
  });
}

/** Nodes that devices became, and nodes that firmware made without one. */
function nodeWays(facts: Facts): (Way & { readonly node: number; readonly device: boolean })[] {
  const devices = daxOf(facts).filter(({ driver }) => driver === "kmem");
  const mapped = new Map(firmwareCxl(facts).map(({ node, text }) => [node, text]));
  const hbm = new Set(hbmNodes(facts).map(({ node }) => node));
  const plain = nodesOf(facts).filter(({ node, cpus, totalBytes }) =>
    cpus === "" && (totalBytes ?? 0) > 0 && !hbm.has(node) && !devices.some(({ targetNode }) => targetNode === node)
  );
  return [
    ...devices.map((device) => {
      const kind = deviceKind(facts, device);
      const why = nodeWayProblem(facts, device.targetNode, device.name) ??
        (kind.proven && !isVirtual(facts) ? VERIFIED : undefined);
      const name = `node ${device.targetNode} from ${device.name}`;
      return {
        node: device.targetNode ?? -1,
        device: true,
        ...(why === undefined ? shown(facts, `${name}: ${kind.text}`) : { why: `${name}: ${why}` }),
      };
    }),
    ...plain.map(({ node }) => {
      const text = mapped.get(node);
      return {
        node,
        device: false,
        ...(text !== undefined && !isVirtual(facts)
          ? { why: `node ${node}: ${VERIFIED}` }
          : shown(facts, `node ${node}: ${text ?? "memory without CPUs, and no device that says what it is"}`)),
      };
    }),
  ];
}

/** The media of a machine that its owner may vouch for. */
export function unprovenMedia(facts: Facts): UnprovenMedia {
  const mounts = mountWays(facts);
  const nodes = nodeWays(facts);
  const whyOf = (ways: readonly Way[]) => ways.flatMap((way) => "why" in way ? [way.why] : [])[0];
  const paths = mounts.flatMap((way) => "shows" in way ? [way] : []);
  const free = nodes.flatMap((way) => "shows" in way ? [way] : []);
  return {
    fsdax: libpmemMissing(facts) === undefined && paths.length > 0
      ? { possible: true, ways: paths.map(({ path, shows }) => ({ path, shows })) }
      : { possible: false, why: libpmemMissing(facts) ?? whyOf(mounts) ?? fsdaxNext(facts).because },
    kmemDax: free.length > 0
      ? { possible: true, ways: free.map(({ node, device, shows }) => ({ node, device, shows })) }
      : { possible: false, why: whyOf(nodes) ?? kmemNext(facts).because },
  };
}
