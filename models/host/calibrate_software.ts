/**
 * Measures what our store costs on this machine and writes a dated file of it: a part of `tierbench calibrate`.
 *
 * @module
 */

import { join } from "node:path";
import { writeWhole } from "../../base/write_whole.ts";
import { TierstoreError } from "../../ffi/errors.ts";
import { inspectMachine } from "../../machines/machine.ts";
import { loadMedia, mediaOptions } from "../media/media.ts";
import { type CalibrationOptions, checkStopped } from "./calibrate.ts";
import { provenance } from "./medium_file.ts";
import type { SoftwarePrices, SoftwareRuns } from "../simulation/software_file.ts";
import { inResultsFolder, refuseFiles } from "./results_folder.ts";
import { pricesOf, ROUND_RUNS, SOFTWARE_RUNS, softwareRound } from "./software.ts";
import { softwareText } from "./software_text.ts";
import { CalibrationError } from "./targets.ts";

/** What is measured, and where it is written. */
export interface CalibrateSoftwareOptions extends CalibrationOptions {
  /** Path of this machine's memory, as `calibrate()` has written it: its time is not in the prices. */
  readonly memory: string;
  /** A memory file system, for the second tier. Default `/dev/shm`. */
  readonly folder?: string;
}

/** Prices that were measured. */
export interface CalibratedSoftware {
  /** The file. */
  readonly path: string;
  /** What is in it. */
  readonly prices: SoftwarePrices;
}

const QUICK_RUNS: SoftwareRuns = { rows: 2 ** 13, dim: 64, keys: 512, steps: 24, rounds: 3 };

/** Name of the file. */
export const SOFTWARE_FILE = "software.jsonc";

/**
 * Measures what our store costs on this machine beside its accesses to memory and writes `software.jsonc`.
 *
 * @throws {CalibrationError} if a file is there already, or this machine has no memory file system or cannot map one.
 * @throws {CalibrationInterrupted} when stopped by the signal.
 */
export async function calibrateSoftware(options: CalibrateSoftwareOptions): Promise<CalibratedSoftware> {
  if (options.force !== true) await refuseFiles(options.out, [SOFTWARE_FILE]);
  return await inResultsFolder(options.out, () => measureStore(options, []));
}

/** Measures the prices and writes their file; `files` are complete before. */
export async function measureStore(
  options: CalibrateSoftwareOptions,
  files: readonly string[],
): Promise<CalibratedSoftware> {
  const { out, memory, folder = "/dev/shm", quick = false, command = "tierbench calibrate", signal, onProgress } =
    options;
  const path = join(out, SOFTWARE_FILE);
  const pool = await Deno.makeTempDir({ dir: folder, prefix: "tierstore-calibrate-" }).catch((error) => {
    throw new CalibrationError(
      `Cannot measure the store's prices: no folder can be made in "${folder}": ${error.message}`,
    );
  });
  try {
    const medium = await loadMedia(memory), dram = mediaOptions(medium), runs = quick ? QUICK_RUNS : SOFTWARE_RUNS;
    const rounds = [], total = runs.rounds * ROUND_RUNS;
    let done = 0;
    const watch = {
      onRun: (what: string) => onProgress?.({ part: "software", done: done++, total, what }),
      onPause: () => checkStopped(signal, files),
    };
    for (let round = 0; round < runs.rounds; round++) {
      rounds.push(await softwareRound(runs, dram, pool, round + 1, watch));
    }
    const measured = provenance(inspectMachine(), [command], new Date());
    const prices = pricesOf(rounds, runs.keys), about = `What tierbench's store costs on ${measured.host}`;
    await writeWhole(path, softwareText({ kind: "software", about, memory: medium.name, prices, runs, measured }));
    return { path, prices };
  } catch (error) {
    if (!(error instanceof TierstoreError && error.status === "TS_EUNAVAILABLE")) throw error;
    throw new CalibrationError(`Cannot measure the store's prices: ${error.message}`);
  } finally {
    await Deno.remove(pool, { recursive: true });
  }
}
