/**
 * Where provisioning runs, as the facts have it, and the command that comes next there.
 *
 * @module
 */

import type { Place, Target } from "./contract.ts";
import type { Facts } from "../inventory/parts.ts";

/** What the container is run by; undefined: nothing says that this is one. */
export function containerKind(facts: Facts): string | undefined {
  const kind = facts["container.kind"];
  return kind === undefined || kind === "none" ? undefined : kind;
}

/** In a container, under a hypervisor, or neither; undefined: the facts do not tell. */
export function probedPlace(facts: Facts): Place | undefined {
  if (containerKind(facts) !== undefined) return "container";
  return facts["cpu.virtual"] === "yes" ? "cloud-vm" : facts["cpu.virtual"] === "no" ? "bare-metal" : undefined;
}

/** `tierbench provision fsdax --cloud-vm`: what brings this machine to a configuration. */
export function provisionCommand(target: Target, facts: Facts): string {
  const place = probedPlace(facts);
  return `tierbench provision ${target}${place === undefined ? "" : ` --${place}`}`;
}
