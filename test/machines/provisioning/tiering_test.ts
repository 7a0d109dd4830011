/** `--tiering`: promotion and demotion now, at every start, looked at, and taken back. */

import { assert, assertEquals, assertMatch, assertStringIncludes } from "../../assert.ts";
import type { Inventory } from "../../../machines/inventory/inventory.ts";
import type { Plan, ProvisionRequest } from "../../../machines/provisioning/contract.ts";
import { checkTarget } from "../../../machines/provisioning/check/check_target.ts";
import { provisionPlan } from "../../../machines/provisioning/provision_plan.ts";
import { ModelMachine } from "./model_machine.ts";

const GIB = 2 ** 30;
const ON: ProvisionRequest = { target: "cxl-kmem", tiering: "on" };
const IDS = ["promotion", "demotion"];

/** An expander, made memory by the planner's lines. */
function expander(): ModelMachine {
  return new ModelMachine({
    installed: ["cxl"],
    memdevs: [{ memdev: "mem0", pmem: 0, ram: GIB }],
    decoders: [{ decoder: "decoder0.0", size: 4 * GIB, pmem: false, ram: true }],
  });
}

function planned(inventory: Inventory, request: ProvisionRequest): Plan {
  const plan = provisionPlan(inventory, request);
  if (plan.kind === "refusal") throw new Error(`Refused: ${plan.reason}`);
  return plan;
}

function apply(machine: ModelMachine, request: ProvisionRequest): void {
  for (let i = 0; i < 20; i++) {
    const next = planned(machine.inventory(), request).steps.find((one) => one.done === undefined);
    if (next === undefined) return;
    for (const line of next.commands) machine.run(line);
  }
  throw new Error("The plan does not come to an end");
}

async function failures(machine: ModelMachine, tiering?: "on" | "off"): Promise<Record<string, string>> {
  const none = () => Promise.reject(new Error("not looked at here"));
  const lines = await checkTarget("cxl-kmem", machine.inventory(), { dax: none, node: none }, {
    mounts: [],
    nodes: [],
  }, tiering === undefined ? {} : { tiering });
  assert(tiering === undefined || lines.some(({ id }) => id === "promotion"));
  const about = lines.filter(({ id }) => /promotion|demotion|tiering/.test(id));
  return Object.fromEntries(about.filter(({ ok }) => !ok).map(({ id, text }) => [id, text]));
}

Deno.test("--tiering on: set now and at every start, seen by the check, and taken back to what was there", async () => {
  const machine = expander();
  const before = { ...machine.tiering };
  assertEquals(before, { "noise.numa_balancing": "1", "kernel.numa_demotion": "false" });
  const missing = await failures(machine, "on");
  assertEquals(Object.keys(missing), ["promotion", "restart promotion", "demotion", "restart demotion"]);
  assertMatch(
    missing["demotion"] ?? "",
    /demotion is not on: .*demotion_enabled is false; next: .*--tiering on --apply/,
  );

  apply(machine, ON);
  const on = { "noise.numa_balancing": "2", "kernel.numa_demotion": "true" };
  assertEquals([machine.tiering, await failures(machine, "on")], [on, {}]);
  machine.reboot();
  assertEquals(machine.tiering, on);

  // Someone else's change is seen without being asked for, and mended.
  machine.run("echo false > /sys/kernel/mm/numa/demotion_enabled");
  assertEquals(Object.keys(await failures(machine)), ["demotion"]);
  apply(machine, { target: "cxl-kmem" });
  assertEquals(machine.tiering, on);

  // The other way keeps in mind what was there first; the way back needs no option.
  apply(machine, { ...ON, tiering: "off" });
  assertEquals(machine.tiering, { "noise.numa_balancing": "0", "kernel.numa_demotion": "false" });
  assertEquals([Object.keys(await failures(machine, "on")).length, await failures(machine, "off")], [4, {}]);
  const back = planned(machine.inventory(), { target: "cxl-kmem" }).steps.filter(({ id }) => IDS.includes(id));
  assertEquals(back.map(({ id, done }) => [id, done !== undefined]), [["promotion", true], ["demotion", true]]);
  for (const line of back.reverse().flatMap(({ undo }) => undo)) machine.run(line);
  assertEquals(machine.tiering, before);
  assertEquals(Object.keys(machine.files).filter((path) => /sysctl|tmpfiles/.test(path)), []);
  assertEquals(planned(machine.inventory(), { target: "cxl-kmem" }).steps.filter(({ id }) => IDS.includes(id)), []);
});

Deno.test("--tiering is refused where the kernel cannot, and where another configuration is asked for", () => {
  const inventory = expander().inventory();
  const { "kernel.numa_demotion": _gone, ...facts } = inventory.facts;
  const cannot = provisionPlan({ ...inventory, facts }, ON);
  assertStringIncludes(cannot.kind === "refusal" ? cannot.reason : "", "cannot demote cold pages");
  // What is not there is off already.
  const off = planned({ ...inventory, facts }, { ...ON, tiering: "off" });
  assertEquals(off.steps.map(({ id }) => id).filter((id) => IDS.includes(id)), ["promotion"]);
  const other = provisionPlan(inventory, { target: "kmem-dax", tiering: "on" });
  assertStringIncludes(other.kind === "refusal" ? other.reason : "", 'only "cxl-kmem" sets');
  const old = planned({ ...inventory, facts: { ...inventory.facts, "kernel.release": "5.17.0" } }, ON);
  assertStringIncludes(old.warnings.join("\n"), "promotion of hot pages (kernel.numa_balancing = 2) came with 5.18");
});

Deno.test("--tiering: words that the kernel does not know are never written back", () => {
  const inventory = expander().inventory();
  const facts = { ...inventory.facts, "kernel.numa_demotion": "$(reboot)" };
  const demotion = planned({ ...inventory, facts }, ON).steps.find(({ id }) => id === "demotion");
  assertEquals(demotion?.undo.at(-1), "echo false > /sys/kernel/mm/numa/demotion_enabled");
});
