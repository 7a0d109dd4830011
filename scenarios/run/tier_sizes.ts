/**
 * Bytes of tiers: the fairness rule (every configuration with a tier below DRAM gets the same DRAM, a quarter of the tables at
 * most) and the sizes that a scenario leaves open.
 *
 * @module
 */

import { formatBytes } from "../../base/bytes.ts";
import { ScenarioError } from "../../base/diagnostics.ts";
import { hasDramTier, ssdTierOf, tiersOf } from "../../ffi/storage.ts";
import type { ResolvedConfiguration, ResolvedScenario } from "../scenario.ts";

/** DRAM budgets are multiples of this, bytes. */
const DRAM_STEP = 65_536;
/** Smaller DRAM budgets have no room for rows beside the index, the metadata and the buffers of all tables, bytes. */
const LEAST_DRAM = 2 * 2 ** 20;
/** The same over a tier on a disk, whose index and buffers it also holds: the library refuses less. */
const LEAST_DRAM_OVER_SSD = 4 * 2 ** 20;
/** Room beside the rows: a quarter for half-empty arenas, index and buffers, and 64 MiB for fixed parts. */
const MARGIN = { factor: 1.25, fixed: 64 * 2 ** 20 };

/** Whether a configuration has a DRAM budget in front of slower tiers. */
function hasDramBudget({ storage, memory }: ResolvedConfiguration): boolean {
  return hasDramTier(storage) || memory === "memory-mode";
}

/**
 * The bytes of DRAM that every configuration with a tier below DRAM gets.
 *
 * @param scenario A scenario at a point of its matrix.
 * @param tables Bytes of the tables' rows.
 * @throws {ScenarioError} if the scenario asks for more than a quarter of the tables.
 */
export function dramBudget(scenario: ResolvedScenario, tables: number): number {
  const quarter = Math.floor(tables / 4);
  if (scenario.dram === "auto") return Math.max(DRAM_STEP, Math.floor(quarter / DRAM_STEP) * DRAM_STEP);
  const budgeted = Object.values(scenario.configurations).some(hasDramBudget);
  if (!budgeted || scenario.dram <= quarter) return scenario.dram;
  throw new ScenarioError([{
    path: ["dram"],
    message: `expected at most ${formatBytes(quarter)}, a quarter of the tables' ${formatBytes(tables)}, found ` +
      formatBytes(scenario.dram),
    hint: 'with more, DRAM would do the work of what is below it: write "auto"' +
      ("criteo" in scenario.workload.data ? "" : ", or raise workload.data.scale"),
  }]);
}

/**
 * Whether the sizes of a configuration can count rows only, whatever it says: its automatic DRAM budget is so small,
 * since the tables are, that what counts besides would take all of it.
 */
export function mustCountRowsOnly(
  configuration: ResolvedConfiguration,
  scenario: Pick<ResolvedScenario, "dram">,
  dram: number,
): boolean {
  const indexed = ssdTierOf(configuration.storage) !== undefined || configuration.checkpoint === "in-place";
  const least = indexed ? LEAST_DRAM_OVER_SSD : LEAST_DRAM;
  return hasDramTier(configuration.storage) && configuration.size === undefined &&
    configuration.sizeCounts === "all" && scenario.dram === "auto" && dram < least;
}

/**
 * Room on a disk beside the rows: what compaction has not cleared away yet, what describes each record, and 1 GiB for the
 * files that every table has begun. It is a limit, not a size: nothing is reserved.
 */
const SSD_MARGIN = { factor: 2.5, fixed: 2 ** 30 };

/** Bytes that surely hold rows of this many bytes with everything around them. */
export function roomFor(tables: number, on: "memory" | "disk" = "memory"): number {
  const { factor, fixed } = on === "memory" ? MARGIN : SSD_MARGIN;
  return Math.ceil((tables * factor + fixed) / DRAM_STEP) * DRAM_STEP;
}

/** Default of the native library for tiers without a size: 1 GiB. */
const DEFAULT_TIER = 2 ** 30;

/** Of the tables' rows, what HBM above other tiers holds where a scenario does not say: half of what DRAM does. */
const HBM_SHARE = 1 / 8;

/** Bytes of each tier of a configuration, fastest first. */
export function tierSizes(configuration: ResolvedConfiguration, dram: number, tables: number): number[] {
  const { storage, size } = configuration;
  const tiers = tiersOf(storage);
  if (size !== undefined) return tiers.map((_, i) => size[i] ?? DEFAULT_TIER);
  // Restore points hold what they need of rows that were replaced, at most all rows of the last and of the one before it.
  const versions = configuration.checkpoint === "in-place" ? 3 : 1;
  const last = roomFor(versions * tables, ssdTierOf(storage) === undefined ? "memory" : "disk");
  const part = (share: number) => Math.max(DRAM_STEP, Math.floor(tables * share / DRAM_STEP) * DRAM_STEP);
  const above = { HBM: part(HBM_SHARE), DRAM: dram, PMEM: part(1 / 2), SSDHASH: 0, LEVELDB: 0 };
  return tiers.map((tier, i) => i < tiers.length - 1 ? above[tier] : last);
}

/** Bytes of each tier of one of several ranks that hold an equal share of the rows each, fastest first. */
export function rankTierSizes(
  configuration: ResolvedConfiguration,
  { dram, tables, holders }: { readonly dram: number; readonly tables: number; readonly holders: number },
): number[] {
  if (holders === 1) return tierSizes(configuration, dram, tables);
  const { size, ...others } = configuration;
  const own = size === undefined ? others : { ...others, size: size.map((bytes) => Math.floor(bytes / holders)) };
  return tierSizes(own, Math.floor(dram / holders), tables / holders);
}
