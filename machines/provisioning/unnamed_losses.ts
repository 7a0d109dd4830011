/**
 * What a plan would destroy, and whether the user said that it may.
 *
 * @module
 */

import type { Inventory } from "../inventory/inventory.ts";
import type { Loss, Step } from "./contract.ts";

/** Data on a device, with the step that would destroy them. */
interface StepLoss extends Loss {
  /** The step's id. */
  readonly step: string;
}

/** Losses of steps on whose devices something was found and which the user did not name, each device once. */
export function unnamedLosses(steps: readonly Step[], erase: readonly string[]): StepLoss[] {
  const named = new Set(erase.map((device) => device.replace(/^\/dev\//, "")));
  const lost = new Map<string, StepLoss>();
  for (const step of steps) {
    for (const loss of step.destroys) {
      if (loss.found === undefined || named.has(loss.device) || lost.has(loss.device)) continue;
      lost.set(loss.device, { ...loss, step: step.id });
    }
  }
  return [...lost.values()];
}

/** Commands after which a namespace or a block device is empty. */
const DESTROYS =
  /\b(ndctl (destroy-namespace|create-namespace|init-labels)|mkfs(\.\w+)?|wipefs|dd)\b|\bipmctl (create|delete)\b/;

/**
 * Steps with what their undo lines would destroy: a step that is done knows what it found before it ran, not what has
 * been stored since. Looked for are file systems on the block devices and namespaces that such a line names.
 */
export function undoLosses(steps: readonly Step[], inventory: Inventory): Step[] {
  const blocks = inventory.blocks?.known === true ? inventory.blocks.value : [];
  const namespaces = inventory.ndctl?.known === true
    ? inventory.ndctl.value.flatMap((bus) =>
      bus.regions.flatMap((region) => region.namespaces.map((space) => ({ region: region.dev, ...space })))
    )
    : [];
  return steps.map((step) => {
    const words = new Set(
      step.undo.filter((line) => DESTROYS.test(line)).join(" ").split(/[^\w.-]+/).map((word) => word),
    );
    const destroys: Loss[] = [];
    const add = (device: string, block: string | undefined) => {
      const found = blocks.find(({ name }) => name === block);
      if (found === undefined || (found.fileSystem === undefined && found.mountPoints.length === 0)) return;
      const where = found.mountPoints.length === 0 ? "" : ` mounted on ${found.mountPoints.join(", ")}`;
      destroys.push({ device, found: `${found.fileSystem ?? "a file system"}${where}` });
    };
    for (const { dev, region, blockdev } of namespaces) if (words.has(dev) || words.has(region)) add(dev, blockdev);
    for (const { name } of blocks) {
      if (words.has(name) && !namespaces.some((one) => one.blockdev === name && words.has(one.dev))) add(name, name);
    }
    return { ...step, destroys };
  });
}

/** The refusal in words: every device, and the option that allows it. */
export function lossText(losses: readonly StepLoss[], what: "apply" | "undo"): string {
  const lines = losses.map(({ device, found, step }) => `  ${device}: ${found} (step ${step})`);
  return [
    `Cannot ${what} the plan: it would destroy what was found on ${losses.length === 1 ? "a device" : "devices"}`,
    ...lines,
    `Save what is needed; to destroy it, add: --erase ${losses.map(({ device }) => device).join(" ")}`,
  ].join("\n");
}
