/**
 * Whether the rows of a simulation fit where its configurations put them: bytes of one machine, index and policy included,
 * against what its media hold.
 *
 * Rows are in one tier at a time, as in the store; behind Memory Mode's cache all of them are in the memory that it caches.
 * The index and what the policy keeps of each row lie in the first tier's memory, beside the `size` that rows have of it; in
 * Memory Mode behind the cache, too.
 *
 * @module
 */

import { bytesText } from "../../base/bytes.ts";
import { type Problem, ScenarioError } from "../../base/diagnostics.ts";
import { loadMedia, type Media, mediaCapacity } from "../media/media.ts";
import { OVERHEAD } from "../workloads/row_bytes.ts";
import { simulatedCases } from "./cases.ts";
import { rowBytes } from "./native_options.ts";
import {
  pageShares,
  type ResolvedSimulatedConfiguration,
  type ResolvedSimulation,
  type ResolvedTier,
} from "./simulation.ts";

/** DRAM of a socket at most: twelve channels with two modules of 256 GB each (EPYC 9004, DDR5). */
const MOST_DRAM = 12 * 2 * 256e9;

/**
 * Bytes that a tier's medium holds; undefined where nothing says so. The files of DRAM say the modules that were measured;
 * others fit the same channels, so that a larger `size` of such a tier is taken for what it has, up to what a socket takes.
 */
export function capacityOf(
  medium: Media,
  { size, devices }: Pick<ResolvedTier, "size" | "devices">,
): number | undefined {
  const capacity = mediaCapacity(medium, devices);
  if (capacity === undefined) {
    return medium.kind === "dram" && size > MOST_DRAM * devices ? MOST_DRAM * devices : undefined;
  }
  return medium.kind !== "dram" || size <= capacity ? capacity : Math.min(size, MOST_DRAM * devices);
}

/** What a tier of one machine must hold. */
export interface TierNeed {
  /** Number of the tier. */
  readonly tier: number;
  /** Bytes that it must hold. */
  readonly needs: number;
  /** Of these, index and policy. */
  readonly beside: number;
}

/**
 * What one machine's tiers must hold.
 *
 * @param kinds Kinds of the tiers' media.
 */
export function tierNeeds(
  { workload, cluster }: Pick<ResolvedSimulation, "workload" | "cluster">,
  { tiers, placement, weights }: ResolvedSimulatedConfiguration,
  kinds: readonly Media["kind"][],
): TierNeed[] {
  const machines = Math.max(1, cluster.servers);
  const total = (bytes: (rows: number, row: number) => number) =>
    workload.tables.reduce((sum, table) => sum + bytes(table.rows * table.count, rowBytes(table)), 0) / machines;
  const rowsIn = ({ round }: ResolvedTier) => total((rows, row) => rows * Math.ceil(row / round) * round);
  const everything = tiers.map(rowsIn);
  const shares = weights === undefined ? undefined : pageShares({ weights });
  let left = 1; // share of the rows that the tiers above do not hold
  const held = tiers.map(({ size }, k) => {
    const all = everything[k] ?? 0;
    if (shares !== undefined) return all * (shares[k] ?? 0);
    if (placement === "lines") return k === 0 ? Math.min(size, all) : all;
    const last = k === tiers.length - 1;
    const bytes = last || all === 0 ? all * left : Math.min(size, all * left);
    left -= all === 0 ? 0 : bytes / all;
    return bytes;
  });
  const records = kinds.at(-1) === "ssd" && tiers.length > 1;
  const beside = total((rows) => rows * (records ? OVERHEAD.recordRow : OVERHEAD.memoryRow));
  const home = placement === "lines" ? 1 : 0;
  return tiers.map((_, tier) => ({
    tier,
    needs: (held[tier] ?? 0) + (tier === home ? beside : 0),
    beside: tier === home ? beside : 0,
  }));
}

/** What is wrong with a configuration's capacity; empty if all rows fit. */
export async function capacityProblems(
  simulation: ResolvedSimulation,
  name: string,
  set: ResolvedSimulatedConfiguration,
): Promise<Problem[]> {
  const media = await Promise.all(set.tiers.map((tier) => loadMedia(tier.media)));
  const machines = Math.max(1, simulation.cluster.servers);
  const needs = tierNeeds(simulation, set, media.map(({ kind }) => kind));
  const rest = needs.at(-1);
  return set.tiers.flatMap((tier, k): Problem[] => {
    const [medium, need] = [media[k], needs[k]];
    if (medium === undefined || need === undefined) return [];
    const path = ["configurations", name, "tiers", k];
    const capacity = capacityOf(medium, tier);
    const last = (need === rest || set.weights !== undefined) && tier.size > 0;
    const what = `a machine's part of the rows${
      need.beside > 0 ? `, with ${bytesText(need.beside)} of index and policy,` : ""
    } needs ${bytesText(need.needs)} of "${medium.name}"`;
    if (capacity === undefined && tier.size === 0) {
      const message = `expected a field "size": nothing says how much "${medium.name}" holds; ${what}`;
      return [{ path, message }];
    }
    if (capacity !== undefined && tier.size > capacity) {
      const message = `expected a size of at most ${bytesText(capacity)}, which ${
        tier.devices === 1 ? "one holds" : `${tier.devices} devices hold`
      } of "${medium.name}", found ${bytesText(tier.size)}`;
      const hint = `${Math.ceil(tier.size / (capacity / tier.devices))} devices would hold it ("devices")`;
      return [{ path: [...path, "size"], message, hint }];
    }
    // The size of a tier is what rows have of it; the last one's holds all that is left.
    const rows = need.needs - need.beside;
    const over = last && rows > tier.size ? tier.size : undefined;
    const has = over ?? capacity ?? Infinity;
    const needed = over === undefined ? need.needs : rows;
    if (needed <= has) return [];
    const devices = over === undefined ? Math.ceil(needed / (has / tier.devices)) : undefined;
    const hosts = Math.ceil(machines * needed / has);
    const enough = [
      ...(devices === undefined ? [`a size of ${bytesText(needed)}`] : [`${devices} devices`]),
      ...(simulation.cluster.servers === 0 ? [] : [`${hosts} servers`]),
    ];
    return [{ path, message: `${what}, and has ${bytesText(has)}`, hint: `${enough.join(" or ")} would be enough` }];
  });
}

/**
 * Refuses a simulation any of whose cases does not fit.
 *
 * @throws {ScenarioError} naming the configurations, the bytes a machine needs, and how many devices or servers would do.
 */
export async function refuseOverfull(simulation: ResolvedSimulation): Promise<void> {
  const found = new Map<string, Problem>();
  for (const { simulation: at, configuration, set, point } of await simulatedCases(simulation)) {
    for (const problem of await capacityProblems(at, configuration, set)) {
      const where = Object.entries(point).map(([field, value]) => `${field}=${value}`).join(" ");
      const message = where === "" ? problem.message : `at ${where}: ${problem.message}`;
      found.set(`${problem.path.join(".")}: ${message}`, { ...problem, message });
    }
  }
  if (found.size > 0) throw new ScenarioError([...found.values()]);
}
