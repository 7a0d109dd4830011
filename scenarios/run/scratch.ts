/**
 * A directory for the pool file of one sample that stands for PMEM: in memory where there is room, else on disk, and
 * removed with everything in it when the sample ends, however it ends.
 *
 * @module
 */

import { statfs } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import type { Scratch } from "./configurations.ts";

/** Memory that stays free beside the pool file, bytes. */
const RESERVE = 512 * 2 ** 20;
/** Where files live in memory. */
const TMPFS = "/dev/shm";
/** Where they live on disk: the project's cache. */
const DISK: string = fileURLToPath(new URL("../../.cache/pmem", import.meta.url));

/** Bytes that a file in memory may take now; 0 if there is no such file system. */
async function roomInMemory(): Promise<number> {
  try {
    const { bavail, bsize } = await statfs(TMPFS);
    return Math.min(bavail * bsize, Deno.systemMemoryInfo().available) - RESERVE;
  } catch {
    return 0;
  }
}

/** A scratch directory that removes itself. */
export interface ScratchDirectory extends Scratch, AsyncDisposable {}

/**
 * Makes a directory for pool files.
 *
 * @param bytes What the files will take.
 * @param room Bytes that memory has room for. Default: looked up.
 */
export async function makeScratch(bytes: number, room?: number): Promise<ScratchDirectory> {
  const medium = (room ?? await roomInMemory()) >= bytes ? "tmpfs" : "disk";
  if (medium === "disk") await Deno.mkdir(DISK, { recursive: true });
  const path = await Deno.makeTempDir({ dir: medium === "tmpfs" ? TMPFS : DISK, prefix: "tierbench-" });
  return {
    path,
    medium,
    [Symbol.asyncDispose]: () => Deno.remove(path, { recursive: true }),
  };
}
