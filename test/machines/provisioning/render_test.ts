/** Plans as text. The golden file shows one whole plan; UPDATE_GOLDEN=1 writes it anew. */

import { assert, assertEquals, assertStringIncludes } from "../../assert.ts";
import { known } from "../../../machines/inventory/tool.ts";
import { provisionPlan } from "../../../machines/provisioning/provision_plan.ts";
import { renderPlan } from "../../../machines/provisioning/render.ts";
import type { Plan } from "../../../machines/provisioning/contract.ts";
import { bareInventory, bus, namespace, region } from "./inventories.ts";

/** A machine on which everything of region0 was made, and nothing of region1. */
function half(): Plan {
  const made = namespace("namespace0.0", { mode: "fsdax", map: "dev", name: "tierbench" });
  const plan = provisionPlan(
    bareInventory({}, {
      ndctl: known([
        bus("ACPI.NFIT", [
          region("region0", [made]),
          region("region1", [namespace("namespace1.0", { mode: "sector", blockdev: "pmem1s" })]),
        ]),
      ]),
      blocks: known([
        { name: "pmem0", size: 1, fileSystem: "ext4", label: "tierbench0", mountPoints: [] },
        { name: "pmem1s", size: 1, fileSystem: "xfs", label: undefined, mountPoints: ["/data"] },
      ]),
      root: false,
    }),
    { target: "fsdax", owner: "alice" },
  );
  if (plan.kind === "refusal") throw new Error(plan.reason);
  return plan;
}

const golden = new URL("fsdax_plan.txt", import.meta.url);

Deno.test("renderPlan() shows what is done, what is to do, what it destroys and how to undo it", () => {
  const text = renderPlan(half());
  if (Deno.env.get("UPDATE_GOLDEN") === "1") Deno.writeTextFileSync(golden, text);
  assertEquals(text, Deno.readTextFileSync(golden));
});

Deno.test("renderPlan() prints every line of a command as it is run", () => {
  const plan = half();
  const lines = renderPlan(plan).split("\n");
  for (const step of plan.steps.filter((one) => one.done === undefined)) {
    for (const line of step.commands.flatMap((one) => one.split("\n"))) assert(lines.includes(line), line);
  }
});

Deno.test("the shell can read every command of a plan", () => {
  const commands = half().steps.flatMap((step) => step.commands);
  const { code, stderr } = new Deno.Command("/bin/sh", { args: ["-nc", commands.join("\n")] }).outputSync();
  assertEquals([code, new TextDecoder().decode(stderr)], [0, ""]);
});

Deno.test("renderPlan() gives a refusal its reason and what to do instead", () => {
  const text = renderPlan(provisionPlan(bareInventory({ "cpu.virtual": "yes" }), { target: "memory-mode" }));
  assertStringIncludes(text, "memory-mode in a cloud VM: refused\nMemory Mode cannot be set in a virtual machine");
  assertStringIncludes(text, "\nInstead: ");
});
