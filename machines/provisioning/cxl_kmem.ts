/**
 * `cxl-kmem`: every CXL memory device as memory of a NUMA node without CPUs. A device's persistent part goes by way of
 * a namespace, as NVDIMMs do; its volatile part is a device DAX once it has a region (drivers/dax/cxl.c of Linux). Volatile
 * parts of one size share a region, so that their bandwidths add up. What firmware mapped is memory already.
 *
 * @module
 */

import type { CxlInventory, CxlMemdev } from "../inventory/inventory.ts";
import { formatBytes } from "../../base/bytes.ts";
import { type PlanContext, type PlanParts, step } from "./context.ts";
import type { Step } from "./contract.ts";
import { daxLoss } from "./loss.ts";
import { chooseNamespace, DEVDAX, futureRegion } from "./namespace_step.ts";
import { absentLibraries, type Needed, packagesStep } from "./packages.ts";
import { nodesOfDevices } from "./kmem_dax.ts";
import { cxl } from "./providers.ts";
import { Refused } from "./refused.ts";
import { chosen, type RegionView, regionViews } from "./regions.ts";
import { words, writeFile } from "./shell.ts";
import { type FirmwareCxl, firmwareCxl } from "../inventory/firmware_cxl.ts";
import { atEveryStart, autoOnlineStep, type MemoryDevice, memoryWarnings, systemRamStep } from "./system_ram.ts";
import { cxlUnit } from "./systemd_units.ts";
import { tieringSteps } from "./tiering.ts";
import { type Need, NEEDS, versionWarnings } from "./versions.ts";

const NEEDED: Needed = { tools: ["cxl", "ndctl", "daxctl"], libraries: ["memkind"] };

/** One region to be: the persistent part of a device, or the volatile parts of some, interleaved. */
interface Part {
  readonly memdevs: readonly string[];
  readonly type: "pmem" | "ram";
  /** Of all its devices. */
  readonly bytes: number;
  readonly decoder: string;
  /** Host bridges that its decoder's window is dealt out over. */
  readonly bridges: number;
  /** As it is or will be. */
  readonly region: string;
  /** There already. */
  readonly there: boolean;
}

/** The way to `cxl-kmem`, or {@linkcode Refused}. */
export function planCxlKmem(context: PlanContext): PlanParts {
  const { inventory, request } = context;
  const found = inventory.cxl;
  if (found === undefined) {
    if (!Object.keys(inventory.facts).some((key) => /^cxl\.mem\d+\./.test(key))) throw nothing();
    return {
      summary: "the tools are installed; make the plan again when cxl can say what is here",
      warnings: ["steps after the installation are not listed yet: devices and decoders are known by then"],
      steps: [packagesStep(context, NEEDED)],
      results: { mounts: [], nodes: [] },
    };
  }
  if (!found.known) {
    throw new Refused(
      `What "cxl list" printed was not understood (${found.reason}).`,
      'Compare the output of "cxl list" with the pages on provisioning, and report it.',
    );
  }
  if (found.value.memdevs.length === 0) throw nothing();
  const mapped = firmwareCxl(inventory.facts);
  if (mapped.length > 0 && found.value.memdevs.every(({ pmemSize = 0 }) => pmemSize === 0)) {
    return byFirmware(context, mapped);
  }
  const begun = found.value.regions.filter((one) => one.decodeState === "reset" && one.memdevs.length === 0);
  if (begun.length > 0) {
    return {
      summary: "regions that were begun and have no device are removed",
      warnings: [],
      steps: [packagesStep(context, NEEDED), ...begun.map(({ region }) => removeStep(region))],
      partial: true,
      results: { mounts: [], nodes: [] },
    };
  }
  const regions = regionViews(inventory);
  const memdevs = found.value.memdevs.filter((one) => (one.pmemSize ?? 0) + (one.ramSize ?? 0) > 0);
  const only = asDevices(found.value, request.only);
  // What firmware mapped has decoders that are not ours to set.
  const ours = memdevs.map((one) => mapped.length > 0 ? { ...one, ramSize: 0 } : one);
  const parts = partsOf(context, chosen(ours, (one) => one.memdev, only), found.value, regions);
  const steps: Step[] = parts.map((part) => regionStep(part));
  const namespaces: Step[] = [];
  const devices: MemoryDevice[] = parts.map((part) => {
    const number = Number(part.region.slice("region".length));
    if (part.type === "ram") {
      const dax = `dax${number}.0`;
      return {
        id: part.region,
        dax,
        bytes: part.bytes,
        targetNode: undefined,
        loss: { device: dax, found: undefined },
      };
    }
    const region = regions.find((one) => cxl(one) && one.dev === part.region) ??
      futureRegion(number, part.bytes, "CXL");
    const choice = chooseNamespace(context, region, DEVDAX);
    namespaces.push(choice.step);
    return {
      id: part.region,
      dax: choice.dax,
      bytes: part.bytes,
      targetNode: region.targetNode,
      loss: daxLoss(choice.dax, choice.space),
    };
  });
  const autoOnline = autoOnlineStep(context, devices.map((device) => device.dax));
  const nodes = nodesOfDevices(context, devices);
  const volatile = parts.some((part) => part.type === "ram");
  return {
    summary: `CXL memory of ${words([...new Set(parts.flatMap((one) => one.memdevs))])} as memory without CPUs` +
      `${nodes.length === 0 ? "" : `, node ${words(nodes.map(String))}`}, at every start`,
    warnings: [
      ...versionWarnings(inventory, [
        volatile ? NEEDS.cxlRam : NEEDS.cxlPmem,
        volatile ? NEEDS.createRamRegion : NEEDS.createRegion,
        NEEDS.reconfigure,
        ...tieringNeeds(context),
      ]),
      ...memoryWarnings(context, devices),
      ...absentLibraries(context, NEEDED),
      ...serialWarnings(context, parts),
      ...(context.place === "cloud-vm" ? ["the CXL devices may be virtual: no speed of them counts"] : []),
    ],
    steps: [
      packagesStep(context, NEEDED),
      // First: a volatile region is plugged in as soon as it is made.
      ...(autoOnline === undefined ? [] : [autoOnline]),
      ...steps,
      ...namespaces,
      ...devices.map((device) => systemRamStep(context, device)),
      ...atEveryStart(context, devices),
      regionsAtEveryStart(context, parts),
      ...tieringSteps(context),
    ],
    results: { mounts: [], nodes },
  };
}

