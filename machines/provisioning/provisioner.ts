/**
 * Everything `tierbench provision` needs of a machine, so that the command can be tried on another one.
 *
 * @module
 */

import { collectInventory } from "../tools/collect.ts";
import type { Inventory } from "../inventory/inventory.ts";
import { localSystem } from "../inventory/local_system.ts";
import type { Plan, ProvisionRequest, Refusal, Target } from "./contract.ts";
import { provisionPlan } from "./provision_plan.ts";
import { renderPlan } from "./render.ts";
import { processShell, type Shell } from "./run_line.ts";
import { processVerify, type Verify } from "./verify.ts";

/** The configurations that can be asked for. */
export const TARGETS: readonly Target[] = ["memory-mode", "fsdax", "kmem-dax", "cxl-kmem", "hbm"];

/** A machine to provision. */
export interface Provisioner {
  /** Reads the machine. */
  readonly collect: () => Promise<Inventory>;
  /** Makes the plan. */
  readonly plan: (inventory: Inventory, request: ProvisionRequest) => Plan | Refusal;
  /** The plan for the terminal. */
  readonly render: (plan: Plan | Refusal) => string;
  /** Runs a line. */
  readonly shell: Shell;
  /** Tries media. */
  readonly verify: Verify;
  /** The number of a user; undefined: there is none of this name. */
  readonly uid: (user: string) => Promise<number | undefined>;
}

/**
 * This machine.
 *
 * @example
 * ```ts
 * import { localProvisioner } from "../../mod.ts";
 *
 * const { collect, plan, render } = localProvisioner();
 * console.log(render(plan(await collect(), { target: "fsdax", place: "bare-metal" })));
 * ```
 */
export function localProvisioner(): Provisioner {
  const system = localSystem();
  return {
    collect: () => collectInventory(system),
    plan: provisionPlan,
    render: renderPlan,
    shell: processShell,
    verify: processVerify(),
    uid: async (user) => {
      const output = await system.run(["id", "-u", "--", user]);
      const text = output?.code === 0 ? output.stdout.trim() : "";
      return /^\d+$/.test(text) ? Number(text) : undefined;
    },
  };
}
