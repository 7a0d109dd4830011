/**
 * One namespace of a region in the mode that is needed, with the least lost: one in that mode is kept; free space is
 * used before anything is given up; one namespace in another mode is converted; between several the user has to choose.
 *
 * @module
 */

import type { Inventory } from "../inventory/inventory.ts";
import { OURS, type PlanContext, type PlanParts, step } from "./context.ts";
import type { Step } from "./contract.ts";
import { memoryOf } from "./dax_memory.ts";
import { blockContent, namespaceLoss } from "./loss.ts";
import { Refused } from "./refused.ts";
import type { RegionView, SpaceView } from "./regions.ts";
import { quote, words } from "./shell.ts";
import { mountUnitName } from "./systemd_units.ts";
import { kmemRule } from "./udev.ts";

/** Free space worth a namespace: two memory blocks of 128 MiB, with room for alignment. */
const LEAST = 256 * 1024 ** 2;

/** What a namespace is made for. */
interface Wanted {
  readonly mode: "fsdax" | "devdax";
  /** Where the page structures go, and why. */
  readonly map: "dev" | "mem";
  readonly because: string;
}

/** `fsdax`: 64 bytes for each page of 4 KiB (ndctl-create-namespace(1)) would take 16 GB of DRAM for a TB. */
export const FSDAX: Wanted = {
  mode: "fsdax",
  map: "dev",
  because: "page structures lie on the PMEM itself (--map=dev), 1.6 % of it, and take no DRAM",
};

/**
 * `devdax` that becomes memory: the kmem driver takes page structures from DRAM whatever the namespace says, so what
 * --map=dev sets aside would only be lost.
 */
export const DEVDAX: Wanted = {
  mode: "devdax",
  map: "mem",
  because: "no space is set aside for page structures (--map=mem): memory that is hot-plugged has them in DRAM",
};

/** The namespace that will be used, and the step that makes it. */
interface NamespaceChoice {
  readonly step: Step;
  /** There already, in the right mode. */
  readonly space: SpaceView | undefined;
  /** Names as they are or will be: drivers/nvdimm/namespace_devs.c and drivers/dax/pmem.c of Linux. */
  readonly dev: string;
  readonly block: string;
  readonly dax: string;
}

/** Lines that take a namespace out of use: mounts of ours and of others, memory. What they end is no data. */
export function release(inventory: Inventory, space: SpaceView): string[] {
  const lines: string[] = [];
  if (space.block !== undefined && space.mode !== "devdax") {
    for (const path of blockContent(inventory, space.block).mountPoints) lines.push(...unmount(inventory, path));
  }
  if (space.dax !== undefined) {
    const memory = memoryOf(inventory, space.dax);
    const rule = kmemRule(space.dax);
    if (inventory.files[rule.path] !== undefined) lines.push(`rm -f ${rule.path}`, "udevadm control --reload");
    if (memory?.systemRam === true) {
      lines.push(`daxctl offline-memory ${space.dax}`, `daxctl reconfigure-device --mode=devdax ${space.dax}`);
    }
  }
  return lines;
}

/** Lines that unmount a path, with the unit of an earlier run if there is one. */
export function unmount(inventory: Inventory, path: string): string[] {
  const unit = mountUnitName(path);
  const file = `/etc/systemd/system/${unit}`;
  return inventory.files[file] === undefined
    ? [`umount ${quote(path)}`]
    : [`systemctl disable --now ${quote(unit)}`, `rm -f ${quote(file)}`, "systemctl daemon-reload"];
}

/**
 * Steps for namespaces that no driver uses, as an interrupted `ndctl create-namespace` leaves them; undefined: there are
 * none. What is on them shows only afterwards, so nothing else can be planned before.
 */
export function enableFirst(
  regions: readonly RegionView[],
): Pick<PlanParts, "summary" | "warnings" | "steps"> | undefined {
  const spaces = regions.flatMap((region) => region.spaces.filter((space) => space.disabled));
  if (spaces.length === 0) return undefined;
  return {
    summary: `${words(spaces.map(({ dev }) => dev))} can be looked at; make the plan again then`,
    warnings: [
      "the steps that follow are not listed yet: what is on a namespace that is disabled cannot be seen",
      ...spaces.map(({ dev }) => `if ${dev} cannot be enabled and is not needed: ndctl destroy-namespace -f ${dev}`),
    ],
    steps: spaces.map(({ dev }) =>
      step({
        id: `enable-${dev}`,
        title: `Enable ${dev}, which no driver uses`,
        commands: [`ndctl enable-namespace ${dev}`, "udevadm settle"],
        done: undefined,
        expected: "enabled 1 namespace",
      })
    ),
  };
}

