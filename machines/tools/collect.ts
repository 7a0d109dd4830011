/**
 * The inventory of a machine: the facts of the native probe, what the tools of the system say, and the files that
 * provisioning has written. A tool that fails, hangs or says something else leaves "unknown" with its text, and never
 * keeps the others from being asked.
 *
 * @module
 */

import { probeMachine } from "../../ffi/machine.ts";
import type { BlockDevice, Inventory, IpmctlInventory, OsRelease, ToolState } from "../inventory/inventory.ts";
import type { Facts } from "../inventory/parts.ts";
import { numberOf } from "../inventory/parts.ts";
import { type System, TIMED_OUT } from "../inventory/system.ts";
import { parseBlkid } from "./blkid.ts";
import { parseCxl } from "./cxl.ts";
import { parseDaxctl } from "./daxctl.ts";
import { parseMemoryResources, parseModules } from "./ipmctl.ts";
import { parseLsblk, pmemOf } from "./lsblk.ts";
import { parseNdctlBuses } from "./ndctl.ts";
import { parseNumactl } from "./numactl.ts";
import { parseOsRelease } from "./os_release.ts";
import { known, type Parsed, type ToolOutput, unknown } from "../inventory/tool.ts";
import { parseVersion } from "./version.ts";

/**
 * What is asked. `-i` lists what no driver uses, too; `-v` of ndctl adds NUMA nodes; `-T` of cxl the memory devices of
 * a region (ndctl-list(1), daxctl-list(1), cxl-list(1), numactl(8), lsblk(8)).
 */
export const COMMANDS = {
  ndctl: ["ndctl", "list", "-BDRNiv"],
  daxctl: ["daxctl", "list"],
  cxl: ["cxl", "list", "-BPEMDRTi"],
  resources: ["ipmctl", "show", "-memoryresources"],
  modules: ["ipmctl", "show", "-dimm"],
  numactl: ["numactl", "--hardware"],
  lsblk: ["lsblk", "-J", "-b", "-o", "NAME,SIZE,FSTYPE,PTTYPE,LABEL,UUID,MOUNTPOINTS"],
} as const;

/** How each tool is asked for its version; numactl cannot be. */
const VERSIONS: readonly (readonly [ToolState["name"], readonly string[] | undefined])[] = [
  ["ndctl", ["ndctl", "--version"]],
  ["daxctl", ["daxctl", "--version"]],
  ["cxl", ["cxl", "--version"]],
  ["ipmctl", ["ipmctl", "version"]],
  ["numactl", undefined],
];

/** Folders of files that provisioning writes. */
const WRITTEN_FOLDERS = [
  "/etc/systemd/system",
  "/etc/udev/rules.d",
  "/etc/default/grub.d",
  "/etc/sysctl.d",
  "/etc/tmpfiles.d",
] as const;

/** The settings of GRUB where there is no folder for them. */
const GRUB_DEFAULTS = "/etc/default/grub";

/** What a finished command means. */
function understood<T>(output: ToolOutput, parse: (text: string) => Parsed<T>): Parsed<T> {
  const { command, code, stdout, stderr } = output;
  const raw = `${stdout}${stderr}`;
  const what = `"${command.join(" ")}"`;
  if (code === 0) {
    const parsed = parse(stdout);
    return parsed.known ? parsed : unknown(`what ${what} prints is not understood: ${parsed.reason}`, parsed.raw);
  }
  if (code === TIMED_OUT) return unknown(`${what} did not end in time`, raw);
  return /permission denied|not permitted|privilege|must be root|as root|root user/i.test(raw)
    ? unknown(`${what} may not be run by this user; root sees more`, raw)
    : unknown(`${what} ended with status ${code}`, raw);
}

async function ask<T>(
  system: System,
  command: readonly string[],
  parse: (text: string) => Parsed<T>,
): Promise<Parsed<T> | undefined> {
  const output = await system.run(command);
  return output === undefined ? undefined : understood(output, parse);
}

async function tools(system: System): Promise<ToolState[]> {
  return await Promise.all(VERSIONS.map(async ([name, command]): Promise<ToolState> => {
    const output = await system.run(command ?? COMMANDS.numactl);
    if (output === undefined) return { name, installed: false };
    const version = command === undefined ? undefined : understood(output, parseVersion);
    return version?.known ? { name, installed: true, version: version.value } : { name, installed: true };
  }));
}

/** Without modules ipmctl says so and ends with status 1. */
async function askIpmctl<T>(
  system: System,
  facts: Facts,
  command: readonly string[],
  parse: (text: string) => Parsed<T>,
): Promise<Parsed<T> | undefined> {
  const output = await system.run(command);
  if (output === undefined) return undefined;
  if (output.code !== 1) return understood(output, parse);
  const nothing = parse(output.stdout);
  if (!nothing.known) return understood(output, parse);
  return !system.root && (numberOf(facts, "pmem.modules") ?? 0) > 0
    ? unknown("ipmctl finds no modules, but the kernel lists some, and only root may ask them", output.stdout)
    : nothing;
}

async function ipmctl(system: System, facts: Facts): Promise<IpmctlInventory | undefined> {
  const resources = await askIpmctl(system, facts, COMMANDS.resources, parseMemoryResources);
  const modules = await askIpmctl(system, facts, COMMANDS.modules, parseModules);
  return resources === undefined || modules === undefined ? undefined : { resources, modules };
}

