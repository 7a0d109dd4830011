/**
 * Whether a configuration is really there: every link of the proof looked at, each a line of its own. What cannot be
 * read counts as not there.
 *
 * @module
 */

import type { DaxDeviceListing, Inventory, NdNamespace } from "../inventory/inventory.ts";
import { formatBytes } from "../../base/bytes.ts";
import { daxOf, mountsOf, namespacesOf, nodesOf, numberOf, regionsOf } from "../inventory/parts.ts";
import type { CheckLine, Place, Plan, Target } from "./contract.ts";
import type { Verify } from "./verify.ts";

/** What a check is told beside the inventory. */
export interface CheckOptions {
  /** In a cloud VM, memory that the hypervisor or `memmap=` offers is what was asked for; elsewhere it is a finding. */
  readonly place?: Place;
  /** Who shall be able to write to mounts. */
  readonly owner?: { readonly name: string; readonly uid: number };
}

/**
 * Looks at a configuration.
 *
 * @param target What shall be there.
 * @param inventory The machine now.
 * @param verify Tries media; `processVerify()` on this machine.
 * @param results Mounts and nodes of the plan; without nodes, those of all DAX devices that became memory.
 * @returns A line for everything that was looked at; the configuration is there if all are `ok`.
 *
 * @example A machine without anything
 * ```ts
 * import { checkTarget } from "../../mod.ts";
 *
 * const inventory = {
 *   facts: {}, os: { known: false, reason: "not read", raw: "" } as const, tools: [], ndctl: undefined,
 *   daxctl: undefined, cxl: undefined, ipmctl: undefined, blocks: undefined, files: {}, units: {}, root: true,
 * };
 * const nothing = { dax: () => Promise.reject(new Error("no")), node: () => Promise.reject(new Error("no")) };
 * const lines = await checkTarget("fsdax", inventory, nothing, { mounts: ["/mnt/pmem0"], nodes: [] });
 * console.log(lines.map(({ id, ok }) => `${id}: ${ok}`)); // [ "mounted /mnt/pmem0: false" ]
 * ```
 */
export async function checkTarget(
  target: Target,
  inventory: Inventory,
  verify: Verify,
  results: Plan["results"],
  options: CheckOptions = {},
): Promise<CheckLine[]> {
  switch (target) {
    case "fsdax":
      return await checkFsdax(inventory, verify, results.mounts, options);
    case "kmem-dax":
    case "cxl-kmem":
      return await checkNodes(target, inventory, verify, results.nodes, options);
    case "memory-mode":
      return checkMemoryMode(inventory);
  }
}

const line = (id: string, ok: boolean, text: string): CheckLine => ({ id, ok, text });

const HUGE = 2 * 1024 * 1024;

/** A verification, or why it could not be done. */
async function tried(
  ask: Promise<Readonly<Record<string, string>>>,
): Promise<{ facts: Readonly<Record<string, string>>; error?: string }> {
  try {
    return { facts: await ask };
  } catch (error) {
    return { facts: {}, error: error instanceof Error ? error.message : String(error) };
  }
}

function namespaces(inventory: Inventory): readonly NdNamespace[] {
  if (inventory.ndctl?.known !== true) return [];
  return inventory.ndctl.value.flatMap((bus) => bus.regions.flatMap((region) => region.namespaces));
}

/* ---- fsdax ---- */

async function checkFsdax(
  inventory: Inventory,
  verify: Verify,
  mounts: readonly string[],
  options: CheckOptions,
): Promise<CheckLine[]> {
  if (mounts.length === 0) {
    return [line("mounted", false, "no mount point is known: the plan found no PMEM region to make one for")];
  }
  const lines: CheckLine[] = [];
  for (const mount of mounts) lines.push(...await checkMount(inventory, verify, mount, options));
  return lines;
}

