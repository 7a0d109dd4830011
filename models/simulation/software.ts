/**
 * Prices of software by path in a simulation: each becomes the stated figures that they stand for before the simulation runs,
 * so that what ran is all in its record.
 *
 * @module
 */

import { ScenarioError } from "../../base/diagnostics.ts";
import { measuredText } from "../media/measured.ts";
import type { RangedField, ResolvedSimulation, SimulatedConfiguration, Simulation } from "./simulation.ts";
import { loadSoftware, type Price, type SoftwareFile, type SoftwarePrices } from "./software_file.ts";

/** Factor up and down that the true price is within, nine times in ten; undefined of a price that nothing was left of. */
function rangeOf({ value, low, high }: Price): number | undefined {
  return value > 0 ? Math.max(high / value, low > 0 ? value / low : 1) : undefined;
}

/** Widest range that a simulation may state. */
const MOST_RANGE = 100;

/** How exactly each figure that a file of prices stands for is known. */
export function rangesOf({ prices }: SoftwareFile): Partial<Record<RangedField, number>> {
  const fields: Readonly<Record<string, Price | undefined>> = {
    "compute.perKey": prices.perKey,
    "compute.perRow": prices.perRow,
    "compute.perUpdate": prices.perUpdate,
    "compute.perLock": prices.perLock,
    "compute.perMessage": prices.perMessage,
    "software.upkeep": prices.upkeep,
    "software.track": prices.track,
    "software.miss": prices.perMiss,
  };
  return Object.fromEntries(
    Object.entries(fields).flatMap(([field, price]) => {
      const range = price === undefined ? undefined : rangeOf(price);
      return range === undefined ? [] : [[field, Math.min(MOST_RANGE, range)]];
    }),
  );
}

/**
 * What our store adds where it places rows in several tiers, seconds.
 *
 * @param trains Whether rows are updated, which is when the store gives their copies below up.
 */
export function storeSoftware(
  { track, upkeep, perMiss }: SoftwarePrices,
  trains: boolean,
): { readonly track: number; readonly upkeep: number; readonly miss: number } {
  return { track: track.value, upkeep: trains ? upkeep.value : 0, miss: perMiss.value };
}

/** What our store adds to keys, rows and messages, wherever they are, seconds. */
export function storeCompute(
  { perKey, perRow, perUpdate, perLock, perMessage }: SoftwarePrices,
): Readonly<Record<"perKey" | "perRow" | "perUpdate" | "perLock" | "perMessage", number>> {
  return {
    perKey: perKey.value,
    perRow: perRow.value,
    perUpdate: perUpdate.value,
    perLock: perLock?.value ?? 0,
    perMessage: perMessage?.value ?? 0,
  };
}

/** A configuration whose software is our store: rows kept in order, rows brought up from a lower tier. */
function configurationOf(
  one: SimulatedConfiguration,
  { prices }: SoftwareFile,
  trains: boolean,
): SimulatedConfiguration {
  // Where the kernel or the machine places pages or lines, the store has one tier and moves nothing.
  const placed = (one.placement ?? (one.mode === "memory-mode" ? "lines" : "rows")) === "rows";
  if (!placed) return one;
  return {
    ...one,
    software: { ...storeSoftware(prices, trains), ...one.software },
  };
}

/**
 * The simulation with the prices of the software that it names; what it states itself stays.
 *
 * @param directory Where a relative path starts.
 * @throws {ScenarioError} if the file is missing or holds no prices.
 */
export async function withSoftware<T extends Simulation | ResolvedSimulation>(
  written: T,
  directory: string,
): Promise<T> {
  const { software, ...rest } = written as Simulation;
  if (software === undefined) return written;
  const file = await loadSoftware(software, directory).catch((error) => {
    if (!(error instanceof ScenarioError || error instanceof Deno.errors.NotFound)) throw error;
    throw new ScenarioError([{ path: ["software"], message: error.message }]);
  });
  const { prices, measured } = file;
  return {
    ...rest,
    compute: {
      ...storeCompute(prices),
      ...rest.compute,
      source: `${rest.compute.source}; our store ${measuredText(measured)}`,
    },
    ranges: { ...rangesOf(file), ...rest.ranges },
    configurations: Object.fromEntries(
      Object.entries(rest.configurations).map((
        [name, one],
      ) => [name, configurationOf(one, file, rest.workload.trains ?? true)]),
    ),
  } as T;
}
