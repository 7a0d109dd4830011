/**
 * Whether this machine has HBM that the CPU addresses, for a store's tier. There is no emulation of it: DRAM cannot be made
 * faster.
 *
 * @module
 */

import { daxOf, type Facts } from "./inventory/parts.ts";
import { dramBandwidth, hbmCache, hbmNodes, plainNodes } from "./inventory/hbm_nodes.ts";
import { isVirtual, memkindMissing, VIRTUAL } from "./ways.ts";
import { provisionCommand } from "./provisioning/command.ts";

/** What is known of HBM here; the fields are those of a configuration's state. */
interface HbmState {
  readonly state: "measured" | "unavailable";
  readonly because: string;
  readonly next?: string;
  readonly nodes?: readonly number[];
  readonly virtual?: boolean;
}

/** memkind takes a node for HBM from more than this on, MB/s: `MEMKIND_HBW_THRESHOLD_DEFAULT` of memkind 1.14, 200 × 1024. */
const MEMKIND_FROM = 200 * 1024;

/** How `hbm: "memkind"` comes to these nodes, where it does not by itself. */
function memkindNote(facts: Facts, nodes: readonly { node: number; readBandwidthMBs: number }[]): string {
  const missing = memkindMissing(facts);
  if (missing !== undefined) return `; rows come there by mbind alone: ${missing}`;
  const slow = nodes.some(({ readBandwidthMBs }) => readBandwidthMBs <= MEMKIND_FROM);
  return slow
    ? `; memkind takes from ${MEMKIND_FROM} MB/s on for HBM: set MEMKIND_HBW_NODES=${nodes.map(({ node }) => node)}`
    : "";
}

/** Why no node is HBM. */
function missing(facts: Facts): Pick<HbmState, "because" | "next"> {
  const waiting = daxOf(facts).find(({ origin, driver }) => origin === "hmem" && driver !== "kmem");
  if (waiting !== undefined) {
    return {
      because:
        `${waiting.name} is memory that firmware sets aside for special purposes, as HBM in flat mode is, and a ` +
        "device, not memory of a NUMA node",
      next: provisionCommand("hbm", facts),
    };
  }
  const [bare] = plainNodes(facts);
  const cache = hbmCache(facts);
  if (cache !== undefined) return { because: cache };
  if (bare === undefined) {
    return {
      because:
        "no plain NUMA node has memory and no CPUs, which is how HBM in flat mode shows; without DIMMs HBM is all " +
        "memory, and called DRAM here",
    };
  }
  const dram = dramBandwidth(facts);
  const speed = bare.readBandwidthMBs === undefined || dram === undefined
    ? "firmware does not say how fast it is and how fast DRAM is (HMAT, /sys/devices/system/node/node*/access0)"
    : `it has ${bare.readBandwidthMBs} MB/s by HMAT, and DRAM ${dram} MB/s`;
  return { because: `node ${bare.node} has memory and no CPUs, but nothing shows that it is HBM: ${speed}` };
}

/** What is here, or what is missing. */
export function hbmState(facts: Facts): HbmState {
  const nodes = hbmNodes(facts);
  if (nodes.length === 0) return { state: "unavailable", ...missing(facts) };
  const virtual = isVirtual(facts);
  return {
    state: "measured",
    because: `Memory of more bandwidth than DRAM: ${nodes.map(({ text }) => text).join("; ")}` +
      memkindNote(facts, nodes) + (virtual ? `; ${VIRTUAL.replace("that of PMEM", "that of HBM")}` : ""),
    nodes: nodes.map(({ node }) => node),
    virtual,
  };
}