/** The same device with what blkid reads from it, where lsblk knows of nothing: it asks udev, which may not run. */
async function looked(system: System, device: BlockDevice): Promise<Parsed<BlockDevice>> {
  if (device.fileSystem !== undefined) return known(device);
  const output = await system.run(["blkid", "-p", "-o", "export", `/dev/${device.name}`]);
  const found = output === undefined ? undefined : parseBlkid(output);
  if (found?.known) return known({ ...device, ...found.value });
  const udev = await system.list("/run/udev/data").catch(() => undefined);
  if (udev !== undefined && udev.length > 0) return known(device);
  const why = found === undefined ? "blkid is not installed" : system.root ? found.reason : "only root may read it";
  return unknown(`what is on /dev/${device.name} cannot be told: no udev runs, and ${why}`, found?.raw ?? "");
}

async function blocks(system: System): Promise<Parsed<readonly BlockDevice[]> | undefined> {
  let listed = await ask(system, COMMANDS.lsblk, parseLsblk);
  // Before util-linux 2.37 a device has one mount point.
  if (listed?.known === false && listed.raw.includes("unknown column")) {
    listed = await ask(system, COMMANDS.lsblk.map((word) => word.replace("MOUNTPOINTS", "MOUNTPOINT")), parseLsblk);
  }
  if (!listed?.known) return listed;
  const devices: BlockDevice[] = [];
  for (const device of pmemOf(listed.value)) {
    const found = await looked(system, device);
    if (!found.known) return found;
    devices.push(found.value);
  }
  return known(devices);
}

async function osRelease(system: System): Promise<Parsed<OsRelease>> {
  for (const path of ["/etc/os-release", "/usr/lib/os-release"]) {
    try {
      const text = await system.readText(path);
      if (text !== undefined) return parseOsRelease(text);
    } catch (error) {
      return unknown(`${path} cannot be read: ${error instanceof Error ? error.message : String(error)}`, "");
    }
  }
  return unknown("there is neither /etc/os-release nor /usr/lib/os-release", "");
}

/** Whether a file is of interest: ours, or another's about the same devices. */
function isOurs(name: string, text: string): boolean {
  return /tierbench|pmem|dax|cxl/.test(name) || text.includes("tierbench");
}

/** Files in the folders that provisioning writes to, and the names of those that could not be read. */
async function written(system: System): Promise<{ files: Record<string, string>; unread: string[] }> {
  const files: Record<string, string> = {};
  const unread: string[] = [];
  for (const folder of WRITTEN_FOLDERS) {
    let names: readonly string[] = [];
    try {
      names = await system.list(folder) ?? [];
    } catch (error) {
      unread.push(`${folder} cannot be listed: ${error instanceof Error ? error.message : String(error)}`);
    }
    for (const name of names.filter((one) => /\.(service|mount|rules|cfg|conf|target|path|timer)$/.test(one))) {
      const path = `${folder}/${name}`;
      try {
        const text = await system.readText(path);
        if (text !== undefined && isOurs(name, text)) files[path] = text;
      } catch (error) {
        if (isOurs(name, "")) {
          unread.push(`${path} cannot be read: ${error instanceof Error ? error.message : String(error)}`);
        }
      }
    }
  }
  try {
    const text = await system.readText(GRUB_DEFAULTS);
    if (text !== undefined) files[GRUB_DEFAULTS] = text;
  } catch (error) {
    unread.push(`${GRUB_DEFAULTS} cannot be read: ${error instanceof Error ? error.message : String(error)}`);
  }
  return { files, unread };
}

async function unitStates(system: System, files: Readonly<Record<string, string>>): Promise<Record<string, string>> {
  const states: Record<string, string> = {};
  const units = Object.keys(files).filter((path) => path.startsWith("/etc/systemd/system/"))
    .map((path) => path.slice(path.lastIndexOf("/") + 1));
  for (const unit of units) {
    const output = await system.run(["systemctl", "is-enabled", unit]);
    // Its exit status only says whether the word is "enabled" or one like it.
    const word = output?.stdout.trim() ?? "";
    if (/^[a-z]+(-[a-z]+)*$/.test(word)) states[unit] = word;
  }
  return states;
}

/**
 * Asks the tools of a system and reads its files.
 *
 * @param system Where commands run and files are.
 * @param facts What the native probe says. Default: this machine is probed.
 *
 * @example
 * ```ts
 * import { collectInventory, localSystem } from "../machine.ts";
 *
 * const { tools, os } = await collectInventory(localSystem());
 * console.log(os.known ? os.value.name : os.reason);
 * console.log(tools.filter((tool) => tool.installed).map((tool) => tool.name));
 * ```
 */
export async function collectInventory(system: System, facts: Facts = probeMachine()): Promise<Inventory> {
  const [os, states, ndctl, daxctl, cxl, modules, numactl, devices, { files, unread }] = await Promise.all([
    osRelease(system),
    tools(system),
    ask(system, COMMANDS.ndctl, parseNdctlBuses),
    ask(system, COMMANDS.daxctl, parseDaxctl),
    ask(system, COMMANDS.cxl, parseCxl),
    ipmctl(system, facts),
    ask(system, COMMANDS.numactl, parseNumactl),
    blocks(system),
    written(system),
  ]);
  return {
    facts,
    os,
    tools: states,
    ndctl,
    daxctl,
    cxl,
    ipmctl: modules,
    numactl,
    blocks: devices,
    files,
    units: await unitStates(system, files),
    root: system.root,
    unread,
  };
}
