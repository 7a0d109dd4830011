/**
 * The machines that the pages on provisioning are written for, and what the program says on them. Pages quote it; tests
 * compare.
 */

import type { Inventory } from "../../machines/inventory/inventory.ts";
import { known } from "../../machines/inventory/tool.ts";
import { applyPlan } from "../../machines/provisioning/apply.ts";
import { checkTarget } from "../../machines/provisioning/check/check_target.ts";
import type { CheckOptions, Plan, ProvisionRequest, Step } from "../../machines/provisioning/contract.ts";
import { provisionPlan } from "../../machines/provisioning/provision_plan.ts";
import { renderPlan } from "../../machines/provisioning/render.ts";
import type { Verify } from "../../machines/provisioning/verify.ts";
import {
  empty,
  filled,
  ModelMachine,
  type ModelParts,
  RHEL9,
  unlabelled,
} from "../machines/provisioning/model_machine.ts";

const GIB = 1024 ** 3;

/** What a section of a page has to have in its blocks of one language. */
export interface Quote {
  readonly page: string;
  readonly section: string;
  readonly language: "sh" | "text";
  readonly blocks: () => Promise<string[]> | string[];
}

function planOf(inventory: Inventory, request: ProvisionRequest): Plan {
  const plan = provisionPlan(inventory, request);
  if (plan.kind === "refusal") throw new Error(`Refused: ${plan.reason}`);
  return plan;
}

/** The lines of steps, a block a step. */
function blocksOfSteps(steps: readonly Step[]): string[] {
  return steps.map(({ commands }) => commands.join("\n"));
}

/** Follows a plan to its end, restarts included; the steps in the order in which they ran. */
function follow(machine: ModelMachine, request: ProvisionRequest): Step[] {
  const ran: Step[] = [];
  for (;;) {
    const step = planOf(machine.inventory(), request).steps.find((one) => one.done === undefined);
    if (step === undefined) return ran;
    if (ran.some(({ id }) => id === step.id)) throw new Error(`Step ${step.id} does not come to an end`);
    for (const line of step.commands) machine.run(line);
    if (step.reboot) machine.reboot();
    ran.push(step);
  }
}

/** Steps to a configuration, by name or all that run. */
function way(parts: ModelParts, request: ProvisionRequest, ids?: readonly string[]): string[] {
  const ran = follow(new ModelMachine(parts), request);
  return blocksOfSteps(ids === undefined ? ran : ran.filter(({ id }) => ids.includes(id)));
}

/** What takes a configuration back, last step first, as one block. */
function wayBack(parts: ModelParts, request: ProvisionRequest): string[] {
  const machine = new ModelMachine(parts);
  follow(machine, request);
  // What the package manager installed may be used by others by now; the machine of the page had it before.
  const steps = planOf(machine.inventory(), request).steps.filter((step) => step.done !== undefined);
  return [steps.reverse().flatMap(({ undo }) => undo).join("\n")];
}

/** The line that starts the container on a machine that is provisioned. */
function container(parts: ModelParts, request: ProvisionRequest): string[] {
  const machine = new ModelMachine(parts);
  follow(machine, request);
  const plan = planOf(machine.inventory(), { ...request, place: "container" });
  return blocksOfSteps(plan.steps.filter((step) => step.done === undefined));
}

/** Why there is no way, as it is printed. */
function refusal(parts: ModelParts, request: ProvisionRequest, more: Partial<Inventory> = {}): string {
  const plan = provisionPlan({ ...new ModelMachine(parts).inventory(), ...more }, request);
  if (plan.kind === "plan") throw new Error(`Not refused: ${plan.summary}`);
  return renderPlan(plan).trimEnd();
}

/** What applying ends with where nothing may run. */
async function refusedApply(machine: ModelMachine, request: ProvisionRequest): Promise<string> {
  const { kind, message } = await applyPlan({
    plan: (inventory) => provisionPlan(inventory, request),
    collect: () => Promise.resolve(machine.inventory()),
    shell: () => Promise.reject(new Error("nothing shall run")),
    confirm: () => Promise.reject(new Error("nothing shall be asked")),
    erase: request.erase ?? [],
  });
  return `${kind}: ${message}`;
}

/** What trying media gives where all is well. */
const DAX_FACTS: Readonly<Record<string, string>> = {
  "file.created": "yes",
  "file_system.block_size": "4096",
  "map_sync": "yes",
  "pmem.map_file": "yes",
  "pmem.map_file_is_pmem": "yes",
  "pmem.is_pmem": "yes",
  "map.page_size": "2097152",
  "persist.read_back": "yes",
};
const NODE_FACTS: Readonly<Record<string, string>> = {
  "bind.landed": "yes",
  "memkind.dax_kmem": "yes",
  "memkind.landed": "yes",
};

