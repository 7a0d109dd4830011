/**
 * Where this is: on bare metal, in a cloud VM, in a container.
 *
 * @module
 */

import { containerKind } from "./command.ts";
import type { Facts } from "../inventory/parts.ts";
import type { Place } from "./contract.ts";
import { Refused } from "./refused.ts";

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
export function requiredPlace(facts: Facts): Place {
  return containerKind(facts) === undefined ? hostPlace(facts) : "container";
}
