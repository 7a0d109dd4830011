/**
 * Where the kernel's files and the tools disagree about the same thing. Both are named, since either may be at fault.
 *
 * @module
 */

import type { Inventory } from "../inventory/inventory.ts";
import { formatBytes } from "../../base/bytes.ts";
import { daxOf, type Facts, mountsOf, namespacesOf, nodesOf, numberOf, regionsOf } from "../inventory/parts.ts";
import { type DoctorLine, line } from "./lines.ts";

/** What is said about one thing; undefined: nothing. */
type Said = string | undefined;

/** A finding for each name on which both sides differ; a side that says nothing of a value is not asked. */
function compare(tool: string, kernel: ReadonlyMap<string, Said>, other: ReadonlyMap<string, Said>): DoctorLine[] {
  return [...new Set([...kernel.keys(), ...other.keys()])].sort().flatMap((name) => {
    if (!other.has(name)) return [line(name, `sysfs lists it, ${tool} does not`, "warning")];
    if (!kernel.has(name)) return [line(name, `${tool} lists it, sysfs does not`, "warning")];
    const [a, b] = [kernel.get(name), other.get(name)];
    return a === undefined || b === undefined || a === b
      ? []
      : [line(name, `sysfs says ${a}, ${tool} says ${b}`, "warning")];
  });
}

const size = (bytes: number | undefined): Said => bytes === undefined ? undefined : `${bytes} bytes`;

/** The kernel's names for modes. */
const MODES: Readonly<Record<string, string>> = { memory: "fsdax", dax: "devdax", safe: "sector", raw: "raw" };

function pmem(facts: Facts, { ndctl }: Inventory): DoctorLine[] {
  if (!ndctl?.known) return [];
  const regions = ndctl.value.flatMap((bus) => bus.regions);
  // Seeds of namespaces that nobody has made have no size.
  const spaces = regions.flatMap((region) => region.namespaces).filter((space) => space.size !== 0);
  const kernel = namespacesOf(facts).filter((space) => space.sizeBytes !== 0);
  return [
    ...compare(
      "ndctl",
      new Map(regionsOf(facts).map((region) => [region.name, size(region.sizeBytes)])),
      new Map(regions.map((region) => [region.dev, size(region.size)])),
    ),
    ...compare(
      "ndctl",
      new Map(
        kernel.map((space) => [space.name, space.mode === undefined ? undefined : MODES[space.mode] ?? space.mode]),
      ),
      new Map(spaces.map((space) => [space.dev, space.mode])),
    ),
  ];
}

function dax(facts: Facts, { daxctl }: Inventory): DoctorLine[] {
  if (!daxctl?.known) return [];
  const modes: Readonly<Record<string, string>> = { kmem: "system-ram", device_dax: "devdax" };
  const kernel = daxOf(facts).filter((device) => device.sizeBytes !== 0);
  return compare(
    "daxctl",
    new Map(kernel.map((device) => [device.name, modes[device.driver ?? ""]])),
    new Map(
      daxctl.value.filter((one) => one.size !== 0).map((one) => [one.chardev, one.disabled ? undefined : one.mode]),
    ),
  );
}

function cxl(facts: Facts, inventory: Inventory): DoctorLine[] {
  if (!inventory.cxl?.known) return [];
  const names = [...new Set(Object.keys(facts).flatMap((key) => /^cxl\.(mem\d+)\./.exec(key)?.[1] ?? []))];
  const both = (pmem: number | undefined, ram: number | undefined) => size((pmem ?? 0) + (ram ?? 0));
  return compare(
    "cxl",
    new Map(names.map((name) => [
      name,
      both(numberOf(facts, `cxl.${name}.pmem_size`), numberOf(facts, `cxl.${name}.ram_size`)),
    ])),
    new Map(inventory.cxl.value.memdevs.map((one) => [one.memdev, both(one.pmemSize, one.ramSize)])),
  );
}

function nodes(facts: Facts, { numactl }: Inventory): DoctorLine[] {
  // numactl asks for the nodes of this process, which a control group may limit.
  if (!numactl?.known) return [];
  const kind = (hasCpus: boolean | undefined): Said => hasCpus === undefined ? undefined : hasCpus ? "CPUs" : "no CPUs";
  const kernel = nodesOf(facts).filter((node) => numactl.value.some((one) => one.node === node.node));
  return compare(
    "numactl",
    new Map(kernel.map((node) => [`node ${node.node}`, kind(node.cpus === undefined ? undefined : node.cpus !== "")])),
    new Map(numactl.value.map((node) => [`node ${node.node}`, kind(node.cpus.length > 0)])),
  );
}

function mounts(facts: Facts, { blocks }: Inventory): DoctorLine[] {
  if (!blocks?.known) return [];
  const mounted = new Map(mountsOf(facts).map((mount) => [mount.path, mount.device]));
  return blocks.value.flatMap(({ name, mountPoints }) =>
    mountPoints.filter((path) => mounted.get(path) !== `/dev/${name}`).map((path) =>
      line(
        path,
        `lsblk says that /dev/${name} is mounted there, /proc/self/mounts says ${mounted.get(path) ?? "nothing"}`,
        "warning",
      )
    )
  );
}

function modules(facts: Facts, { ipmctl, root }: Inventory): DoctorLine[] {
  const listed = numberOf(facts, "pmem.modules");
  if (!root || !ipmctl?.modules.known || listed === undefined || listed === ipmctl.modules.value.length) return [];
  const capacity = ipmctl.modules.value.reduce((sum, one) => sum + (one.capacity ?? 0), 0);
  return [line(
    "modules",
    `sysfs lists ${listed}, ipmctl ${ipmctl.modules.value.length}${
      capacity === 0 ? "" : ` (${formatBytes(capacity)})`
    }` +
      "; ipmctl knows Optane alone",
    facts["cpu.virtual"] === "yes" ? "note" : "warning",
  )];
}

/** Findings; none where all agree. */
export function crossCheck(facts: Facts, inventory: Inventory): DoctorLine[] {
  return [pmem, dax, cxl, nodes, mounts, modules].flatMap((check) => check(facts, inventory));
}
