/**
 * What every part of the planner is given, and what a target's part gives back.
 *
 * @module
 */

import type { Inventory } from "../inventory/inventory.ts";
import type { Place, Plan, ProvisionRequest, Step } from "./contract.ts";

/** What is planned for, and where. */
export interface PlanContext {
  readonly inventory: Inventory;
  readonly request: ProvisionRequest;
  /** Never `container`: there the steps of the host are planned for what the host is. */
  readonly place: Exclude<Place, "container">;
  /** The planner runs in a container: files of the host cannot be seen, only what they have brought about. */
  readonly inside: boolean;
}

/** A plan before it has a target and a place. */
export type PlanParts = Pick<Plan, "summary" | "warnings" | "steps" | "partial" | "results">;

/** Name of namespaces, and stem of labels and files, by which a later run knows what an earlier one made. */
export const OURS = "tierbench";

/** A step with what most of them have in common. */
export function step(
  parts: Pick<Step, "id" | "title" | "commands" | "done" | "expected"> & Partial<Step>,
): Step {
  return { undo: [], destroys: [], reboot: false, where: "host", ...parts };
}
