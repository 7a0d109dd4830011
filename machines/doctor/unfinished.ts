/**
 * States half-way to a configuration: which device, what it is now, what is missing. An interrupted provisioning leaves
 * one of them.
 *
 * @module
 */

import type { Target } from "../provisioning/contract.ts";
import type { BlockDevice, Inventory, NdNamespace, NdRegion } from "../inventory/inventory.ts";
import { formatBytes } from "../../base/bytes.ts";
import { daxOf, type Facts, mountsOf } from "../inventory/parts.ts";
import { probedPlace, provisionCommand } from "../provisioning/command.ts";
import { type DoctorLine, line, sizeText } from "./lines.ts";

interface State {
  readonly target: Target;
  readonly text: string;
}

/** The file system on a namespace's block device, and where it is mounted. */
function onBlock(space: NdNamespace, blockdev: string, facts: Facts, blocks: readonly BlockDevice[]): State[] {
  const say = (text: string): State[] => [{ target: "fsdax", text }];
  const parts = blocks.filter(({ name }) => name.startsWith(`${blockdev}p`));
  const whole = blocks.find(({ name }) => name === blockdev);
  if (whole === undefined) return say(`${space.dev} is in fsdax mode, but there is no /dev/${blockdev}`);
  return (parts.length > 0 ? parts : [whole]).flatMap(({ name, fileSystem, mountPoints }) => {
    const device = `/dev/${name}`;
    if (fileSystem === undefined && mountPoints.length === 0) {
      return say(`${space.dev} is in fsdax mode, ${device} has no file system`);
    }
    const what = `${fileSystem ?? "a file system"} on ${device}`;
    if (mountPoints.length === 0) return say(`${what}, not mounted`);
    return mountPoints.flatMap((path) => {
      const mount = mountsOf(facts).find((one) => one.path === path && one.device === device);
      if (mount === undefined) return [];
      if (mount.dax === undefined || mount.dax === "never") return say(`${what}, mounted on ${path} without DAX`);
      if (mount.dax === "inode") return say(`${what}, mounted on ${path} with dax=inode, not dax=always`);
      return mount.writable ? [] : say(`${what}, mounted on ${path} with DAX, not writable for this user`);
    });
  });
}

function ofNamespace(space: NdNamespace, target: Target, facts: Facts, { blocks }: Inventory): State[] {
  const say = (text: string): State[] => [{ target, text }];
  if (space.size === 0) return [];
  if (space.disabled) {
    return say(`${space.dev} is in ${space.mode ?? "an unknown"} mode and disabled: no driver uses it`);
  }
  if (space.mode === "raw") return say(`${space.dev} is in raw mode, which has no DAX`);
  if (space.mode === "sector") return say(`${space.dev} is in sector mode, which has no DAX`);
  if (space.mode !== "fsdax" || space.blockdev === undefined) return [];
  return blocks?.known ? onBlock(space, space.blockdev, facts, blocks.value) : [];
}

function ofRegion(region: NdRegion, target: Target, facts: Facts, inventory: Inventory): State[] {
  if (region.disabled) return [{ target, text: `${region.dev} is disabled: no driver uses it` }];
  const spaces = region.namespaces.filter((space) => space.size !== 0);
  return spaces.length === 0
    ? [{ target, text: `${region.dev} (${sizeText(region.size)}) has no namespace` }]
    : spaces.flatMap((space) => ofNamespace(space, target, facts, inventory));
}

function ofPmem(facts: Facts, inventory: Inventory): State[] {
  if (!inventory.ndctl?.known) return [];
  return inventory.ndctl.value.flatMap((bus) =>
    bus.regions.flatMap((region) => ofRegion(region, bus.provider === "CXL" ? "cxl-kmem" : "fsdax", facts, inventory))
  );
}

/** A device does not remember that it was memory: a udev rule or a unit has to name it. */
function comesBack(device: string, files: Inventory["files"]): boolean {
  return Object.entries(files).some(([path, text]) => /\.(rules|service|conf)$/.test(path) && text.includes(device));
}

/**
 * Whether provisioning brings a device of CXL memory back, but not the region under it, which decoders forget. Where
 * firmware makes the region, nobody wrote such a rule.
 */
function withoutRegion(device: string, region: string, files: Inventory["files"]): boolean {
  const names = Object.keys(files);
  return names.includes(`/etc/udev/rules.d/99-tierbench-${device}.rules`) &&
    !Object.entries(files).some(([path, text]) =>
      path.endsWith("/tierbench-cxl.service") && text.includes(`/sys/bus/cxl/devices/${region} `)
    );
}

function ofDax(facts: Facts, { daxctl, files }: Inventory): State[] {
  if (!daxctl?.known) return [];
  return daxctl.value.flatMap((device) => {
    const found = daxOf(facts).find((one) => one.name === device.chardev);
    const region = found?.region;
    const isCxl = found?.origin === "cxl" || region !== undefined && facts[`pmem.${region}.provider`] === "CXL";
    const target = isCxl ? "cxl-kmem" : "kmem-dax";
    const { chardev, mode, onlineMemblocks: online, totalMemblocks: total } = device;
    const text = device.size === 0
      ? undefined
      : device.disabled
      ? `${chardev} is disabled: no driver uses it, neither as a device nor as memory`
      : mode === "devdax"
      ? `${chardev} is a device, not memory`
      : mode === "system-ram" && online !== undefined && total !== undefined && online < total
      ? `${chardev} is memory, but ${online} of its ${total} blocks are online`
      : mode === "system-ram" && !comesBack(chardev, files)
      ? `${chardev} is memory, but only until the next start: no udev rule or unit in /etc names it`
      : mode === "system-ram" && isCxl && region !== undefined && withoutRegion(chardev, region, files)
      ? `${chardev} is memory, but only until the next start: no unit in /etc makes CXL ${region} again`
      : undefined;
    return text === undefined ? [] : [{ target, text }];
  });
}

