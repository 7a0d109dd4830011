/**
 * All that `tierbench calibrate` does: the media of this machine, then what our store costs in its memory.
 *
 * @module
 */

import { type CalibratedMedium, type CalibrateOptions, checkStopped, measureMedium, planMedia } from "./calibrate.ts";
import { type CalibratedSoftware, measureStore, SOFTWARE_FILE } from "./calibrate_software.ts";
import { inResultsFolder, refuseFiles } from "./results_folder.ts";
import { CalibrationError } from "./targets.ts";

/** What was measured of a machine. */
export interface CalibratedMachine {
  /** Its media, each with its file. */
  readonly media: readonly CalibratedMedium[];
  /** What our store costs; absent where no node with CPUs was measured, or it could not be. */
  readonly software?: CalibratedSoftware;
  /** Why there are no prices though a node with CPUs was measured. */
  readonly noPrices?: string;
}

/**
 * Measures media of this machine and what our store costs in its memory, and writes a file for each.
 *
 * @throws {CalibrationError} before anything is measured: a file is there already, nothing can be written, a medium cannot be
 * measured as it is named. @throws {CalibrationInterrupted} when stopped by the signal.
 * @throws {TierstoreError} if a medium cannot be accessed.
 */
export async function calibrateMachine(options: CalibrateOptions): Promise<CalibratedMachine> {
  const plan = planMedia(options), priced = plan.targets.some(({ kind }) => kind === "dram");
  if (options.force !== true) {
    const names = plan.targets.map(({ name }) => `${name}.jsonc`);
    await refuseFiles(options.out, [...names, ...(priced ? [SOFTWARE_FILE] : [])]);
  }
  return await inResultsFolder(options.out, async () => {
    const media: CalibratedMedium[] = [], files = (): string[] => media.map(({ path }) => path);
    for (const target of plan.targets) media.push(await measureMedium(target, plan, options, files()));
    // Our store is measured in the memory that its prices do not contain.
    const memory = media.find(({ kind }) => kind === "dram")?.path;
    if (memory === undefined) return { media };
    checkStopped(options.signal, files());
    try {
      return { media, software: await measureStore({ ...options, memory }, files()) };
    } catch (error) {
      if (!(error instanceof CalibrationError)) throw error;
      return { media, noPrices: error.message };
    }
  });
}