/** The lines of a check that failed, as they are printed. */
async function failing(
  inventory: Inventory,
  request: ProvisionRequest,
  tried: { dax?: Record<string, string>; node?: Record<string, string>; options?: CheckOptions } = {},
): Promise<string> {
  const verify: Verify = {
    dax: () => Promise.resolve({ ...DAX_FACTS, ...tried.dax }),
    node: () => Promise.resolve({ ...NODE_FACTS, ...tried.node }),
  };
  const plan = provisionPlan(inventory, request);
  const results = plan.kind === "plan" ? plan.results : { mounts: ["/mnt/pmem0"], nodes: [] };
  const lines = await checkTarget(request.target, inventory, verify, results, { place: plan.place, ...tried.options });
  return lines.filter(({ ok }) => !ok).map(({ id, text }) => `- ${id}  ${text}`).join("\n");
}

/** A machine after its plan, with something changed. */
function after(parts: ModelParts, request: ProvisionRequest, change: (machine: ModelMachine) => void = () => {}) {
  const machine = new ModelMachine(parts);
  follow(machine, request);
  change(machine);
  return machine;
}

const TOOLS = ["ndctl", "daxctl", "cxl"] as const;
const LIBRARIES = ["libpmem", "memkind"] as const;
const READY = { installed: TOOLS, libraries: LIBRARIES };

/** Two sockets, twelve modules, nothing made of them and nothing installed. */
const optane = (): ModelParts => ({ modules: 12 });
/** The same after the restart: a region a socket. */
const server = (): ModelParts => ({ ...READY, regions: [empty(0), empty(1)] });
/** A cloud VM whose provider attaches an NVDIMM. */
const nvdimmVm = (): ModelParts => ({ facts: { "cpu.virtual": "yes" }, regions: [unlabelled(0)] });
/** A cloud VM of Alibaba's kind re7p: node 1 is memory without CPUs, from 257 GiB on. */
const memoryVm = (): ModelParts => ({
  facts: { "cpu.virtual": "yes" },
  bare: { node: 1, start: 257 * GIB, end: 1265 * GIB },
});
/** A memory expander of 128 GiB. */
const expander = (): ModelParts => ({
  memdevs: [{ memdev: "mem0", pmem: 0, ram: 128 * GIB }],
  decoders: [{ decoder: "decoder0.0", size: 256 * GIB, pmem: false, ram: true }],
});
/** A persistent CXL device. */
const persistentCxl = (): ModelParts => ({
  ...READY,
  memdevs: [{ memdev: "mem0", pmem: 128 * GIB, ram: 0 }],
  decoders: [{ decoder: "decoder0.0", size: 256 * GIB, pmem: true, ram: true }],
});

const FSDAX = { target: "fsdax", owner: "alice" } as const;
const KMEM = { target: "kmem-dax" } as const;
const CXL = { target: "cxl-kmem" } as const;
const HBM = { target: "hbm" } as const;
/** A machine in flat mode whose firmware keeps its HBM for special purposes. */
const setAside = (): ModelParts => ({ ...READY, hmem: { dax: "dax0.0", node: 2, size: 64 * GIB } });
const MEMORY_MODE = { target: "memory-mode" } as const;
const VM = { place: "cloud-vm" } as const;

/** One namespace's alignment in an inventory. */
function withAlignment(inventory: Inventory, align: number): Inventory {
  if (inventory.ndctl?.known !== true) throw new Error("ndctl says nothing");
  const buses = inventory.ndctl.value.map((bus) => ({
    ...bus,
    regions: bus.regions.map((region) => ({
      ...region,
      namespaces: region.namespaces.map((one) => ({ ...one, align })),
    })),
  }));
  return { ...inventory, ndctl: known(buses) };
}

