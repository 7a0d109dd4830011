/**
 * Directories for the files of one sample, removed with everything in them when it ends: for the pool file that stands for
 * PMEM, in memory where there is room, else on disk; for a tier on a disk, there. What a process that was killed left is
 * removed by the next run.
 *
 * @module
 */

import { statfs } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { type FileSystem, isInMemory, SSD_FOLDER } from "../../machines/inventory/file_system.ts";
import type { Scratch } from "./configurations.ts";
import { memoryLimit } from "./memory_limit.ts";
import { makeOwnedFolder, removeUnowned } from "./owned_folder.ts";

/** Memory that stays free beside the pool file, bytes. */
const RESERVE = 512 * 2 ** 20;
/** Where files live in memory. */
const TMPFS = "/dev/shm";
/** Where they live on disk: the project's cache. */
const DISK: string = fileURLToPath(new URL("../../.cache/pmem", import.meta.url));
/**
 * Bytes that pool files may take in a file system that should be one in memory; 0 if it is another.
 *
 * @param available Bytes of memory that are available.
 */
export function roomIn({ type, bavail, bsize }: FileSystem, available: number): number {
  return isInMemory({ type }) ? Math.max(0, Math.min(bavail * bsize, available) - RESERVE) : 0;
}

/** Bytes that a file in memory may take now; 0 if there is no such file system. */
async function roomInMemory(): Promise<number> {
  try {
    const { available } = Deno.systemMemoryInfo();
    return roomIn(await statfs(TMPFS), Math.min(available, memoryLimit()?.left ?? Infinity));
  } catch {
    return 0;
  }
}

/** A scratch directory that removes itself. */
interface ScratchDirectory extends Scratch, AsyncDisposable {}

/** Whether files in a folder are in memory; a folder that is not there has none. */
export async function isFolderInMemory(folder: string): Promise<boolean> {
  try {
    return isInMemory(await statfs(folder));
  } catch {
    return false;
  }
}

/**
 * Makes a directory for pool files.
 *
 * @param bytes What the files will take.
 * @param beside Bytes of memory that the process takes beside them.
 * @param room Bytes that memory has room for, the reserve taken off. Default: looked up.
 */
export async function makeScratch(bytes: number, beside: number, room?: number): Promise<ScratchDirectory> {
  const more = Math.max(0, beside - RESERVE);
  const medium = (room ?? await roomInMemory()) >= bytes + more ? "tmpfs" : "disk";
  if (medium === "disk") await Deno.mkdir(DISK, { recursive: true });
  return await scratchIn(medium === "tmpfs" ? TMPFS : DISK, medium);
}

/**
 * Makes a directory for the files of a tier on a disk.
 *
 * @param parent A directory on that disk. Default: the project's cache folder.
 */
export async function makeSsdScratch(parent?: string): Promise<ScratchDirectory> {
  if (parent === undefined) await Deno.mkdir(SSD_FOLDER, { recursive: true });
  return await scratchIn(parent ?? SSD_FOLDER, "disk");
}

async function scratchIn(dir: string, medium: Scratch["medium"]): Promise<ScratchDirectory> {
  const folder = await makeOwnedFolder(dir);
  return { path: folder.path, owner: folder.owner, medium, [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose]() };
}

/**
 * Removes what runs that were killed left in every place where such directories are.
 *
 * @param disks The scenario's own places for tiers on a disk.
 * @returns How many directories were removed.
 */
export async function removeLeftScratch(disks: readonly string[] = []): Promise<number> {
  let removed = 0;
  for (const dir of new Set([TMPFS, DISK, SSD_FOLDER, ...disks])) removed += await removeUnowned(dir);
  return removed;
}
