/**
 * Which tools are installed, and whether what they say was understood.
 *
 * @module
 */

import type { Inventory, ToolState } from "../inventory/inventory.ts";
import type { Parsed } from "../inventory/tool.ts";
import { type DoctorLine, line } from "./lines.ts";

const count = (n: number, word: string) => `${n} ${word}${n === 1 ? "" : "s"}`;

/** A text without characters that a terminal would obey. */
function printable(text: string): string {
  // deno-lint-ignore no-control-regex -- these are meant
  return text.replaceAll(/[\x00-\x1f\x7f-\x9f]/g, "?");
}

/** What a tool said, in short; the first line of a text that was not understood. */
function said<T>(parsed: Parsed<T>, short: (value: T) => string): { text: string; level: DoctorLine["level"] } {
  if (parsed.known) return { text: short(parsed.value), level: "ok" };
  const first = parsed.raw.split("\n").map((one) => one.trim()).find((one) => one !== "");
  const shown = first === undefined ? "" : `: ${JSON.stringify(printable(first).slice(0, 120))}`;
  return { text: `unknown: ${printable(parsed.reason)}${shown}`, level: "warning" };
}

function sayings(name: ToolState["name"], inventory: Inventory): { text: string; level: DoctorLine["level"] }[] {
  const { ndctl, daxctl, cxl, ipmctl, numactl } = inventory;
  switch (name) {
    case "ndctl":
      return ndctl === undefined ? [] : [said(ndctl, (buses) => {
        const regions = buses.flatMap((bus) => bus.regions);
        const spaces = regions.flatMap((region) => region.namespaces);
        return `${count(regions.length, "region")}, ${
          count(spaces.filter((one) => one.size !== 0).length, "namespace")
        }`;
      })];
    case "daxctl":
      return daxctl === undefined ? [] : [said(daxctl, (devices) => count(devices.length, "device"))];
    case "cxl":
      return cxl === undefined ? [] : [
        said(
          cxl,
          ({ memdevs, regions }) => `${count(memdevs.length, "memory device")}, ${count(regions.length, "region")}`,
        ),
      ];
    case "ipmctl":
      return ipmctl === undefined ? [] : [
        said(ipmctl.modules, (modules) => count(modules.length, "module")),
        ...(ipmctl.resources.known ? [] : [said(ipmctl.resources, () => "")]),
      ];
    case "numactl":
      return numactl === undefined ? [] : [
        said(numactl, (nodes) => {
          const without = nodes.filter((node) => node.cpus.length === 0).length;
          return `${count(nodes.length, "node")}${without === 0 ? "" : `, ${without} without CPUs`}`;
        }),
      ];
  }
}

/** Findings. */
export function toolLines(inventory: Inventory): DoctorLine[] {
  const { os, blocks, root, unread = [] } = inventory;
  const system = said(os, ({ name }) => name);
  const tools = inventory.tools.flatMap(({ name, installed, version }) => {
    if (!installed) return [line(name, "not installed", "note")];
    return sayings(name, inventory).map(({ text, level }) =>
      line(name, `${version === undefined ? "" : `${version}: `}${text}`, level)
    );
  });
  const lsblk = blocks === undefined
    ? [line("lsblk", "not installed", "note")]
    : [said(blocks, (devices) => `${count(devices.length, "block device")} of PMEM`)].map(({ text, level }) =>
      line("lsblk", text, level)
    );
  return [
    line("system", system.text, system.level),
    ...tools,
    ...lsblk,
    ...(root ? [] : [line("user", "not root: tools and files may tell less", "note")]),
    ...unread.map((text) => line("files", text, "warning")),
  ];
}
