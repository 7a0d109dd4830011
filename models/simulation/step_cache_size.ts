/**
 * The smallest first tier with which a step of a simulation is short enough.
 *
 * @module
 */

import { bandOf } from "./band.ts";
import { type SimulatedCase, simulatedCases } from "./cases.ts";
import { denseSeconds } from "./dense_time.ts";
import { rowBytes } from "./native_options.ts";
import { demandCache, simulateCase } from "./simulate_case.ts";
import type { ResolvedSimulatedConfiguration, ResolvedSimulation } from "./simulation.ts";

/** What a step is asked to take. */
export interface StepCacheOptions {
  /** Seconds of a step at most, on average. */
  readonly seconds: number;
  /** The configurations whose first tier is sized. Default: all that have a tier below it. */
  readonly configurations?: readonly string[];
  /** Threads that sample Memory Mode. Default 1. */
  readonly threads?: number;
}

/** The first tier of one configuration. */
export interface StepCacheSize {
  /** Name of the configuration. */
  readonly configuration: string;
  /** Bytes of one machine's first tier; undefined where none makes the step short enough. */
  readonly bytes: number | undefined;
  /** Seconds of a step there; without a size, with all rows in the first tier. */
  readonly stepSeconds: number;
  /** The same with one GiB more; absent without a size. */
  readonly stepSecondsOneGiBMore?: number;
  /**
   * Bytes with which even the slow end of the step's 90 % band is short enough, undefined where none are; absent where there is no
   * band, and `why` says so.
   */
  readonly cautiousBytes?: number | undefined;
  /** Why there is no band. */
  readonly why?: string;
  /** Bytes of all rows of one machine. */
  readonly all: number;
}

const GIB = 2 ** 30;
/** The smallest tier that is looked at, and to which part of its bytes a size is found. */
const LEAST = 2 ** 20, FINE = 256;

/** The case with a first tier of so many bytes. */
function withFirst(one: SimulatedCase, bytes: number): SimulatedCase {
  const [first, ...below] = one.set.tiers;
  if (first === undefined) return one;
  const set: ResolvedSimulatedConfiguration = { ...one.set, tiers: [{ ...first, size: bytes }, ...below] };
  return { ...one, set };
}

/** The smallest size that suits, to one part in 256; undefined if `most` does not. */
async function smallest(most: number, suits: (bytes: number) => Promise<boolean>): Promise<number | undefined> {
  if (!await suits(most)) return undefined;
  let low = 0, high = most;
  while (high - low > Math.max(LEAST, high / FINE)) {
    const middle = low < LEAST ? Math.max(LEAST, Math.sqrt(LEAST * high)) : Math.sqrt(low * high);
    if (middle >= high || middle <= low) break;
    if (await suits(Math.round(middle))) high = Math.round(middle);
    else low = Math.round(middle);
  }
  return high;
}

async function sizeOf(one: SimulatedCase, wanted: number, threads: number): Promise<StepCacheSize> {
  const { simulation, set, configuration } = one, round = set.tiers[0]?.round ?? 1;
  const all = Math.ceil(
    simulation.workload.tables.reduce(
      (sum, table) => sum + table.rows * table.count * Math.ceil(rowBytes(table) / round) * round,
      0,
    ) / Math.max(1, simulation.cluster.servers),
  );
  const dense = await denseSeconds(simulation), known = demandCache();
  const outcomes = new Map<number, Awaited<ReturnType<typeof simulateCase>>>();
  const outcomeOf = async (bytes: number) => {
    const found = outcomes.get(bytes) ??
      await simulateCase(simulation, withFirst(one, bytes).set, dense, threads, known);
    outcomes.set(bytes, found);
    return found;
  };
  const secondsOf = async (bytes: number): Promise<number> => (await outcomeOf(bytes)).stepSeconds;
  const bytes = await smallest(all, async (size) => await secondsOf(size) <= wanted);
  const told = { configuration, bytes, stepSeconds: await secondsOf(bytes ?? all), all };
  if (bytes === undefined) return told;
  const more = { ...told, stepSecondsOneGiBMore: await secondsOf(Math.min(all, bytes + GIB)) };
  const band = await bandOf(withFirst(one, bytes), await outcomeOf(bytes), dense);
  if ("why" in band) return { ...more, why: band.why };
  const cautious = await smallest(all, async (size) => {
    const there = await bandOf(withFirst(one, size), await outcomeOf(size), dense);
    // A tier that is not asked for anything any more has no band of its own, and none is needed for it.
    return await secondsOf(size) / ("why" in there ? 1 : there.low) <= wanted;
  });
  return { ...more, cautiousBytes: cautious };
}

/**
 * The smallest first tier of each configuration with which a step takes at most so long, to one part in 256: each size is run in
 * virtual time.
 *
 * @param simulation Its first case of each configuration is taken.
 * @throws {RangeError} If the time is not positive, or a configuration is unknown or has no tier below its first.
 */
export async function stepCacheSizes(
  simulation: ResolvedSimulation,
  { seconds, configurations, threads = 1 }: StepCacheOptions,
): Promise<StepCacheSize[]> {
  if (!(seconds > 0 && Number.isFinite(seconds))) {
    throw new RangeError(`Cannot size a cache for a step of ${seconds} s: expected a positive time`);
  }
  const first = new Map<string, SimulatedCase>();
  for (const one of await simulatedCases(simulation)) {
    if (!first.has(one.configuration)) first.set(one.configuration, one);
  }
  const sized = [...first.values()].filter(({ set }) => set.tiers.length > 1 && set.weights === undefined);
  const names = sized.map(({ configuration }) => configuration);
  const unknown = configurations?.find((name) => !names.includes(name));
  if (unknown !== undefined || names.length === 0) {
    throw new RangeError(
      `Cannot size the first tier${unknown === undefined ? "" : ` of "${unknown}"`}: ${
        names.length === 0 ? "no configuration has a tier below its first" : `expected some of ${names.join(", ")}`
      }`,
    );
  }
  const sizes: StepCacheSize[] = [];
  for (const one of sized) {
    if (configurations?.includes(one.configuration) ?? true) sizes.push(await sizeOf(one, seconds, threads));
  }
  return sizes;
}