/**
 * Linux ties the labels of namespaces to the serial number of the device, not to the UUID of the region: a region that
 * is made again finds its namespace (`cxl_pmem_region_probe` in drivers/cxl/pmem.c). From the number 0 the first such
 * tie is 0, which it takes for none, and the region stays disabled (`create_namespace_pmem` in
 * drivers/nvdimm/namespace_devs.c).
 */
function serialWarnings({ inventory }: PlanContext, parts: readonly Part[]): string[] {
  return parts.filter((part) => part.type === "pmem").flatMap(({ memdevs: [memdev], region }) => {
    const serial = inventory.facts[`cxl.${memdev}.serial`];
    return serial !== undefined && Number(serial) === 0
      ? [
        `${memdev} has no serial number, so the kernel cannot tie labels to it: after a restart ${region} stays ` +
        `disabled; then zero them (ndctl zero-labels, for the nmem of ${memdev} only) and provision again`,
      ]
      : [];
  });
}

function tieringNeeds({ request }: PlanContext): Need[] {
  return request.tiering === "on" ? [NEEDS.promotion] : [];
}

/** Expanders that firmware mapped: nothing has to be made, at no start. */
function byFirmware(context: PlanContext, mapped: readonly FirmwareCxl[]): PlanParts {
  const nodes = mapped.map(({ node }) => node);
  return {
    summary: `firmware made the CXL memory node ${
      words(nodes.map(String))
    }, which has no CPUs; nothing has to be made of it`,
    warnings: [
      ...versionWarnings(context.inventory, tieringNeeds(context)),
      ...mapped.map(({ node, text }) => `node ${node}: ${text}`),
      `memkind does not find such memory by itself: "pmem": "mbind" needs no library, or run with ` +
      `MEMKIND_DAX_KMEM_NODES=${nodes.join(",")}`,
    ],
    steps: [packagesStep(context, { tools: [], libraries: ["memkind"] }), ...tieringSteps(context)],
    results: { mounts: [], nodes },
  };
}

function nothing(): Refused {
  return new Refused(
    "No CXL memory device is here (cxl list -M).",
    "Look at the firmware's settings, and at the kernel's drivers cxl_acpi, cxl_pci and cxl_mem.",
  );
}

/** Regions among what is asked for, as the devices behind them. */
function asDevices(found: CxlInventory, only: readonly string[] | undefined): string[] | undefined {
  return only?.flatMap((name) => {
    const region = found.regions.find((one) => one.region === name);
    return region === undefined ? [name] : [...region.memdevs];
  });
}

function natural(a: string, b: string): number {
  return a.localeCompare(b, "en", { numeric: true });
}

type Wanted = Pick<Part, "memdevs" | "type" | "bytes">;

/** Devices that a region can be interleaved over, most first: powers of two, which every host bridge can divide by. */
const WAYS: readonly number[] = [16, 8, 4, 2];

/**
 * Volatile parts of one size that have no region yet share one, as many as there may be, where one decoder has room for all:
 * a page is then on all of them, and their bandwidths add up. The persistent part of a device keeps its region, for labels
 * are the device's own.
 */
