/**
 * Whether `cxl-kmem` is there: CXL memory as memory of nodes without CPUs.
 *
 * @module
 */

import { regionsOf } from "../../inventory/parts.ts";
import type { CheckLine } from "../contract.ts";
import type { CheckContext } from "./line.ts";
import { checkDevices, checkNodes, memoryDevices, noDevice } from "./memory_node.ts";

/** The lines of `cxl-kmem`. */
export async function checkCxlKmem(context: CheckContext, wanted: readonly number[]): Promise<CheckLine[]> {
  // Persistent CXL memory comes through libnvdimm, with CXL as the provider of its region.
  const regions = regionsOf(context.inventory.facts).filter(({ provider }) => provider === "CXL");
  const { devices, nodes } = memoryDevices(
    context,
    wanted,
    ({ origin, region }) => origin === "cxl" || regions.some(({ name }) => name === region),
  );
  return [
    ...checkDevices(context, devices),
    ...(devices.length === 0 ? noDevice(context, "CXL memory", "cxl-kmem") : []),
    ...await checkNodes(context, nodes, devices),
  ];
}
