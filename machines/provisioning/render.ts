/**
 * Plans as text for the terminal. Commands stand at the start of the line, exactly as they are run, so that they,
 * here-documents included, can be copied.
 *
 * @module
 */

import type { Loss, Place, Plan, Refusal, Step, Target } from "./contract.ts";

const PLACES: Readonly<Record<Place, string>> = {
  "bare-metal": "bare metal",
  "cloud-vm": "a cloud VM",
  "container": "a container",
};

function head(target: Target, place: Place): string {
  return `${target} on ${PLACES[place]}`.replace("on a", "in a");
}

function loss({ device, found }: Loss): string {
  return `${device}: ${found ?? "nothing was found on it"}`;
}

function one(step: Step, number: number, container: boolean): string[] {
  const where = container ? ` (${step.where === "host" ? "on the host" : "in the container"})` : "";
  if (step.done !== undefined) return [`${number}. [done] ${step.title}${where}`, `   ${step.done}`];
  return [
    `${number}. ${step.title}${where}`,
    ...(step.destroys.length === 0 ? ["   destroys nothing"] : step.destroys.map((one) => `   destroys ${loss(one)}`)),
    "",
    ...step.commands,
    "",
    `   expected: ${step.expected}`,
    ...(step.undo.length === 0 ? [] : ["   undo:", ...step.undo.map((line) => `     ${line}`)]),
    ...(step.reboot ? ["   then start the machine again, and go on with the next step"] : []),
    ...(step.outsideLab === undefined ? [] : [`   not run in our virtual lab: ${step.outsideLab}`]),
  ];
}

/** A plan, or why there is none, for the terminal; ends with a line feed. */
export function renderPlan(plan: Plan | Refusal): string {
  if (plan.kind === "refusal") {
    return `${head(plan.target, plan.place)}: refused\n${plan.reason}\n` +
      (plan.instead === undefined ? "" : `Instead: ${plan.instead}\n`);
  }
  const lines = [
    head(plan.target, plan.place),
    `Afterwards: ${plan.summary}`,
    ...plan.warnings.map((warning) => `Warning: ${warning}`),
  ];
  for (const [index, step] of plan.steps.entries()) lines.push("", ...one(step, index + 1, plan.place === "container"));
  const pending = plan.steps.filter((step) => step.done === undefined).length;
  if (plan.partial) lines.push("", "Then make the plan again: what comes after these steps shows only then.");
  lines.push("", pending === 0 ? "All steps are done." : `${pending} of ${plan.steps.length} steps are to be done.`);
  return `${lines.join("\n")}\n`;
}
