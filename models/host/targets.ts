/**
 * What of this machine is to be measured, and whether it can be: said before anything is measured, which takes minutes.
 *
 * @module
 */

import { statfsSync } from "node:fs";
import { formatBytes } from "../../base/bytes.ts";
import { TierstoreError } from "../../ffi/errors.ts";
import { Gauge, type GaugedMedium } from "../../ffi/gauge.ts";
import { type MachineNode, nodesOf } from "../../machines/inventory/parts.ts";
import type { MachineRecord } from "../../machines/machine.ts";
import type { MediumLabel } from "./medium_file.ts";

/** What cannot be measured as asked. */
export class CalibrationError extends Error {
  /** Name of the class. */
  override readonly name = "CalibrationError";
}

/** Media of a machine that are to be measured. */
export interface TargetOptions {
  /** Folders of file systems that map memory (DAX). */
  readonly files?: readonly string[];
  /** Folders on drives. */
  readonly drives?: readonly string[];
  /** NUMA nodes. Default: all with memory, where neither files nor drives are named. */
  readonly nodes?: readonly number[];
  /** What nodes without CPUs are made of. Default `"cxl"`. */
  readonly nodeKind?: "dram" | "pmem" | "cxl" | "hbm";
}

/** A medium to be measured. */
export interface CalibrationTarget extends MediumLabel {
  /** Where it is. */
  readonly medium: GaugedMedium;
  /** Cores that access it; of a drive: requests under way, at most. */
  readonly threads: number;
}

/** Requests under way that a drive is asked with. */
export const DEPTHS: readonly number[] = [1, 4, 16, 64];

const MIB = 2 ** 20;

/** `/mnt/pmem0` as part of a name: `mnt-pmem0`. */
function nameOf(folder: string): string {
  return folder.replaceAll(/[^A-Za-z0-9]+/g, "-").replaceAll(/^-|-$/g, "").slice(0, 40) || "root";
}

/** Bytes of the file system that a folder is on; of one that cannot be looked at, nothing: what opens it says why. */
function capacityOf(folder: string): { readonly capacity?: number } {
  try {
    const { blocks, bsize } = statfsSync(folder);
    return { capacity: blocks * bsize };
  } catch {
    return {};
  }
}

/** The CPUs of a list such as `0-3,8`. */
function cpusOf(list: string | undefined): number[] {
  return (list ?? "").split(",").flatMap((part) => {
    const [, first, last] = /^(\d+)(?:-(\d+))?$/.exec(part) ?? [];
    if (first === undefined) return [];
    return Array.from({ length: Number(last ?? first) - Number(first) + 1 }, (_, i) => Number(first) + i);
  });
}

/** The CPUs of the process that are nearest to a node: its own, or without any those of the node least far from it. */
function nearestCpus(node: MachineNode, nodes: readonly MachineNode[], allowed: readonly number[]): number[] {
  const far = (node.distance ?? "").split(/\s+/).map(Number);
  const byDistance = nodes.map((one, i) => ({ one, away: one === node ? 0 : far[i] ?? Infinity }))
    .sort((a, b) => a.away - b.away);
  for (const { one } of byDistance) {
    const near = cpusOf(one.cpus).filter((cpu) => allowed.length === 0 || allowed.includes(cpu));
    if (near.length > 0) return near;
  }
  return [];
}

/**
 * The media that options name.
 *
 * @throws {CalibrationError} if a node has no memory, or two media would have one name.
 */
