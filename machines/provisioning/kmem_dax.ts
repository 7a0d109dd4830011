/**
 * `kmem-dax`: every region of NVDIMMs as memory of a NUMA node without CPUs.
 *
 * @module
 */

import { nodesOf } from "../inventory/parts.ts";
import { giveBackSteps } from "./boot_loader.ts";
import type { PlanContext, PlanParts } from "./context.ts";
import { memoryOf } from "./dax_memory.ts";
import { regionsFirst, unusable } from "./fsdax.ts";
import { modules } from "./goal.ts";
import { blockContent, daxLoss } from "./loss.ts";
import { runningMemmap } from "./memmap.ts";
import { chooseNamespace, DEVDAX, enableFirst, release } from "./namespace_step.ts";
import { absentLibraries, type Needed, packagesStep } from "./packages.ts";
import { cxl, nvdimm, setAside } from "./providers.ts";
import { Refused } from "./refused.ts";
import { chosen, type RegionView, regionViews } from "./regions.ts";
import { words } from "./shell.ts";
import { atEveryStart, autoOnlineStep, type MemoryDevice, memoryWarnings, systemRamStep } from "./system_ram.ts";
import { NEEDS, versionWarnings } from "./versions.ts";

const NEEDED: Needed = { tools: ["ndctl", "daxctl"], libraries: ["memkind"] };

/** The way to `kmem-dax`, or {@linkcode Refused}. */
export function planKmemDax(context: PlanContext): PlanParts {
  const { inventory, request, place } = context;
  const regions = regionViews(inventory);
  const usable = regions.filter(nvdimm);
  if (usable.length > 0) return onRegions(context, chosen(usable, (one) => one.dev, request.only));
  const bare = nodesOf(inventory.facts).filter((one) => one.cpus === "" && (one.totalBytes ?? 0) > 0);
  if (place === "cloud-vm" && (regions.some(setAside) || bare.length > 0)) {
    return onNodes(context, regions.filter(setAside), bare.map((one) => one.node));
  }
  if (regions.some(cxl) || (inventory.cxl?.known === true && inventory.cxl.value.memdevs.length > 0)) {
    throw new Refused("There is CXL memory here, and no region of NVDIMMs.", 'Provision "cxl-kmem".');
  }
  if (regions.length > 0) {
    throw regions.some(setAside)
      ? new Refused(
        "Memory set aside with memmap= is DRAM: as a NUMA node it would show nothing about PMEM.",
        "Take memmap= out of the kernel's command line.",
      )
      : unusable(regions);
  }
  if (place === "bare-metal" && (modules(context) ?? 0) > 0) return regionsFirst(context, NEEDED);
  throw new Refused(
    "No region of NVDIMMs is in /sys/bus/nd, and no PMEM module either: this machine shows no persistent memory.",
    "Without it kmem-dax runs emulated; on a machine with PMEM look at the firmware's settings.",
  );
}

function onRegions(context: PlanContext, regions: readonly RegionView[]): PlanParts {
  const first = enableFirst(regions);
  if (first !== undefined) {
    const steps = [packagesStep(context, NEEDED), ...first.steps];
    return { ...first, steps, partial: true, results: { mounts: [], nodes: [] } };
  }
  const choices = regions.map((region) => ({ region, choice: chooseNamespace(context, region, DEVDAX) }));
  const devices: MemoryDevice[] = choices.map(({ region, choice }) => ({
    id: region.dev,
    dax: choice.dax,
    bytes: choice.space?.size ?? region.size,
    targetNode: region.targetNode,
    loss: daxLoss(choice.dax, choice.space),
  }));
  const autoOnline = autoOnlineStep(context, devices.map((device) => device.dax));
  const nodes = nodesOfDevices(context, devices);
  return {
    summary: `PMEM of ${words(regions.map((one) => one.dev))} as memory without CPUs` +
      `${nodes.length === 0 ? "" : `, node ${words(nodes.map(String))}`}, at every start`,
    warnings: [
      ...versionWarnings(context.inventory, [NEEDS.kmem, NEEDS.namespaceModes, NEEDS.reconfigure]),
      ...memoryWarnings(context, devices),
      ...absentLibraries(context, NEEDED),
      ...(context.place === "cloud-vm" ? ["the NVDIMMs are virtual: no speed of them counts as that of PMEM"] : []),
    ],
    steps: [
      packagesStep(context, NEEDED),
      ...choices.map(({ choice }) => choice.step),
      ...(autoOnline === undefined ? [] : [autoOnline]),
      ...devices.map((device) => systemRamStep(context, device)),
      ...atEveryStart(context, devices),
    ],
    results: { mounts: [], nodes },
  };
}

/** Nodes of devices as far as they are known. */
export function nodesOfDevices({ inventory }: PlanContext, devices: readonly MemoryDevice[]): number[] {
  const nodes = devices.map((device) => memoryOf(inventory, device.dax)?.targetNode ?? device.targetNode);
  return [...new Set(nodes.filter((node) => node !== undefined))].sort((a, b) => a - b);
}

/**
 * Cloud VM in which PMEM is plain memory of a node without CPUs, as Alibaba's re7p: nothing has to be made; memkind is
 * told the node (docs/Embedding-on-PMEM.md of DeepRec). What was set aside for fsdax is given back.
 */
function onNodes(context: PlanContext, aside: readonly RegionView[], bare: readonly number[]): PlanParts {
  const { inventory, request } = context;
  if (request.only !== undefined && request.only.length > 0) chosen(aside, (one) => one.dev, request.only);
  const memmap = runningMemmap(inventory.facts);
  if (aside.length > 0 && memmap === undefined) {
    throw new Refused(
      `${words(aside.map((one) => one.dev))} is set aside with a kernel option that could not be read.`,
      "Take memmap= out of the kernel's command line, and start the machine again.",
    );
  }
  const spaces = aside.flatMap((region) => region.spaces);
  const steps = giveBackSteps(context, aside.length === 0 ? undefined : memmap, {
    commands: spaces.flatMap((space) => release(inventory, space)),
    destroys: spaces.flatMap(({ block, dev }) =>
      block === undefined
        ? [{ device: dev, found: undefined }]
        : [{ device: block, found: blockContent(inventory, block).found }]
    ),
  });
  const targets = [...new Set(aside.map((region) => region.targetNode).filter((node) => node !== undefined))];
  const nodes = [...new Set([...bare, ...targets])].sort((a, b) => a - b);
  return {
    summary: nodes.length === 0
      ? "memory that was set aside is memory of a node without CPUs again"
      : `memory of node ${words(nodes.map(String))}, which has no CPUs; nothing has to be made of it`,
    warnings: [
      `memkind does not find plain memory by itself: run with MEMKIND_DAX_KMEM_NODES=${nodes.join(",") || "1"}`,
      "what the memory is cannot be seen from inside the VM: it is not proven to be PMEM",
    ],
    steps: [packagesStep(context, { tools: [], libraries: ["memkind"] }), ...steps],
    results: { mounts: [], nodes },
  };
}
