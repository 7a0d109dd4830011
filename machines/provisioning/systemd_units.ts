/**
 * Texts of systemd units (systemd.mount(5), systemd.service(5)).
 *
 * @module
 */

/** Where units of the administrator are. */
const FOLDER = "/etc/systemd/system";

/** A unit as a file. */
interface UnitFile {
  /** E.g. `mnt-pmem0.mount`. */
  readonly name: string;
  readonly path: string;
  readonly text: string;
}

/** Name of the mount unit of a path, as `systemd-escape --path --suffix=mount` prints it. */
export function mountUnitName(path: string): string {
  return `${escapePath(path)}.mount`;
}

function escapePath(path: string): string {
  const escaped = path.slice(1).split("/").map((part) =>
    part.replace(/^\./, "\\x2e").replaceAll(/[^A-Za-z0-9:_.\\]/g, (one) => `\\x${one.charCodeAt(0).toString(16)}`)
  );
  return escaped.join("-");
}

/**
 * A mount that comes back at every start. `nofail`: the machine starts without its PMEM, too; a mount unit without it
 * holds up local-fs.target for as long as the device does not appear. systemd waits 90 s for it at the start, and large
 * regions or slow machines may take longer: a device that comes later starts the mount, too.
 */
export function mountUnit(mount: { what: string; where: string; options: string; about: string }): UnitFile {
  const name = mountUnitName(mount.where);
  return {
    name,
    path: `${FOLDER}/${name}`,
    text: `[Unit]
Description=${mount.about}

[Mount]
What=${mount.what}
Where=${mount.where}
Type=ext4
Options=${mount.options},noatime,nofail

[Install]
WantedBy=local-fs.target
WantedBy=${escapePath(mount.what)}.device
`,
  };
}

/**
 * Makes a device DAX memory at every start: the mode is nothing that a device remembers (daxctl-reconfigure-device(1)).
 * The kernel must not bring the blocks online itself, or they are not movable, and daxctl refuses.
 */
export function kmemUnit(): UnitFile {
  const name = "tierbench-kmem@.service";
  return {
    name,
    path: `${FOLDER}/${name}`,
    text: `[Unit]
Description=Device DAX %i as memory of a NUMA node (tierbench)

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStartPre=/bin/sh -c 'echo offline > /sys/devices/system/memory/auto_online_blocks'
ExecStart=/usr/bin/daxctl reconfigure-device --mode=system-ram %i
`,
  };
}

/**
 * Makes regions of CXL memory again at every start: decoders forget at a restart what the operating system wrote to
 * them. The loop waits for the driver of the memory device. Volatile memory is plugged in as soon as its region is
 * there, so the kernel must not bring it online itself.
 */
export function cxlUnit(regions: readonly { region: string; command: string }[]): UnitFile {
  const name = "tierbench-cxl.service";
  const lines = regions.map(({ region, command }) =>
    `ExecStart=/bin/sh -c 'until test -e /sys/bus/cxl/devices/${region} || ${command}; do sleep 1; done'\n`
  );
  return {
    name,
    path: `${FOLDER}/${name}`,
    text: `[Unit]
Description=Regions of CXL memory (tierbench)

[Service]
Type=oneshot
RemainAfterExit=yes
TimeoutStartSec=60
ExecStartPre=/bin/sh -c 'echo offline > /sys/devices/system/memory/auto_online_blocks'
${lines.join("")}
[Install]
WantedBy=multi-user.target
`,
  };
}
