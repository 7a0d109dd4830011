/**
 * Where this is: on bare metal, in a cloud VM, in a container.
 *
 * @module
 */

import type { Facts } from "../machine/parts.ts";
import type { Place } from "./contract.ts";
import { Refused } from "./refused.ts";

/** What the container is run by; undefined: nothing says that this is one. */
export function containerKind(facts: Facts): string | undefined {
  const kind = facts["container.kind"];
  return kind === undefined || kind === "none" ? undefined : kind;
}

/** Bare metal or VM, as the CPU says it; also of the host that a container runs on. */
export function hostPlace(facts: Facts): "bare-metal" | "cloud-vm" {
  const virtual = facts["cpu.virtual"];
  if (virtual === "no") return "bare-metal";
  if (virtual === "yes") return "cloud-vm";
  throw new Refused(
    "Whether a hypervisor runs this machine could not be read.",
    "Say where it is: --bare-metal or --cloud-vm.",
  );
}

/** The place from the probe. */
export function placeOf(facts: Facts): Place {
  return containerKind(facts) === undefined ? hostPlace(facts) : "container";
}
