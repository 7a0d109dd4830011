/**
 * Measures media of this machine and writes each as a media model: `tierbench calibrate`.
 *
 * @module
 */

import { join } from "node:path";
import type { LoadedPoint } from "../../base/loaded_point.ts";
import { median } from "../../base/statistics.ts";
import { writeWhole } from "../../base/write_whole.ts";
import { Gauge } from "../../ffi/gauge.ts";
import { inspectMachine, type MachineRecord } from "../../machines/machine.ts";
import { fitMedium } from "./fit_medium.ts";
import { mediumText, provenance } from "./medium_file.ts";
import { inResultsFolder, refuseFiles } from "./results_folder.ts";
import {
  DRIVE_TIMES,
  drivePoints,
  FULL,
  memoryPoints,
  orderInterval,
  QUICK,
  sweep,
  type SweepPoint,
  type SweptPoint,
} from "./sweep.ts";
import { type CalibrationTarget, calibrationTargets, checkTargets, DEPTHS, type TargetOptions } from "./targets.ts";

/** How far a calibration is. */
export interface CalibrationProgress {
  /** What is measured: the name of a medium, or `"software"`. */
  readonly part: string;
  /** Questions answered, or runs done. */
  readonly done: number;
  /** Of how many. */
  readonly total: number;
  /** What is asked next. */
  readonly what: string;
}

/** How a calibration is made, and where it is written. */
export interface CalibrationOptions {
  /** Folder of the files; it is made if it is missing. */
  readonly out: string;
  /** Seconds instead of minutes: shows that it works. Default false. */
  readonly quick?: boolean;
  /** Whether files that are there are written over. Default false. */
  readonly force?: boolean;
  /** The words that asked for it, for the files. */
  readonly command?: string;
  /** Told before each question. */
  readonly onProgress?: (progress: CalibrationProgress) => void;
  /** Stops between two questions. */
  readonly signal?: AbortSignal;
}

/** Which media are measured. */
export interface CalibrateOptions extends CalibrationOptions, TargetOptions {
  /** Bytes that accesses fall on. Default: 1 GiB, an eighth of the memory at most; quick: 64 MiB. */
  readonly bytes?: number;
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
  /** Latency of loads while others load, one thread first; empty for a drive. */
  readonly loaded: readonly LoadedPoint[];
  /** Figures, and the factor that nine of ten are within. */
  readonly points: number;
  /** By kind of figure. */
  readonly factors: Readonly<Record<string, number>>;
  /** Whether the machine is a virtual one. */
  readonly virtual: boolean;
}

/** A calibration was stopped by its signal. Files of media that were measured whole are there. */
export class CalibrationInterrupted extends Error {
  /** Name of the class. */
  override readonly name = "CalibrationInterrupted";
  /** Files that are complete. */
  readonly files: readonly string[];

  /** The error of a stopped calibration. @param files Those that are complete. */
  constructor(files: readonly string[]) {
    const list = files.map((file) => `"${file}"`).join(", ");
    super(
      files.length === 0
        ? "Interrupted: nothing was written"
        : `Interrupted: complete are ${list}, and nothing else was written`,
    );
    this.files = files;
  }
}

/** Throws if it was asked to stop. */
export function checkStopped(signal: AbortSignal | undefined, files: readonly string[]): void {
  if (signal?.aborted === true) throw new CalibrationInterrupted(files);
}

const GIB = 2 ** 30, MIB = 2 ** 20;

/** What a question is in words. */
function askedText({ query }: SweepPoint, drive: boolean): string {
  const { ask, operation, bytes, threads, readShare } = query;
  const by = drive ? `${threads} under way` : threads === 1 ? "1 thread" : `${threads} threads`;
  const mixed = ask === "bandwidth" && readShare !== undefined ? ` with ${readShare * 100} % loads` : "";
  return `${ask === "latency-at" ? "latency under load" : ask} of ${operation}${mixed}, ${bytes} B, ${by}`;
}

