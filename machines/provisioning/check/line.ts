/**
 * What all checks are made of: lines, tries, namespaces that are used for something else, what comes back at a start.
 *
 * @module
 */

import type { Inventory, NdNamespace } from "../../inventory/inventory.ts";
import type { Facts } from "../../inventory/parts.ts";
import type { CheckLine, CheckOptions } from "../contract.ts";
import type { Verify } from "../verify.ts";

/** What a check looks at. */
export interface CheckContext extends CheckOptions {
  readonly inventory: Inventory;
  readonly verify: Verify;
}

/** A line; `otherwise` is its text where it is not `ok`. */
export function line(id: string, ok: boolean, text: string, otherwise: string = text): CheckLine {
  return { id, ok, text: ok ? text : otherwise };
}

/** A verification, or why it could not be done. */
export async function tried(ask: Promise<Facts>): Promise<{ facts: Facts; error?: string }> {
  try {
    return { facts: await ask };
  } catch (error) {
    return { facts: {}, error: error instanceof Error ? error.message : String(error) };
  }
}

/** All namespaces that ndctl lists. */
export function namespaces({ inventory: { ndctl } }: CheckContext): readonly NdNamespace[] {
  return ndctl?.known !== true ? [] : ndctl.value.flatMap((bus) => bus.regions.flatMap((region) => region.namespaces));
}

/** Namespaces among these that have bytes in another mode than the target's. Idle ones wait for free space. */
export function inUse(spaces: readonly NdNamespace[], target: "fsdax" | "kmem-dax"): CheckLine[] {
  const right = target === "fsdax" ? "fsdax" : "devdax";
  return spaces.filter(({ mode, size }) => ![undefined, right].includes(mode) && size !== 0).map((space) => {
    const { dev, mode, [target === "fsdax" ? "chardev" : "blockdev"]: device } = space;
    const text = `${dev} is in ${mode} mode${device === undefined ? "" : ` (/dev/${device})`}: it is used for ` +
      `something else; next: save its data, then tierbench provision ${target} --erase ${dev}`;
    return line(`in-use ${dev}`, false, text);
  });
}

/** Whether a unit that is enabled makes it again when the machine starts. */
export function afterRestart(
  { inventory: { files, units } }: CheckContext,
  what: string,
  kind: "mount" | "service",
  makes: (text: string) => boolean,
): CheckLine {
  const found = Object.entries(files).filter(([path, text]) => path.endsWith(`.${kind}`) && makes(text))
    .map(([path]) => path.slice(path.lastIndexOf("/") + 1));
  const enabled = found.find((unit) => units[unit] === "enabled");
  const unit = found[0];
  return line(
    `restart ${what}`,
    enabled !== undefined,
    `${enabled} is enabled: it comes back when the machine starts`,
    unit === undefined
      ? `no systemd ${kind} unit makes ${what} again when the machine starts; next: tierbench provision`
      : `${unit} is ${units[unit] ?? "in an unknown state"}, not enabled: ${what} is gone after a restart; ` +
        `next: systemctl enable ${unit}`,
  );
}
