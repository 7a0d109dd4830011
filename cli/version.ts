import { libraryVersion, VERSION } from "../mod.ts";

/** Versions of the suite, its native library and the runtime, one a line. */
export function versionText(): Promise<string> {
  const { deno, v8, typescript } = Deno.version;
  return Promise.resolve(
    `tierbench ${VERSION}\nlibtierstore ${libraryVersion()}\ndeno ${deno} (v8 ${v8}, typescript ${typescript})\n`,
  );
}
