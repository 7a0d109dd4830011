/**
 * Rows that the kernel places, on machines with DRAM and CXL memory: pages dealt out by weights, or hot pages promoted and cold
 * ones demoted. Both are settings of the whole machine, so that all tables are placed alike, index and policy with them: the
 * program sees one memory.
 *
 * @module
 */

import { inPlaceSeconds, type Option } from "./options.ts";
import type { PlanMachine, PlanOverhead, PlanTable } from "./plan_types.ts";

/** Parts that pages are dealt out in. Linux takes weights of 1 to 255 a node; finer ones change a step by less than its band. */
const PARTS = 20;

/** The weights of pages that are dealt out in such shares, as small as they can be: `[9, 11]`. */
export function weightsOf(shares: readonly number[]): number[] {
  const parts = shares.map((share) => Math.round(share * PARTS));
  const divisor = parts.reduce((a, b) => {
    while (b > 0) [a, b] = [b, a % b];
    return a;
  }, 0);
  return parts.map((part) => part / Math.max(1, divisor));
}

/** Bytes of one host that all tables take in memory. */
function bytesOnHost(tables: readonly PlanTable[], { memoryRow }: PlanOverhead, hosts: number): number {
  return tables.reduce((sum, { rows, rowBytes }) => sum + rows * (rowBytes + memoryRow), 0) / hosts;
}

/** Whether the kernel can place rows on it: DRAM and one other kind of memory, and nothing else. */
export function hasPages({ tiers }: PlanMachine): boolean {
  return tiers.length === 2 && tiers.every(({ pages, records }) => pages === true && !records);
}

function optionOf(
  kind: Option["kind"],
  table: PlanTable,
  machine: PlanMachine,
  { memoryRow }: PlanOverhead,
  hosts: number,
  share: number,
  missed: number,
): Option {
  const answered = [1 - missed, missed];
  const costs = answered.map((_, k) => inPlaceSeconds(machine, table.rowBytes, k));
  const bytes = table.rows * (table.rowBytes + memoryRow) / hosts;
  return {
    kind,
    upTo: [share * table.rows, table.rows],
    bytes: [bytes * share, bytes * (1 - share)],
    answered,
    costs,
    seconds: answered.reduce((sum, part, k) => sum + part * (costs[k] ?? 0), 0) * table.distinctPerStep / hosts,
  };
}

/** Every way to deal the pages of all tables out that fits, the least DRAM first; empty where the kernel can place none. */
export function interleaved(
  tables: readonly PlanTable[],
  machine: PlanMachine,
  overhead: PlanOverhead,
  hosts: number,
): Option[][] {
  if (!hasPages(machine)) return [];
  const all = bytesOnHost(tables, overhead, hosts);
  const [first = 0, second = 0] = machine.tiers.map(({ bytes }) => bytes);
  return Array.from({ length: PARTS - 1 }, (_, i) => (i + 1) / PARTS)
    .filter((share) => all * share <= first && all * (1 - share) <= second)
    .map((share) => tables.map((table) => optionOf("interleaved", table, machine, overhead, hosts, share, 1 - share)));
}

/** All tables with their hottest pages in the first tier, as many as it holds; undefined where that is not to be planned. */
export function kernelTiered(
  tables: readonly PlanTable[],
  machine: PlanMachine,
  overhead: PlanOverhead,
  hosts: number,
): Option[] | undefined {
  const all = bytesOnHost(tables, overhead, hosts);
  const [first = 0, second = 0] = machine.tiers.map(({ bytes }) => bytes);
  // What DRAM holds alone has nothing that could be moved.
  if (!hasPages(machine) || all <= first || all > first + second) return undefined;
  const share = first / all;
  const found = tables.flatMap((table) => {
    const missed = table.pageMissRatio?.(share);
    return missed === undefined ? [] : [optionOf("kernel tiering", table, machine, overhead, hosts, share, missed)];
  });
  return found.length === tables.length ? found : undefined;
}
