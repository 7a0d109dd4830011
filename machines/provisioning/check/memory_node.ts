/**
 * What `kmem-dax` and `cxl-kmem` have in common: DAX devices that became memory, and the nodes they became.
 *
 * @module
 */

import { formatBytes } from "../../../base/bytes.ts";
import { type DaxDevice, daxOf, nodesOf, regionsOf } from "../../inventory/parts.ts";
import type { CheckLine } from "../contract.ts";
import { absentLibraries } from "../packages.ts";
import { afterRestart, type CheckContext, inUse, line, namespaces, tried } from "./line.ts";

/**
 * Whether a DAX device becomes memory again: a udev rule starts a unit for it, or a unit that is enabled names it.
 * Regions of CXL memory that the system makes at its start need their unit too.
 */
function deviceAfterRestart(context: CheckContext, device: string): CheckLine[] {
  const { files, units } = context.inventory;
  const makes = (text: string) => /^ExecStart=.*--mode=system-ram/m.test(text);
  const rule = Object.entries(files).find(([path, text]) =>
    path.endsWith(".rules") && text.includes(`KERNEL=="${device}"`) && text.includes("SYSTEMD_WANTS")
  );
  const lines: CheckLine[] = [];
  if (rule === undefined) {
    lines.push(afterRestart(context, device, "service", (text) => makes(text) && text.includes(device)));
  } else {
    const wanted = /SYSTEMD_WANTS\}\+?="([\w:.-]+)@[^"]*\.service"/.exec(rule[1])?.[1];
    const unit = Object.entries(files).find(([path]) => wanted !== undefined && path.endsWith(`/${wanted}@.service`));
    lines.push(line(
      `restart ${device}`,
      unit !== undefined && makes(unit[1]),
      `${rule[0]} starts ${wanted}@${device}.service when the device appears`,
      `${rule[0]} names a unit that is not there or makes no memory of it: ${wanted ?? "none"}; ` +
        "next: tierbench provision",
    ));
  }
  const regions = Object.entries(files).find(([path, text]) =>
    path.endsWith(".service") && /\/bus\/cxl\/|\bcxl create/.test(text)
  );
  if (regions !== undefined) {
    const name = regions[0].slice(regions[0].lastIndexOf("/") + 1);
    lines.push(line(
      "restart cxl-regions",
      units[name] === "enabled",
      `${name} is enabled: it makes the regions of CXL memory`,
      `${name} is ${units[name] ?? "in an unknown state"}: regions of CXL memory are gone after a restart; next: ` +
        `systemctl enable ${name}`,
    ));
  }
  return lines;
}

/** The wanted nodes and their devices; without wanted nodes, the devices that `isMine` says, and what they became. */
export function memoryDevices(
  { inventory: { facts } }: CheckContext,
  wanted: readonly number[],
  isMine: (device: DaxDevice) => boolean,
): { devices: readonly DaxDevice[]; nodes: readonly number[] } {
  const isWanted = ({ targetNode }: DaxDevice) => wanted.some((node) => node === targetNode);
  const devices = daxOf(facts).filter(wanted.length === 0 ? isMine : isWanted);
  const became = devices.flatMap(({ targetNode }) => targetNode === undefined || targetNode < 0 ? [] : [targetNode]);
  return { devices, nodes: wanted.length > 0 ? wanted : [...new Set(became)].sort((a, b) => a - b) };
}

/** Whether devices are memory, all of it online. */
export function checkDevices(context: CheckContext, devices: readonly DaxDevice[]): CheckLine[] {
  const { daxctl } = context.inventory;
  const lines = devices.flatMap((device) => checkDevice(context, device));
  return daxctl?.known !== false
    ? lines
    : [line("daxctl", false, `what daxctl list printed is not understood: ${daxctl.reason}`), ...lines];
}

/** That no device is there, and what its memory is used for instead. */
export function noDevice(context: CheckContext, what: string, target: "kmem-dax" | "cxl-kmem"): CheckLine[] {
  return [
    line("device", false, `no DAX device of ${what} is there; next: tierbench provision ${target}`),
    ...inUse(namespaces(context), "kmem-dax"),
  ];
}

/** Whether nodes are memory without CPUs, and come back; `given` says what a node without a device is. */
export async function checkNodes(
  context: CheckContext,
  nodes: readonly number[],
  devices: readonly DaxDevice[],
  given?: (node: number) => CheckLine,
): Promise<CheckLine[]> {
  const lines: CheckLine[] = [];
  for (const node of nodes) {
    lines.push(...await checkNode(context, node));
    const device = devices.find(({ targetNode }) => targetNode === node);
    if (device !== undefined) {
      lines.push(...deviceAfterRestart(context, device.name), medium(context, node, device));
    } else if (given !== undefined) {
      lines.push(given(node));
    } else if (devices.length > 0) {
      lines.push(line(`device node ${node}`, false, `no DAX device became the memory of node ${node}`));
    }
  }
  if (devices.length > 0) lines.push(autoOnline(context));
  return lines;
}