function ofCxl(facts: Facts, { cxl }: Inventory): State[] {
  if (!cxl?.known) return [];
  const { memdevs, regions, rootDecoders } = cxl.value;
  const used = new Set(regions.flatMap((region) => region.memdevs));
  // Without -T, and before regions are probed, their memory devices are not named.
  const named = regions.every((region) => region.memdevs.length > 0);
  const texts = [
    ...memdevs.flatMap(({ memdev, pmemSize, ramSize, disabled }) =>
      disabled
        ? [`CXL memory ${memdev} is disabled: no driver uses it`]
        : named && !used.has(memdev)
        ? [`CXL memory ${memdev} (${formatBytes((pmemSize ?? 0) + (ramSize ?? 0))}) without region`]
        : []
    ),
    ...(memdevs.length > 0 && rootDecoders.length === 0
      ? ["CXL memory is there, but no window for it (root decoder): firmware has set none aside"]
      : []),
    ...regions.flatMap((region) =>
      region.decodeState !== undefined && region.decodeState !== "commit"
        ? [`CXL region ${region.region} is not committed (${region.decodeState})`]
        : region.disabled
        ? [`CXL region ${region.region} is disabled: no driver uses it`]
        : region.type === "ram" && !daxOf(facts).some((device) => device.origin === "cxl")
        ? [`CXL region ${region.region} has no DAX device`]
        : []
    ),
  ];
  return texts.map((text) => ({ target: "cxl-kmem", text }));
}

function ofModules({ ipmctl, ndctl }: Inventory): State[] {
  if (!ipmctl?.resources.known) return [];
  const { appDirect = 0, volatilePmem = 0, physicalPmem = 0 } = ipmctl.resources.value;
  const regions = ndctl?.known ? ndctl.value.flatMap((bus) => bus.regions).length : undefined;
  if (appDirect > 0 && regions === 0) {
    return [{
      target: "fsdax",
      text: `${formatBytes(appDirect)} of PMEM is App Direct capable but has no region: ipmctl goal`,
    }];
  }
  return physicalPmem > 0 && appDirect === 0 && volatilePmem === 0
    ? [{
      target: "memory-mode",
      text: `${formatBytes(physicalPmem)} of PMEM is neither memory nor App Direct: ipmctl goal`,
    }]
    : [];
}

/** Units that provisioning writes, by the target that enables them. */
const UNITS: readonly (readonly [RegExp, Target])[] = [
  [/^tierbench-cxl\b/, "cxl-kmem"],
  [/^tierbench-kmem\b/, "kmem-dax"],
  [/\.mount$/, "fsdax"],
];

/** Files that are written, and do not work yet. */
function ofFiles(facts: Facts, { files, units }: Inventory): DoctorLine[] {
  const idle = Object.entries(units).filter(([, state]) => state === "disabled" || state.startsWith("masked"))
    .map(([unit, state]) => {
      const target = UNITS.find(([pattern]) => pattern.test(unit))?.[1];
      const next = target === undefined ? undefined : provisionCommand(target, facts);
      return line("next start", `${unit} is written, but not enabled (${state})`, "warning", next);
    });
  const running = (facts["kernel.cmdline_memmap"] ?? "").split(" ");
  const options = Object.entries(files).filter(([path]) => path.startsWith("/etc/default/grub"))
    .flatMap(([path, text]) =>
      // Lines that are comments set nothing.
      [...text.replaceAll(/^\s*#.*$/gm, "").matchAll(/\bmemmap=([^\s"']+)/g)].map(([, range = ""]) => ({
        path,
        range: range.replaceAll("\\", ""),
      }))
    );
  const pending = options.filter(({ range }) => !running.some((one) => one.replace(/^memmap=/, "") === range));
  return [
    ...idle,
    ...pending.map(({ path, range }) =>
      line(
        "next start",
        `${path} has memmap=${range}, but the running kernel does not: the boot loader was not updated, or the ` +
          "machine has not started again",
        "warning",
      )
    ),
  ];
}

/** Findings; none where nothing is half done. */
export function unfinishedLines(facts: Facts, inventory: Inventory): DoctorLine[] {
  const states = [
    ...ofModules(inventory),
    ...ofPmem(facts, inventory),
    ...ofDax(facts, inventory),
    ...ofCxl(facts, inventory),
  ];
  return [
    ...states.map(({ target, text }) => {
      // Inside a guest nothing can change how modules are used.
      const possible = target !== "memory-mode" || probedPlace(facts) === "bare-metal";
      return line(target, text, "note", possible ? provisionCommand(target, facts) : undefined);
    }),
    ...ofFiles(facts, inventory),
  ];
}
