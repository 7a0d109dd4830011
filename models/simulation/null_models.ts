/**
 * Null models: the simulation with one of the things taken away that a published figure is about. A figure that is met
 * without it, too, says nothing of it.
 *
 * @module
 */

import type { SimulatedCase } from "./cases.ts";
import { caseName, type NullName } from "./record.ts";
import type { ResolvedSimulatedConfiguration, ResolvedSimulation, ResolvedTable, ResolvedTier } from "./simulation.ts";

/** What stands for DRAM where a simulation has none of its own. */
const ANY_DRAM = "ddr4-2666-6ch";

/** A medium is DRAM by its model's name: `ddr4-2666-6ch`, `lpddr5x-grace`. */
const DRAM = /^(lp)?ddr\d/;

/** Every tier as if it were the first DRAM that the simulation has: its medium, and nothing that is done for another's sake. */
export function allDram(simulation: ResolvedSimulation): ResolvedSimulation {
  const tiers = Object.values(simulation.configurations).flatMap((one) => one.tiers);
  const media = tiers.find((tier) => DRAM.test(tier.media))?.media ?? ANY_DRAM;
  return withTiers(simulation, (tier) => ({
    ...tier,
    ...(DRAM.test(tier.media) ? {} : { media, store: "cached", round: 1, depth: 1, perRead: 0, perWrite: 0 }),
    hops: 0,
    remote: 0,
  }));
}

/** Every tier but the last a hundredth of its size, where size decides what is in it; dealt out, weights do. */
export function smallCache(simulation: ResolvedSimulation): ResolvedSimulation {
  return withTiers(
    simulation,
    (tier, below, { placement }) =>
      below === 0 || placement === "interleave" ? tier : { ...tier, size: Math.round(tier.size / 100) },
  );
}

/** Every row as popular as every other of its table; what is so already stays as it is written, whatever its shift. */
function uniformKeys(simulation: ResolvedSimulation): ResolvedSimulation {
  const tables = simulation.workload.tables.map((table): ResolvedTable =>
    "s" in table.law && table.law.s === 0 ? table : { ...table, law: { s: 0, q: 0 } }
  );
  return { ...simulation, workload: { ...simulation.workload, tables } };
}

/** Software that keeps nothing in order and takes no lock. */
export function freeSoftware(simulation: ResolvedSimulation): ResolvedSimulation {
  const free = { lock: 0, lockMisses: false, lockContention: 0, upkeep: 0, track: 0, miss: 0 };
  const configurations = Object.entries(simulation.configurations).map(([name, one]) =>
    [name, { ...one, software: { ...one.software, ...free } }] as const
  );
  return { ...simulation, configurations: Object.fromEntries(configurations) };
}

/** @param change Makes another tier of one that has so many `below` it in its configuration. */
function withTiers(
  simulation: ResolvedSimulation,
  change: (tier: ResolvedTier, below: number, one: ResolvedSimulatedConfiguration) => ResolvedTier,
): ResolvedSimulation {
  const configurations = Object.entries(simulation.configurations).map(([name, one]) =>
    [name, { ...one, tiers: one.tiers.map((tier, i) => change(tier, one.tiers.length - 1 - i, one)) }] as const
  );
  return { ...simulation, configurations: Object.fromEntries(configurations) };
}

const REPLACE: Readonly<Record<NullName, (simulation: ResolvedSimulation) => ResolvedSimulation>> = {
  "dram": allDram,
  "small-cache": smallCache,
  "uniform-keys": uniformKeys,
  "free-software": freeSoftware,
};

/** A case under a null model. */
export interface NullCase {
  /** Which. */
  readonly model: NullName;
  /** The case as it would run, under the name that it has. */
  readonly one: SimulatedCase;
}

/** Names of the cases that published figures speak of. */
export function publishedCases({ published }: Pick<ResolvedSimulation, "published">): ReadonlySet<string> {
  return new Set(
    published.flatMap(({ configuration, at, relativeTo }) => [
      caseName(configuration, at ?? {}),
      ...(relativeTo === undefined ? [] : [caseName(relativeTo.configuration, relativeTo.at ?? {})]),
    ]),
  );
}

/** The cases that published figures speak of, each under every null model that changes something of it. */
export function nullCases(simulation: ResolvedSimulation, cases: readonly SimulatedCase[]): NullCase[] {
  const named = publishedCases(simulation);
  const told = ({ workload, configurations }: ResolvedSimulation, name: string) =>
    JSON.stringify([workload, configurations[name]]);
  return cases.filter(({ name }) => named.has(name)).flatMap((one) =>
    (Object.keys(REPLACE) as NullName[]).flatMap((model) => {
      const simulation = REPLACE[model](one.simulation);
      const set = simulation.configurations[one.configuration];
      if (set === undefined || told(simulation, one.configuration) === told(one.simulation, one.configuration)) {
        return [];
      }
      return [{ model, one: { ...one, simulation, set } }];
    })
  );
}