async function checkMount(
  inventory: Inventory,
  verify: Verify,
  path: string,
  options: CheckOptions,
): Promise<CheckLine[]> {
  const { facts } = inventory;
  // The last mount on a path is the one that is seen.
  const mount = mountsOf(facts).filter((one) => one.path === path && one.fileSystem !== "tmpfs").at(-1);
  if (mount === undefined) {
    return [
      line(`mounted ${path}`, false, `no file system of PMEM is mounted on ${path}; next: tierbench provision fsdax`),
      ...inUse(inventory, /\/pmem(\d+)$/.exec(path)?.[1]),
    ];
  }
  const lines = [line(`mounted ${path}`, true, `${mount.fileSystem} on ${mount.device}`)];
  const remount = `umount ${path} && mount -o dax=always ${mount.device} ${path}`;
  const dax = mount.dax === "dax" || mount.dax === "always";
  lines.push(line(
    `dax ${path}`,
    dax,
    dax
      ? `mounted with dax=always`
      : mount.dax === "inode"
      ? `mounted with dax=inode: DAX depends on a flag of each file; next: ${remount}`
      : `DAX is off: mounted ${mount.dax === undefined ? "without the option dax" : `with dax=${mount.dax}`}; ` +
        `next: ${remount}`,
  ));
  const block = /^\/dev\/(pmem\d+(?:\.\d+)?)(?:p\d+)?$/.exec(mount.device)?.[1];
  lines.push(medium(inventory, path, block, options));
  lines.push(alignment(inventory, path, block));
  const { facts: found, error } = await tried(verify.dax(path));
  if (error !== undefined || found["file.created"] !== "yes") {
    const why = error ?? `no file can be made in it: ${found["file.error"] ?? "no reason given"}`;
    lines.push(line(`tried ${path}`, false, `${path} cannot be tried: ${why}`));
  } else {
    lines.push(...triedMount(path, found));
  }
  lines.push(owner(path, mount.writable, found, options));
  lines.push(afterRestart(inventory, path, (text) => new RegExp(`^Where=${escape(path)}$`, "m").test(text), "mount"));
  return lines;
}

const escape = (text: string) => text.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");

/**
 * What else namespaces and PMEM block devices are used for: those of the region that a mount point has its number from,
 * or all. Idle ones, which have no bytes, wait for free space and are no use of it.
 */
function inUse(inventory: Inventory, region: string | undefined): CheckLine[] {
  const ofRegion = (name: string) => region === undefined || /\d+/.exec(name)?.[0] === region;
  const lines: CheckLine[] = [];
  for (const space of namespaces(inventory).filter(({ dev, size }) => ofRegion(dev) && size !== 0)) {
    if (space.mode !== undefined && space.mode !== "fsdax") {
      lines.push(line(
        `in-use ${space.dev}`,
        false,
        `${space.dev} is in ${space.mode} mode${space.chardev === undefined ? "" : ` (/dev/${space.chardev})`}: ` +
          `it is used for something else; next: save its data, then tierbench provision fsdax --erase ${space.dev}`,
      ));
    }
  }
  const blocks = inventory.blocks?.known === true ? inventory.blocks.value : [];
  for (const { name, fileSystem, mountPoints } of blocks.filter(({ name }) => ofRegion(name))) {
    const foreign = fileSystem !== undefined && /member|LUKS|swap/i.test(fileSystem);
    if (mountPoints.length === 0 && !foreign) continue;
    const use = [fileSystem, ...mountPoints.map((point) => `mounted on ${point}`)].filter((word) => word !== undefined);
    lines.push(line(
      `in-use ${name}`,
      false,
      `/dev/${name} is in use by something else: ${
        use.join(", ")
      }; next: free it, or choose another region with --only`,
    ));
  }
  return lines;
}

