/**
 * Regions and namespaces as the planner sees them: from `ndctl list`, or from sysfs while ndctl is not installed, so
 * that the steps after its installation are the same before and after it.
 *
 * @module
 */

import type { Inventory, NdNamespace } from "../inventory/inventory.ts";
import { daxOf, type Facts, namespacesOf, numberOf, regionsOf } from "../inventory/parts.ts";
import { Refused } from "./refused.ts";
import { words } from "./shell.ts";

/** A namespace that takes up space. */
export interface SpaceView {
  readonly dev: string;
  /** `M` of `namespaceN.M`. */
  readonly number: number;
  /** `raw`, `fsdax`, `devdax`, `sector`; undefined: not known. */
  readonly mode: string | undefined;
  readonly size: number;
  readonly block: string | undefined;
  readonly dax: string | undefined;
  /** Name in its label; undefined: none, or ndctl is not there to say it. */
  readonly name: string | undefined;
  readonly disabled: boolean;
}

/** A region. */
export interface RegionView {
  readonly dev: string;
  /** `N` of `regionN`. */
  readonly number: number;
  /** `ACPI.NFIT`, `CXL`, `e820`, `virtio-pmem`, … */
  readonly provider: string;
  readonly size: number;
  /** Bytes of the largest part that no namespace has. */
  readonly free: number;
  readonly targetNode: number | undefined;
  readonly disabled: boolean;
  /** In the order of their numbers. */
  readonly spaces: readonly SpaceView[];
}

/** The kernel's names of modes (`holder_class`, `mode` in sysfs) → those of ndctl. */
const MODES: Readonly<Record<string, string>> = { memory: "fsdax", dax: "devdax", safe: "sector", raw: "raw" };

/** Numbers in `regionN`, `namespaceN.M`. */
function numbers(name: string): number[] {
  return [...name.matchAll(/\d+/g)].map(([digits]) => Number(digits));
}

function space(one: NdNamespace): SpaceView {
  return {
    dev: one.dev,
    number: numbers(one.dev)[1] ?? 0,
    mode: one.mode,
    size: one.size ?? 0,
    block: one.blockdev,
    dax: one.chardev,
    name: one.name,
    disabled: one.disabled,
  };
}

/** Idle namespaces wait for capacity: `ndctl list -i` shows them with no bytes, disabled. */
function spaces(all: readonly SpaceView[]): SpaceView[] {
  return all.filter((one) => one.size > 0).sort((a, b) => a.number - b.number);
}

function fromFacts(facts: Facts): RegionView[] {
  const devices = daxOf(facts);
  return regionsOf(facts).map((region) => ({
    dev: region.name,
    number: numbers(region.name)[0] ?? 0,
    provider: region.provider ?? "unknown",
    size: region.sizeBytes ?? 0,
    free: freeOf(facts, region.name, region.sizeBytes ?? 0),
    targetNode: nodeOf(numberOf(facts, `pmem.${region.name}.target_node`)),
    disabled: false,
    spaces: spaces(
      namespacesOf(facts).filter((one) => one.region === region.name).map((one) => {
        const dax = `dax${numbers(one.name).join(".")}`;
        return {
          dev: one.name,
          number: numbers(one.name)[1] ?? 0,
          mode: one.mode === undefined ? undefined : MODES[one.mode],
          size: one.sizeBytes ?? 0,
          block: one.block,
          dax: devices.some((device) => device.name === dax) ? dax : undefined,
          name: undefined,
          disabled: false,
        };
      }),
    ),
  }));
}

/**
 * What no namespace has, by sysfs. Of a region without labels, `available_size` is all of it, though the one raw namespace
 * that the kernel makes of it leaves nothing.
 */
function freeOf(facts: Facts, region: string, size: number): number {
  const taken = namespacesOf(facts).filter((one) => one.region === region)
    .reduce((sum, { sizeBytes }) => sum + (sizeBytes ?? 0), 0);
  return Math.min(numberOf(facts, `pmem.${region}.available`) ?? 0, Math.max(0, size - taken));
}

/** -1 is the kernel's "no node". */
function nodeOf(node: number | undefined): number | undefined {
  return node === undefined || node < 0 ? undefined : node;
}

/** All regions, in the order of their numbers. */
export function regionViews(inventory: Inventory): RegionView[] {
  const { ndctl, facts } = inventory;
  if (ndctl !== undefined && !ndctl.known) {
    throw new Refused(
      `What "ndctl list" printed was not understood (${ndctl.reason}), so it is not known what a step would destroy.`,
      'Compare the output of "ndctl list -BDRNi" with the pages on provisioning, and report it.',
    );
  }
  const views = ndctl === undefined ? fromFacts(facts) : ndctl.value.flatMap((bus) =>
    bus.regions.map((region) => ({
      dev: region.dev,
      number: numbers(region.dev)[0] ?? 0,
      provider: bus.provider,
      size: region.size ?? 0,
      free: region.maxAvailableExtent ?? region.availableSize ?? 0,
      targetNode: region.targetNode ?? nodeOf(numberOf(facts, `pmem.${region.dev}.target_node`)),
      disabled: region.disabled,
      spaces: spaces(region.namespaces.map(space)),
    }))
  );
  return views.sort((a, b) => a.number - b.number);
}

/** Those that `only` names, or all. */
export function chosen<T>(all: readonly T[], name: (one: T) => string, only: readonly string[] | undefined): T[] {
  if (only === undefined || only.length === 0) return [...all];
  const there = all.map(name);
  const absent = only.filter((one) => !there.includes(one));
  if (absent.length > 0) {
    throw new Refused(
      `${words(absent)} ${absent.length === 1 ? "is" : "are"} not here; there ${there.length === 1 ? "is" : "are"} ` +
        `${there.length === 0 ? "none that would do" : words(there)}.`,
    );
  }
  return all.filter((one) => only.includes(name(one)));
}
