/**
 * CXL memory devices and regions, by sysfs and by `cxl list`.
 *
 * @module
 */

import type { CxlInventory, Inventory } from "../inventory/inventory.ts";
import { formatBytes } from "../../base/bytes.ts";
import { cxlRangesOf, type Facts, numberOf } from "../inventory/parts.ts";
import { type DoctorLine, line, sizeText } from "./lines.ts";

function regionLines({ regions, rootDecoders }: CxlInventory): DoctorLine[] {
  return [
    ...regions.map((region) =>
      line(
        region.region,
        `${sizeText(region.size)}${region.type === undefined ? "" : ` of ${region.type}`}, ` +
          `${region.decodeState === "commit" ? "committed" : region.decodeState ?? "state unknown"}` +
          `${region.disabled ? ", no driver uses it" : ""}` +
          `${region.memdevs.length === 0 ? "" : `, on ${region.memdevs.join(", ")}`}`,
        region.decodeState === "commit" && !region.disabled ? "ok" : "warning",
      )
    ),
    ...rootDecoders.map((window) => {
      const kinds = [window.pmemCapable ? "persistent" : "", window.volatileCapable ? "volatile" : ""]
        .filter((kind) => kind !== "");
      return line(
        window.decoder,
        `window of ${sizeText(window.size)} for ${kinds.join(" and ") || "neither kind of"} memory` +
          (window.maxAvailableExtent === undefined
            ? ""
            : `, ${formatBytes(window.maxAvailableExtent)} free in one piece`),
      );
    }),
  ];
}

/** Findings. */
export function cxlLines(facts: Facts, inventory: Inventory | undefined): DoctorLine[] {
  const names = [...new Set(Object.keys(facts).flatMap((key) => /^cxl\.(mem\d+)\./.exec(key)?.[1] ?? []))];
  const memories = names.map((name) => {
    const parts = (["pmem", "ram"] as const).flatMap((kind) => {
      const bytes = numberOf(facts, `cxl.${name}.${kind}_size`);
      return bytes === undefined || bytes === 0
        ? []
        : [`${formatBytes(bytes)} ${kind === "pmem" ? "persistent" : "volatile"}`];
    });
    return line(name, parts.join(", ") || "no capacity");
  });
  // Without the tool, windows and regions are what the kernel itself shows.
  const regions = inventory?.cxl?.known ? regionLines(inventory.cxl.value) : cxlRangesOf(facts).map((range) =>
    line(
      range.name,
      `${range.name.startsWith("region") ? "region" : "window"} of ${formatBytes(range.end - range.start)}`,
    )
  );
  const lines = [...memories, ...regions];
  return lines.length > 0 ? lines : [line("CXL", "no memory device in /sys/bus/cxl", "note")];
}