/** What the file system lies on. */
function medium(inventory: Inventory, path: string, block: string | undefined, { place }: CheckOptions): CheckLine {
  const { facts } = inventory;
  const id = `medium ${path}`;
  const region = block === undefined ? undefined : namespacesOf(facts).find((space) => space.block === block)?.region;
  const provider = regionsOf(facts).find(({ name }) => name === region)?.provider;
  if (region === undefined || provider === undefined) {
    return line(id, false, `what is behind ${block ?? "the device"} is unknown: no region in /sys/bus/nd leads to it`);
  }
  if (provider === "ACPI.NFIT" || provider === "CXL") {
    const what = provider === "CXL" ? "CXL persistent memory" : "an NVDIMM";
    return facts["cpu.virtual"] === "no" ? line(id, true, `${region} is ${what} (${provider})`) : line(
      id,
      true,
      `${region} is ${what} (${provider}), but a hypervisor runs this machine: it may be virtual, and no speed ` +
        `of it counts as that of PMEM`,
    );
  }
  if (provider === "e820") {
    const text =
      `${region} is DRAM that the kernel option memmap= sets aside: lost at power-off, and as fast as DRAM; no ` +
      `figure of it counts as that of PMEM`;
    return place === "cloud-vm"
      ? line(id, true, text)
      : line(id, false, `${text}; next: remove memmap= from the kernel's command line and use a region of real PMEM`);
  }
  if (provider === "virtio-pmem") {
    return line(
      id,
      false,
      `${region} is a file of the host (virtio-pmem), which cannot be mapped with MAP_SYNC: libpmem does not take it ` +
        `for PMEM; next: ask for a virtual NVDIMM instead`,
    );
  }
  return line(id, false, `${region} comes from "${provider}", which is not known to be persistent memory`);
}

/** Whether huge pages fit: addresses of the namespace's data. */
function alignment(inventory: Inventory, path: string, block: string | undefined): CheckLine {
  const id = `alignment ${path}`;
  const space = block === undefined ? undefined : namespaces(inventory).find(({ blockdev }) => blockdev === block);
  if (space === undefined) {
    return line(id, false, `the alignment is unknown: ndctl list shows no namespace of ${block ?? "the device"}`);
  }
  if (space.align === undefined) {
    // A namespace of memmap= has no label and so no alignment of its own: it is the range of the command line.
    const start = /^memmap=\w+!(\d+)([GM])$/.exec(inventory.facts["kernel.cmdline_memmap"] ?? "");
    const aligned = start !== null && space.uuid === undefined && (start[2] === "G" || Number(start[1]) % 2 === 0);
    return aligned
      ? line(
        id,
        true,
        `${space.dev} has no alignment of its own and begins where ${start[0]} says, at a multiple of 2 MiB`,
      )
      : line(id, false, `the alignment of ${space.dev} is unknown: ndctl list -N prints none`);
  }
  return space.align % HUGE === 0 ? line(id, true, `${space.dev} is aligned to ${formatBytes(space.align)}`) : line(
    id,
    false,
    `wrong alignment: ${space.dev} is aligned to ${formatBytes(space.align)}, so no page of 2 MiB can be mapped; ` +
      `next: ndctl create-namespace -f -e ${space.dev} --mode=fsdax --align=2M (erases ${space.dev})`,
  );
}

/** What trying a mount gave. */
function triedMount(path: string, found: Readonly<Record<string, string>>): CheckLine[] {
  const size = numberOf(found, "file_system.block_size");
  const lines = [
    line(
      `block-size ${path}`,
      size === 4096,
      size === 4096
        ? "blocks of 4096 bytes, as pages"
        : `blocks of ${size ?? "unknown"} bytes: DAX needs the size of a page; next: mkfs.ext4 -b 4096 (erases it)`,
    ),
    line(
      `map-sync ${path}`,
      found["map_sync"] === "yes",
      found["map_sync"] === "yes"
        ? "mapped with MAP_SYNC: stores reach the medium without the page cache"
        : `MAP_SYNC is refused (${found["map_sync.error"] ?? "no reason given"}): stores go to the page cache or are ` +
          `not persistent; next: mount an fsdax namespace of real PMEM with -o dax`,
    ),
  ];
  const says = found["pmem.map_file_is_pmem"] === "yes" && found["pmem.is_pmem"] === "yes";
  const force = found["pmem.force"];
  lines.push(line(
    `is-pmem ${path}`,
    says && force === undefined,
    found["pmem.library"] === "no"
      ? `libpmem cannot be asked: ${found["pmem.error"] ?? "no reason given"}`
      : force !== undefined
      ? `PMEM_IS_PMEM_FORCE=${force} is set, so what libpmem says proves nothing; next: unset it`
      : found["pmem.map_file"] !== "yes"
      ? `libpmem cannot map a file there: ${found["pmem.error"] ?? "no reason given"}`
      : says
      ? "libpmem takes it for persistent memory (pmem_is_pmem)"
      : "libpmem does not take it for persistent memory (pmem_is_pmem is 0)",
  ));
  const pages = found["map.page_size"];
  lines.push(line(
    `huge-pages ${path}`,
    (pages === "2097152" || pages === "mixed") && found["pmem.aligned_2m"] !== "no",
    pages === "2097152"
      ? "mapped by pages of 2 MiB"
      : pages === "mixed"
      ? "mapped by pages of 2 MiB where blocks lie together"
      : pages === "4096"
      ? "mapped by pages of 4 KiB: TLB misses; next: mkfs.ext4 -b 4096 -E stride=512,stripe_width=512 (erases it)"
      : "the size of pages in use is unknown",
  ));
  const persisted = found["persist.read_back"] === "yes";
  lines.push(line(
    `persist ${path}`,
    persisted,
    persisted
      ? `1 MiB through ${found["persist.by"] ?? "libpmem"} read back through the file`
      : `1 MiB stored through libpmem was not read back${
        found["persist.error"] === undefined ? "" : `: ${found["persist.error"]}`
      }`,
  ));
  return lines;
}

