/**
 * What the kernel adds to steps: first touches of pages, and pages that NUMA balancing moves.
 *
 * @module
 */

import type { StepDemand } from "../../ffi/simulate.ts";
import { placeBytes, type StepExtras, tablesOf } from "./native_options.ts";
import { between, SEEN } from "./seen.ts";
import type { ResolvedSimulatedConfiguration, ResolvedSimulation } from "./simulation.ts";

/**
 * What the kernel adds to a step that takes so long. Faults: pages of the last tier that no step before has touched.
 * Migration: of the pages that NUMA balancing scans, those below that are touched again soon enough move up, and as many
 * move down.
 */
export function kernelExtras(
  simulation: ResolvedSimulation,
  { pages, migration, tiers, placement }: ResolvedSimulatedConfiguration,
  demand: StepDemand,
  stepSeconds: number,
): Omit<StepExtras, "flushedRows"> {
  let [faults, below, touched] = [0, 0, 0];
  for (const [i, table] of tablesOf(simulation).entries()) {
    const one = demand.tables[i];
    if (one === undefined) continue;
    const onPage = Math.max(1, Math.floor(pages.bytes / placeBytes(table, tiers.at(-1)?.round ?? 1)));
    const last = one.inTier.at(-1) ?? 0;
    const fresh = between(SEEN, one.seen, pages.trained + 1) - between(SEEN, one.seen, pages.trained);
    // A page is new if none of its rows was touched before.
    const untouched = 1 - Math.min(1, between(SEEN, one.seen, pages.trained) / table.rows);
    faults += pages.fault > 0 ? fresh * untouched ** (onPage - 1) : 0;
    if (placement !== "pages" || migration === undefined) continue;
    const pagesBelow = table.rows / onPage;
    const steps = migration.within / stepSeconds;
    below += pagesBelow;
    touched += Math.min(pagesBelow, last * steps);
  }
  // Each machine that holds rows scans its own memory.
  const machines = Math.max(1, simulation.cluster.servers);
  const scanned = migration === undefined ? 0 : migration.scan * machines / pages.bytes * stepSeconds;
  const promoted = below === 0 ? 0 : scanned * touched / below;
  return { faults, migrations: 2 * promoted };
}