function together(single: readonly Wanted[], { regions, rootDecoders }: CxlInventory): Wanted[] {
  // Behind several host bridges the order of devices must be theirs, which their names do not tell: a pair has two orders.
  const bridges = Math.max(
    1,
    ...rootDecoders.filter((one) => one.volatileCapable).map((one) => one.interleaveWays ?? 1),
  );
  const free = (one: Wanted) =>
    one.type === "ram" && !regions.some(({ memdevs }) => one.memdevs.some((memdev) => memdevs.includes(memdev)));
  const room = Math.max(
    0,
    ...rootDecoders.filter((one) => one.volatileCapable).map((one) => one.maxAvailableExtent ?? one.size ?? 0),
  );
  const taken = new Set<Wanted>();
  return single.flatMap((one) => {
    if (taken.has(one)) return [];
    const equal = free(one)
      ? single.filter((other) => free(other) && other.bytes === one.bytes && !taken.has(other))
      : [];
    const ways = WAYS.find((ways) =>
      ways <= equal.length && ways * one.bytes <= room && (bridges === 1 || ways === bridges)
    );
    if (ways === undefined) return [one];
    const group = equal.slice(0, ways);
    for (const other of group) taken.add(other);
    return [{ ...one, memdevs: group.flatMap(({ memdevs }) => memdevs), bytes: ways * one.bytes }];
  });
}

/** Every region to be, with its decoder and its name, in the order they are made. */
function partsOf(
  { inventory }: PlanContext,
  memdevs: readonly CxlMemdev[],
  found: CxlInventory,
  regions: readonly RegionView[],
): Part[] {
  const single = [...memdevs].sort((a, b) => natural(a.memdev, b.memdev)).flatMap((one): Wanted[] => [
    ...((one.pmemSize ?? 0) > 0 ? [{ memdevs: [one.memdev], type: "pmem" as const, bytes: one.pmemSize ?? 0 }] : []),
    ...((one.ramSize ?? 0) > 0 ? [{ memdevs: [one.memdev], type: "ram" as const, bytes: one.ramSize ?? 0 }] : []),
  ]);
  const wanted = together(single, found);
  const both = (memdev: string) => single.filter((one) => one.memdevs.includes(memdev)).length > 1;
  const decoders = [...found.rootDecoders].sort((a, b) => natural(a.decoder, b.decoder));
  const left = new Map(decoders.map((one) => [one.decoder, one.size ?? Infinity]));
  const names = new Set(memdevs.map((one) => one.memdev));
  const others = found.regions.filter((one) => !one.memdevs.some((memdev) => names.has(memdev)));
  const name = predictor(decoders.map((one) => one.decoder), [
    ...regions.filter((one) => !cxl(one)).map((one) => one.number),
    ...others.map((one) => Number(one.region.slice("region".length))),
  ]);
  const taken = new Set<string>();
  return wanted.flatMap((part) => {
    const decoder = decoders.find((one) =>
      (part.type === "pmem" ? one.pmemCapable : one.volatileCapable) && (left.get(one.decoder) ?? 0) >= part.bytes
    );
    if (decoder === undefined) {
      throw new Refused(
        `No decoder of the CXL root has ${formatBytes(part.bytes)} for ${part.type} of ${words(part.memdevs)} ` +
          `(${words(decoders.map((one) => one.decoder)) || "there is none"}).`,
        "cxl list -D -d root",
      );
    }
    const { interleaveWays: bridges = 1 } = decoder;
    const made = found.regions.some(({ memdevs }) => part.memdevs.some((memdev) => memdevs.includes(memdev)));
    if (bridges > 1 && !made && (part.memdevs.length !== bridges || bridges > 2)) {
      throw new Refused(
        `The window ${decoder.decoder} is dealt out over ${bridges} host bridges, so that a region in it has a device behind ` +
          `each, in their order; ${words(part.memdevs)} alone ${part.memdevs.length === 1 ? "makes" : "make"} none.`,
        `cxl list -D -d root -T names the host bridges; then cxl create-region -m -t ${part.type} -d ${decoder.decoder} ` +
          "with the devices in that order, or firmware's settings for a window of each host bridge.",
      );
    }
    left.set(decoder.decoder, (left.get(decoder.decoder) ?? 0) - part.bytes);
    const region = found.regions.find((one) => {
      const type = one.type ?? inventory.facts[`cxl.${one.region}.mode`];
      const its = part.memdevs.find((memdev) => one.memdevs.includes(memdev));
      if (type === undefined && its !== undefined && both(its)) {
        throw new Refused(`Whether ${one.region} is the persistent or the volatile part of ${its} is not known.`);
      }
      return its !== undefined && (type === undefined || type === part.type);
    });
    // One region over several devices is one part.
    if (region !== undefined && taken.has(region.region)) return [];
    const predicted = name(decoder.decoder, region?.region);
    if (region !== undefined) taken.add(region.region);
    if (region?.decodeState !== undefined && region.decodeState !== "commit") {
      throw new Refused(
        `${region.region} of ${
          words(part.memdevs)
        } is there, but not in use (decode_state is "${region.decodeState}").`,
        `cxl enable-region ${region.region}, or cxl destroy-region -f ${region.region}, and ask again.`,
      );
    }
    const shared = (region?.memdevs.length ?? 0) > 1 ? region : undefined;
    const whole = shared === undefined
      ? part
      : { ...part, memdevs: [...shared.memdevs].sort(natural), bytes: shared.size ?? part.bytes };
    return [{
      ...whole,
      decoder: decoder.decoder,
      bridges,
      region: region?.region ?? predicted,
      there: region !== undefined,
    }];
  });
}

