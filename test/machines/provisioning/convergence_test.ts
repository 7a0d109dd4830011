/** Plans lead to their configuration from wherever an earlier run stopped, and take nothing of it back. */

import { assert, assertEquals } from "../../assert.ts";
import type { Plan, ProvisionRequest, Step } from "../../../machines/provisioning/contract.ts";
import { provisionPlan } from "../../../machines/provisioning/provision_plan.ts";
import {
  ALINUX3,
  CENTOS7,
  DEBIAN,
  empty,
  filled,
  ModelMachine,
  type ModelParts,
  RHEL9,
  unlabelled,
} from "./model_machine.ts";

const GIB = 1024 ** 3;

function planOf(machine: ModelMachine, request: ProvisionRequest): Plan {
  const plan = provisionPlan(machine.inventory(), request);
  if (plan.kind === "refusal") throw new Error(`Refused: ${plan.reason}`);
  return plan;
}

function pending(plan: Plan): Step[] {
  return plan.steps.filter((step) => step.done === undefined);
}

/** What a plan asks to run: for comparing plans. */
function toRun(steps: readonly Step[]) {
  return steps.map((step) => [step.id, ...step.commands]);
}

/** Runs all that is left, plan by plan; at most as many as there can be steps. */
function finish(machine: ModelMachine, request: ProvisionRequest): void {
  for (let i = 0; i < 40; i++) {
    const [step] = pending(planOf(machine, request));
    if (step === undefined) return;
    for (const line of step.commands) machine.run(line);
    if (step.reboot) machine.reboot();
  }
  throw new Error("The plan does not come to an end");
}

interface Case {
  readonly name: string;
  readonly parts: () => ModelParts;
  readonly request: ProvisionRequest;
  readonly prepare?: (machine: ModelMachine) => void;
  /** After a restart other steps may be known than before. */
  readonly unknownBefore?: true;
}

const cxl = (ram: number): ModelParts => ({
  installed: ["cxl"],
  memdevs: [{ memdev: "mem0", pmem: GIB, ram }, { memdev: "mem1", pmem: GIB, ram: 0 }],
  decoders: [
    { decoder: "decoder0.0", size: 4 * GIB, pmem: true, ram: false },
    { decoder: "decoder0.1", size: 4 * GIB, pmem: false, ram: true },
  ],
});
const vm = (): ModelParts => ({
  facts: { "cpu.virtual": "yes" },
  bare: { node: 1, start: 8 * GIB, end: 24 * GIB },
});

