import { libraryVersion, VERSION } from "../mod.ts";
import { answerText } from "./answers.ts";

/** Versions of the suite, its native library and the runtime, one a line, or for programs. */
export function versionText(json: boolean): string {
  const { deno, v8, typescript } = Deno.version;
  const libtierstore = libraryVersion();
  return json
    ? answerText("version", { tierbench: VERSION, libtierstore, deno, v8, typescript })
    : `tierbench ${VERSION}\nlibtierstore ${libtierstore}\ndeno ${deno} (v8 ${v8}, typescript ${typescript})\n`;
}
