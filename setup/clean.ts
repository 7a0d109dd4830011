/**
 * Undoes what set-up, builds and runs left in the folder of tierbench.
 *
 * @module
 */

import { folderUser } from "../base/open_files.ts";
import { readState, ROOT } from "./state.ts";
import { labelled, SetupError, type System } from "./system.ts";

/** Folders that nothing but tierbench writes, and that it makes again. */
const FOLDERS: readonly string[] = ["native/build", ".cache"];
/** Results and reports: nobody can make the same measurements again. */
const REPORTS = "reports/out";

/**
 * Removes generated folders, reports only when asked to, and names the Debian packages that set-up installed, which other programs may use by now.
 *
 * @param system Where to print.
 * @param root The folder of tierbench.
 * @param reports Whether to remove results and reports, too.
 * @throws {SetupError} naming a process that uses one of the folders, such as a run; nothing is removed, then.
 */
export async function clean(system: System, root: string = ROOT, reports: boolean = false): Promise<void> {
  const { installed } = readState(root);
  const folders = reports ? [...FOLDERS, REPORTS] : FOLDERS;
  for (const folder of folders) refuseInUse(root, folder);
  let removed = 0;
  for (const folder of folders) {
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
  if (!reports && await isThere(`${root}/${REPORTS}`)) {
    system.print(labelled("clean", `kept ${REPORTS}, your results; "deno task clean --reports" removes them, too\n`));
  }
  if (installed.length > 0) {
    const names = installed.join(" ");
    system.print(labelled("clean", `set-up installed packages; remove them with "apt-get purge ${names}" as root\n`));
  }
}

function refuseInUse(root: string, folder: string): void {
  const user = folderUser(`${root}/${folder}`);
  if (user === undefined) return;
  throw new SetupError(
    `Cannot clean "${root}": process ${user.pid} (${user.command}) uses "${user.path}"; wait for it, or end it, and ` +
      "clean again. Nothing was removed",
  );
}

async function isThere(path: string): Promise<boolean> {
  return await Deno.lstat(path).then(() => true, () => false);
}
