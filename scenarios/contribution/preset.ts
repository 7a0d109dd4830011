/**
 * The preset `contribute`: the shipped scenario of this name, on a machine where something other than DRAM can be
 * measured.
 *
 * @module
 */

import { fileURLToPath } from "node:url";
import { loadScenario } from "../load.ts";
import type { Availability, Found } from "../../machines/availability.ts";
import type { Result } from "../record.ts";
import { digestOf } from "../../base/canonical.ts";
import { UnavailableError } from "../../base/unavailable.ts";
import { defaultDependencies } from "../run/dependencies.ts";
import type { RunDependencies } from "../run/prepare.ts";
import { type RunScenarioOptions, runWith } from "../run/run.ts";

/** The scenario's file. */
export const CONTRIBUTE_FILE: string = fileURLToPath(new URL("../contribute.jsonc", import.meta.url));

/** Options of {@linkcode runContribution}: those of a run that keep the scenario what it is, or say how it differs. */
export type RunContributionOptions = Omit<RunScenarioOptions, "data" | "require">;

/** Media that a contribution is about, what `tierbench provision` calls them, and where a machine's state is. */
const MEDIA:
  readonly (readonly [string, string, (here: Availability) => Found<object>, "fsdax" | "kmemDax" | undefined])[] = [
    ["fsdax", "fsdax", (here) => here.fsdax, "fsdax"],
    ["kmem-dax", "kmem-dax (or cxl-kmem)", (here) => here.memkind.available ? here.kmemDax : here.memkind, "kmemDax"],
    ["memory-mode", "memory-mode", (here) => here.memoryMode, undefined],
  ];

/**
 * Refuses a machine on which nothing but DRAM can be measured.
 *
 * @param vouched Whether its owner says what media are of which nothing proves it.
 * @throws {UnavailableError} naming what keeps each configuration away.
 */
export function requireMedium(here: Availability, vouched = false): void {
  if (MEDIA.some(([, , of]) => of(here).available)) return;
  // Which medium is meant, and whether its word is true of anything, is decided with the cases.
  if (vouched && MEDIA.some(([, , , way]) => way !== undefined && here.unproven[way].possible)) return;
  const reasons = MEDIA.map(([name, target, of]) => {
    const found = of(here);
    return `${name}: ${found.available ? "" : found.reason}\n    tierbench provision ${target}`;
  });
  throw new UnavailableError(
    "Cannot make a contribution: nothing but DRAM can be measured on this machine\n" +
      `${reasons.join("\n")}\nRun "tierbench doctor" for everything that was looked at`,
  );
}

/**
 * Runs the scenario of the preset on this machine.
 *
 * @throws {UnavailableError} if nothing but DRAM can be measured.
 *
 * @example
 * ```ts ignore
 * import { contributionOf, renderContribution, runContribution } from "../../mod.ts";
 *
 * const contribution = await contributionOf(await runContribution());
 * await Deno.writeTextFile("contribution.html", renderContribution(contribution));
 * ```
 */
export async function runContribution(options: RunContributionOptions = {}): Promise<Result> {
  return await runContributionWith(defaultDependencies(), options);
}

/** {@linkcode runContribution} with its dependencies given. */
export async function runContributionWith(
  dependencies: RunDependencies,
  options: RunContributionOptions,
): Promise<Result> {
  const here = await dependencies.availability(await dependencies.inspectMachine());
  requireMedium(here, (options.vouch ?? []).length > 0);
  return await runWith(dependencies, CONTRIBUTE_FILE, options);
}

/** Whether a scenario is the one that ships, whatever its seed. */
export async function isAsShipped(scenario: Result["run"]["scenario"]): Promise<boolean> {
  const shipped = await loadScenario(CONTRIBUTE_FILE);
  return digestOf({ ...scenario, seed: 0 }) === digestOf({ ...shipped, seed: 0 });
}
