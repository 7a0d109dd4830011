import { memoryLimit } from "../../../scenarios/run/memory_limit.ts";
import { assertEquals } from "../../assert.ts";

const MIB = 2 ** 20;

/** A machine of files. */
const files = (found: Record<string, string>) => (path: string) => found[path];

Deno.test("memoryLimit() is the tightest of nested groups, with what the kernel can drop at once (version 2)", () => {
  const found = memoryLimit(files({
    "/proc/self/cgroup": "0::/user.slice/box\n",
    "/sys/fs/cgroup/user.slice/box/memory.max": "max\n",
    "/sys/fs/cgroup/user.slice/box/memory.current": `${10 * MIB}\n`,
    "/sys/fs/cgroup/user.slice/memory.max": `${250 * MIB}\n`,
    "/sys/fs/cgroup/user.slice/memory.current": `${200 * MIB}\n`,
    "/sys/fs/cgroup/user.slice/memory.stat": `anon 5\ninactive_file ${30 * MIB}\nslab 7\n`,
    "/sys/fs/cgroup/memory.max": `${4096 * MIB}\n`,
    "/sys/fs/cgroup/memory.current": `${300 * MIB}\n`,
  }));
  assertEquals(found, { group: "/sys/fs/cgroup/user.slice", limit: 250 * MIB, left: 80 * MIB });
});

Deno.test("memoryLimit() reads version 1, also where a container sees its own group at the root", () => {
  const found = memoryLimit(files({
    "/proc/self/cgroup": "9:name=systemd:/\n4:cpu,memory:/docker/abc\n0::/\n",
    "/sys/fs/cgroup/memory/memory.limit_in_bytes": `${512 * MIB}\n`,
    "/sys/fs/cgroup/memory/memory.usage_in_bytes": `${600 * MIB}\n`,
    "/sys/fs/cgroup/memory/memory.stat": `inactive_file 9\ntotal_inactive_file ${20 * MIB}\n`,
  }));
  assertEquals(found, { group: "/sys/fs/cgroup/memory", limit: 512 * MIB, left: 0 });
});

Deno.test("memoryLimit() is none without a limit, without control groups, and with files that say nothing", () => {
  const none = [
    {},
    { "/proc/self/cgroup": "0::/\n" },
    {
      "/proc/self/cgroup": "4:memory:/\n",
      "/sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
      "/sys/fs/cgroup/memory/memory.usage_in_bytes": "1\n",
    },
    { "/proc/self/cgroup": "0::/\n", "/sys/fs/cgroup/memory.max": "250M\n", "/sys/fs/cgroup/memory.current": "1\n" },
    { "/proc/self/cgroup": "garbage" },
  ];
  for (const one of none) assertEquals(memoryLimit(files(one as Record<string, string>)), undefined);
});
