/**
 * Options of the kernel's command line by way of GRUB: Debian's reads /etc/default/grub.d and has update-grub, Red
 * Hat's has /etc/default/grub and grub2-mkconfig, and an entry for each kernel (BLS) that grubby changes.
 *
 * @module
 */

import type { OsRelease } from "../inventory/inventory.ts";
import { type PlanContext, step } from "./context.ts";
import type { Loss, Step } from "./contract.ts";
import { type Family, knownSystem } from "./packages.ts";
import { quote, writeFile } from "./shell.ts";
import { compareVersions } from "./versions.ts";

const DROP_IN = "/etc/default/grub.d/tierbench.cfg";
const DEFAULTS = "/etc/default/grub";

/** What the option is called in lines and files. */
function argument(memmap: string): string {
  return `memmap=${memmap}`;
}

function dropIn(memmap: string): string {
  return `GRUB_CMDLINE_LINUX="$GRUB_CMDLINE_LINUX ${argument(memmap)}"\n`;
}

/** Whether GRUB's defaults of Red Hat's kind name the option. */
function inDefaults(context: PlanContext, memmap: string): boolean {
  return (context.inventory.files[DEFAULTS] ?? "").split("\n")
    .some((line) => /^GRUB_CMDLINE_LINUX(_DEFAULT)?=/.test(line) && line.split(/[\s"']/).includes(argument(memmap)));
}

/** First versions by `ID`, else those of RHEL. */
function isFrom(os: OsRelease, versions: Readonly<Record<string, string>>): boolean {
  if (os.version === undefined) return true;
  return (compareVersions(os.version, versions[os.id] ?? versions["rhel"] ?? "0") ?? 1) >= 0;
}

/**
 * Lines that write GRUB's configuration anew. Since RHEL 9 and Fedora 34 /boot/grub2/grub.cfg is right for BIOS and
 * UEFI alike; before, packages leave a link to the right one of each.
 */
export function updateLines(os: OsRelease, family: Family, change: { add?: string; remove?: string }): string[] {
  if (family === "debian") return ["update-grub"];
  const output = isFrom(os, { rhel: "9", fedora: "34", alinux: "4", amzn: "2023" })
    ? "/boot/grub2/grub.cfg"
    : '"$(readlink -e /etc/grub2$(test -d /sys/firmware/efi && echo -efi).cfg)"';
  const entries = isFrom(os, { rhel: "8", fedora: "30", alinux: "3", amzn: "2023" });
  const grubby = [
    ...(change.add === undefined ? [] : [`grubby --update-kernel=ALL --args=${quote(argument(change.add))}`]),
    ...(change.remove === undefined
      ? []
      : [`grubby --update-kernel=ALL --remove-args=${quote(argument(change.remove))}`]),
  ];
  return [`grub2-mkconfig -o ${output}`, ...(entries ? grubby : [])];
}

function removal(family: Family, memmap: string): string[] {
  return family === "debian"
    ? [`rm -f ${DROP_IN}`, `sed -i ${quote(`/^GRUB_CMDLINE_LINUX/s/ *${argument(memmap)}//`)} ${DEFAULTS}`]
    : [`sed -i ${quote(`/^GRUB_CMDLINE_LINUX/s/ *${argument(memmap)}//`)} ${DEFAULTS}`];
}

/** Sets memory aside from the next start on: the file, then the boot loader. `running`: it is set aside already. */
export function setAsideSteps(context: PlanContext, memmap: string, running: boolean): Step[] {
  const { os, family } = knownSystem(context, "the boot loader's configuration");
  const written = family === "debian"
    ? context.inventory.files[DROP_IN] === dropIn(memmap)
    : inDefaults(context, memmap);
  const update = updateLines(os, family, { add: memmap });
  return [
    step({
      id: "boot-option",
      title: `Write the kernel option ${argument(memmap)} to GRUB's settings: the range is no plain memory any more`,
      commands: family === "debian" ? ["mkdir -p /etc/default/grub.d", writeFile(DROP_IN, dropIn(memmap))] : [
        `grep -q ${quote(`^GRUB_CMDLINE_LINUX=.*${argument(memmap)}`)} ${DEFAULTS} || ` +
        `sed -i ${quote(`s/^GRUB_CMDLINE_LINUX="/&${argument(memmap)} /`)} ${DEFAULTS}`,
      ],
      undo: family === "debian" ? [`rm -f ${DROP_IN}`] : removal(family, memmap),
      done: running
        ? `the kernel runs with ${argument(memmap)}`
        : written
        ? `${family === "debian" ? DROP_IN : DEFAULTS} has it`
        : undefined,
      expected: `${family === "debian" ? DROP_IN : DEFAULTS} names ${argument(memmap)}`,
    }),
    step({
      id: "boot-loader",
      title: "Give it to the boot loader, and start the machine again",
      commands: update,
      undo: updateLines(os, family, { remove: memmap }),
      done: running ? "the range is a PMEM region" : undefined,
      expected: "after the restart /dev/pmem0 is there",
      reboot: true,
      outsideLab: "boot loader",
    }),
  ];
}

/**
 * Gives memory that was set aside back from the next start on. `memmap` undefined: none is set aside now; the two steps
 * are there all the same, done, so that a plan has the same steps before and after the restart.
 */
export function giveBackSteps(
  context: PlanContext,
  memmap: string | undefined,
  before: { commands: readonly string[]; destroys: readonly Loss[] },
): Step[] {
  const common = { expected: "after the restart numactl -H lists a node without CPUs", reboot: true };
  const ids = {
    option: { id: "boot-option", title: "Take the kernel option memmap= out of GRUB's settings", reboot: false },
    loader: { id: "boot-loader", title: "Give that to the boot loader, and start the machine again" },
  };
  if (memmap === undefined) {
    const done = "no memory is set aside";
    return [
      step({ ...common, ...ids.option, commands: [], done }),
      step({ ...common, ...ids.loader, commands: [], done, outsideLab: "boot loader" }),
    ];
  }
  const { os, family } = knownSystem(context, "the boot loader's configuration");
  const there = context.inventory.files[DROP_IN] !== undefined || inDefaults(context, memmap);
  return [
    step({
      ...common,
      ...ids.option,
      commands: [...before.commands, ...removal(family, memmap)],
      undo: [],
      done: there || before.commands.length > 0 ? undefined : "GRUB's settings do not name it",
      destroys: before.destroys,
      expected: `neither ${DROP_IN} nor ${DEFAULTS} names memmap=`,
    }),
    step({
      ...common,
      ...ids.loader,
      commands: updateLines(os, family, { remove: memmap }),
      done: undefined,
      outsideLab: "boot loader",
    }),
  ];
}