const CASES: readonly Case[] = [
  {
    name: "fsdax, NVDIMMs as they come",
    parts: () => ({ regions: [unlabelled(0), unlabelled(1)] }),
    request: { target: "fsdax", owner: "alice" },
  },
  {
    name: "fsdax, labelled regions without namespaces",
    parts: () => ({ regions: [empty(0), empty(1)] }),
    request: { target: "fsdax" },
  },
  {
    name: "fsdax over a sector namespace with a mounted xfs",
    parts: () => ({ installed: ["ndctl"], regions: [filled(0, "sector")] }),
    request: { target: "fsdax" },
    prepare: (machine) => {
      machine.fileSystems.set("pmem0s", { type: "xfs", label: undefined, serial: 0 });
      machine.mounts.set("/data", { block: "pmem0s", dax: false });
    },
  },
  {
    name: "fsdax with an xfs on it, mounted without DAX",
    parts: () => ({ installed: ["ndctl"], regions: [filled(0, "fsdax")] }),
    request: { target: "fsdax" },
    prepare: (machine) => {
      machine.fileSystems.set("pmem0", { type: "xfs", label: undefined, serial: 0 });
      machine.mounts.set("/data", { block: "pmem0", dax: false });
    },
  },
  {
    name: "fsdax where others made the ext4 and mounted it without DAX",
    parts: () => ({ installed: ["ndctl"], regions: [filled(0, "fsdax")] }),
    request: { target: "fsdax", mountParent: "/srv/pmem-data" },
    prepare: (machine) => {
      machine.fileSystems.set("pmem0", { type: "ext4", label: "theirs", serial: 0 });
      machine.mounts.set("/data", { block: "pmem0", dax: false });
    },
  },
  {
    name: "fsdax beside a namespace of others",
    parts: () => ({ regions: [{ ...filled(0, "sector"), size: 8 * GIB }] }),
    request: { target: "fsdax" },
  },
  {
    name: "fsdax after kmem-dax",
    parts: () => ({ regions: [unlabelled(0)] }),
    request: { target: "fsdax" },
    prepare: (machine) => finish(machine, { target: "kmem-dax" }),
  },
  {
    name: "fsdax, modules without regions",
    parts: () => ({ modules: 4 }),
    request: { target: "fsdax" },
    unknownBefore: true,
  },
  {
    name: "kmem-dax, NVDIMMs as they come",
    parts: () => ({ regions: [unlabelled(0), unlabelled(1)] }),
    request: { target: "kmem-dax" },
  },
  {
    name: "kmem-dax, one region of two",
    parts: () => ({ regions: [empty(0), empty(1)] }),
    request: { target: "kmem-dax", only: ["region1"] },
  },
  {
    name: "kmem-dax after fsdax",
    parts: () => ({ regions: [unlabelled(0)] }),
    request: { target: "kmem-dax" },
    prepare: (machine) => finish(machine, { target: "fsdax" }),
  },
  {
    name: "hbm, memory that firmware sets aside",
    parts: () => ({ hmem: { dax: "dax0.0", node: 2, size: 64 * GIB } }),
    request: { target: "hbm" },
  },
  { name: "cxl-kmem, persistent", parts: () => cxl(0), request: { target: "cxl-kmem" } },
  { name: "cxl-kmem, persistent and volatile", parts: () => cxl(GIB), request: { target: "cxl-kmem" } },
  {
    name: "cxl-kmem, three volatile devices, two of them in one region",
    parts: () => ({
      ...cxl(0),
      memdevs: ["mem0", "mem1", "mem2"].map((memdev) => ({ memdev, pmem: 0, ram: GIB })),
    }),
    request: { target: "cxl-kmem" },
  },
  {
    name: "cxl-kmem with the kernel's tiering",
    parts: () => cxl(GIB),
    request: { target: "cxl-kmem", tiering: "on" },
  },
  {
    name: "cxl-kmem, tiering off after on",
    parts: () => cxl(GIB),
    request: { target: "cxl-kmem", tiering: "off" },
    prepare: (machine) => finish(machine, { target: "cxl-kmem", tiering: "on" }),
  },
  {
    name: "cxl-kmem beside NVDIMMs",
    parts: () => ({ ...cxl(GIB), regions: [unlabelled(0)], installed: ["cxl", "ndctl"] }),
    request: { target: "cxl-kmem" },
  },
  { name: "fsdax in a cloud VM, from a node", parts: vm, request: { target: "fsdax" } },
  { name: "fsdax in a cloud VM, range given", parts: vm, request: { target: "fsdax", memmap: "4G!10G" } },
  { name: "kmem-dax in a cloud VM, a node is there", parts: vm, request: { target: "kmem-dax" } },
  {
    name: "kmem-dax in a cloud VM after fsdax",
    parts: vm,
    request: { target: "kmem-dax" },
    prepare: (machine) => finish(machine, { target: "fsdax" }),
  },
  {
    name: "memory-mode after fsdax",
    parts: () => ({ modules: 4, installed: ["ndctl"], regions: [empty(0), empty(1)] }),
    request: { target: "memory-mode" },
    prepare: (machine) => finish(machine, { target: "fsdax" }),
  },
];

const SYSTEMS = [DEBIAN, RHEL9, CENTOS7, ALINUX3];
const ALL = SYSTEMS.flatMap((os) => CASES.map((one) => ({ ...one, os, name: `${one.name}, ${os.name}` })));

function start({ parts, prepare, os }: (typeof ALL)[number]): ModelMachine {
  const machine = new ModelMachine({ ...parts(), os });
  prepare?.(machine);
  machine.made.clear();
  return machine;
}

Deno.test.each(ALL)("provisionPlan() leads there step by step: $name", (one) => {
  const machine = start(one);
  let plan = planOf(machine, one.request);
  for (let i = 0; i < 40 && pending(plan).length > 0; i++) {
    const [step, ...rest] = pending(plan);
    if (step === undefined) break;
    for (const line of step.commands) machine.run(line);
    if (step.reboot) machine.reboot();
    const next = planOf(machine, one.request);
    if (!(one.unknownBefore === true && step.reboot)) {
      assert(next.steps.some((other) => other.id === step.id && other.done !== undefined), `${step.id} is not done`);
      assertEquals(toRun(pending(next)), toRun(rest), `after ${step.id}`);
    }
    plan = next;
  }
  assertEquals(pending(plan), []);
  for (const [what, times] of machine.made) assertEquals(times, 1, what);
  machine.reboot();
  assertEquals(toRun(pending(planOf(machine, one.request))), [], "after a restart");
  for (const path of plan.results.mounts) assertEquals(machine.mounts.get(path)?.dax, true, path);
});

