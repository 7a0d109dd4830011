/**
 * Which tier a row belongs to by its heat and the price of memory: the row rule over a range of prices.
 *
 * @module
 */

import type { CaseSummary, Pricing } from "./summary_types.ts";
import { breakEvenRowSeconds } from "../../models/costs/break_even.ts";
import { modulePrice, type PriceItem } from "../../models/costs/price_book.ts";

/** Random reads a second of the drive: an assumption, of the order that data sheets of large drives state. */
export const DRIVE_READS = 1e6;
/** The module whose price stands for memory. */
const MODULE = { medium: "DDR5", sizeGB: 64 } as const;
/** Multiples of today's price of memory. */
export const PRICE_RATIOS: readonly number[] = [0.25, 0.35, 0.5, 0.7, 1, 1.4, 2, 2.8, 4];
/** Row sizes beside the run's, bytes. */
const OTHER_ROWS: readonly number[] = [512, 4096];

/** The map. */
export interface BreakEvenMap {
  /** Price of memory, $/GB. */
  readonly memory: PriceItem;
  /** Price of the drive, $/GB. */
  readonly drive: PriceItem;
  /** $ of a drive. */
  readonly drivePrice: number;
  /** Per row size: seconds between two lookups at which memory and drive cost the same, for each of the ratios. */
  readonly lines: readonly { readonly rowBytes: number; readonly seconds: readonly number[] }[];
}

/** The map at the prices of a report; undefined where the book has no price of a drive or of memory by its date. */
export function breakEvenMap(cases: readonly CaseSummary[], { instances, items }: Pricing): BreakEvenMap | undefined {
  const memory = modulePrice({ instances, items }, MODULE.medium, MODULE.sizeGB);
  const drive = items.filter(({ medium, unit, capacityGB }) =>
    medium === "NVMe" && unit === "GB" && capacityGB !== undefined
  ).at(-1);
  const own = ownRowBytes(cases);
  if (memory === undefined || drive?.capacityGB === undefined || own === undefined) return undefined;
  const drivePrice = drive.value * drive.capacityGB;
  const sizes = [...new Set([own, ...OTHER_ROWS])].sort((a, b) => a - b);
  return {
    memory,
    drive,
    drivePrice,
    lines: sizes.map((rowBytes) => ({
      rowBytes,
      seconds: PRICE_RATIOS.map((ratio) =>
        breakEvenRowSeconds({
          rowBytes,
          memoryPricePerGB: memory.value * ratio,
          devicePrice: drivePrice,
          accessesPerSecond: DRIVE_READS,
        })
      ),
    })),
  };
}

/** Bytes of a row as the run held it, optimizer slots and padding included. */
function ownRowBytes(cases: readonly CaseSummary[]): number | undefined {
  for (const { tiers } of cases) {
    const rows = tiers.reduce((sum, tier) => sum + tier.rows, 0);
    const bytes = tiers.reduce((sum, { purposes }) => sum + (purposes["rows"] ?? 0), 0);
    if (rows > 0 && bytes > 0) return Math.round(bytes / rows);
  }
  return undefined;
}