/** The lowest number that no namespace of the region has: the kernel gives it to the next one. */
function nextNumber(region: RegionView): number {
  const taken = new Set(region.spaces.map((space) => space.number));
  let number = 0;
  while (taken.has(number)) number++;
  return number;
}

/** What to do in a region. Throws {@linkcode Refused} where the choice is the user's. */
export function chooseNamespace({ inventory }: PlanContext, region: RegionView, wanted: Wanted): NamespaceChoice {
  if (region.disabled) {
    throw new Refused(
      `${region.dev} is disabled, so what is in it cannot be seen.`,
      `ndctl enable-region ${region.dev}`,
    );
  }
  const disabled = region.spaces.find((space) => space.disabled);
  if (disabled !== undefined) {
    throw new Refused(
      `${disabled.dev} is disabled, so what is on it cannot be seen.`,
      `ndctl enable-namespace ${disabled.dev}, or, if it is not needed, ndctl destroy-namespace ${disabled.dev}`,
    );
  }
  const device = (space: SpaceView) => wanted.mode === "fsdax" ? space.block : space.dax;
  const space = region.spaces.filter((one) => one.mode === wanted.mode && device(one) !== undefined)
    .sort((a, b) => b.size - a.size || a.number - b.number)[0];
  const [victim, ...others] = space === undefined && region.free < LEAST ? region.spaces : [];
  if (victim === undefined && space === undefined && region.free < LEAST) {
    throw new Refused(
      `${region.dev} has no namespace, and less than 256 MiB of it are free.`,
      `ndctl list -R -r ${region.dev} -N -i`,
    );
  }
  if (others.length > 0) {
    const names = region.spaces.map((one) => `${one.dev} (${one.mode ?? "mode unknown"})`);
    throw new Refused(
      `${region.dev} is full, with ${words(names)}; which of them may be lost is yours to say.`,
      "Destroy one with ndctl destroy-namespace -f, and ask again.",
    );
  }
  // With one namespace given up ndctl takes number 0 again (region_get_namespace in ndctl/namespace.c).
  const number = space?.number ?? (victim === undefined ? nextNumber(region) : 0);
  const name = `${region.number}${number === 0 ? "" : `.${number}`}`;
  const dev = space?.dev ?? `namespace${region.number}.${number}`;
  const block = space?.block ?? `pmem${name}`;
  const dax = space?.dax ?? `dax${region.number}.${number}`;
  const target = victim === undefined ? `--region=${region.dev}` : `-f -e ${victim.dev}`;
  const commands = [
    ...(victim === undefined ? [] : release(inventory, victim)),
    // Old bytes show through a new namespace "by coincidence" (ndctl-create-namespace(1)), also one made much later: no
    // old file system may. Before, so that an interruption leaves none either; after, for layouts of others.
    ...(victim?.block === undefined ? [] : [`wipefs -a /dev/${victim.block}`]),
    `ndctl create-namespace ${target} --mode=${wanted.mode} --map=${wanted.map} --align=2M --name=${OURS}`,
    ...(wanted.mode === "fsdax" ? [`wipefs -a /dev/${block}`] : []),
  ];
  return {
    space,
    dev,
    block,
    dax,
    step: step({
      id: `namespace-${region.dev}`,
      title: victim === undefined
        ? `Make a namespace of ${region.dev} in ${wanted.mode} mode, aligned to huge pages; ${wanted.because}`
        : `Convert ${victim.dev} to ${wanted.mode} mode, aligned to huge pages; ${wanted.because}`,
      commands,
      undo: [`ndctl destroy-namespace -f ${dev}`],
      done: space === undefined ? undefined : `${space.dev} is in ${wanted.mode} mode`,
      destroys: victim === undefined ? [] : [namespaceLoss(inventory, victim)],
      expected: `"mode":"${wanted.mode}", "map":"${wanted.map}", "align":2097152 and ` +
        (wanted.mode === "fsdax" ? `"blockdev":"${block}"` : `"chardev":"${dax}"`),
    }),
  };
}

/** The same for a region that is not there yet: all of it is free, and nothing is lost. */
export function futureRegion(number: number, size: number, provider: string): RegionView {
  return {
    dev: `region${number}`,
    number,
    provider,
    size,
    free: Math.max(size, LEAST),
    targetNode: undefined,
    disabled: false,
    spaces: [],
  };
}