function owner(
  path: string,
  writable: boolean,
  found: Readonly<Record<string, string>>,
  { owner: wanted }: CheckOptions,
): CheckLine {
  const id = `writable ${path}`;
  if (wanted === undefined) {
    return line(
      id,
      writable,
      writable ? "this user can write" : `this user cannot write; next: chown $(id -u) ${path}`,
    );
  }
  const uid = numberOf(found, "folder.owner");
  const mode = parseInt(found["folder.mode"] ?? "", 8);
  const ok = writable &&
    ((uid === wanted.uid && (mode & 0o300) === 0o300) || (mode & 0o003) === 0o003 || wanted.uid === 0);
  return line(
    id,
    ok,
    ok
      ? `${wanted.name} can write`
      : `${wanted.name} cannot write: ${
        uid === undefined ? "its owner is unknown" : `it belongs to user ${uid}`
      }, mode ${found["folder.mode"] ?? "unknown"}; next: chown ${wanted.name} ${path}`,
  );
}

/** Whether a unit that is enabled makes it again when the machine starts. */
function afterRestart(
  inventory: Inventory,
  what: string,
  makes: (text: string) => boolean,
  kind: "mount" | "service",
): CheckLine {
  const id = `restart ${what}`;
  const units = Object.entries(inventory.files).filter(([path, text]) => path.endsWith(`.${kind}`) && makes(text))
    .map(([path]) => path.slice(path.lastIndexOf("/") + 1));
  const enabled = units.find((unit) => inventory.units[unit] === "enabled");
  if (enabled !== undefined) return line(id, true, `${enabled} is enabled: it comes back when the machine starts`);
  const unit = units[0];
  return line(
    id,
    false,
    unit === undefined
      ? `no systemd ${kind} unit makes ${what} again when the machine starts; next: tierbench provision`
      : `${unit} is ${inventory.units[unit] ?? "in an unknown state"}, not enabled: ${what} is gone after a restart; ` +
        `next: systemctl enable ${unit}`,
  );
}

/* ---- kmem-dax, cxl-kmem ---- */

/**
 * Whether a DAX device becomes memory again: a udev rule starts a unit for it, or a unit that is enabled names it.
 * Regions of CXL memory that the system makes at its start need their unit too.
 */
