/**
 * What else the machine did while a sample ran: read before and after its process, from counters of the kernel.
 *
 * @module
 */

import type { ConditionsRecord } from "../record.ts";

/** Counters at one moment; what a system does not count is absent. */
export interface Counters {
  /** Clock ticks of all processors, busy and idle (proc(5), `/proc/stat`). */
  readonly ticks: number;
  /** Of them, busy ones, without those that a hypervisor took. */
  readonly busy: number;
  /** Of them, ticks that a hypervisor gave to other guests. */
  readonly stolen: number;
  /** Busy ticks of this process and of the children that it has waited for (`/proc/self/stat`). */
  readonly own: number;
  /** Pages that went to or came from swap (`/proc/vmstat`). */
  readonly swapped: number;
  /** Pages that the kernel moved between nodes, by balancing or tiering. */
  readonly migrated: number;
  /** KiB that block devices gave (`pgpgin` of `/proc/vmstat`), past the page cache, too. */
  readonly readKib: number;
  /** Settings of the kernel that change speeds. */
  readonly settings: Readonly<Record<string, string>>;
  /** Microseconds in which the control group was held back (`cpu.stat`); absent without such a limit. */
  readonly throttled?: number;
}

/** A file's text; undefined if it cannot be read. */
export type ReadText = (path: string) => string | undefined;

function readText(path: string): string | undefined {
  try {
    return Deno.readTextFileSync(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.PermissionDenied) return undefined;
    throw error;
  }
}

/**
 * The counters now.
 *
 * @param read Where files come from.
 * @returns Nothing where the kernel does not count processor time, as on other systems than Linux.
 */
export function counters(read: ReadText = readText): Counters | undefined {
  const [line = ""] = (read("/proc/stat") ?? "").split("\n");
  // cpu user nice system idle iowait irq softirq steal guest guest_nice; guests are part of user and nice
  const [user, nice, system, idle, iowait, irq, softirq, stolen] = line.split(/\s+/).slice(1, 9).map(Number);
  const self = read("/proc/self/stat") ?? "";
  // Behind the name in brackets, which may have blanks: state is field 3, utime to cstime are 14 to 17.
  const own = self.slice(self.lastIndexOf(")") + 2).split(" ").slice(11, 15).map(Number);
  if (
    user === undefined || nice === undefined || system === undefined || idle === undefined || iowait === undefined ||
    irq === undefined || softirq === undefined || stolen === undefined || own.length < 4
  ) return undefined;
  const busy = user + nice + system + irq + softirq;
  const paged = read("/proc/vmstat") ?? "";
  const pages = (name: string) => Number(new RegExp(`^${name} (\\d+)$`, "m").exec(paged)?.[1] ?? 0);
  const throttled = throttledMicroseconds(read);
  return {
    ticks: busy + idle + iowait + stolen,
    busy,
    stolen,
    own: own.reduce((sum, ticks) => sum + ticks, 0),
    swapped: pages("pswpin") + pages("pswpout"),
    migrated: pages("numa_pages_migrated"),
    readKib: pages("pgpgin"),
    settings: settingsNow(read),
    ...(throttled === undefined ? {} : { throttled }),
  };
}

/** Settings that somebody may change while a run goes on, and where the kernel has them. */
const SETTINGS: Readonly<Record<string, string>> = {
  transparent_hugepage: "/sys/kernel/mm/transparent_hugepage/enabled",
  numa_balancing: "/proc/sys/kernel/numa_balancing",
  governor: "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
  boost: "/sys/devices/system/cpu/cpufreq/boost",
};

function settingsNow(read: ReadText): Record<string, string> {
  return Object.fromEntries(
    Object.entries(SETTINGS).flatMap(([name, path]) => {
      const text = read(path)?.trim();
      if (text === undefined || text === "") return [];
      // Of several words the one that holds is in brackets.
      return [[name, /\[([^\]]+)\]/.exec(text)?.[1] ?? text]];
    }),
  );
}

/** Of the control group of version 2 that this process is in. */
function throttledMicroseconds(read: ReadText): number | undefined {
  const group = /^0::(.*)$/m.exec(read("/proc/self/cgroup") ?? "")?.[1];
  if (group === undefined) return undefined;
  const text = read(`/sys/fs/cgroup${group === "/" ? "" : group}/cpu.stat`) ?? "";
  const found = /^throttled_usec (\d+)$/m.exec(text)?.[1];
  return found === undefined ? undefined : Number(found);
}

/**
 * What happened between two moments.
 *
 * @param seconds Wall time between them.
 */
export function conditionsBetween(before: Counters, after: Counters, seconds: number): ConditionsRecord | undefined {
  const ticks = after.ticks - before.ticks;
  if (ticks <= 0) return undefined;
  const own = after.own - before.own;
  const share = (count: number) => Math.min(1, Math.max(0, count / ticks));
  return {
    ownShare: share(own),
    othersShare: share(after.busy - before.busy - own),
    stolenShare: share(after.stolen - before.stolen),
    swappedPages: Math.max(0, after.swapped - before.swapped),
    migratedPages: Math.max(0, after.migrated - before.migrated),
    readBytes: Math.max(0, after.readKib - before.readKib) * 1024,
    ...(Object.keys(after.settings).length === 0 ? {} : { settings: after.settings }),
    ...(after.throttled === undefined || before.throttled === undefined || seconds <= 0
      ? {}
      : { throttledShare: Math.min(1, (after.throttled - before.throttled) / 1e6 / seconds) }),
  };
}
