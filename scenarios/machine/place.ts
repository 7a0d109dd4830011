/**
 * Where provisioning runs, as the facts have it, and the command that comes next there.
 *
 * @module
 */

import type { Place, Target } from "../provisioning/contract.ts";
import type { Facts } from "./parts.ts";

/** In a container, under a hypervisor, or neither; undefined: the facts do not tell. */
export function placeOf(facts: Facts): Place | undefined {
  const container = facts["container.kind"];
  if (container !== undefined && container !== "none") return "container";
  return facts["cpu.virtual"] === "yes" ? "cloud-vm" : facts["cpu.virtual"] === "no" ? "bare-metal" : undefined;
}

/** `tierbench provision fsdax --cloud-vm`: what brings this machine to a configuration. */
export function provisionCommand(target: Target, facts: Facts): string {
  const place = placeOf(facts);
  return `tierbench provision ${target}${place === undefined ? "" : ` --${place}`}`;
}