export function calibrationTargets(machine: MachineRecord, options: TargetOptions): CalibrationTarget[] {
  const { files = [], drives = [], nodeKind = "cxl" } = options;
  const all = nodesOf(machine.facts), there = all.filter(({ totalBytes }) => (totalBytes ?? 0) > 0);
  const known: readonly Partial<MachineNode>[] = there.length > 0
    ? there
    : [{ node: 0, cpus: "0", totalBytes: machine.memoryBytes }];
  const wanted = options.nodes ?? (files.length + drives.length > 0 ? [] : known.map(({ node = 0 }) => node));
  const host = Deno.hostname(), threads = machine.cpus, allowed = cpusOf(machine.facts["cpu.allowed"]);
  const targets = [
    ...wanted.map((node): CalibrationTarget => {
      const found = known.find((one) => one.node === node);
      if (found === undefined) {
        const list = known.map((one) => one.node).join(", ");
        throw new CalibrationError(
          `Cannot measure NUMA node ${node}: it has no memory here; nodes with memory: ${list}`,
        );
      }
      const own = (found.cpus ?? "") !== "";
      // Of several nodes each is measured from where it is near: hops are a question of their own.
      const real = there.find((one) => one.node === node);
      const cpus = known.length === 1 || real === undefined ? [] : nearestCpus(real, all, allowed);
      return {
        name: `node${node}`,
        kind: own ? "dram" : nodeKind,
        about: `Memory of NUMA node ${node} of ${host}${own ? "" : ", which has no CPUs"}`,
        medium: {
          kind: "memory",
          ...(known.length === 1 ? {} : { node }),
          ...(cpus.length === 0 ? {} : { cpus }),
        },
        threads: cpus.length === 0 ? threads : cpus.length,
        ...(found.totalBytes === undefined ? {} : { capacity: found.totalBytes }),
      };
    }),
    ...files.map((folder): CalibrationTarget => ({
      name: `file-${nameOf(folder)}`,
      kind: "pmem",
      about: `Memory that the file system at ${folder} of ${host} maps`,
      medium: { kind: "file", folder },
      threads,
      ...capacityOf(folder),
    })),
    ...drives.map((folder): CalibrationTarget => ({
      name: `drive-${nameOf(folder)}`,
      kind: "ssd",
      about: `The drive below ${folder} of ${host}`,
      medium: { kind: "drive", folder },
      threads: DEPTHS.at(-1) ?? 1,
      ...capacityOf(folder),
    })),
  ];
  for (const [i, { name, about }] of targets.entries()) {
    const same = targets.findIndex((one) => one.name === name);
    if (same === i) continue;
    throw new CalibrationError(
      `Cannot measure both "${targets[same]?.about}" and "${about}": the file of either would be ${name}.jsonc; ` +
        "measure one at a time, each with an --out of its own",
    );
  }
  return targets;
}

/**
 * Whether every medium can be measured, found by opening each for a moment.
 *
 * @param bytes That accesses fall on.
 * @throws {CalibrationError} if one cannot be as it is named. @throws {TierstoreError} `TS_EUNAVAILABLE` if its file system
 * cannot do what is needed.
 */
export function checkTargets(machine: MachineRecord, targets: readonly CalibrationTarget[], bytes: number): void {
  if (!(bytes >= MIB)) {
    throw new CalibrationError(
      `Cannot measure accesses over ${
        formatBytes(bytes)
      }: expected 1 MiB or more, several times the last-level cache ` +
        "for figures of the memory behind it",
    );
  }
  for (const { medium, name, capacity = machine.memoryBytes } of targets) {
    if (medium.kind === "memory") {
      const most = Math.min(capacity, machine.memoryBytes) / 2;
      if (bytes <= most) continue;
      throw new CalibrationError(
        `Cannot measure ${name} with ${formatBytes(bytes)}: at most half of its memory is taken, ${
          formatBytes(most)
        }; ` +
          "give fewer --bytes",
      );
    }
    try {
      Gauge.open(medium, MIB).close();
    } catch (error) {
      if (error instanceof TierstoreError && error.status !== "TS_EUNAVAILABLE") {
        throw new CalibrationError(error.message, { cause: error });
      }
      throw error;
    }
    const { bavail, bsize } = statfsSync(medium.folder);
    if (bavail * bsize > bytes) continue;
    throw new CalibrationError(
      `Cannot measure "${medium.folder}": no room for a file of ${formatBytes(bytes)}, ${
        formatBytes(bavail * bsize)
      } ` +
        "are free; free some space or give fewer --bytes",
    );
  }
}