const fsdax: Quote[] = [
  {
    page: "fsdax",
    section: "Bare metal / Regions",
    language: "sh",
    blocks: () => way(optane(), FSDAX, ["packages", "goal"]),
  },
  {
    page: "fsdax",
    section: "Bare metal / Namespace, file system, mount",
    language: "sh",
    blocks: () => way(server(), { ...FSDAX, only: ["region0"] }),
  },
  {
    page: "fsdax",
    section: "Cloud VM / Virtual NVDIMMs",
    language: "sh",
    blocks: () => way(nvdimmVm(), { ...FSDAX, ...VM }, ["namespace-region0"]),
  },
  {
    page: "fsdax",
    section: "Cloud VM / Memory of a node",
    language: "sh",
    blocks: () => way(memoryVm(), { ...FSDAX, ...VM }),
  },
  {
    page: "fsdax",
    section: "Cloud VM / The same on systems like RHEL",
    language: "sh",
    blocks: () => way({ ...memoryVm(), os: RHEL9 }, { ...FSDAX, ...VM }, ["packages", "boot-option", "boot-loader"]),
  },
  {
    page: "fsdax",
    section: "In a container",
    language: "sh",
    blocks: () => container(server(), { ...FSDAX, only: ["region0"] }),
  },
  {
    page: "fsdax",
    section: "Taking it back",
    language: "sh",
    blocks: () => wayBack(server(), { ...FSDAX, only: ["region0"] }),
  },
  {
    page: "fsdax",
    section: "When it does not work",
    language: "text",
    blocks: async () => {
      const one = () => ({ ...READY, regions: [empty(0)] });
      const other = new ModelMachine({ ...READY, regions: [filled(0, "sector")] });
      other.fileSystems.set("pmem0s", { type: "xfs", label: undefined, serial: 0 });
      other.mounts.set("/data", { block: "pmem0s", dax: false });
      const virtio = { ...unlabelled(0), provider: "virtio-pmem" };
      const vm = { ...memoryVm(), bare: { node: 1, start: 4 * GIB, end: 20 * GIB } };
      return [
        refusal({}, FSDAX),
        await refusedApply(other, FSDAX),
        await failing(
          after(one(), FSDAX, (machine) => machine.mounts.set("/mnt/pmem0", { block: "pmem0", dax: false }))
            .inventory(),
          FSDAX,
        ),
        await failing(withAlignment(after(one(), FSDAX).inventory(), 4096), FSDAX),
        await failing(after(one(), FSDAX).inventory(), FSDAX, { dax: { "map.page_size": "4096" } }),
        refusal({ facts: { "cpu.virtual": "yes" }, regions: [virtio] }, FSDAX),
        refusal(vm, { ...FSDAX, memmap: "8G!2G" }),
      ];
    },
  },
];

const kmem: Quote[] = [
  {
    page: "kmem-dax",
    section: "Bare metal",
    language: "sh",
    blocks: () => way({ regions: [empty(0)] }, KMEM),
  },
  {
    page: "kmem-dax",
    section: "Cloud VM / Memory of a node",
    language: "sh",
    blocks: () => way(memoryVm(), { ...KMEM, ...VM }),
  },
  {
    page: "kmem-dax",
    section: "Cloud VM / Memory that was set aside for fsdax",
    language: "sh",
    blocks: () => {
      const machine = new ModelMachine({ ...memoryVm(), ...READY });
      follow(machine, { ...FSDAX, ...VM });
      return blocksOfSteps(follow(machine, { ...KMEM, ...VM }));
    },
  },
  {
    page: "kmem-dax",
    section: "In a container",
    language: "sh",
    blocks: () => container({ ...READY, regions: [empty(0)] }, KMEM),
  },
  {
    page: "kmem-dax",
    section: "Taking it back",
    language: "sh",
    blocks: () => wayBack({ ...READY, regions: [empty(0)] }, KMEM),
  },
  {
    page: "kmem-dax",
    section: "When it does not work",
    language: "text",
    blocks: async () => {
      const one = () => ({ ...READY, regions: [empty(0)] });
      const facts = {
        "node.2.cpus": "",
        "node.2.total": String(GIB),
        "dax.dax0.0.region": "region0",
        "dax.dax0.0.origin": "pmem",
      };
      const there = (change: Record<string, string> = {}) => {
        const inventory = after({ ...one(), facts }, KMEM).inventory();
        return { ...inventory, facts: { ...inventory.facts, ...change } };
      };
      const devices = there();
      if (devices.daxctl?.known !== true) throw new Error("daxctl says nothing");
      const fixed = { ...devices, daxctl: known(devices.daxctl.value.map((one) => ({ ...one, movable: false }))) };
      const aside = { dev: "region0", provider: "e820", size: GIB, targetNode: undefined, spaces: [] };
      return [
        await failing(there({ "kernel.auto_online_blocks": "online" }), KMEM),
        await failing(fixed, KMEM),
        await failing(there({ "node.2.cpus": "0-15" }), KMEM),
        await failing(there(), KMEM, { node: { "bind.landed": "no", "bind.error": "Operation not permitted" } }),
        refusal({ ...READY, regions: [aside] }, KMEM),
        refusal({ ...READY, memdevs: expander().memdevs ?? [], decoders: expander().decoders ?? [] }, KMEM),
      ];
    },
  },
];

