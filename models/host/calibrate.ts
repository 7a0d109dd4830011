/**
 * Measures media of this machine and writes each as a media model: `tierbench calibrate`.
 *
 * @module
 */

import { join } from "node:path";
import { writeWhole } from "../../base/write_whole.ts";
import { Gauge, type GaugedMedium } from "../../ffi/gauge.ts";
import { nodesOf } from "../../machines/inventory/parts.ts";
import { inspectMachine, type MachineRecord } from "../../machines/machine.ts";
import { fitMedium } from "./fit_medium.ts";
import { type MediumLabel, mediumText, provenance } from "./medium_file.ts";
import { drivePoints, FULL, memoryPoints, QUICK, sweep, type SweepPoint, type SweepSize } from "./sweep.ts";

/** A medium to be measured. */
export interface CalibrationTarget extends MediumLabel {
  /** Where it is. */
  readonly medium: GaugedMedium;
  /** Cores that access it; of a drive: requests under way, at most. */
  readonly threads: number;
}

/** What is measured, and where it is written. */
export interface CalibrateOptions {
  /** Folder of the files; it is made if it is missing. */
  readonly out: string;
  /** Folders of file systems that map memory (DAX). */
  readonly files?: readonly string[];
  /** Folders on drives. */
  readonly drives?: readonly string[];
  /** NUMA nodes. Default: all with memory, where neither files nor drives are named. */
  readonly nodes?: readonly number[];
  /** What nodes without CPUs are made of. Default `"cxl"`. */
  readonly nodeKind?: "dram" | "pmem" | "cxl" | "hbm";
  /** Seconds instead of minutes: shows that it works. Default false. */
  readonly quick?: boolean;
  /** Whether files that are there are written over. Default false. */
  readonly force?: boolean;
  /** Bytes that accesses fall on. Default: 1 GiB, an eighth of the memory at most; quick: 64 MiB. */
  readonly bytes?: number;
  /** The words that asked for it, for the files. */
  readonly command?: string;
  /** Told of each question. */
  readonly onPoint?: (medium: string, done: number, total: number, point: SweepPoint) => void;
  /** Stops between two questions. */
  readonly signal?: AbortSignal;
}

/** A medium that was measured. */
export interface CalibratedMedium {
  /** Its name. */
  readonly name: string;
  /** What it is made of. */
  readonly kind: "dram" | "pmem" | "cxl" | "hbm" | "ssd";
  /** Its file. */
  readonly path: string;
  /** Latency of a load, ns. */
  readonly latencyNs: number;
  /** Most that was measured of loads, bytes a second. */
  readonly readBandwidth: number;
  /** Figures, and the factor that nine of ten are within. */
  readonly points: number;
  /** By kind of figure. */
  readonly factors: Readonly<Record<string, number>>;
  /** Whether the machine is a virtual one. */
  readonly virtual: boolean;
}

/** What cannot be measured as asked. */
export class CalibrationError extends Error {
  /** Name of the class. */
  override readonly name = "CalibrationError";
}

const GIB = 2 ** 30, MIB = 2 ** 20;
const DEPTHS = [1, 4, 16, 64];

/** `/mnt/pmem0` as part of a name: `mnt-pmem0`. */
function nameOf(folder: string): string {
  return folder.replaceAll(/[^A-Za-z0-9]+/g, "-").replaceAll(/^-|-$/g, "").slice(0, 40) || "root";
}

