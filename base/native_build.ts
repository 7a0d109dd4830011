/**
 * Where the native part is, and its build. Imports nothing, so that set-up can call it before any package is here.
 *
 * @module
 */

/** What to do when the library cannot be used. */
export const BUILD_HINT = 'run "deno task build" in the folder of tierbench and read what it prints';

/** Where the native part is, as an absolute path without a final slash. */
export const NATIVE_FOLDER: string = decodeURIComponent(new URL("../native", import.meta.url).pathname);

/** The library that `make -C native` builds. */
export const BUILT_LIBRARY: string = `${NATIVE_FOLDER}/build/release/libtierstore.so`;

/** The native library is missing, does not build, or is not the one this code was written for. */
export class NativeLibraryError extends Error {
  /** Always `"NativeLibraryError"`. */
  override readonly name = "NativeLibraryError";

  /**
   * An error with a hint.
   *
   * @param message What was found.
   * @param hint What to do, added to the message.
   * @param cause The error of the loader or the build, if there is one.
   */
  constructor(message: string, hint: string, cause?: unknown) {
    super(`${message}: ${hint}`, cause === undefined ? undefined : { cause });
  }
}

/** True only if the file is known not to exist: without the right to look, loading it tells. */
export function isMissing(path: string): boolean {
  try {
    Deno.statSync(path);
    return false;
  } catch (error) {
    return error instanceof Deno.errors.NotFound;
  }
}

/**
 * Builds the library with `make`. Processes that do so at the same time wait for each other; the later ones find
 * nothing to do.
 *
 * @returns Whether there was something to build.
 * @throws {NativeLibraryError} If the build fails; the message quotes the first error, `cause` all of them.
 */
export function buildLibrary(): boolean {
  let lock: Deno.FsFile;
  try {
    Deno.mkdirSync(`${NATIVE_FOLDER}/build`, { recursive: true });
    lock = Deno.openSync(`${NATIVE_FOLDER}/build/lock`, { create: true, write: true });
  } catch (cause) {
    if (isMissing(BUILT_LIBRARY)) {
      throw new NativeLibraryError(`Cannot build "${BUILT_LIBRARY}", which is missing`, BUILD_HINT, cause);
    }
    runMake(); // in a folder that cannot be written to nobody else builds; an up-to-date library needs nothing
    return false;
  }
  try {
    lock.lockSync(true);
    const before = modified(BUILT_LIBRARY);
    runMake();
    return modified(BUILT_LIBRARY) !== before;
  } finally {
    lock.close();
  }
}

/** When a file was last changed, or `undefined` if there is none. */
function modified(path: string): number | undefined {
  try {
    return Deno.statSync(path).mtime?.getTime();
  } catch {
    return undefined;
  }
}

function runMake(): void {
  const args = ["-s", `-j${navigator.hardwareConcurrency}`, "-C", NATIVE_FOLDER];
  let result: Deno.CommandOutput;
  try {
    result = new Deno.Command("make", { args, stdin: "null" }).outputSync();
  } catch (cause) {
    throw new NativeLibraryError(`Cannot run "make" to build "${BUILT_LIBRARY}"`, BUILD_HINT, cause);
  }
  if (result.success) return;
  const said = new TextDecoder().decode(result.stderr).trim();
  const lines = said.split("\n");
  const first = lines.find((line) => /error: |\bld: /.test(line)) ?? lines[0];
  throw new NativeLibraryError(`Cannot build "${BUILT_LIBRARY}", make said "${first}"`, BUILD_HINT, said);
}
