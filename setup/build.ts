/**
 * The native build.
 *
 * @module
 */

import { buildLibrary, NativeLibraryError } from "../base/native_build.ts";
import { labelled, secondsSince, SetupError, type System, system as machine } from "./system.ts";

/**
 * Brings libtierstore up to date; prints one line if that took a build.
 *
 * @throws {SetupError} If it does not build; what the compiler said is printed first.
 */
export function ensureBuild(system: System = machine): void {
  const start = performance.now();
  try {
    if (buildLibrary()) system.print(labelled("build", `libtierstore ${secondsSince(start)}\n`));
  } catch (error) {
    if (!(error instanceof NativeLibraryError)) throw error;
    system.print(`${error.cause ?? error.message}\n`);
    throw new SetupError("Cannot build libtierstore: the compiler's message stands above", { cause: error });
  }
}
