/**
 * What the kernel's tiering leaves below, by the simulator's own rule (`ts_simulate_demand` with pages).
 *
 * @module
 */

import type { PopularityLaw, ZipfLaw } from "../../ffi/curve.ts";
import { simulateDemand } from "../../ffi/simulate.ts";
import { lawOptions } from "../simulation/native_options.ts";

/** Bytes of a page that the kernel moves. */
const PAGE = 4096;

/**
 * Share of a step's different rows that are not on the pages which the first tier holds, by its share of all pages; the
 * hottest are there. Each share is worked out once.
 *
 * @param of Bytes of a row, lookups of one worker's batch, and workers.
 */
export function pageMisses(
  law: PopularityLaw | ZipfLaw,
  { rows, rowBytes, lookups, workers }: {
    readonly rows: number;
    readonly rowBytes: number;
    readonly lookups: number;
    readonly workers: number;
  },
): (share: number) => number {
  const known = new Map<number, number>();
  const table = lawOptions("table0.", law);
  return (share) => {
    const before = known.get(share);
    if (before !== undefined) return before;
    const { tables: [one] } = simulateDemand({
      ...table,
      tables: "1",
      workers: String(workers),
      capacity: String(share * rows * rowBytes),
      page_bytes: String(PAGE),
      "table0.lookups": String(lookups),
      "table0.row_bytes": String(rowBytes),
    });
    const missed = one === undefined || one.all === 0 ? 0 : (one.inTier[1] ?? 0) / one.all;
    known.set(share, missed);
    return missed;
  };
}