const cxl: Quote[] = [
  {
    page: "cxl-kmem",
    section: "Bare metal / Volatile memory",
    language: "sh",
    blocks: () => [...way(expander(), CXL, ["packages"]), ...way({ ...expander(), ...READY }, CXL)],
  },
  {
    page: "cxl-kmem",
    section: "Bare metal / Promotion and demotion",
    language: "sh",
    blocks: () => way(persistentCxl(), { ...CXL, tiering: "on" }, ["promotion", "demotion"]),
  },
  {
    page: "cxl-kmem",
    section: "Bare metal / Persistent memory",
    language: "sh",
    blocks: () => way(persistentCxl(), CXL),
  },
  {
    page: "cxl-kmem",
    section: "In a container",
    language: "sh",
    blocks: () => container(persistentCxl(), CXL),
  },
  {
    page: "cxl-kmem",
    section: "Taking it back",
    language: "sh",
    blocks: () => wayBack(persistentCxl(), CXL),
  },
  {
    page: "cxl-kmem",
    section: "When it does not work",
    language: "text",
    blocks: () => {
      const small = { decoder: "decoder0.0", size: 64 * GIB, pmem: false, ram: true };
      const stale = new ModelMachine({ ...persistentCxl() });
      stale.run("cxl create-region -m -t pmem -d decoder0.0 -w 1 mem0");
      const inventory = stale.inventory();
      if (inventory.cxl?.known !== true) throw new Error("cxl says nothing");
      const regions = inventory.cxl.value.regions.map((one) => ({ ...one, decodeState: "reset" }));
      return [
        refusal(READY, CXL),
        refusal({ ...expander(), ...READY, decoders: [small] }, CXL),
        refusal(persistentCxl(), CXL, { ...inventory, cxl: known({ ...inventory.cxl.value, regions }) }),
      ];
    },
  },
];

const memoryMode: Quote[] = [
  {
    page: "memory-mode",
    section: "Bare metal",
    language: "sh",
    blocks: () => way(optane(), MEMORY_MODE),
  },
  {
    page: "memory-mode",
    section: "Bare metal / Where there are namespaces",
    language: "sh",
    blocks: () => {
      const machine = new ModelMachine({ ...server(), installed: [...TOOLS, "ipmctl"], modules: 12 });
      follow(machine, { ...FSDAX, only: ["region0"] });
      return blocksOfSteps(follow(machine, MEMORY_MODE));
    },
  },
  {
    page: "memory-mode",
    section: "Cloud VM",
    language: "text",
    blocks: () => [refusal({ facts: { "cpu.virtual": "yes" } }, MEMORY_MODE)],
  },
  {
    page: "memory-mode",
    section: "In a container",
    language: "text",
    blocks: () => [refusal(optane(), { ...MEMORY_MODE, place: "container" })],
  },
  {
    page: "memory-mode",
    section: "Taking it back",
    language: "sh",
    blocks: () => {
      const machine = new ModelMachine({ ...optane(), installed: ["ipmctl"] });
      const steps = follow(machine, MEMORY_MODE);
      return [steps.flatMap(({ undo }) => undo).join("\n")];
    },
  },
  {
    page: "memory-mode",
    section: "When it does not work",
    language: "text",
    blocks: async () => {
      const machine = new ModelMachine({ ...optane(), installed: ["ipmctl"] });
      return [refusal({}, MEMORY_MODE), await failing(machine.inventory(), MEMORY_MODE)];
    },
  },
];

/** All that pages quote. */
const hbm: Quote[] = [
  {
    page: "hbm",
    section: "Bare metal / Memory that firmware sets aside",
    language: "sh",
    blocks: () => way(setAside(), HBM),
  },
  { page: "hbm", section: "In a container", language: "sh", blocks: () => container(setAside(), HBM) },
  { page: "hbm", section: "Taking it back", language: "sh", blocks: () => wayBack(setAside(), HBM) },
  {
    page: "hbm",
    section: "When it does not work",
    language: "text",
    blocks: () => [
      refusal(READY, HBM),
      refusal({
        ...READY,
        facts: { "cpu.virtual": "no", "node.0.cpus": "0-55", "node.0.side_cache_size": String(64 * GIB) },
      }, HBM),
    ],
  },
];

export const QUOTES: readonly Quote[] = [...memoryMode, ...fsdax, ...kmem, ...cxl, ...hbm];
