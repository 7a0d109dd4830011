/**
 * Locks that die with the process that took them: flock(2) on a file beside what it guards. A file that is locked is never
 * removed but by who holds the lock, and who takes one looks whether the file is still the one of that name.
 *
 * @module
 */

/** A lock that is held until it is disposed of, or its process ends, however it ends. */
export class FileLock implements Disposable {
  readonly #file: Deno.FsFile;

  private constructor(file: Deno.FsFile) {
    this.#file = file;
  }

  /**
   * Takes the lock on a file, unless another process holds one that excludes it.
   *
   * @param path The file.
   * @param options `shared`: beside others that share it. `create`: makes the file if it is not there.
   * @returns Nothing if the lock is held, or the file is not there or was removed just now.
   */
  static async take(
    path: string,
    { shared = false, create = false }: { readonly shared?: boolean; readonly create?: boolean } = {},
  ): Promise<FileLock | undefined> {
    for (;;) {
      let file: Deno.FsFile;
      try {
        file = await Deno.open(path, { create, read: true, write: true });
      } catch (error) {
        if (error instanceof Deno.errors.NotFound && !create) return undefined;
        throw error;
      }
      try {
        const taken = await file.tryLock(!shared);
        if (taken && await isStill(file, path)) return new FileLock(file);
        file.close();
        if (!taken || !create) return undefined;
        // Whoever held it has removed it: it is made again.
      } catch (error) {
        file.close();
        throw error;
      }
    }
  }

  /** Gives the lock back. */
  [Symbol.dispose](): void {
    this.#file.close();
  }
}

async function isStill(file: Deno.FsFile, path: string): Promise<boolean> {
  try {
    const [held, named] = [await file.stat(), await Deno.stat(path)];
    return held.ino === named.ino && held.dev === named.dev;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

/** The process that holds a lock on a file, if the kernel tells. */
export async function lockHolder(path: string): Promise<number | undefined> {
  try {
    const { ino } = await Deno.stat(path);
    return holderIn(await Deno.readTextFile("/proc/locks"), ino);
  } catch {
    return undefined;
  }
}

/** The same from the text of `/proc/locks`. Numbers of devices are not looked at: overlays have others there. */
function holderIn(locks: string, ino: number | null): number | undefined {
  for (const line of locks.split("\n")) {
    const [, kind, , access, pid = "", file = ""] = line.trim().split(/\s+/);
    if (kind === "FLOCK" && access === "WRITE" && file.endsWith(`:${ino}`) && Number(pid) > 0) return Number(pid);
  }
  return undefined;
}
