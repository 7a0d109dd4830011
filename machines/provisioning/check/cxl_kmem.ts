/**
 * Whether `cxl-kmem` is there: CXL memory as memory of nodes without CPUs.
 *
 * @module
 */

import { regionsOf } from "../../inventory/parts.ts";
import type { CheckLine, Tiering } from "../contract.ts";
import { firmwareCxl } from "../../inventory/firmware_cxl.ts";
import { atStart, runs, TIERING_SWITCHES, type TieringSwitch } from "../tiering.ts";
import { type CheckContext, line } from "./line.ts";
import { checkDevices, checkNodes, memoryDevices, noDevice } from "./memory_node.ts";

/** The lines of `cxl-kmem`. */
export async function checkCxlKmem(context: CheckContext, wanted: readonly number[]): Promise<CheckLine[]> {
  // Persistent CXL memory comes through libnvdimm, with CXL as the provider of its region.
  const regions = regionsOf(context.inventory.facts).filter(({ provider }) => provider === "CXL");
  const { devices, nodes } = memoryDevices(
    context,
    wanted,
    ({ origin, region }) => origin === "cxl" || regions.some(({ name }) => name === region),
  );
  const mapped = new Map(firmwareCxl(context.inventory.facts).map(({ node, text }) => [node, text]));
  const given = (node: number) =>
    line(
      `medium node ${node}`,
      mapped.has(node),
      `${mapped.get(node)}: it comes back at every start by itself`,
      `no DAX device became the memory of node ${node}, and its addresses do not lead to CXL`,
    );
  const all = wanted.length > 0 ? nodes : [...new Set([...nodes, ...mapped.keys()])].sort((a, b) => a - b);
  return [
    ...checkDevices(context, devices),
    ...(devices.length === 0 && mapped.size === 0 ? noDevice(context, "CXL memory", "cxl-kmem") : []),
    ...await checkNodes(context, all, devices, mapped.size > 0 ? given : undefined),
    ...tieringLines(context),
  ];
}

/** Promotion and demotion as asked for, each now and at every start; else whether they agree. */
function tieringLines(context: CheckContext): CheckLine[] {
  const asked = TIERING_SWITCHES.flatMap((one) => {
    const wanted = context.tiering ?? atStart(context.inventory, one);
    return wanted === undefined ? [] : switchLines(context, one, wanted);
  });
  return asked.length > 0 ? asked : halfOn(context);
}

function switchLines({ inventory }: CheckContext, one: TieringSwitch, wanted: Tiering): CheckLine[] {
  const { facts } = inventory;
  const next = `next: tierbench provision cxl-kmem --tiering ${wanted} --apply`;
  const now = facts[one.fact];
  return [
    line(
      one.id,
      runs(facts, one, wanted),
      now === undefined ? `the running kernel has no ${one.id}` : `${one.id} is ${wanted}: ${one.setting} is ${now}`,
      `${one.id} is not ${wanted}: ${one.setting} is ${now ?? "not there"}; ${next}`,
    ),
    // What the kernel does not have needs no file to stay off.
    ...(now === undefined && wanted === "off" ? [] : [line(
      `restart ${one.id}`,
      atStart(inventory, one) === wanted,
      `${one.file} sets it again when the machine starts`,
      `${one.file} does not set it again when the machine starts; ${next}`,
    )]),
  ];
}

/** The kernel's own tiering, if it is half on: then it moves pages one way only. */
function halfOn({ inventory: { facts } }: CheckContext): CheckLine[] {
  const promotes = (Number(facts["noise.numa_balancing"] ?? 0) & 2) !== 0;
  const demotes = facts["kernel.numa_demotion"] === "true";
  if (!promotes && !demotes) return [];
  return [line(
    "tiering",
    promotes && demotes,
    "the kernel promotes hot pages and demotes cold ones: rows that are bound to a node stay there, others may move",
    promotes
      ? "the kernel promotes hot pages (numa_balancing 2) and demotes none: DRAM fills up and stays as it is; next: " +
        "echo true > /sys/kernel/mm/numa/demotion_enabled, or sysctl kernel.numa_balancing=0"
      : "the kernel demotes cold pages and promotes none: what gets hot later stays slow; next: " +
        "sysctl kernel.numa_balancing=2, or echo false > /sys/kernel/mm/numa/demotion_enabled",
  )];
}
