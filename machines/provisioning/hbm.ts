/**
 * `hbm`: HBM that the CPU addresses, as memory of NUMA nodes without CPUs. Firmware makes it so (flat mode); where it keeps HBM
 * for special purposes (`EFI_MEMORY_SP`), it shows as a DAX device of origin `hmem` first, which becomes memory of its node.
 *
 * @module
 */

import { daxOf } from "../inventory/parts.ts";
import { hbmCache, hbmNodes } from "../inventory/hbm_nodes.ts";
import type { PlanContext, PlanParts } from "./context.ts";
import { nodesOfDevices } from "./kmem_dax.ts";
import { type Needed, packagesStep } from "./packages.ts";
import { Refused } from "./refused.ts";
import { words } from "./shell.ts";
import { atEveryStart, autoOnlineStep, type MemoryDevice, memoryWarnings, systemRamStep } from "./system_ram.ts";
import { NEEDS, versionWarnings } from "./versions.ts";

const LIBRARY: Needed = { tools: [], libraries: ["memkind"] };
const NEEDED: Needed = { tools: ["daxctl"], libraries: ["memkind"] };

/** What the firmware's setup calls it. */
const FLAT =
  'Choose the flat mode in the firmware\'s setup (UEFI, "Memory Mode" or "HBM mode": Flat), with DIMMs in place, and ask again; ' +
  "without DIMMs (HBM-only) all memory is HBM, and storage DRAM has its rows there.";

/** The way to `hbm`, or {@linkcode Refused}. */
export function planHbm(context: PlanContext): PlanParts {
  const { inventory: { facts }, request } = context;
  if (request.only !== undefined && request.only.length > 0) {
    throw new Refused(
      "HBM has no regions to choose from: firmware gives all of it.",
      "Leave out the names of regions.",
    );
  }
  const devices = daxOf(facts).filter(({ origin }) => origin === "hmem").map(({ name, sizeBytes, targetNode }) => ({
    id: name,
    dax: name,
    bytes: sizeBytes ?? 0,
    targetNode,
    // Memory: nothing is stored there.
    loss: { device: name, found: undefined },
  }));
  if (devices.length > 0) return ofDevices(context, devices);
  const nodes = hbmNodes(facts);
  if (nodes.length > 0) {
    return {
      summary: `firmware made HBM node ${
        words(nodes.map(({ node }) => String(node)))
      } (flat mode); nothing has to be made of it`,
      warnings: nodes.map(({ text }) => text),
      steps: [packagesStep(context, LIBRARY)],
      results: { mounts: [], nodes: nodes.map(({ node }) => node) },
    };
  }
  const cache = hbmCache(facts);
  if (cache !== undefined) throw new Refused(`HBM is in cache mode: ${cache}.`, FLAT);
  throw new Refused(
    "No NUMA node without CPUs has more bandwidth than DRAM by the firmware's HMAT, and no DAX device is of origin hmem: " +
      "this machine shows no HBM that the CPU addresses.",
    `${FLAT} Memory of a GPU needs no provisioning: hbm: "opencl" (docs/hbm.md).`,
  );
}

/** HBM that firmware sets aside: devices that become memory, at every start. */
function ofDevices(context: PlanContext, devices: readonly MemoryDevice[]): PlanParts {
  const autoOnline = autoOnlineStep(context, devices.map(({ dax }) => dax));
  const nodes = nodesOfDevices(context, devices);
  return {
    summary: `memory that firmware sets aside (${words(devices.map(({ dax }) => dax))}) as memory without CPUs` +
      `${nodes.length === 0 ? "" : `, node ${words(nodes.map(String))}`}, at every start`,
    warnings: [
      ...versionWarnings(context.inventory, [NEEDS.kmem, NEEDS.reconfigure]),
      ...memoryWarnings(context, devices),
      "whether it is HBM shows when it is memory: --check compares its bandwidth by HMAT with DRAM's",
    ],
    steps: [
      packagesStep(context, NEEDED),
      ...(autoOnline === undefined ? [] : [autoOnline]),
      ...devices.map((device) => systemRamStep(context, device)),
      ...atEveryStart(context, devices),
    ],
    results: { mounts: [], nodes },
  };
}
