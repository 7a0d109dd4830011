/**
 * Set-up: the platform, the Debian packages, the npm packages and the native build, in this order.
 *
 * @module
 */

import { ensureBuild } from "./build.ts";
import { ensureDependencies } from "./dependencies.ts";
import { ensurePackages, type Group, type Package, parsePackages } from "./packages.ts";
import { checkPlatform } from "./platform.ts";
import { readState, ROOT, writeState } from "./state.ts";
import { system } from "./system.ts";

/**
 * Brings everything in place; prints only what it had to do.
 *
 * @param groups Groups of `setup/packages.txt`.
 * @param install False: say what is missing and stop.
 * @param more Packages that are not in that list.
 * @throws {SetupError} If it cannot go on.
 */
export async function setUp(
  groups: readonly Group[],
  install: boolean,
  more: readonly Package[] = [],
): Promise<void> {
  checkPlatform(system);
  const packages = parsePackages(Deno.readTextFileSync(`${ROOT}/setup/packages.txt`));
  const wanted = [...packages.filter(({ group }) => groups.includes(group)), ...more];
  const before = readState();
  const installed = await ensurePackages(system, wanted, { install });
  if (installed.length > 0) writeState({ ...before, installed: [...before.installed, ...installed] });
  const npm = await ensureDependencies(system, before.npm);
  if (npm !== before.npm) writeState({ ...readState(), npm });
  ensureBuild(system);
}
