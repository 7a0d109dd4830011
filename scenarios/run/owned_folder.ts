/**
 * Folders for the files of one sample that name their owner: each holds a file that its run, and the worker that uses it,
 * have locked. The lock goes with the process, however it ends; what nobody has locked is removed by the next run.
 *
 * @module
 */

import { join } from "node:path";
import { readHead } from "../../base/user_file.ts";
import { folderUser } from "../../base/open_files.ts";
import { FileLock } from "../../base/lock.ts";

/** The file in a folder that its owners lock. */
const OWNER_FILE = ".tierbench-owner";
/** What the owner's file says: no other file of that name is taken for one. */
const OWNER_TEXT = "tierbench: files of one sample; removed by the next run when no process has this file locked\n";
/** What folders are called; `makeTempDir` adds hexadecimal digits. */
const PREFIX = "tierbench-";
const NAME = /^tierbench-[0-9a-f]{8,32}$/;

/** What stores call their files and folders, for folders of versions before there were owners. */
const STORE_FILE = /^(tierstore-\d+-[0-9a-f]+\.pool|.+\.ssdhash|leveldb-.+)$/;
/** Milliseconds without a change after which such a folder was left. */
const LEFT_AFTER = 24 * 3600 * 1000;

/** A folder that removes itself, and is removed by others once its process is gone. */
interface OwnedFolder extends AsyncDisposable {
  readonly path: string;
  /** File in it that whoever uses it locks, shared. */
  readonly owner: string;
}

/** Makes a folder in a directory. */
export async function makeOwnedFolder(dir: string): Promise<OwnedFolder> {
  for (;;) {
    const path = await Deno.makeTempDir({ dir, prefix: PREFIX });
    const owner = join(path, OWNER_FILE);
    const lock = await lockedOwner(owner);
    if (lock === undefined) continue; // somebody who cleans up took it while it was empty
    const remove = async () => {
      using _ = lock;
      await Deno.remove(path, { recursive: true });
    };
    return { path, owner, [Symbol.asyncDispose]: remove };
  }
}

async function lockedOwner(owner: string): Promise<FileLock | undefined> {
  try {
    const lock = await FileLock.take(owner, { create: true, shared: true });
    if (lock !== undefined) await Deno.writeTextFile(owner, OWNER_TEXT);
    return lock;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

/**
 * Removes the folders in a directory that no living process owns; nothing else in it is touched.
 *
 * @returns How many were removed.
 */
export async function removeUnowned(dir: string): Promise<number> {
  let removed = 0;
  try {
    for await (const { name, isDirectory } of Deno.readDir(dir)) {
      if (isDirectory && NAME.test(name) && await removeIfUnowned(join(dir, name))) removed++;
    }
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound) && !(error instanceof Deno.errors.PermissionDenied)) throw error;
  }
  return removed;
}

async function removeIfUnowned(path: string): Promise<boolean> {
  try {
    using lock = await FileLock.take(join(path, OWNER_FILE));
    if (lock === undefined) return await removeEmpty(path) || await removeOld(path);
    if (!OWNER_TEXT.startsWith(await readHead(join(path, OWNER_FILE)) ?? "?")) return false;
    await Deno.remove(path, { recursive: true });
    return true;
  } catch (error) {
    // Another run cleans up, too, or it is another user's.
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.PermissionDenied) return false;
    throw error;
  }
}

/** An empty folder of such a name is one whose process died between making and locking it; nothing is lost with it. */
async function removeEmpty(path: string): Promise<boolean> {
  for await (const _ of Deno.readDir(path)) return false;
  try {
    await Deno.remove(path);
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    if ((error as { code?: string }).code === "ENOTEMPTY") return false;
    throw error;
  }
}

/**
 * Earlier versions wrote no owner: such a folder goes when it has nothing but a store's files, none was written for a day,
 * and no process has one open.
 */
async function removeOld(path: string): Promise<boolean> {
  const latest = Date.now() - LEFT_AFTER;
  let files = 0;
  for await (const { name } of Deno.readDir(path)) {
    if (!STORE_FILE.test(name)) return false;
    files++;
  }
  if (files === 0 || await isYounger(path, latest) || folderUser(path) !== undefined) return false;
  await Deno.remove(path, { recursive: true });
  return true;
}

/** Whether anything in a folder, or itself, was changed after a time. */
async function isYounger(path: string, latest: number): Promise<boolean> {
  const { mtime, isDirectory } = await Deno.lstat(path);
  if (mtime === null || mtime.getTime() > latest) return true;
  if (!isDirectory) return false;
  for await (const { name } of Deno.readDir(path)) if (await isYounger(join(path, name), latest)) return true;
  return false;
}