function deviceAfterRestart(inventory: Inventory, device: string): CheckLine[] {
  const { files, units } = inventory;
  const makes = (text: string) => /^ExecStart=.*--mode=system-ram/m.test(text);
  const rule = Object.entries(files).find(([path, text]) =>
    path.endsWith(".rules") && text.includes(`KERNEL=="${device}"`) && text.includes("SYSTEMD_WANTS")
  );
  const lines: CheckLine[] = [];
  if (rule === undefined) {
    lines.push(afterRestart(inventory, device, (text) => makes(text) && text.includes(device), "service"));
  } else {
    const wanted = /SYSTEMD_WANTS\}\+?="([\w:.-]+)@[^"]*\.service"/.exec(rule[1])?.[1];
    const unit = Object.entries(files).find(([path]) => wanted !== undefined && path.endsWith(`/${wanted}@.service`));
    const ok = unit !== undefined && makes(unit[1]);
    lines.push(line(
      `restart ${device}`,
      ok,
      ok
        ? `${rule[0]} starts ${wanted}@${device}.service when the device appears`
        : `${rule[0]} names a unit that is not there or makes no memory of it: ${
          wanted ?? "none"
        }; next: tierbench provision`,
    ));
  }
  const regions = Object.entries(files).find(([path, text]) =>
    path.endsWith(".service") && /\/bus\/cxl\/|\bcxl create/.test(text)
  );
  if (regions !== undefined) {
    const name = regions[0].slice(regions[0].lastIndexOf("/") + 1);
    const ok = units[name] === "enabled";
    lines.push(line(
      "restart cxl-regions",
      ok,
      ok
        ? `${name} is enabled: it makes the regions of CXL memory`
        : `${name} is ${units[name] ?? "in an unknown state"}: regions of CXL memory are gone after a restart; next: ` +
          `systemctl enable ${name}`,
    ));
  }
  return lines;
}

async function checkNodes(
  target: "kmem-dax" | "cxl-kmem",
  inventory: Inventory,
  verify: Verify,
  wanted: readonly number[],
  { place }: CheckOptions,
): Promise<CheckLine[]> {
  const { facts } = inventory;
  const origin = target === "cxl-kmem" ? "cxl" : "pmem";
  const listed = inventory.daxctl?.known === true ? inventory.daxctl.value : [];
  const known = daxOf(facts);
  const mine = known.filter((device) =>
    wanted.length > 0
      ? device.targetNode !== undefined && wanted.includes(device.targetNode)
      : device.origin === origin ||
        // Persistent CXL memory comes through libnvdimm, with CXL as the provider of its region.
        (target === "cxl-kmem" && regionsOf(facts).find(({ name }) => name === device.region)?.provider === "CXL")
  );
  const nodes = wanted.length > 0
    ? wanted
    : [...new Set(mine.flatMap(({ targetNode }) => targetNode === undefined || targetNode < 0 ? [] : [targetNode]))]
      .sort((a, b) => a - b);
  const lines: CheckLine[] = [];
  if (inventory.daxctl?.known === false) {
    lines.push(line("daxctl", false, `what daxctl list printed is not understood: ${inventory.daxctl.reason}`));
  }
  for (const device of mine) {
    lines.push(...checkDevice(device.name, device.driver, listed.find(({ chardev }) => chardev === device.name)));
  }
  const plain = place === "cloud-vm" && target === "kmem-dax";
  if (mine.length === 0 && !plain) {
    lines.push(line(
      "device",
      false,
      `no DAX device of ${target === "cxl-kmem" ? "CXL memory" : "PMEM"} is there; next: tierbench provision ${target}`,
    ));
    lines.push(...inUseNamespaces(inventory));
  }
  if (mine.length === 0 && plain && nodes.length === 0) {
    lines.push(line(
      "node",
      false,
      "no DAX device became memory, and no node with memory and without CPUs is known: nothing can be used; next: " +
        "tierbench provision kmem-dax",
    ));
  }
  for (const node of nodes) {
    lines.push(...await checkNode(inventory, verify, node));
    const device = mine.find(({ targetNode }) => targetNode === node);
    if (device !== undefined) {
      lines.push(...deviceAfterRestart(inventory, device.name));
      lines.push(kmemMedium(inventory, node, device, place));
    } else if (plain) {
      lines.push(line(
        `medium node ${node}`,
        true,
        "memory that the hypervisor gives the machine as a node of its own: what it is cannot be seen from here, " +
          "and no figure of it counts as that of PMEM",
      ));
    } else if (mine.length > 0) {
      lines.push(line(`device node ${node}`, false, `no DAX device became the memory of node ${node}`));
    }
  }
  if (mine.length > 0) lines.push(autoOnline(facts["kernel.auto_online_blocks"]));
  return lines;
}

