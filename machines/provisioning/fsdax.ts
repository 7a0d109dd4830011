/**
 * `fsdax`: ext4 with DAX on every region of PMEM, one a socket.
 *
 * @module
 */

import { numberOf } from "../inventory/parts.ts";
import { setAsideSteps } from "./boot_loader.ts";
import type { PlanContext, PlanParts } from "./context.ts";
import type { Step } from "./contract.ts";
import { type FileSystemSteps, fileSystemSteps } from "./file_system.ts";
import { appDirectStep, modules } from "./goal.ts";
import { checkRange, defaultMemmap, runningMemmap } from "./memmap.ts";
import { chooseNamespace, enableFirst, FSDAX } from "./namespace_step.ts";
import { type Needed, packagesStep } from "./packages.ts";
import { cxl, DRAM_STATEMENT, nvdimm, setAside, virtioPmem } from "./providers.ts";
import { Refused } from "./refused.ts";
import { chosen, type RegionView, regionViews } from "./regions.ts";
import { words } from "./shell.ts";
import { NEEDS, versionWarnings } from "./versions.ts";

const NEEDED: Needed = { tools: ["ndctl"], libraries: ["libpmem"] };

/** The way to `fsdax`, or {@linkcode Refused}. */
export function planFsdax(context: PlanContext): PlanParts {
  const { inventory, request, place } = context;
  const regions = regionViews(inventory);
  if (request.memmap !== undefined && place !== "cloud-vm") {
    throw new Refused(
      "memmap= sets DRAM aside, which shows nothing about PMEM on bare metal.",
      "Leave out --memmap, or say --cloud-vm.",
    );
  }
  const usable = regions.filter((one) => nvdimm(one) || cxl(one) || setAside(one));
  if (usable.length > 0) return onRegions(context, chosen(usable, (one) => one.dev, request.only));
  if (regions.length > 0) throw unusable(regions);
  if (place === "cloud-vm") return onMemory(context);
  if ((modules(context) ?? 0) > 0) return regionsFirst(context, NEEDED);
  throw new Refused(
    "No PMEM region is in /sys/bus/nd, and no PMEM module either: this machine shows no persistent memory.",
    (inventory.cxl?.known === true && inventory.cxl.value.memdevs.length > 0)
      ? 'There is CXL memory: provision "cxl-kmem", or make a region of it with cxl create-region first.'
      : "Without it fsdax runs emulated; on a machine with PMEM look at the firmware's settings.",
  );
}

/** Why regions there are of no use. */
export function unusable(regions: readonly RegionView[]): Refused {
  const virtio = regions.filter(virtioPmem).map((one) => one.dev);
  return virtio.length > 0
    ? new Refused(
      `${words(virtio)} ${
        virtio.length === 1 ? "is" : "are"
      } a file of the host (virtio-pmem): it can be mounted with ` +
        "DAX, but not mapped with MAP_SYNC, so no store to it can be made durable from here.",
      "Give the VM virtual NVDIMMs (QEMU: -device nvdimm).",
    )
    : new Refused(
      `${words(regions.map((one) => `${one.dev} comes from "${one.provider}"`))}, which is not known to be PMEM.`,
    );
}

/** PMEM modules without regions: the firmware has to make them, and only after the restart are they known. */
export function regionsFirst(context: PlanContext, needed: Needed): PlanParts {
  const ipmctl = context.inventory.ipmctl?.resources;
  const memory = ipmctl?.known === true ? ipmctl.value.volatilePmem ?? 0 : 0;
  return {
    summary: `${modules(context)} PMEM modules are given to regions by the firmware; make the plan again after the ` +
      "restart, when the regions are there",
    warnings: [
      "steps after the restart are not listed yet: regions are numbered by then",
      ...(memory > 0 ? ["the PMEM is memory of this machine now (Memory Mode); only the DRAM will be left"] : []),
    ],
    steps: [
      packagesStep(context, { ...needed, tools: [...new Set([...needed.tools, "ipmctl" as const])] }),
      appDirectStep(undefined),
    ],
    results: { mounts: [], nodes: [] },
  };
}

function onRegions(context: PlanContext, regions: readonly RegionView[]): PlanParts {
  const aside = regions.some(setAside);
  const running = runningMemmap(context.inventory.facts);
  const asked = context.request.memmap;
  if (aside && asked !== undefined && running !== undefined && asked !== running) {
    throw new Refused(
      `The kernel runs with memmap=${running}, not with memmap=${asked}.`,
      `Leave out --memmap to use what is set aside, or give it back first: provision "kmem-dax".`,
    );
  }
  const option = asked ?? running;
  const steps: Step[] = [packagesStep(context, NEEDED)];
  const first = enableFirst(regions);
  if (first !== undefined) {
    return { ...first, steps: [...steps, ...first.steps], partial: true, results: { mounts: [], nodes: [] } };
  }
  if (aside && option !== undefined && context.place === "cloud-vm") {
    steps.push(...setAsideSteps(context, option, true));
  }
  const mounts: string[] = [];
  const kept: string[] = [];
  for (const region of regions) {
    const choice = chooseNamespace(context, region, FSDAX);
    const made = fileSystemSteps(context, {
      region: region.dev,
      block: choice.block,
      fresh: choice.space === undefined,
      about: region.dev,
    });
    // A legacy namespace is in fsdax mode from the start, and has no labels to be remade.
    steps.push(...(setAside(region) ? [] : [choice.step]), ...made.steps);
    mounts.push(made.mount);
    kept.push(...made.warnings);
  }
  return parts(steps, mounts, [
    ...versionWarnings(context.inventory, [NEEDS.namespaceModes]),
    ...regions.filter((one) => nvdimm(one) && context.place === "cloud-vm").map((one) =>
      `${one.dev} is a virtual NVDIMM: no speed of it counts as that of PMEM`
    ),
    ...(aside ? [DRAM_STATEMENT] : []),
    ...kept,
  ]);
}

/** Cloud VM whose PMEM, or DRAM, is plain memory of a node: set aside by the kernel it is a region. */
function onMemory(context: PlanContext): PlanParts {
  const { facts } = context.inventory;
  if (context.request.only !== undefined && context.request.only.length > 0) {
    chosen<RegionView>([], (one) => one.dev, context.request.only);
  }
  const option = context.request.memmap ?? defaultMemmap(facts);
  checkRange(facts, option);
  const made: FileSystemSteps = fileSystemSteps(context, {
    region: "region0",
    block: "pmem0",
    fresh: true,
    about: "region0",
  });
  const total = numberOf(facts, "memory.total");
  const left = total === undefined ? undefined : total - Number(option.split("G")[0]) * 1024 ** 3;
  return parts(
    [packagesStep(context, NEEDED), ...setAsideSteps(context, option, false), ...made.steps],
    [made.mount],
    [
      DRAM_STATEMENT,
      ...(left !== undefined && left < 1024 ** 3 ? ["less than 1 GiB of memory would be left to the system"] : []),
    ],
  );
}

function parts(steps: readonly Step[], mounts: readonly string[], warnings: readonly string[]): PlanParts {
  return {
    summary: `ext4 with DAX on ${words(mounts)}, at every start`,
    warnings: [...warnings],
    steps,
    results: { mounts, nodes: [] },
  };
}
