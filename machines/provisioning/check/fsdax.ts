/**
 * Whether `fsdax` is there: each mount point a file system with DAX on PMEM, tried by mapping a file of it.
 *
 * @module
 */

import { formatBytes } from "../../../base/bytes.ts";
import { type Facts, mountsOf, namespacesOf, numberOf, regionsOf } from "../../inventory/parts.ts";
import type { CheckLine } from "../contract.ts";
import { afterRestart, type CheckContext, inUse, line, namespaces, tried } from "./line.ts";

/** The lines of `fsdax`. */
export async function checkFsdax(context: CheckContext, mounts: readonly string[]): Promise<CheckLine[]> {
  if (mounts.length === 0) {
    return [line("mounted", false, "no mount point is known: the plan found no PMEM region to make one for")];
  }
  const lines: CheckLine[] = [];
  for (const mount of mounts) lines.push(...await checkMount(context, mount));
  return lines;
}

async function checkMount(context: CheckContext, path: string): Promise<CheckLine[]> {
  // The last mount on a path is the one that is seen.
  const mount = mountsOf(context.inventory.facts).filter((one) => one.path === path && one.fileSystem !== "tmpfs").at(
    -1,
  );
  if (mount === undefined) {
    return [
      line(`mounted ${path}`, false, `no file system of PMEM is mounted on ${path}; next: tierbench provision fsdax`),
      ...otherUses(context, /\/pmem(\d+)$/.exec(path)?.[1]),
    ];
  }
  const lines = [line(`mounted ${path}`, true, `${mount.fileSystem} on ${mount.device}`)];
  const remount = `umount ${path} && mount -o dax=always ${mount.device} ${path}`;
  const dax = mount.dax === "dax" || mount.dax === "always";
  lines.push(line(
    `dax ${path}`,
    dax,
    "mounted with dax=always",
    mount.dax === "inode"
      ? `mounted with dax=inode: DAX depends on a flag of each file; next: ${remount}`
      : `DAX is off: mounted ${mount.dax === undefined ? "without the option dax" : `with dax=${mount.dax}`}; ` +
        `next: ${remount}`,
  ));
  const block = /^\/dev\/(pmem\d+(?:\.\d+)?)(?:p\d+)?$/.exec(mount.device)?.[1];
  lines.push(medium(context, path, block), alignment(context, path, block));
  const { facts: found, error } = await tried(context.verify.dax(path));
  if (error !== undefined || found["file.created"] !== "yes") {
    const why = error ?? `no file can be made in it: ${found["file.error"] ?? "no reason given"}`;
    lines.push(line(`tried ${path}`, false, `${path} cannot be tried: ${why}`));
  } else {
    lines.push(...triedMount(path, found));
  }
  const makes = new RegExp(`^Where=${escape(path)}$`, "m");
  lines.push(owner(context, path, mount.writable, found));
  lines.push(afterRestart(context, path, "mount", (text) => makes.test(text)));
  return lines;
}

const escape = (text: string) => text.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");

/** Other uses of namespaces and PMEM block devices: of the region that a mount point has its number from, or of all. */
function otherUses(context: CheckContext, region: string | undefined): CheckLine[] {
  const ofRegion = (name: string) => region === undefined || /\d+/.exec(name)?.[0] === region;
  const lines = inUse(namespaces(context).filter(({ dev }) => ofRegion(dev)), "fsdax");
  const { blocks } = context.inventory;
  for (const { name, fileSystem, mountPoints } of blocks?.known === true ? blocks.value : []) {
    const foreign = fileSystem !== undefined && /member|LUKS|swap/i.test(fileSystem);
    if (!ofRegion(name) || (mountPoints.length === 0 && !foreign)) continue;
    const use = [fileSystem, ...mountPoints.map((point) => `mounted on ${point}`)].filter((word) => word !== undefined);
    const next = "next: free it, or choose another region with --only";
    lines.push(line(`in-use ${name}`, false, `/dev/${name} is in use by something else: ${use.join(", ")}; ${next}`));
  }
  return lines;
}

/** What the file system lies on. */
function medium({ inventory: { facts }, place }: CheckContext, path: string, block: string | undefined): CheckLine {
  const id = `medium ${path}`;
  const region = block === undefined ? undefined : namespacesOf(facts).find((space) => space.block === block)?.region;
  const provider = regionsOf(facts).find(({ name }) => name === region)?.provider;
  if (region === undefined || provider === undefined) {
    return line(id, false, `what is behind ${block ?? "the device"} is unknown: no region in /sys/bus/nd leads to it`);
  }
  if (provider === "ACPI.NFIT" || provider === "CXL") {
    const what = provider === "CXL" ? "CXL persistent memory" : "an NVDIMM";
    const virtual = facts["cpu.virtual"] === "no"
      ? ""
      : ", but a hypervisor runs this machine: it may be virtual, and no speed of it counts as that of PMEM";
    return line(id, true, `${region} is ${what} (${provider})${virtual}`);
  }
  if (provider === "e820") {
    const text = `${region} is DRAM that the kernel option memmap= sets aside: lost at power-off, and as fast as ` +
      "DRAM; no figure of it counts as that of PMEM";
    const next = "next: remove memmap= from the kernel's command line and use a region of real PMEM";
    return line(id, place === "cloud-vm", text, `${text}; ${next}`);
  }
  if (provider === "virtio-pmem") {
    const text = `${region} is a file of the host (virtio-pmem), which cannot be mapped with MAP_SYNC: libpmem does ` +
      "not take it for PMEM; next: ask for a virtual NVDIMM instead";
    return line(id, false, text);
  }
  return line(id, false, `${region} comes from "${provider}", which is not known to be persistent memory`);
}

