/**
 * Which processes have files of a folder open or mapped, or work in it. It imports no package: `clean` needs it when there
 * are none.
 *
 * @module
 */

/** A process that uses a folder. */
export interface FolderUser {
  readonly pid: number;
  /** Its command line. */
  readonly command: string;
  /** What of the folder it uses. */
  readonly path: string;
}

/**
 * The first process but this one that uses a folder; those of other users are seen by root alone.
 *
 * @param folder The folder.
 */
export function folderUser(folder: string): FolderUser | undefined {
  let real: string;
  try {
    real = Deno.realPathSync(folder);
  } catch {
    return undefined; // it is not there
  }
  const isIn = (path: string) => path === real || path.startsWith(`${real}/`);
  for (const { name } of Deno.readDirSync("/proc")) {
    if (!/^\d+$/.test(name) || Number(name) === Deno.pid) continue;
    const path = pathsOf(name).find(isIn);
    if (path !== undefined) return { pid: Number(name), command: commandOf(name), path };
  }
  return undefined;
}

/** Working folder, open files and maps of a process; nothing of one that has ended or is another user's. */
function pathsOf(pid: string): string[] {
  const paths: string[] = [];
  try {
    paths.push(Deno.readLinkSync(`/proc/${pid}/cwd`));
    for (const { name } of Deno.readDirSync(`/proc/${pid}/fd`)) {
      try {
        paths.push(Deno.readLinkSync(`/proc/${pid}/fd/${name}`));
      } catch { /* it was closed just now */ }
    }
    for (
      const [, path = ""] of Deno.readTextFileSync(`/proc/${pid}/maps`).matchAll(/^\S+ \S+ \S+ \S+ \d+ +(\/.*)$/gm)
    ) {
      paths.push(path);
    }
  } catch { /* see above */ }
  return paths;
}

function commandOf(pid: string): string {
  try {
    return Deno.readTextFileSync(`/proc/${pid}/cmdline`).split("\0").join(" ").trim().slice(0, 60);
  } catch {
    return "";
  }
}