/** What is to be measured, checked. */
export interface MediaPlan {
  /** The machine. */
  readonly machine: MachineRecord;
  /** Its media. */
  readonly targets: readonly CalibrationTarget[];
  /** Bytes that accesses fall on. */
  readonly bytes: number;
}

/**
 * What options ask for, seen to be possible as far as that is known before.
 *
 * @throws {CalibrationError} if a medium cannot be measured as it is named.
 */
export function planMedia(options: CalibrateOptions): MediaPlan {
  const machine = inspectMachine(), targets = calibrationTargets(machine, options);
  const bytes = options.bytes ?? (options.quick === true ? 64 * MIB : Math.min(GIB, machine.memoryBytes / 8));
  checkTargets(machine, targets, bytes);
  return { machine, targets, bytes };
}

/** The loaded-latency curve among swept points; `answers` are the model's. */
export function loadedPoints(swept: readonly SweptPoint[], answers: readonly number[]): LoadedPoint[] {
  return swept.flatMap(({ query: { ask, operation, threads, bytes, load }, values }, i): LoadedPoint[] => {
    if (operation !== "load" || (ask !== "latency" && ask !== "latency-at")) return [];
    const ns = median(values), [low, high] = orderInterval(values);
    // One thread that follows pointers moves a line a latency.
    return [{ threads, bytesPerSecond: load ?? bytes / ns * 1e9, ns, low, high, modelNs: answers[i] ?? NaN }];
  }).sort((a, b) => a.threads - b.threads);
}

/** Measures one medium and writes its file. */
export async function measureMedium(
  target: CalibrationTarget,
  { machine, bytes }: Omit<MediaPlan, "targets">,
  options: CalibrateOptions,
  files: readonly string[],
): Promise<CalibratedMedium> {
  const { quick = false, command = "tierbench calibrate", signal, onProgress } = options;
  checkStopped(signal, files);
  const where = provenance(machine, [command], new Date());
  const all = quick ? QUICK : FULL, drive = target.kind === "ssd";
  const size = drive ? { ...all, seconds: all.seconds * DRIVE_TIMES } : all;
  const points = drive
    ? drivePoints(size, DEPTHS)
    : memoryPoints(target.threads, target.kind === "pmem" ? "nt-store" : "cached-store", size);
  using gauge = Gauge.open(target.medium, bytes);
  const swept = await sweep(gauge, points, size, (done, total, point) => {
    checkStopped(signal, files);
    onProgress?.({ part: target.name, done, total, what: askedText(point, drive) });
  });
  const fitted = fitMedium(swept, drive);
  const path = join(options.out, `${target.name}.jsonc`);
  await writeWhole(path, mediumText(target, swept, fitted, where));
  const reads = swept.filter(({ kind }) => kind === "read");
  return {
    name: target.name,
    kind: target.kind,
    path,
    latencyNs: fitted.parameters["read_latency_ns"]?.value ?? NaN,
    readBandwidth: Math.max(...reads.map(({ values }) => Math.max(...values))),
    loaded: drive ? [] : loadedPoints(swept, fitted.answers),
    points: swept.length,
    factors: Object.fromEntries(Object.entries(fitted.figures).map(([kind, { factor }]) => [kind, factor])),
    virtual: where.virtual,
  };
}

/**
 * Measures media of this machine and writes a file for each, which is a media model wherever one is named by path.
 *
 * @throws {CalibrationError} if a file is there already, or a medium cannot be measured as it is named.
 * @throws {CalibrationInterrupted} when stopped by the signal. @throws {TierstoreError} if a medium cannot be accessed.
 */
export async function calibrate(options: CalibrateOptions): Promise<CalibratedMedium[]> {
  const plan = planMedia(options);
  if (options.force !== true) await refuseFiles(options.out, plan.targets.map(({ name }) => `${name}.jsonc`));
  return await inResultsFolder(options.out, async () => {
    const done: CalibratedMedium[] = [];
    for (const target of plan.targets) {
      done.push(await measureMedium(target, plan, options, done.map(({ path }) => path)));
    }
    return done;
  });
}
