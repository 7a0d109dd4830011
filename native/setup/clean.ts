/**
 * Undoes what set-up, builds and runs left in the folder of tierbench.
 *
 * @module
 */

import { readState, ROOT } from "./state.ts";
import { labelled, type System } from "./system.ts";

/** Folders that nothing but tierbench writes. */
const FOLDERS: readonly string[] = ["native/build", "reports/out", ".cache"];

/**
 * Removes generated folders and names the Debian packages that set-up installed, which other programs may use by now.
 *
 * @param system Where to print.
 * @param root The folder of tierbench.
 */
export async function clean(system: System, root: string = ROOT): Promise<void> {
  const { installed } = readState(root);
  let removed = 0;
  for (const folder of FOLDERS) {
    try {
      await Deno.remove(`${root}/${folder}`, { recursive: true });
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) continue;
      throw error;
    }
    removed++;
    system.print(labelled("clean", `removed ${folder}\n`));
  }
  if (removed === 0) system.print(labelled("clean", "nothing to remove\n"));
  if (installed.length > 0) {
    const names = installed.join(" ");
    system.print(labelled("clean", `set-up installed packages; remove them with "apt-get purge ${names}" as root\n`));
  }
}
