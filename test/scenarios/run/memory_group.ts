/**
 * A real control group with a memory limit, where this machine lets one be made.
 *
 * @module
 */

/** Commands in a group of their own. */
export interface MemoryGroup {
  readonly path: string;
  run(command: readonly string[], options?: Deno.CommandOptions): Promise<Deno.CommandOutput>;
  /** How often the kernel has killed in it. */
  kills(): number;
}

const V1 = "/sys/fs/cgroup/memory";
const V2 = "/sys/fs/cgroup";

/** Makes an empty group; nothing where that is not allowed. */
function make(): { readonly path: string; readonly limit: string; readonly events: string } | undefined {
  const places = [
    { root: V1, limit: "memory.limit_in_bytes", events: "memory.oom_control" },
    { root: V2, limit: "memory.max", events: "memory.events" },
  ];
  for (const { root, limit, events } of places) {
    const path = `${root}/tierbench-test-${Deno.pid}`;
    try {
      Deno.mkdirSync(path);
      Deno.statSync(`${path}/${limit}`);
      return { path, limit, events };
    } catch {
      try {
        Deno.removeSync(path);
      } catch { /* it was not made */ }
    }
  }
  return undefined;
}

/** Why no group can be made here; nothing if one can. */
export function whyNoGroup(): string | undefined {
  const made = make();
  if (made === undefined) return "no control group can be made here";
  Deno.removeSync(made.path);
  return undefined;
}

/** Runs something with a group of so many bytes, which goes at the end. */
export async function inMemoryGroup(bytes: number, body: (group: MemoryGroup) => Promise<void>): Promise<void> {
  const made = make();
  if (made === undefined) throw new Error("Cannot make a control group");
  const { path, limit, events } = made;
  try {
    await Deno.writeTextFile(`${path}/${limit}`, `${bytes}`);
    await body({
      path,
      run: (command, options = {}) =>
        new Deno.Command("sh", {
          ...options,
          args: ["-c", 'echo $$ > "$0/cgroup.procs" && exec "$@"', path, ...command],
          stdin: "null",
        }).output(),
      kills: () => Number(/^oom_kill (\d+)$/m.exec(Deno.readTextFileSync(`${path}/${events}`))?.[1] ?? 0),
    });
  } finally {
    for (let left = 100; left > 0; left--) { // processes that were killed take a moment
      try {
        Deno.removeSync(path);
        break;
      } catch {
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    }
  }
}
