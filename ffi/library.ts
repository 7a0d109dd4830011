/**
 * Finds `libtierstore.so` beside this module, builds it when it is missing, opens it once per process and checks
 * that it is the one `symbols.ts` describes.
 *
 * The library is never closed: a call into a closed library ends the process. Nothing depends on the working
 * directory. The environment variable `TIERBENCH_LIBRARY` names another library to open; it is read only if the
 * program may read it.
 *
 * @module
 */

import { NativeLibraryError, readText } from "./errors.ts";
import { ABI_VERSION, symbols } from "./symbols.ts";

/** The functions of the open library. */
export type NativeFunctions = Deno.DynamicLibrary<typeof symbols>["symbols"];

const HINT = 'run "deno task build" in the folder of tierbench and read what it prints';

/** Where the native part is, as an absolute path without a final slash. */
export const NATIVE_FOLDER: string = decodeURIComponent(new URL("../native", import.meta.url).pathname);

/** The library that `make -C native` builds. */
export const BUILT_LIBRARY: string = `${NATIVE_FOLDER}/build/release/libtierstore.so`;

let opened: NativeFunctions | undefined;

/**
 * The functions of the native library, opened at the first call.
 *
 * @throws {NativeLibraryError} If the library is missing and does not build, does not load, or has another ABI
 * version.
 */
export function native(): NativeFunctions {
  opened ??= open();
  return opened;
}

/** Version and compiler of the native library, e.g. `0.1.0 (gcc 12.2.0)`. */
export function libraryVersion(): string {
  const functions = native();
  return readText("read the version of the library", (...buffer) => functions.ts_version(...buffer));
}

function open(): NativeFunctions {
  const named = libraryFromEnvironment();
  if (named !== undefined) return load(named, "correct or unset TIERBENCH_LIBRARY");
  if (isMissing(BUILT_LIBRARY)) buildLibrary();
  return load(BUILT_LIBRARY, HINT);
}

function libraryFromEnvironment(): string | undefined {
  const permission = { name: "env", variable: "TIERBENCH_LIBRARY" } as const;
  if (Deno.permissions.querySync(permission).state !== "granted") return undefined;
  return Deno.env.get("TIERBENCH_LIBRARY") || undefined;
}

/** True only if the file is known not to exist: without the right to look, loading it tells. */
function isMissing(path: string): boolean {
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
      throw new NativeLibraryError(`Cannot build "${BUILT_LIBRARY}", which is missing`, HINT, cause);
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
    throw new NativeLibraryError(`Cannot run "make" to build "${BUILT_LIBRARY}"`, HINT, cause);
  }
  if (result.success) return;
  const said = new TextDecoder().decode(result.stderr).trim();
  const lines = said.split("\n");
  const first = lines.find((line) => /error: |\bld: /.test(line)) ?? lines[0];
  throw new NativeLibraryError(`Cannot build "${BUILT_LIBRARY}", make said "${first}"`, HINT, said);
}

function load(path: string, hint: string): NativeFunctions {
  let library: Deno.DynamicLibrary<typeof symbols>;
  try {
    library = Deno.dlopen(path, symbols);
  } catch (cause) {
    if (cause instanceof Deno.errors.NotCapable) {
      throw new NativeLibraryError(`Cannot open "${path}" without permission`, `add --allow-ffi="${path}"`, cause);
    }
    const said = cause instanceof Error ? cause.message : String(cause);
    throw new NativeLibraryError(`Cannot open "${path}": ${said}`, hint, cause);
  }
  const found = library.symbols.ts_abi_version();
  if (found !== ABI_VERSION) {
    const what = `Cannot use "${path}": its ABI version is ${found}, expected ${ABI_VERSION}`;
    throw new NativeLibraryError(what, hint);
  }
  return library.symbols;
}
