/**
 * The folder that a calibration writes to: there before anything is measured, gone again where nothing came of it.
 *
 * @module
 */

import { dirname, join, resolve } from "node:path";
import { writing } from "../../base/writing.ts";
import { CalibrationError } from "./targets.ts";

/**
 * Refuses files that an earlier calibration left.
 *
 * @throws {CalibrationError} naming the first one that is there.
 */
export async function refuseFiles(folder: string, names: readonly string[]): Promise<void> {
  for (const name of names) {
    const path = join(folder, name);
    if (!await Deno.lstat(path).then(() => true, () => false)) continue;
    throw new CalibrationError(
      `Cannot write "${path}": it is there, with an earlier calibration; name another folder with --out, or write over ` +
        "it with --force",
    );
  }
}

/** Folders from a path upwards that are not there. */
async function missingFolders(path: string): Promise<string[]> {
  const missing: string[] = [];
  for (let at = resolve(path);; at = dirname(at)) {
    if (await Deno.lstat(at).then(() => true, () => false)) return missing;
    missing.push(at);
  }
}

/**
 * Makes a folder, sees that files can be written there, and gives it to what fills it. Where that fails, folders that were made
 * and are empty go again.
 *
 * @throws {CalibrationError} if it is a file, or nothing can be written there.
 */
export async function inResultsFolder<T>(folder: string, fill: () => Promise<T>): Promise<T> {
  const made = await missingFolders(folder);
  try {
    const there = await Deno.stat(folder).catch(() => undefined);
    if (there?.isFile === true) {
      throw new CalibrationError(
        `Cannot write to "${folder}": it is a file, expected a folder; name another with --out`,
      );
    }
    await probe(folder);
    return await fill();
  } catch (error) {
    // From the innermost outwards; what holds something stays, and so do the folders around it.
    for (const path of made) await Deno.remove(path).catch(() => {});
    throw error;
  }
}

async function probe(folder: string): Promise<void> {
  try {
    await writing(folder, async () => {
      await Deno.mkdir(folder, { recursive: true });
      await Deno.remove(await Deno.makeTempFile({ dir: folder, prefix: ".calibration-" }));
    });
  } catch (error) {
    throw new CalibrationError(error instanceof Error ? error.message : String(error), { cause: error });
  }
}