Deno.test.each(ALL)("provisionPlan() goes on after an interruption at every line: $name", (one) => {
  for (let stop = 0;; stop++) {
    const machine = start(one);
    const lines = pending(planOf(machine, one.request)).flatMap((step) => [
      ...step.commands.map((line) => () => machine.run(line)),
      ...(step.reboot ? [() => machine.reboot()] : []),
    ]);
    if (stop > lines.length) break;
    lines.slice(0, stop).forEach((run) => run());
    finish(machine, one.request);
    for (const [what, times] of machine.made) assertEquals(times, 1, `${what}, stopped after line ${stop}`);
    assertEquals(pending(planOf(machine, one.request)), []);
  }
});

Deno.test.each(ALL)("provisionPlan() keeps what a run has made: $name", (one) => {
  const machine = start(one);
  finish(machine, one.request);
  const plan = planOf(machine, one.request);
  assertEquals(plan.steps.flatMap((step) => step.done === undefined ? step.commands : []), []);
  assertEquals(plan.steps.flatMap((step) => step.done === undefined ? step.destroys : []), []);
});

Deno.test("a file system of others is kept as it is, and mounted with DAX beside its label", () => {
  const machine = new ModelMachine({ installed: ["ndctl"], regions: [filled(0, "fsdax")] });
  machine.fileSystems.set("pmem0", { type: "ext4", label: "theirs", serial: 0 });
  finish(machine, { target: "fsdax" });
  assertEquals(machine.fileSystems.get("pmem0"), { type: "ext4", label: "theirs", serial: 0 });
  assertEquals(machine.mounts.get("/mnt/pmem0"), { block: "pmem0", dax: true });
});

Deno.test("no interruption brings back a file system from before the memory", () => {
  const stop = (lines: number) => {
    const machine = new ModelMachine({ regions: [unlabelled(0)] });
    finish(machine, { target: "fsdax" });
    const before = machine.fileSystems.get("pmem0")?.serial;
    finish(machine, { target: "kmem-dax" });
    const step = pending(planOf(machine, { target: "fsdax" })).find((one) => one.id === "namespace-region0");
    step?.commands.slice(0, lines).forEach((line) => machine.run(line));
    finish(machine, { target: "fsdax" });
    return { before, after: machine.fileSystems.get("pmem0")?.serial, all: lines >= (step?.commands.length ?? 0) };
  };
  for (let lines = 0;; lines++) {
    const { before, after, all } = stop(lines);
    assert(before !== undefined && after !== undefined && before !== after, `stopped after ${lines} lines`);
    if (all) break;
  }
});

Deno.test("the owner has the mount point", () => {
  const machine = new ModelMachine({ regions: [empty(0)] });
  finish(machine, { target: "fsdax", owner: "alice" });
  assertEquals([...machine.owners], [["/mnt/pmem0", "alice"]]);
});

Deno.test("undo lines of a plan are lines the machine knows", () => {
  const machine = new ModelMachine({ regions: [empty(0)] });
  finish(machine, { target: "fsdax" });
  const undo = planOf(machine, { target: "fsdax" }).steps.filter((step) => step.id !== "packages")
    .flatMap((step) => [...step.undo].map((line) => ({ line, id: step.id }))).reverse();
  // Steps in reverse, the lines of each in their order.
  const steps = [...new Set(undo.map(({ id }) => id))];
  for (const id of steps) for (const { line } of undo.filter((one) => one.id === id).reverse()) machine.run(line);
  assertEquals([machine.regions[0]?.spaces, machine.files, machine.mounts.size], [[], {}, 0]);
});

Deno.test("undo lines give memory back", () => {
  const machine = new ModelMachine({ regions: [empty(0)] });
  finish(machine, { target: "kmem-dax" });
  for (const step of planOf(machine, { target: "kmem-dax" }).steps.toReversed()) {
    if (step.id !== "packages") step.undo.forEach((line) => machine.run(line));
  }
  assertEquals([machine.regions[0]?.spaces, machine.files, machine.memory.size], [[], {}, 0]);
});