/** The media that options name. */
export function calibrationTargets(machine: MachineRecord, options: CalibrateOptions): CalibrationTarget[] {
  const { files = [], drives = [], nodeKind = "cxl" } = options;
  const there = nodesOf(machine.facts).filter(({ totalBytes }) => (totalBytes ?? 0) > 0);
  const known = there.length === 0 ? [{ node: 0, cpus: "0", totalBytes: machine.memoryBytes }] : there;
  const wanted = options.nodes ?? (files.length + drives.length > 0 ? [] : known.map(({ node }) => node));
  const host = Deno.hostname(), threads = machine.cpus;
  return [
    ...wanted.map((node): CalibrationTarget => {
      const found = known.find((one) => one.node === node);
      if (found === undefined) {
        const list = known.map((one) => one.node).join(", ");
        throw new CalibrationError(
          `Cannot measure NUMA node ${node}: it has no memory here; nodes with memory: ${list}`,
        );
      }
      const own = (found.cpus ?? "") !== "";
      const kind = own ? "dram" : nodeKind;
      const about = `Memory of NUMA node ${node} of ${host}${own ? "" : ", which has no CPUs"}`;
      return {
        name: `node${node}`,
        kind,
        about,
        medium: known.length === 1 ? { kind: "memory" } : { kind: "memory", node },
        threads,
        ...(found.totalBytes === undefined ? {} : { capacity: found.totalBytes }),
      };
    }),
    ...files.map((folder): CalibrationTarget => ({
      name: `file-${nameOf(folder)}`,
      kind: "pmem",
      about: `Memory that the file system at ${folder} of ${host} maps`,
      medium: { kind: "file", folder },
      threads,
    })),
    ...drives.map((folder): CalibrationTarget => ({
      name: `drive-${nameOf(folder)}`,
      kind: "ssd",
      about: `The drive below ${folder} of ${host}`,
      medium: { kind: "drive", folder },
      threads: DEPTHS.at(-1) ?? 1,
    })),
  ];
}

async function refuseFiles(paths: readonly string[]): Promise<void> {
  for (const path of paths) {
    const there = await Deno.stat(path).then(() => true, () => false);
    if (there) {
      throw new CalibrationError(
        `Cannot write "${path}": it is there, with an earlier calibration; name another folder with --out, or write over ` +
          "it with --force",
      );
    }
  }
}

/**
 * Measures media of this machine and writes a file for each, which is a media model wherever one is named by path.
 *
 * @throws {CalibrationError} if a file is there already, or a node is not. @throws {TierstoreError} if a medium cannot be
 * accessed.
 */
export async function calibrate(options: CalibrateOptions): Promise<CalibratedMedium[]> {
  const machine = inspectMachine();
  const { quick = false, command = "tierbench calibrate", signal, onPoint } = options;
  const targets = calibrationTargets(machine, options);
  if (options.force !== true) await refuseFiles(targets.map(({ name }) => join(options.out, `${name}.jsonc`)));
  await Deno.mkdir(options.out, { recursive: true });
  const done: CalibratedMedium[] = [];
  for (const target of targets) {
    signal?.throwIfAborted();
    const where = provenance(machine, [command], new Date());
    const size: SweepSize = quick ? QUICK : FULL;
    const points = target.kind === "ssd"
      ? drivePoints(size, DEPTHS)
      : memoryPoints(target.threads, target.kind === "pmem" ? "nt-store" : "cached-store", size);
    const bytes = options.bytes ?? (quick ? 64 * MIB : Math.min(GIB, machine.memoryBytes / 8));
    using gauge = Gauge.open(target.medium, bytes);
    const swept = await sweep(gauge, points, size, (at, total, point) => {
      signal?.throwIfAborted();
      onPoint?.(target.name, at, total, point);
    });
    const fitted = fitMedium(swept, target.kind === "ssd");
    const path = join(options.out, `${target.name}.jsonc`);
    await writeWhole(path, mediumText(target, swept, fitted, where));
    const reads = swept.filter(({ kind }) => kind === "read");
    done.push({
      name: target.name,
      kind: target.kind,
      path,
      latencyNs: fitted.parameters["read_latency_ns"]?.value ?? NaN,
      readBandwidth: Math.max(...reads.map(({ values }) => Math.max(...values))),
      points: swept.length,
      factors: Object.fromEntries(Object.entries(fitted.figures).map(([kind, { factor }]) => [kind, factor])),
      virtual: where.virtual,
    });
  }
  return done;
}
