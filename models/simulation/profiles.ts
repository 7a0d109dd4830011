/**
 * Named profiles in a simulation: each becomes a law of buckets before the simulation runs, so that what ran is all in its
 * record.
 *
 * @module
 */

import { ScenarioError } from "../../base/diagnostics.ts";
import { wordAt } from "../../base/path_word.ts";
import { type Profile, ProfileError, type ProfileTable } from "../workloads/profile.ts";
import { profileLaw } from "../workloads/profile_keys.ts";
import { lawLeavesOut, scoreFault } from "../workloads/profile_score.ts";
import { profileAt } from "../workloads/scaled_law.ts";
import type { Law, ResolvedSimulation, SimulatedProfile, SimulatedTable, Simulation } from "./simulation.ts";

function tableOf(profile: Profile, wanted: string | undefined, word: string): ProfileTable {
  const { tables } = profile;
  const found = wanted === undefined ? tables[0] : tables.find(({ name }) => name === wanted);
  const known = tables.slice(0, 40).map(({ name }) => `"${name}"`).join(", ");
  if (found === undefined) {
    throw new ProfileError(`Cannot use table "${wanted}" of the profile "${word}": there is none. Known: ${known}`);
  }
  if (wanted === undefined && tables.length > 1) {
    throw new ProfileError(
      `Cannot use the profile "${word}" for one table: it has ${tables.length}; ` +
        `give { "name": "${word}", "table": … }, one of ${known}`,
    );
  }
  return found;
}

/** The law of a profile's table. */
async function lawOf(profile: SimulatedProfile, directory: string): Promise<Law> {
  const { name: word, table } = typeof profile === "string" ? { name: profile } : profile;
  const loaded = await profileAt(word, directory);
  const of = tableOf(loaded, table, word);
  const { rows, weights } = profileLaw(loaded, of.name), fault = scoreFault(of);
  return {
    buckets: [...rows].map((count, i) => [Number(count), weights[i] ?? 0] as const),
    of: { profile: loaded.name, table: of.name, leftOut: lawLeavesOut(of), ...(fault === undefined ? {} : { fault }) },
  };
}

/**
 * The simulation with the law of every table that names a profile. A profile wins over a law, so that studies can vary it.
 *
 * @param directory Where paths of profiles start.
 * @throws {ScenarioError} if a profile cannot be used.
 */
export async function withProfiles<T extends Simulation | ResolvedSimulation>(
  simulation: T,
  directory: string,
): Promise<T> {
  const written = simulation as Simulation;
  const tables: SimulatedTable[] = [];
  for (const [i, { profile, ...table }] of written.workload.tables.entries()) {
    try {
      const law = profile === undefined
        ? undefined
        : typeof profile === "object" && "s" in profile
        ? profile
        : await lawOf(profile, directory);
      tables.push(law === undefined ? table : { ...table, law });
    } catch (error) {
      if (!(error instanceof ProfileError || error instanceof Deno.errors.NotFound)) throw error;
      throw new ScenarioError([{ path: ["workload", "tables", i, "profile"], message: error.message }]);
    }
  }
  const studies = written.studies?.map((study) => ({
    ...study,
    vary: Object.fromEntries(
      Object.entries(study.vary ?? {}).map(([field, values]) => [
        field,
        /\.profile(\.name)?$/.test(field)
          ? values.map((value) => typeof value === "string" ? wordAt(value, directory) : value)
          : values,
      ]),
    ),
  }));
  return {
    ...simulation,
    workload: { ...written.workload, tables },
    ...(studies === undefined ? {} : { studies }),
  };
}
