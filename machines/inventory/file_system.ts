/**
 * Where files of a tier on a disk are, and whether that is a disk.
 *
 * @module
 */

import { fileURLToPath } from "node:url";

/** Where files of tiers on a disk are unless the scenario says otherwise. */
export const SSD_FOLDER: string = fileURLToPath(new URL("../../.cache/ssd", import.meta.url));

/** `TMPFS_MAGIC` of linux/magic.h. Without such a mount the directory may be there, but on a disk. */
const TMPFS_TYPE = 0x01021994;

/** What statfs(2) tells that matters here. */
export interface FileSystem {
  /** Magic number. */
  readonly type: number;
  /** Blocks that this user may fill. */
  readonly bavail: number;
  /** Bytes of a block. */
  readonly bsize: number;
}

/** Whether a file system keeps its files in memory. */
export function isInMemory({ type }: Pick<FileSystem, "type">): boolean {
  return type === TMPFS_TYPE;
}
