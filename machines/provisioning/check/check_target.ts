/**
 * Whether a configuration is really there: every link of the proof looked at, each a line of its own. What cannot be
 * read counts as not there.
 *
 * @module
 */

import type { Inventory } from "../../inventory/inventory.ts";
import type { CheckLine, CheckOptions, Plan, Target } from "../contract.ts";
import type { Verify } from "../verify.ts";
import { checkCxlKmem } from "./cxl_kmem.ts";
import { checkFsdax } from "./fsdax.ts";
import { checkHbm } from "./hbm.ts";
import { checkKmemDax } from "./kmem_dax.ts";
import { checkMemoryMode } from "./memory_mode.ts";

/**
 * Looks at a configuration.
 *
 * @param target What shall be there.
 * @param inventory The machine now.
 * @param verify Tries media; `processVerify()` on this machine.
 * @param results Mounts and nodes of the plan; without nodes, those of all DAX devices that became memory.
 * @returns A line for everything that was looked at; the configuration is there if all are `ok`.
 *
 * @example A machine without anything
 * ```ts
 * import { checkTarget } from "../../../mod.ts";
 *
 * const inventory = {
 *   facts: {}, os: { known: false, reason: "not read", raw: "" } as const, tools: [], ndctl: undefined,
 *   daxctl: undefined, cxl: undefined, ipmctl: undefined, blocks: undefined, files: {}, units: {}, root: true,
 * };
 * const nothing = { dax: () => Promise.reject(new Error("no")), node: () => Promise.reject(new Error("no")) };
 * const lines = await checkTarget("fsdax", inventory, nothing, { mounts: ["/mnt/pmem0"], nodes: [] });
 * console.log(lines.map(({ id, ok }) => `${id}: ${ok}`)); // [ "mounted /mnt/pmem0: false" ]
 * ```
 */
export async function checkTarget(
  target: Target,
  inventory: Inventory,
  verify: Verify,
  results: Plan["results"],
  options: CheckOptions = {},
): Promise<CheckLine[]> {
  const context = { ...options, inventory, verify };
  switch (target) {
    case "fsdax":
      return await checkFsdax(context, results.mounts);
    case "kmem-dax":
      return await checkKmemDax(context, results.nodes);
    case "cxl-kmem":
      return await checkCxlKmem(context, results.nodes);
    case "hbm":
      return await checkHbm(context, results.nodes);
    case "memory-mode":
      return checkMemoryMode(inventory);
  }
}
