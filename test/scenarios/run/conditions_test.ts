import { assertEquals } from "../../assert.ts";
import { conditionsBetween, counters } from "../../../scenarios/run/conditions.ts";

/** A kernel's files: 100 ticks a second, two processors. */
function files(own: number, busy: number, idle: number, stolen: number, pages = 0, throttled?: number) {
  const texts: Readonly<Record<string, string>> = {
    "/proc/stat": `cpu  ${busy} 0 0 ${idle} 0 0 0 ${stolen} 0 0\ncpu0 1 1 1 1\n`,
    "/proc/self/stat": `7 (a (b) c) S 1 1 1 0 -1 0 0 0 0 0 ${own} 0 0 0 20 0 1 0\n`,
    "/sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
    "/proc/sys/kernel/numa_balancing": "0\n",
    "/proc/vmstat": `pgpgin ${3 * pages}\nnr_free_pages 12\nnuma_pages_migrated ${
      2 * pages
    }\npswpin ${pages}\npswpout 0\n`,
    "/proc/self/cgroup": "0::/a\n",
    ...(throttled === undefined ? {} : { "/sys/fs/cgroup/a/cpu.stat": `usage_usec 1\nthrottled_usec ${throttled}\n` }),
  };
  return counters((path) => texts[path]);
}

Deno.test("conditions are shares of the time of all processors, and what happened meanwhile", () => {
  const before = files(100, 1000, 5000, 10, 5, 1_000_000), after = files(250, 1400, 5550, 60, 12, 1_500_000);
  assertEquals(before && after && conditionsBetween(before, after, 5), {
    ownShare: 0.15,
    othersShare: 0.25,
    stolenShare: 0.05,
    swappedPages: 7,
    migratedPages: 14,
    readBytes: 21 * 1024,
    settings: { transparent_hugepage: "madvise", numa_balancing: "0" },
    throttledShare: 0.1,
  });
});

Deno.test("what a kernel does not count is absent", () => {
  assertEquals(counters(() => undefined), undefined);
  assertEquals(files(1, 1, 1, 1)?.throttled, undefined);
  const same = files(1, 1, 1, 1);
  assertEquals(same && conditionsBetween(same, same, 1), undefined);
});

Deno.test("this machine's counters rise with work", () => {
  const before = counters();
  const end = performance.now() + 150;
  while (performance.now() < end);
  const after = counters();
  const found = before && after && conditionsBetween(before, after, 0.15);
  if (Deno.build.os === "linux") assertEquals((found?.ownShare ?? 0) > 0, true);
});
