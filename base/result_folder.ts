/**
 * The folder of a run's or a simulation's `result.jsonl`, which one of them writes at a time.
 *
 * @module
 */

import { dirname, join } from "node:path";
import { FileLock, lockHolder } from "./lock.ts";
import { readHead } from "./user_file.ts";
import { writing } from "./writing.ts";

/** What is locked in a folder of results. */
const LOCK = ".lock";

/** A folder of results that no other run writes to, from before anything in it is read until the run ends. */
export class ResultFolder implements Disposable {
  /** Its `result.jsonl`. */
  readonly path: string;
  readonly #lock: FileLock;
  readonly #made: boolean;

  private constructor(path: string, lock: FileLock, made: boolean) {
    [this.path, this.#lock, this.#made] = [path, lock, made];
  }

  /**
   * Takes a folder; makes it if there is none. What is locked is a file `.lock` in it, which nobody renames or removes.
   *
   * @param path The `result.jsonl` in it.
   * @throws {Error} if another run has it, with the number of its process.
   */
  static async take(path: string): Promise<ResultFolder> {
    const file = join(dirname(path), LOCK);
    const made = await Deno.lstat(dirname(path)).then(() => false, () => true);
    const lock = await writing(path, async () => {
      await Deno.mkdir(dirname(path), { recursive: true });
      return await FileLock.take(file, { create: true });
    });
    if (lock !== undefined) return new ResultFolder(path, lock, made);
    const holder = await lockHolder(file);
    throw new Error(
      `Cannot write the results: another run${
        holder === undefined ? "" : ` (process ${holder})`
      } writes to "${path}"; ` +
        "wait for it or choose another folder with --out",
    );
  }

  /** Renames a file that is there to one with its start time, and a number where there is one of that name. */
  async keepEarlier(): Promise<void> {
    const head = await readHead(this.path);
    if (head === undefined) return;
    const started = /^.*?"started":"([\dTZ:.+-]+)"/.exec(head)?.[1] ?? new Date().toISOString();
    const name = this.path.replace(/(\.jsonl)?$/, `-${started.replaceAll(":", "")}`);
    for (let n = 1;; n++) {
      const kept = n === 1 ? `${name}.jsonl` : `${name}-${n}.jsonl`;
      if (await Deno.lstat(kept).then(() => true, () => false)) continue;
      return await Deno.rename(this.path, kept);
    }
  }

  /** Gives the folder back; one that was made and that nothing was written to is removed. */
  [Symbol.dispose](): void {
    using _ = this.#lock;
    if (!this.#made) return;
    const folder = dirname(this.path);
    try {
      if ([...Deno.readDirSync(folder)].some(({ name }) => name !== LOCK)) return;
      Deno.removeSync(join(folder, LOCK));
      Deno.removeSync(folder);
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error; // somebody removed or moved it
    }
  }
}
