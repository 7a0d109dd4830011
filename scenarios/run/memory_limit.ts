/**
 * What the control groups of this process leave of memory: a container's limit is no fact of the machine, files in /dev/shm
 * count against it, and who goes over it is killed without a word.
 *
 * @module
 */

import { dirname, join } from "node:path";

/** The tightest limit above a process. */
export interface MemoryLimit {
  /** Its control group. */
  readonly group: string;
  /** Bytes that it allows. */
  readonly limit: number;
  /** Bytes of it that are left; what the kernel can drop at once (files that were read) counts as left. */
  readonly left: number;
}

/** Reads a file; nothing if it is not there. */
type ReadText = (path: string) => string | undefined;

function readText(path: string): string | undefined {
  try {
    return Deno.readTextFileSync(path);
  } catch {
    return undefined;
  }
}

/** One version of control groups: where it is mounted, and the names of its files. */
interface Version {
  readonly root: string;
  readonly limit: string;
  readonly usage: string;
  /** Line of `memory.stat`. */
  readonly inactive: string;
}

const V2: Version = {
  root: "/sys/fs/cgroup",
  limit: "memory.max",
  usage: "memory.current",
  inactive: "inactive_file",
};
const V1: Version = {
  root: "/sys/fs/cgroup/memory",
  limit: "memory.limit_in_bytes",
  usage: "memory.usage_in_bytes",
  inactive: "total_inactive_file",
};

/** More than any machine has: version 1 writes "no limit" as a number like this. */
const NO_LIMIT = 2 ** 60;

/**
 * The tightest memory limit of this process: that of its control group, or of one above.
 *
 * @returns Nothing without a limit.
 */
export function memoryLimit(read: ReadText = readText): MemoryLimit | undefined {
  let tightest: MemoryLimit | undefined;
  for (const line of (read("/proc/self/cgroup") ?? "").trim().split("\n")) {
    const [, controllers = "", path = ""] = /^\d+:([^:]*):(.*)$/.exec(line) ?? [];
    const version = controllers === "" ? V2 : controllers.split(",").includes("memory") ? V1 : undefined;
    if (version === undefined || !path.startsWith("/")) continue;
    for (const group of upFrom(join(version.root, path), version.root)) {
      const found = limitOf(group, version, read);
      if (found !== undefined && (tightest === undefined || found.left < tightest.left)) tightest = found;
    }
  }
  return tightest;
}

/** A folder and those above it, down to the root. In a container only the root may be there. */
function upFrom(group: string, root: string): string[] {
  const groups = [group];
  for (let at = group; at !== root && at.startsWith(`${root}/`);) groups.push(at = dirname(at));
  return groups;
}

function limitOf(group: string, { limit, usage, inactive }: Version, read: ReadText): MemoryLimit | undefined {
  const number = (text: string | undefined) => text === undefined || !/^\d+\s*$/.test(text) ? undefined : Number(text);
  const most = number(read(`${group}/${limit}`));
  const used = number(read(`${group}/${usage}`));
  if (most === undefined || most >= NO_LIMIT || used === undefined) return undefined;
  const dropped = new RegExp(`^${inactive} (\\d+)$`, "m").exec(read(`${group}/memory.stat`) ?? "")?.[1];
  return { group, limit: most, left: Math.max(0, most - used + Number(dropped ?? 0)) };
}
