/**
 * Libraries that tiers need.
 *
 * @module
 */

import type { Facts } from "../inventory/parts.ts";
import { type DoctorLine, line } from "./lines.ts";

/** Findings. */
export function libraryLines(facts: Facts): DoctorLine[] {
  const packages: Readonly<Record<string, string>> = {
    libpmem: "libpmem1",
    memkind: "libmemkind0",
    libnuma: "libnuma1",
    libdnnl: "libdnnl2",
    leveldb: "libleveldb1d",
    zlib: "zlib1g",
  };
  return Object.entries(packages).flatMap(([name, debian]) => {
    const available = facts[`library.${name}.available`];
    if (available === undefined) return [];
    return available === "yes"
      ? [line(name, facts[`library.${name}.version`] ?? "there, tells no version")]
      : [line(name, facts[`library.${name}.error`] ?? "missing", "warning", `apt-get install ${debian}`)];
  });
}