function checkDevice({ inventory: { daxctl } }: CheckContext, { name, driver }: DaxDevice): CheckLine[] {
  const listed = daxctl?.known === true ? daxctl.value.find(({ chardev }) => chardev === name) : undefined;
  const ram = driver === "kmem" && (listed?.mode === undefined || listed.mode === "system-ram");
  if (!ram) {
    const bound = driver === "device_dax" ? "a device" : `bound to ${driver ?? "no driver"}`;
    const next = `next: daxctl reconfigure-device --mode=system-ram ${name}`;
    return [line(`system-ram ${name}`, false, `${name} is ${bound}, not system memory; ${next}`)];
  }
  const { onlineMemblocks: online, totalMemblocks: total, movable } = listed ?? {};
  const all = online !== undefined && total !== undefined && total > 0 && online === total;
  return [
    line(`system-ram ${name}`, true, `${name} is system memory (kmem)`),
    line(
      `online ${name}`,
      all,
      online === undefined || total === undefined
        ? `how many memory blocks of ${name} are online is unknown: daxctl list prints none`
        : `${online} of ${total} memory blocks are online${all ? "" : `; next: daxctl online-memory ${name}`}`,
    ),
    line(
      `movable ${name}`,
      movable === true,
      "all of it movable: the kernel keeps nothing of its own there",
      movable === false
        ? `not movable: the kernel may keep its own data there, and it cannot be taken back; next: ` +
          `daxctl offline-memory ${name} && daxctl online-memory ${name}`
        : "whether it is movable is unknown",
    ),
  ];
}

async function checkNode({ inventory, verify }: CheckContext, node: number): Promise<CheckLine[]> {
  const known = nodesOf(inventory.facts).find((one) => one.node === node);
  if (known === undefined || (known.totalBytes ?? 0) === 0) {
    return [line(`node ${node}`, false, `node ${node} has no memory online`)];
  }
  const lines = [
    line(`node ${node}`, true, `${formatBytes(known.totalBytes ?? 0)}`),
    line(
      `no-cpus ${node}`,
      known.cpus === "",
      "no CPUs",
      known.cpus === undefined
        ? "whether it has CPUs is unknown"
        : `node ${node} has CPUs ${known.cpus}: its memory cannot be told from DRAM; next: choose a device whose ` +
          `memory becomes a node of its own (firmware gives it one in SRAT)`,
    ),
  ];
  const { facts: bound, error } = await tried(verify.node(node, undefined));
  const { facts, error: notNamed } = await tried(verify.node(node, String(node)));
  const [absent] = absentLibraries({ inventory }, { tools: [], libraries: ["memkind"] });
  if (error !== undefined) return [...lines, line(`pages ${node}`, false, `node ${node} cannot be tried: ${error}`)];
  return [
    ...lines,
    line(
      `pages ${node}`,
      bound["bind.landed"] === "yes",
      "8 MiB bound to it lie on it (move_pages)",
      bound["bind.pages"] !== undefined
        ? `pages bound to it lie elsewhere (node:pages ${bound["bind.pages"]})`
        : `pages cannot be bound to it: ${
          bound["bind.error"] ?? bound["bind.move_pages_error"] ?? "no reason given"
        }; ` +
          "in a container: --cap-add SYS_NICE",
    ),
    // Where no package has it, rows are bound by mbind, which the line before has tried.
    absent !== undefined ? line(`memkind ${node}`, true, absent) : line(
      `memkind ${node}`,
      facts["memkind.dax_kmem"] === "yes" && facts["memkind.landed"] === "yes",
      `memkind allocates on it (MEMKIND_DAX_KMEM, MEMKIND_DAX_KMEM_NODES=${node})` +
        (bound["memkind.dax_kmem"] === "yes"
          ? `, and finds it without that variable`
          : "; without that variable it finds no such node: keep it set"),
      `memkind does not allocate on it with MEMKIND_DAX_KMEM_NODES=${node}: ${
        notNamed ?? facts["memkind.error"] ?? facts["memkind.move_pages_error"] ??
          `its pages are elsewhere (node:pages ${facts["memkind.pages"] ?? "unknown"})`
      }`,
    ),
  ];
}

function medium({ inventory: { facts }, place }: CheckContext, node: number, device: DaxDevice): CheckLine {
  const id = `medium node ${node}`;
  const virtual = facts["cpu.virtual"] === "no"
    ? ""
    : "; a hypervisor runs this machine, so it may be virtual, and no speed of it counts as that of PMEM or CXL memory";
  if (device.origin === "cxl") return line(id, true, `CXL memory (${device.region ?? device.name})${virtual}`);
  const provider = regionsOf(facts).find(({ name }) => name === device.region)?.provider;
  if (provider === "ACPI.NFIT" || provider === "CXL") {
    return line(id, true, `${provider === "CXL" ? "CXL persistent memory" : "an NVDIMM"} (${device.region})${virtual}`);
  }
  if (provider === "e820") {
    const text =
      `${device.region} is only DRAM that the kernel option memmap= sets aside; no figure of it counts as PMEM`;
    return line(id, place === "cloud-vm", text, `${text}; next: use a region of real PMEM`);
  }
  return line(id, false, `where ${device.name} comes from is unknown: no PMEM or CXL region leads to it`);
}

function autoOnline({ inventory }: CheckContext): CheckLine {
  const policy = inventory.facts["kernel.auto_online_blocks"];
  return line(
    "auto-online",
    policy === "offline" || policy === "online_movable",
    `new memory is ${policy === "offline" ? "left to daxctl" : "put online as movable"} (${policy})`,
    policy === undefined
      ? "what the kernel does with new memory is unknown (auto_online_blocks)"
      : `the kernel puts new memory online itself (auto_online_blocks is ${policy}), not movable, and daxctl refuses; ` +
        "next: echo offline > /sys/devices/system/memory/auto_online_blocks",
  );
}
