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

import { BUILD_HINT, buildLibrary, BUILT_LIBRARY, isMissing, NativeLibraryError } from "../base/native_build.ts";
import { readText } from "./errors.ts";
import { ABI_VERSION, symbols } from "./symbols.ts";

/** The functions of the open library. */
type NativeFunctions = Deno.DynamicLibrary<typeof symbols>["symbols"];

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

/** Version and compiler of the native library, e.g. `0.2.0 (gcc 12.2.0)`. */
export function libraryVersion(): string {
  const functions = native();
  return readText("read the version of the library", (...buffer) => functions.ts_version(...buffer));
}

function open(): NativeFunctions {
  const named = libraryFromEnvironment();
  if (named !== undefined) return load(named, "correct or unset TIERBENCH_LIBRARY");
  if (isMissing(BUILT_LIBRARY)) buildLibrary();
  return load(BUILT_LIBRARY, BUILD_HINT);
}

function libraryFromEnvironment(): string | undefined {
  const permission = { name: "env", variable: "TIERBENCH_LIBRARY" } as const;
  if (Deno.permissions.querySync(permission).state !== "granted") return undefined;
  return Deno.env.get("TIERBENCH_LIBRARY") || undefined;
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