function inUseNamespaces(inventory: Inventory): CheckLine[] {
  return namespaces(inventory).filter(({ mode, size }) => mode !== undefined && mode !== "devdax" && size !== 0).map((
    { dev, mode, blockdev },
  ) =>
    line(
      `in-use ${dev}`,
      false,
      `${dev} is in ${mode} mode${
        blockdev === undefined ? "" : ` (/dev/${blockdev})`
      }: it is used for something else; ` +
        `next: save its data, then tierbench provision kmem-dax --erase ${dev}`,
    )
  );
}

function checkDevice(name: string, driver: string | undefined, listed: DaxDeviceListing | undefined): CheckLine[] {
  const ram = driver === "kmem" && (listed?.mode === undefined || listed.mode === "system-ram");
  const lines = [
    line(
      `system-ram ${name}`,
      ram,
      ram
        ? `${name} is system memory (kmem)`
        : `${name} is ${
          driver === "device_dax" ? "a device" : `bound to ${driver ?? "no driver"}`
        }, not system memory; ` +
          `next: daxctl reconfigure-device --mode=system-ram ${name}`,
    ),
  ];
  if (!ram) return lines;
  const { onlineMemblocks: online, totalMemblocks: total, movable } = listed ?? {};
  const all = online !== undefined && total !== undefined && total > 0 && online === total;
  lines.push(line(
    `online ${name}`,
    all,
    online === undefined || total === undefined
      ? `how many memory blocks of ${name} are online is unknown: daxctl list prints none`
      : `${online} of ${total} memory blocks are online${all ? "" : `; next: daxctl online-memory ${name}`}`,
  ));
  lines.push(line(
    `movable ${name}`,
    movable === true,
    movable === true
      ? "all of it movable: the kernel keeps nothing of its own there"
      : movable === false
      ? `not movable: the kernel may keep its own data there, and it cannot be taken back; next: ` +
        `daxctl offline-memory ${name} && daxctl online-memory ${name}`
      : "whether it is movable is unknown",
  ));
  return lines;
}

async function checkNode(inventory: Inventory, verify: Verify, node: number): Promise<CheckLine[]> {
  const known = nodesOf(inventory.facts).find((one) => one.node === node);
  if (known === undefined || (known.totalBytes ?? 0) === 0) {
    return [line(`node ${node}`, false, `node ${node} has no memory online`)];
  }
  const lines = [
    line(`node ${node}`, true, `${formatBytes(known.totalBytes ?? 0)}`),
    line(
      `no-cpus ${node}`,
      known.cpus === "",
      known.cpus === ""
        ? "no CPUs"
        : known.cpus === undefined
        ? "whether it has CPUs is unknown"
        : `node ${node} has CPUs ${known.cpus}: its memory cannot be told from DRAM; next: choose a device whose ` +
          `memory becomes a node of its own (firmware gives it one in SRAT)`,
    ),
  ];
  const alone = await tried(verify.node(node, undefined));
  const named = await tried(verify.node(node, String(node)));
  if (alone.error !== undefined) {
    lines.push(line(`pages ${node}`, false, `node ${node} cannot be tried: ${alone.error}`));
    return lines;
  }
  const bound = alone.facts;
  lines.push(line(
    `pages ${node}`,
    bound["bind.landed"] === "yes",
    bound["bind.landed"] === "yes"
      ? "8 MiB bound to it lie on it (move_pages)"
      : bound["bind.pages"] !== undefined
      ? `pages bound to it lie elsewhere (node:pages ${bound["bind.pages"]})`
      : `pages cannot be bound to it: ${
        bound["bind.error"] ?? bound["bind.move_pages_error"] ?? "no reason given"
      }; in a container: --cap-add SYS_NICE`,
  ));
  const facts = named.facts;
  const sees = facts["memkind.dax_kmem"] === "yes" && facts["memkind.landed"] === "yes";
  lines.push(line(
    `memkind ${node}`,
    sees,
    sees
      ? `memkind allocates on it (MEMKIND_DAX_KMEM, MEMKIND_DAX_KMEM_NODES=${node})` +
        (bound["memkind.dax_kmem"] === "yes"
          ? `, and finds it without that variable`
          : "; without that variable it finds no such node: keep it set")
      : `memkind does not allocate on it with MEMKIND_DAX_KMEM_NODES=${node}: ${
        named.error ?? facts["memkind.error"] ?? facts["memkind.move_pages_error"] ??
          `its pages are elsewhere (node:pages ${facts["memkind.pages"] ?? "unknown"})`
      }`,
  ));
  return lines;
}

