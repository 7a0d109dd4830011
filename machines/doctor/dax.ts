/**
 * DAX devices and mounts.
 *
 * @module
 */

import { formatBytes } from "../../base/bytes.ts";
import { daxOf, type Facts, mountsOf } from "../inventory/parts.ts";
import { type DoctorLine, line, sizeText } from "./lines.ts";

/** Findings. */
export function daxLines(facts: Facts): DoctorLine[] {
  const devices = daxOf(facts).map((device) =>
    line(
      device.name,
      `${sizeText(device.sizeBytes)}, ` +
        (device.driver === "kmem"
          ? `memory of node ${device.targetNode ?? "?"}`
          : device.driver === "device_dax"
          ? `/dev/${device.name}`
          : "no driver") +
        (device.origin === undefined ? "" : `, from ${device.origin}`),
    )
  );
  const mounts = mountsOf(facts).map((mount) =>
    line(
      mount.path,
      `${mount.fileSystem} on ${mount.device}` +
        (mount.fileSystem === "tmpfs"
          ? ""
          : `, ${mount.dax === undefined ? "no DAX" : `dax=${mount.dax === "dax" ? "always" : mount.dax}`}`) +
        (mount.writable ? "" : ", not writable") +
        (mount.freeBytes === undefined ? "" : `, ${formatBytes(mount.freeBytes)} free`),
      mount.writable && (mount.fileSystem === "tmpfs" || mount.dax === "always" || mount.dax === "dax")
        ? "ok"
        : "warning",
    )
  );
  const lines = [...devices, ...mounts];
  return lines.length > 0 ? lines : [line("DAX", "no device and no mount", "note")];
}
