/**
 * The ways to place one table on the tiers of a machine, with the bytes and the time of each.
 *
 * The time of an access follows the store: a row that the step touches is read, and written when its gradient comes. A
 * cached row that is below the first tier is read there and written to the first; in exchange a victim moves down tier by
 * tier to where the row came from. A table that is in place is read and written where its rows are.
 *
 * @module
 */

import type { PlacedKind, PlanMachine, PlanOverhead, PlanTable } from "./plan_types.ts";

/** One way to place a table: of one host. */
export interface Option {
  readonly kind: PlacedKind;
  /** Rows of the table that are in the first k + 1 tiers; the last is all rows. */
  readonly upTo: readonly number[];
  /** Bytes by tier. */
  readonly bytes: readonly number[];
  /** Share of the accesses that each tier answers. */
  readonly answered: readonly number[];
  /** Seconds of an access that each tier answers. */
  readonly costs: readonly number[];
  /** Seconds of a step. */
  readonly seconds: number;
}

/** Seconds of an access to a cached row that tier k answers. */
function cachedSeconds({ tiers }: PlanMachine, rowBytes: number, k: number): number {
  const [first, from] = [tiers[0], tiers[k]];
  if (first === undefined || from === undefined) {
    throw new RangeError(`Cannot price tier ${k}: there are ${tiers.length}`);
  }
  let seconds = from.readSeconds(rowBytes) + first.writeSeconds(rowBytes);
  if (k === 0) return seconds;
  seconds += first.writeSeconds(rowBytes);
  for (let j = 0; j < k; j++) {
    seconds += (tiers[j]?.readSeconds(rowBytes) ?? 0) + (tiers[j + 1]?.writeSeconds(rowBytes) ?? 0);
  }
  return seconds;
}

/** Seconds of an access to a row that stays in tier k. */
export function inPlaceSeconds({ tiers }: PlanMachine, rowBytes: number, k: number): number {
  const tier = tiers[k];
  if (tier === undefined) throw new RangeError(`Cannot price tier ${k}: there are ${tiers.length}`);
  return tier.readSeconds(rowBytes) + tier.writeSeconds(rowBytes);
}

/**
 * An option by the rows of the table that are in the first tier, in the first two, …
 *
 * @param upTo Rows of the whole table, never falling; the last is all of them.
 * @param hosts Machines that share the table row by row.
 */
export function optionAt(
  table: PlanTable,
  machine: PlanMachine,
  overhead: PlanOverhead,
  hosts: number,
  kind: Option["kind"],
  upTo: readonly number[],
): Option {
  const misses = upTo.map((rows, k) => k === upTo.length - 1 ? 0 : table.missRatio(rows));
  const answered = misses.map((miss, k) => (k === 0 ? 1 : misses[k - 1] ?? 1) - miss);
  const costs = machine.tiers.map((_, k) =>
    kind === "in place" ? inPlaceSeconds(machine, table.rowBytes, k) : cachedSeconds(machine, table.rowBytes, k)
  );
  const accesses = table.distinctPerStep / hosts;
  const seconds = answered.reduce((sum, share, k) => sum + share * (costs[k] ?? 0), 0) * accesses;
  const bytes = machine.tiers.map(() => 0);
  machine.tiers.forEach((tier, k) => {
    const rows = ((upTo[k] ?? 0) - (k === 0 ? 0 : upTo[k - 1] ?? 0)) / hosts;
    const { round = 1 } = tier;
    bytes[k] = (bytes[k] ?? 0) + rows * Math.ceil(table.rowBytes / round) * round;
    // A table that never moves needs no policy, but its index all the same; the difference is not worth two numbers.
    bytes[0] = (bytes[0] ?? 0) + rows * (tier.records ? overhead.recordRow : overhead.memoryRow);
  });
  return { kind, upTo, bytes, answered, costs, seconds };
}

/** Shares of a table that are tried for each boundary: close together where curves are steep. */
function shares(points: number): number[] {
  const all: number[] = [];
  for (let i = 1; i < points; i++) all.push(10 ** (-5 * (1 - i / points)));
  return all;
}

/**
 * Every option of a table on a grid: whole in each tier, and cached with boundaries at `points` shares of its rows,
 * spread evenly by logarithm between 1e-5 and 1.
 */
export function optionsOf(
  table: PlanTable,
  machine: PlanMachine,
  overhead: PlanOverhead,
  hosts: number,
  points: number,
): Option[] {
  const tiers = machine.tiers.length;
  const make = (kind: Option["kind"], upTo: readonly number[]): Option =>
    optionAt(table, machine, overhead, hosts, kind, upTo);
  const whole = machine.tiers.map((_, k) => make("in place", machine.tiers.map((_, j) => j >= k ? table.rows : 0)));
  if (tiers === 1) return whole;
  const grid = shares(points).map((share) => share * table.rows);
  const boundaries = (depth: number, from: number): number[][] =>
    depth === 0
      ? [[]]
      : [...grid.filter((rows) => rows >= from), table.rows].flatMap((rows) =>
        boundaries(depth - 1, rows).map((rest) => [rows, ...rest])
      );
  const cached = boundaries(tiers - 1, 0)
    .filter(([first]) => first !== table.rows)
    .map((upTo) => make("cached", [...upTo, table.rows]));
  return [...whole, ...cached];
}
