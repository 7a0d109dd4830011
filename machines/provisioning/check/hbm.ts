/**
 * Whether `hbm` is there: nodes without CPUs that have more bandwidth than DRAM by the firmware's HMAT, and take pages.
 *
 * @module
 */

import { hbmCache, hbmNodes } from "../../inventory/hbm_nodes.ts";
import { daxOf } from "../../inventory/parts.ts";
import type { CheckLine } from "../contract.ts";
import { type CheckContext, line, tried } from "./line.ts";
import { checkDevices } from "./memory_node.ts";

/** The lines of `hbm`. */
export async function checkHbm(context: CheckContext, wanted: readonly number[]): Promise<CheckLine[]> {
  const { inventory: { facts } } = context;
  const found = new Map(hbmNodes(facts).map(({ node, text }) => [node, text]));
  const devices = daxOf(facts).filter(({ origin }) => origin === "hmem");
  const lines = checkDevices(context, devices);
  const nodes = wanted.length > 0 ? wanted : [...found.keys()];
  if (nodes.length === 0 && devices.length === 0) {
    const cache = hbmCache(facts);
    const text = cache === undefined
      ? "no node without CPUs has more bandwidth than DRAM by HMAT; next: flat mode in the firmware's setup"
      : `HBM is in cache mode: ${cache}; next: flat mode in the firmware's setup`;
    lines.push(line("hbm", false, text));
  }
  for (const node of nodes) lines.push(...await checkNode(context, node, found.get(node)));
  return lines;
}

async function checkNode({ inventory: { facts }, verify }: CheckContext, node: number, faster: string | undefined) {
  const virtual = facts["cpu.virtual"] === "no"
    ? ""
    : "; a hypervisor runs this machine, so the medium may be virtual, and no speed of it counts as that of HBM";
  const { facts: bound, error } = await tried(verify.node(node, undefined));
  return [
    line(
      `bandwidth ${node}`,
      faster !== undefined,
      `${faster}${virtual}`,
      `nothing shows that node ${node} is HBM: HMAT gives it no more bandwidth than DRAM, or says nothing of one of them ` +
        "(/sys/devices/system/node/node*/access0), or it is PMEM or CXL memory",
    ),
    line(
      `pages ${node}`,
      error === undefined && bound["bind.landed"] === "yes",
      "8 MiB bound to it lie on it (move_pages)",
      error !== undefined
        ? `node ${node} cannot be tried: ${error}`
        : bound["bind.pages"] !== undefined
        ? `pages bound to it lie elsewhere (node:pages ${bound["bind.pages"]})`
        : `pages cannot be bound to it: ${bound["bind.error"] ?? bound["bind.move_pages_error"] ?? "no reason given"}`,
    ),
  ];
}