/** Whether huge pages fit: addresses of the namespace's data. */
function alignment(context: CheckContext, path: string, block: string | undefined): CheckLine {
  const id = `alignment ${path}`;
  const space = block === undefined ? undefined : namespaces(context).find(({ blockdev }) => blockdev === block);
  if (space === undefined) {
    return line(id, false, `the alignment is unknown: ndctl list shows no namespace of ${block ?? "the device"}`);
  }
  if (space.align === undefined) {
    // A namespace of memmap= has no label and so no alignment of its own: it is the range of the command line.
    const start = /^memmap=\w+!(\d+)([GM])$/.exec(context.inventory.facts["kernel.cmdline_memmap"] ?? "");
    const aligned = start !== null && space.uuid === undefined && (start[2] === "G" || Number(start[1]) % 2 === 0);
    return line(
      id,
      aligned,
      `${space.dev} has no alignment of its own and begins where ${start?.[0]} says, at a multiple of 2 MiB`,
      `the alignment of ${space.dev} is unknown: ndctl list -N prints none`,
    );
  }
  return line(
    id,
    space.align % (2 * 1024 * 1024) === 0,
    `${space.dev} is aligned to ${formatBytes(space.align)}`,
    `wrong alignment: ${space.dev} is aligned to ${formatBytes(space.align)}, so no page of 2 MiB can be mapped; ` +
      `next: ndctl create-namespace -f -e ${space.dev} --mode=fsdax --align=2M (erases ${space.dev})`,
  );
}

/** What trying a mount gave. */
function triedMount(path: string, found: Facts): CheckLine[] {
  const size = numberOf(found, "file_system.block_size");
  const says = found["pmem.map_file_is_pmem"] === "yes" && found["pmem.is_pmem"] === "yes";
  const force = found["pmem.force"];
  const pages = found["map.page_size"];
  return [
    line(
      `block-size ${path}`,
      size === 4096,
      "blocks of 4096 bytes, as pages",
      `blocks of ${size ?? "unknown"} bytes: DAX needs the size of a page; next: mkfs.ext4 -b 4096 (erases it)`,
    ),
    line(
      `map-sync ${path}`,
      found["map_sync"] === "yes",
      "mapped with MAP_SYNC: stores reach the medium without the page cache",
      `MAP_SYNC is refused (${found["map_sync.error"] ?? "no reason given"}): stores go to the page cache or are ` +
        `not persistent; next: mount an fsdax namespace of real PMEM with -o dax`,
    ),
    line(
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
    ),
    line(
      `huge-pages ${path}`,
      (pages === "2097152" || pages === "mixed") && found["pmem.aligned_2m"] !== "no",
      pages === "2097152"
        ? "mapped by pages of 2 MiB"
        : pages === "mixed"
        ? "mapped by pages of 2 MiB where blocks lie together"
        : pages === "4096"
        ? "mapped by pages of 4 KiB: TLB misses; next: mkfs.ext4 -b 4096 -E stride=512,stripe_width=512 (erases it)"
        : "the size of pages in use is unknown",
    ),
    line(
      `persist ${path}`,
      found["persist.read_back"] === "yes",
      `1 MiB through ${found["persist.by"] ?? "libpmem"} read back through the file`,
      ["1 MiB stored through libpmem was not read back", found["persist.error"] ?? []].flat().join(": "),
    ),
  ];
}

/** Whether its owner-to-be, or without one this user, can write. */
function owner({ owner: wanted }: CheckContext, path: string, writable: boolean, found: Facts): CheckLine {
  const id = `writable ${path}`;
  if (wanted === undefined) {
    return line(id, writable, "this user can write", `this user cannot write; next: chown $(id -u) ${path}`);
  }
  const uid = numberOf(found, "folder.owner");
  const mode = parseInt(found["folder.mode"] ?? "", 8);
  const ok = writable &&
    ((uid === wanted.uid && (mode & 0o300) === 0o300) || (mode & 0o003) === 0o003 || wanted.uid === 0);
  const who = uid === undefined ? "its owner is unknown" : `it belongs to user ${uid}`;
  return line(
    id,
    ok,
    `${wanted.name} can write`,
    `${wanted.name} cannot write: ${who}, mode ${
      found["folder.mode"] ?? "unknown"
    }; next: chown ${wanted.name} ${path}`,
  );
}
