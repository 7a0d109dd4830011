/**
 * Goals of ipmctl: how the firmware uses PMEM modules from the next start on. Intel Optane only.
 *
 * @module
 */

import { numberOf } from "../inventory/parts.ts";
import { type PlanContext, step } from "./context.ts";
import type { Loss, Step } from "./contract.ts";
import { namespaceLoss } from "./loss.ts";
import { release } from "./namespace_step.ts";
import type { RegionView } from "./regions.ts";

/** How many PMEM modules there are; undefined: nothing says so. */
export function modules({ inventory }: PlanContext): number | undefined {
  const listed = inventory.ipmctl?.modules;
  if (listed?.known === true) return listed.value.length;
  return numberOf(inventory.facts, "pmem.modules");
}

/** Firmware gives all capacity to regions of persistent memory, interleaved over the modules of a socket. */
export function appDirectStep(done: string | undefined): Step {
  return step({
    id: "goal",
    title: "Let the firmware give the PMEM modules to regions (App Direct), one a socket",
    commands: ["ipmctl create -f -goal PersistentMemoryType=AppDirect"],
    undo: ["ipmctl delete -goal"],
    done,
    expected: "A reboot is required to process new memory allocation goals.",
    reboot: true,
    outsideLab: "ipmctl",
  });
}

/** Firmware makes all capacity memory with the DRAM as its cache. All regions go, with everything in them. */
export function memoryModeStep(
  { inventory }: PlanContext,
  regions: readonly RegionView[],
  done: string | undefined,
): Step {
  const spaces = regions.flatMap((region) => region.spaces);
  const destroys: Loss[] = spaces.map((space) => namespaceLoss(inventory, space));
  return step({
    id: "goal",
    title: "Let the firmware use all PMEM as memory, with the DRAM as its cache (Memory Mode)",
    commands: [
      ...spaces.flatMap((space) => [...release(inventory, space), `ndctl destroy-namespace -f ${space.dev}`]),
      "ipmctl create -f -goal MemoryMode=100",
    ],
    undo: ["ipmctl delete -goal", "ipmctl create -f -goal PersistentMemoryType=AppDirect"],
    done,
    destroys,
    expected: "A reboot is required to process new memory allocation goals.",
    reboot: true,
    outsideLab: "ipmctl",
  });
}
