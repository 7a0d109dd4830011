/**
 * Bytes that a fast memory needs so that a share of a step's rows is found there: HBM of a GPU, most of all.
 *
 * A tier that keeps the least recently used rows holds what the last t steps asked for (Che's approximation with batches): D(t n)
 * different rows of each table, D of its popularity law and n the lookups of a step. Of the next step it misses D((t + 1) n) -
 * D(t n). So t follows from the hit ratio, and the bytes from t. All tables share the tier.
 *
 * @module
 */

import { simulateDemand } from "../../ffi/simulate.ts";
import { loadMedia, mediaCapacity } from "../media/media.ts";
import { lawOptions } from "../simulation/native_options.ts";
import { lawOf } from "./inputs.ts";
import type { PlanFileTable, ResolvedPlanFile } from "./plan_file.ts";
import { planTables } from "./sizes.ts";

/** What a hit ratio takes. */
export interface HitSize {
  /** Share of a step's different rows that are in the tier, 0 to 1. */
  readonly hits: number;
  /** Rows in it. */
  readonly rows: number;
  /** Their bytes, weights and slots, padded; index and policy lie in DRAM. */
  readonly bytes: number;
  /** Share of the bytes of all rows. */
  readonly share: number;
  /** Devices that hold them, each with the plan's `usableShare` of it for rows; undefined: the medium's file says no capacity. */
  readonly devices: number | undefined;
  /** Rows a step that are not there. */
  readonly missed: number;
  /** Bytes a step that come up for them from below, and as many go down where rows are updated: each direction of the link. */
  readonly linkBytes: number;
  /** Bytes a second of that, each direction, at the plan's target; undefined: it has no samples a second. */
  readonly linkBytesPerSecond: number | undefined;
}

/** Halvings of the number of steps that a tier remembers: to a part in 2^50. */
const ROUNDS = 50;
/** More steps than any table is trained for, and lookups that a law is asked about at most (native/simulator/simulate_demand.c). */
const MOST_STEPS = 2 ** 60, MOST_LOOKUPS = 1e15;

/**
 * Bytes that a tier needs for each hit ratio, all tables of a plan together.
 *
 * @param hits Shares of a step's different rows, above 0 and at most 1; 1 keeps every row.
 * @param medium Media model of the tier: a name, or a path from the plan's folder. Default `"hbm3-h100"`.
 * @throws {RangeError} A ratio is none.
 */
export async function hitSizes(
  file: ResolvedPlanFile,
  hits: readonly number[],
  medium: string = "hbm3-h100",
): Promise<HitSize[]> {
  for (const ratio of hits) {
    if (ratio > 0 && ratio <= 1) continue;
    throw new RangeError(`Cannot size for a hit ratio: found ${ratio}, a number above 0 and at most 1 is needed`);
  }
  const capacity = mediaCapacity(await loadMedia(medium, file.directory));
  const samplesPerStep = file.batch * file.workers;
  const tables = await Promise.all(
    planTables(file).map(async ({ name, rows, count, rowBytes }) => {
      const { profile, lookups } = file.tables[name] as Required<PlanFileTable>;
      const law = await lawOf(rows, profile, file.directory);
      const options = { tables: "1", workers: "1", seen: "1", "table0.row_bytes": "1", ...lawOptions("table0.", law) };
      const distinct = (steps: number): number => {
        const asked = Math.min(MOST_LOOKUPS, steps * lookups * samplesPerStep);
        const [table] = asked <= 0 ? [] : simulateDemand({ ...options, "table0.lookups": String(asked) }).tables;
        return Math.min(rows, table?.distinct ?? 0);
      };
      return { rows, count, rowBytes, distinct };
    }),
  );
  const sum = (value: (table: typeof tables[number]) => number): number =>
    tables.reduce((total, table) => total + table.count * value(table), 0);
  const all = sum(({ rows, rowBytes }) => rows * rowBytes), asked = sum(({ distinct }) => distinct(1));
  const missedAfter = (steps: number) => sum(({ distinct }) => distinct(steps + 1) - distinct(steps));
  return hits.map((ratio): HitSize => {
    let [low, high] = [0, 1];
    while (high < MOST_STEPS && missedAfter(high) > (1 - ratio) * asked) [low, high] = [high, high * 2];
    for (let round = 0; round < ROUNDS && ratio < 1; round++) {
      const middle = (low + high) / 2;
      if (missedAfter(middle) > (1 - ratio) * asked) low = middle;
      else high = middle;
    }
    const held = (of: typeof tables[number]) => ratio === 1 ? of.rows : of.distinct(high);
    const missing = (of: typeof tables[number]) => ratio === 1 ? 0 : of.distinct(high + 1) - of.distinct(high);
    const bytes = sum((table) => held(table) * table.rowBytes);
    const linkBytes = sum((table) => missing(table) * table.rowBytes);
    const { samplesPerSecond } = file.target;
    return {
      hits: ratio,
      rows: sum(held),
      bytes,
      share: bytes / all,
      devices: capacity === undefined ? undefined : Math.ceil(bytes / (capacity * file.usableShare)),
      missed: sum(missing),
      linkBytes,
      linkBytesPerSecond: samplesPerSecond === undefined ? undefined : linkBytes * samplesPerSecond / samplesPerStep,
    };
  });
}
