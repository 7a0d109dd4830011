/**
 * The npm packages, fetched once as the lock file names them, so that everything after works offline.
 *
 * @module
 */

import { ROOT } from "./state.ts";
import { labelled, secondsSince, SetupError, type System } from "./system.ts";

/** Identifies the packages of the lock file in this user's cache. */
export async function npmKey(system: System): Promise<string> {
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
  const start = performance.now();
  const command = [Deno.execPath(), "install", "--frozen", "--config", `${ROOT}/deno.json`];
  const { code, stderr } = await system.run(command, { env: { NO_COLOR: "1" } });
  if (code !== 0) {
    const said = stderr.split("\n").find((line) => line.startsWith("error:")) ?? stderr.trim().split("\n")[0];
    throw new SetupError(`Cannot fetch the npm packages (${said}): check the network and run the command again`);
  }
  system.print(labelled("setup", `npm packages ${secondsSince(start)}\n`));
  return key;
}
