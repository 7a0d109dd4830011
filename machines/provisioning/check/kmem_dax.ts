/**
 * Whether `kmem-dax` is there: PMEM as memory of nodes without CPUs; in a cloud VM also memory that the hypervisor gives.
 *
 * @module
 */

import type { CheckLine } from "../contract.ts";
import { type CheckContext, line } from "./line.ts";
import { checkDevices, checkNodes, memoryDevices, noDevice } from "./memory_node.ts";

/** The lines of `kmem-dax`. */
export async function checkKmemDax(context: CheckContext, wanted: readonly number[]): Promise<CheckLine[]> {
  const { devices, nodes } = memoryDevices(context, wanted, ({ origin }) => origin === "pmem");
  const given = context.place === "cloud-vm" ? byHypervisor : undefined;
  const lines = checkDevices(context, devices);
  if (devices.length === 0 && given === undefined) lines.push(...noDevice(context, "PMEM", "kmem-dax"));
  if (devices.length === 0 && given !== undefined && nodes.length === 0) {
    const text =
      "no DAX device became memory, and no node with memory and without CPUs is known: nothing can be used; " +
      "next: tierbench provision kmem-dax";
    lines.push(line("node", false, text));
  }
  return [...lines, ...await checkNodes(context, nodes, devices, given)];
}

function byHypervisor(node: number): CheckLine {
  const text =
    "memory that the hypervisor gives the machine as a node of its own: what it is cannot be seen from here, " +
    "and no figure of it counts as that of PMEM";
  return line(`medium node ${node}`, true, text);
}
