/**
 * The npm packages, fetched once as the lock file names them, so that everything after works offline.
 *
 * `deno task` fetches those of `deno.json` by itself before it starts a task. What is left to do here is to make sure of
 * that when set-up was started in another way, and to tell how long the fetching took.
 *
 * @module
 */

import { ROOT } from "./state.ts";
import { labelled, secondsSince, SetupError, type System } from "./system.ts";

/** Identifies the packages of the lock file in this user's cache. */
async function npmKey(system: System): Promise<string> {
  const parts = ["DENO_DIR", "HOME", "XDG_CACHE_HOME", "NPM_CONFIG_REGISTRY"].map((name) => Deno.env.get(name) ?? "");
  const text = [Deno.version.deno, ...parts, system.read(`${ROOT}/deno.json`), system.read(`${ROOT}/deno.lock`)];
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text.join("\0")));
  return new Uint8Array(digest).toHex();
}

/**
 * Fetches the npm packages, unless that was done before.
 *
 * @param known The key of the packages that are there.
 * @returns The key of the packages that are there now.
 * @throws {SetupError} If they cannot be fetched.
 */
export async function ensureDependencies(system: System, known: string): Promise<string> {
  const key = await npmKey(system);
  if (key === known) return key;
  const before = taskSeconds(system);
  const start = performance.now();
  // The entry point makes deno look up its packages now; else it would do so, and say so, in the middle of the run.
  const command = [
    Deno.execPath(),
    "install",
    "--frozen",
    "--config",
    `${ROOT}/deno.json`,
    "--entrypoint",
    `${ROOT}/cli.ts`,
  ];
  const { code, stderr } = await system.run(command, { env: { NO_COLOR: "1" } });
  if (code !== 0) {
    const said = stderr.split("\n").find((line) => line.startsWith("error:")) ?? stderr.trim().split("\n")[0];
    throw new SetupError(`Cannot fetch the npm packages (${said}): check the network and run the command again`);
  }
  // Less than that, and they were all there.
  const began = start - before * 1000;
  if (performance.now() - began >= 100) system.print(labelled("setup", `npm packages ${secondsSince(began)}\n`));
  return key;
}

/**
 * How long `deno task` was at work before this process began, i.e. fetching: the age of the parent process, from
 * `/proc/<pid>/stat` (field 22, clock ticks since boot, 100 a second: proc(5)).
 *
 * @returns Seconds; 0 if the parent is another program.
 */
function taskSeconds(system: System): number {
  const stat = system.read(`/proc/${Deno.ppid}/stat`) ?? "";
  const [, name, rest = ""] = /^\d+ \((.*)\) (.*)$/s.exec(stat) ?? [];
  const ticks = Number(rest.split(" ")[19]);
  const uptime = Number(system.read("/proc/uptime")?.split(" ")[0]);
  const isTask = name === "deno" && (system.read(`/proc/${Deno.ppid}/cmdline`) ?? "").split("\0").includes("task");
  // This process has run for performance.now() milliseconds, which are not the parent's to fetch.
  const seconds = uptime - ticks / 100 - performance.now() / 1000;
  return isTask && seconds > 0 ? seconds : 0;
}