/**
 * Names of regions to come. Each root decoder holds the number of its next region in advance, lowest first, and takes
 * another one when that is used (`region_id` in drivers/cxl/core/region.c of Linux); regions of NVDIMMs have numbers of
 * the same kind. Only a prediction: a step that finds another name there stops.
 */
function predictor(
  decoders: readonly string[],
  used: readonly number[],
): (decoder: string, actual: string | undefined) => string {
  const taken = new Set(used);
  const take = () => {
    let number = 0;
    while (taken.has(number)) number++;
    taken.add(number);
    return number;
  };
  const next = new Map(decoders.map((decoder) => [decoder, take()]));
  return (decoder, actual) => {
    const number = next.get(decoder) ?? take();
    if (actual !== undefined) taken.add(Number(actual.slice("region".length)));
    next.set(decoder, take());
    return actual ?? `region${number}`;
  };
}

/**
 * The line that makes a region. Of two devices behind two host bridges the first must be behind the first; which one that is
 * changes from start to start with the order in which drivers find them, so that the other order comes next.
 */
function createLine({ type, decoder, memdevs, bridges }: Part, program: string = "cxl"): string {
  const line = (devices: readonly string[]) =>
    `${program} create-region -m -t ${type} -d ${decoder} -w ${devices.length} ${devices.join(" ")}`;
  return bridges === 2 ? `${line(memdevs)} || ${line([...memdevs].reverse())}` : line(memdevs);
}

/**
 * A `cxl create-region` that was killed after its first write leaves a region without device and size. It holds the
 * number that the next region should get, and has at the next start; `cxl destroy-region` (76.1) fails on it. Its folder
 * lies in that of its decoder (Documentation/ABI/testing/sysfs-bus-cxl of Linux: delete_region).
 */
function removeStep(region: string): Step {
  return step({
    id: `begun-${region}`,
    title: `Remove ${region}, which was begun and has no device: others would get another number until the next start`,
    commands: [`echo ${region} > /sys/bus/cxl/devices/${region}/../delete_region`],
    undo: [],
    done: undefined,
    expected: `cxl list -R no longer names ${region}`,
  });
}

function regionStep(part: Part): Step {
  return step({
    id: `${part.type}-${part.memdevs.join("-")}`,
    title:
      `Make a region of the ${part.type === "pmem" ? "persistent" : "volatile"} memory of ${words(part.memdevs)}, ` +
      `${formatBytes(part.bytes)}${part.memdevs.length > 1 ? ", interleaved: if one fails, all of it is gone" : ""}`,
    commands: [createLine(part)],
    undo: [`cxl destroy-region -f ${part.region}`],
    done: part.there ? `${part.region} is there` : undefined,
    expected: `"region":"${part.region}" and "decode_state":"commit"`,
  });
}

function regionsAtEveryStart({ inventory, inside }: PlanContext, parts: readonly Part[]): Step {
  const unit = cxlUnit(parts.map((part) => ({ region: part.region, command: createLine(part, "/usr/bin/cxl") })));
  const written = inventory.files[unit.path] === unit.text && inventory.units[unit.name] === "enabled";
  return step({
    id: "boot-regions",
    title: "Make the regions again at every start: the devices do not remember them, but labels of namespaces",
    commands: [writeFile(unit.path, unit.text), "systemctl daemon-reload", `systemctl enable ${unit.name}`],
    undo: [`systemctl disable ${unit.name}`, `rm -f ${unit.path}`, "systemctl daemon-reload"],
    done: inside
      ? "files of the host cannot be seen from a container"
      : written
      ? `${unit.name} is enabled`
      : undefined,
    expected: `systemctl is-enabled ${unit.name} prints enabled`,
  });
}
