/**
 * The way from a machine as it is to a configuration, as steps that know whether they are done. Pure: it reads an
 * inventory and runs nothing, so a plan made after an interruption goes on where it stopped.
 *
 * @module
 */

import type { Inventory } from "../inventory/inventory.ts";
import { inContainer } from "./container.ts";
import type { PlanContext, PlanParts } from "./context.ts";
import type { Place, Plan, ProvisionRequest, Refusal, Target } from "./contract.ts";
import { planCxlKmem } from "./cxl_kmem.ts";
import { planFsdax } from "./fsdax.ts";
import { planHbm } from "./hbm.ts";
import { planKmemDax } from "./kmem_dax.ts";
import { planMemoryMode } from "./memory_mode.ts";
import { containerKind } from "./command.ts";
import { hostPlace, requiredPlace } from "./place.ts";
import { Refused } from "./refused.ts";
import { checkRequest } from "./request.ts";

const TARGETS: Readonly<Record<Target, (context: PlanContext) => PlanParts>> = {
  "fsdax": planFsdax,
  "kmem-dax": planKmemDax,
  "cxl-kmem": planCxlKmem,
  "memory-mode": planMemoryMode,
  "hbm": planHbm,
};

/**
 * Steps to a configuration, or why there is no way.
 *
 * @example A machine without PMEM
 * ```ts
 * import { provisionPlan } from "./provision_plan.ts";
 *
 * const plan = provisionPlan({
 *   facts: { "cpu.virtual": "no" },
 *   os: { known: false, reason: "it is empty", raw: "" },
 *   tools: [],
 *   ndctl: undefined,
 *   daxctl: undefined,
 *   cxl: undefined,
 *   ipmctl: undefined,
 *   blocks: undefined,
 *   files: {},
 *   units: {},
 *   root: true,
 * }, { target: "fsdax" });
 * if (plan.kind !== "refusal") throw new Error("A way was found where there is no PMEM");
 * ```
 */
export function provisionPlan(inventory: Inventory, request: ProvisionRequest): Plan | Refusal {
  const { target } = request;
  let place: Place = request.place ?? "bare-metal";
  try {
    checkRequest(request);
    place = request.place ?? requiredPlace(inventory.facts);
    if (place === "container" && target === "memory-mode") {
      throw new Refused(
        "Memory Mode cannot be set in a container: the firmware of the host sets it, before any system starts.",
        "Run the same on the host, with --bare-metal.",
      );
    }
    const context: PlanContext = {
      inventory,
      request,
      place: place === "container" ? hostPlace(inventory.facts) : place,
      inside: containerKind(inventory.facts) !== undefined,
    };
    const host = TARGETS[target](context);
    const parts = place === "container" ? inContainer(context, host) : host;
    const pending = parts.steps.some((one) => one.done === undefined);
    const root = inventory.root || !pending ? [] : ["the commands need root: run them in a shell of root (sudo -i)"];
    return { kind: "plan", target, place, ...parts, warnings: [...root, ...parts.warnings] };
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    return { kind: "refusal", target, place, reason: error.message, instead: error.instead };
  }
}
