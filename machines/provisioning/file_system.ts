/**
 * ext4 on the block device of an `fsdax` namespace, mounted with DAX, at every start.
 *
 * @module
 */

import { mountsOf } from "../inventory/parts.ts";
import { OURS, type PlanContext, step } from "./context.ts";
import type { Step } from "./contract.ts";
import { blockContent } from "./loss.ts";
import { unmount } from "./namespace_step.ts";
import { quote, writeFile } from "./shell.ts";
import { mountUnit } from "./systemd_units.ts";
import { meets, NEEDS } from "./versions.ts";

/** The two steps, and where the file system will be. */
export interface FileSystemSteps {
  readonly steps: readonly Step[];
  readonly mount: string;
  /** What may keep DAX away. */
  readonly warnings: readonly string[];
}

/** Steps for `/dev/<block>`; `fresh`: a namespace is made before, so nothing on the block device now will be there. */
export function fileSystemSteps(
  context: PlanContext,
  at: { region: string; block: string; fresh: boolean; about: string },
): FileSystemSteps {
  const { inventory, request, inside } = context;
  const { block, fresh } = at;
  const device = `/dev/${block}`;
  // Labels have no more than 16 bytes (mke2fs(8)); udev makes the link, so that the mount follows the data.
  const label = `${OURS}${block.slice("pmem".length)}`;
  const path = `${request.mountParent ?? "/mnt"}/${block}`;
  const content = fresh
    ? { fileSystem: undefined, label: undefined, mountPoints: [], found: undefined }
    : blockContent(inventory, block);
  const mounts = mountsOf(inventory.facts).filter((one) => one.device === device);
  const dax = mounts.filter((one) => one.dax === "always" || one.dax === "dax");
  const own = dax.find((one) => one.path === path);
  const foreign = own === undefined ? dax[0] : undefined;
  const kept = content.fileSystem === "ext4" || (foreign ?? own) !== undefined;
  // One that others made keeps its label; its device's name has to do.
  const what = kept && content.label !== label ? device : `/dev/disk/by-label/${label}`;
  const options = meets(inventory, NEEDS.daxAlways) === true ? "dax=always" : "dax";
  const unit = mountUnit({ what, where: path, options, about: `Embedding tables on PMEM ${at.about} (tierbench)` });
  const force = content.found === undefined ? "" : "-F ";
  const makeFileSystem = step({
    id: `filesystem-${at.region}`,
    title:
      `Make ext4 on ${device}: blocks of 4 KiB, as DAX needs, in stripes of 512, so that files are laid out for huge ` +
      "pages of 2 MiB",
    commands: [
      ...(kept ? [] : content.mountPoints.flatMap((one) => unmount(inventory, one))),
      `mkfs.ext4 -q ${force}-b 4096 -E stride=512,stripe_width=512 -L ${label} ${device}`,
      "udevadm settle",
    ],
    undo: [`wipefs -a ${device}`],
    done: kept ? `${content.fileSystem ?? "a file system"} is on ${device} and is kept` : undefined,
    destroys: kept ? [] : [{ device: block, found: content.found }],
    expected: `lsblk -f ${device} lists ext4 with the label ${label}`,
  });
  const unitThere = inside || (inventory.files[unit.path] === unit.text && inventory.units[unit.name] === "enabled");
  const done = foreign !== undefined
    ? `${device} is mounted with DAX on ${foreign.path}, by other means`
    : own !== undefined && own.writable && unitThere
    ? `${device} is mounted with DAX on ${path}`
    : undefined;
  // DAX belongs to the file system, not to the mount point: a mount without it keeps one with it away.
  const inTheWay = kept && done === undefined ? mounts.filter((one) => !dax.includes(one)).map((one) => one.path) : [];
  const { owner } = request;
  const mount = step({
    id: `mount-${at.region}`,
    title: `Mount ${device} on ${path} with DAX, now and at every start${owner === undefined ? "" : `, for ${owner}`}`,
    commands: [
      ...inTheWay.map((one) => `umount ${quote(one)}`),
      `mkdir -p ${path}`,
      writeFile(unit.path, unit.text),
      "systemctl daemon-reload",
      `systemctl start ${quote(unit.name)}`,
      ...(owner === undefined ? [] : [`chown ${owner}: ${path}`]),
      // Last, so that an enabled unit proves that all before it was done.
      `systemctl enable ${quote(unit.name)}`,
    ],
    undo: [`systemctl disable --now ${quote(unit.name)}`, `rm -f ${quote(unit.path)}`, "systemctl daemon-reload"],
    done,
    expected: `findmnt -no OPTIONS ${path} lists ${options === "dax" ? "dax or dax=always" : options}`,
  });
  // Blocks of another size are seen only when the mount fails; ours have the right one.
  const warnings = kept && done === undefined && content.label !== label
    ? [
      `${content.fileSystem} on ${device} is kept; DAX needs blocks of 4 KiB (see dumpe2fs -h ${device})`,
    ]
    : [];
  return { steps: [makeFileSystem, mount], mount: foreign?.path ?? path, warnings };
}