function kmemMedium(
  inventory: Inventory,
  node: number,
  device: { readonly name: string; readonly origin: string | undefined; readonly region: string | undefined },
  place: Place | undefined,
): CheckLine {
  const id = `medium node ${node}`;
  const { facts } = inventory;
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
    return place === "cloud-vm" ? line(id, true, text) : line(id, false, `${text}; next: use a region of real PMEM`);
  }
  return line(id, false, `where ${device.name} comes from is unknown: no PMEM or CXL region leads to it`);
}

function autoOnline(policy: string | undefined): CheckLine {
  const id = "auto-online";
  if (policy === undefined) {
    return line(id, false, "what the kernel does with new memory is unknown (auto_online_blocks)");
  }
  return policy === "offline" || policy === "online_movable"
    ? line(id, true, `new memory is ${policy === "offline" ? "left to daxctl" : "put online as movable"} (${policy})`)
    : line(
      id,
      false,
      `the kernel puts new memory online itself (auto_online_blocks is ${policy}), not movable, and daxctl refuses; ` +
        "next: echo offline > /sys/devices/system/memory/auto_online_blocks",
    );
}

/* ---- memory-mode ---- */

function checkMemoryMode(inventory: Inventory): CheckLine[] {
  const { facts, ipmctl } = inventory;
  const cached = nodesOf(facts).filter(({ sideCacheBytes }) => (sideCacheBytes ?? 0) > 0);
  const cache = cached.reduce((sum, { sideCacheBytes }) => sum + (sideCacheBytes ?? 0), 0);
  const lines = [
    line(
      "side-cache",
      cached.length > 0,
      cached.length > 0
        ? `firmware lists a DRAM cache of ${formatBytes(cache)} in front of node ${
          cached.map(({ node }) => node).join(", ")
        }`
        : "no memory_side_cache in sysfs: firmware lists no DRAM cache in front of other memory",
    ),
  ];
  if (ipmctl === undefined) {
    lines.push(
      line("ipmctl", false, "ipmctl is not installed, so the modules' own word is missing; next: install ipmctl"),
    );
  } else if (!ipmctl.resources.known) {
    const { reason, raw } = ipmctl.resources;
    lines.push(
      line("ipmctl", false, `ipmctl show -memoryresources is not understood: ${reason}: ${raw.trim().split("\n")[0]}`),
    );
  } else {
    const { volatilePmem, cacheDdr } = ipmctl.resources.value;
    const on = (volatilePmem ?? 0) > 0 && (cacheDdr ?? 0) > 0;
    lines.push(line(
      "ipmctl",
      on,
      on
        ? `${formatBytes(volatilePmem ?? 0)} of PMEM as memory behind ${
          formatBytes(cacheDdr ?? 0)
        } of DRAM as its cache`
        : `not in Memory Mode: PMEM as memory ${
          volatilePmem === undefined ? "unknown" : formatBytes(volatilePmem)
        }, DRAM as ` +
          `cache ${cacheDdr === undefined ? "none" : formatBytes(cacheDdr)}; next: tierbench provision memory-mode`,
    ));
    if (on && cached.length > 0) {
      const ratio = cache / (cacheDdr ?? 1);
      const agree = ratio > 0.8 && ratio < 1.25;
      lines.push(line(
        "agree",
        agree,
        agree
          ? "both name a cache of the same size"
          : `sysfs names a cache of ${formatBytes(cache)}, ipmctl one of ${
            formatBytes(cacheDdr ?? 0)
          }: they do not agree`,
      ));
    }
  }
  if (facts["cpu.virtual"] === "yes") {
    lines.push(
      line("bare-metal", false, "a hypervisor runs this machine: Memory Mode belongs to the host, not to a VM"),
    );
  }
  return lines;
}
