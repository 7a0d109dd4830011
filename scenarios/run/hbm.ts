/**
 * Where the HBM of a configuration is: nodes that firmware shows to be faster than DRAM, or an OpenCL device's memory. A
 * device that is a CPU stands for a GPU: the same kernels and transfers, and not its speed.
 *
 * @module
 */

import type { Availability, Found, HbmDevice } from "../../machines/availability.ts";
import type { ResolvedConfiguration } from "../scenario.ts";

/** Where rows of the HBM tier are. */
export type HbmPlace =
  | { readonly by: "memkind" | "mbind"; readonly nodes: readonly number[]; readonly virtual: boolean }
  | { readonly by: "opencl"; readonly device: HbmDevice };

/** The HBM of a configuration here; `hbm` is undefined if it has none. What is missing has no stand-in but PoCL. */
export function hbmOf(
  { hbm, hbmNodes = "auto", hbmDevice }: ResolvedConfiguration,
  here: Availability,
): Found<{ readonly hbm: HbmPlace | undefined }> {
  if (hbm === undefined) return { available: true, hbm: undefined };
  if (hbm === "opencl") {
    const found = here.hbmDevice(hbmDevice);
    return found.available ? { available: true, hbm: { by: hbm, device: found.device } } : found;
  }
  if (hbm === "memkind" && !here.memkind.available) return here.memkind;
  if (!here.hbm.available) return { ...here.hbm, emulable: false };
  const { nodes, virtual } = here.hbm;
  const other = hbmNodes === "auto" ? [] : hbmNodes.filter((node) => !nodes.includes(node));
  if (other.length > 0) {
    const reason = `node ${other.join(", ")} is not HBM: that is node ${nodes.join(", ")}`;
    return { available: false, reason, emulable: false };
  }
  return { available: true, hbm: { by: hbm, nodes: hbmNodes === "auto" ? nodes : hbmNodes, virtual } };
}

/** Why HBM that is there is not measured; undefined: it is, or there is none. */
export function hbmDoubt(hbm: HbmPlace | undefined): string | undefined {
  if (hbm?.by !== "opencl" || !hbm.device.isCpu) return undefined;
  return `the OpenCL device "${hbm.device.name}" is a CPU: rows take a GPU's way, and not its time`;
}

/** Part of a sentence: what holds the HBM tier. */
export function hbmText(hbm: HbmPlace): string {
  if (hbm.by !== "opencl") return `HBM of node ${hbm.nodes.join(", ")} by ${hbm.by}`;
  const { name, driver, version, isCpu } = hbm.device;
  return `rows on the OpenCL device ${name}${isCpu ? ", which is a CPU" : ""} (driver ${driver}, ${version})`;
}
