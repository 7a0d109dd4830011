/**
 * The five-minute rule for rows at the prices of a book, in a sentence: how often a row must be read to belong in DRAM, and at which
 * price of DRAM that would turn.
 *
 * @module
 */

import { bytesText } from "../../base/bytes.ts";
import { prefixed, significant } from "../../base/numbers.ts";
import { breakEvenRowSeconds } from "./break_even.ts";
import { dateText, modulePrice, type PriceBook, type PriceItem } from "./price_book.ts";

/** Random reads a second of the drive: an assumption, of the order that data sheets of large drives state. */
export const DRIVE_READS = 1e6;
/** The module whose price stands for memory. */
const MODULE = { medium: "DDR5", sizeGB: 64 } as const;

/** Memory and the drive that the rule weighs. */
export interface RowRulePrices {
  /** Price of memory, a GB. */
  readonly memory: PriceItem;
  /** Price of the drive, a GB. */
  readonly drive: PriceItem;
  /** Price of a drive. */
  readonly drivePrice: number;
}

/** What the rule weighs in a book of one date and currency; undefined where it has no price of memory or of a drive. */
export function rowRulePrices({ instances, items }: PriceBook): RowRulePrices | undefined {
  const memory = modulePrice({ instances, items }, MODULE.medium, MODULE.sizeGB);
  const drive = items.filter(({ medium, unit, capacityGB }) =>
    medium === "NVMe" && unit === "GB" && capacityGB !== undefined
  ).at(-1);
  if (memory === undefined || drive?.capacityGB === undefined) return undefined;
  return { memory, drive, drivePrice: drive.value * drive.capacityGB };
}

/**
 * Seconds between two reads of a row at which memory and drive cost the same.
 *
 * @param rowBytes Bytes of the row in memory.
 * @param ratio Price of memory in multiples of the book's.
 */
export function rowRuleSeconds({ memory, drivePrice }: RowRulePrices, rowBytes: number, ratio: number = 1): number {
  return breakEvenRowSeconds({
    rowBytes,
    memoryPricePerGB: memory.value * ratio,
    devicePrice: drivePrice,
    accessesPerSecond: DRIVE_READS,
  });
}

/** Times that people think in, rising. */
const TIMES = [
  [1, "second"],
  [10, "10 seconds"],
  [60, "minute"],
  [600, "10 minutes"],
  [3600, "hour"],
  [10 * 3600, "10 hours"],
  [86_400, "day"],
  [7 * 86_400, "week"],
  [30 * 86_400, "30 days"],
] as const;
const UNITS = [[86_400, "days"], [3600, "hours"], [60, "minutes"]] as const;

function timeText(seconds: number): string {
  const [unit = 1, name = "seconds"] = UNITS.find(([unit]) => seconds >= 2 * unit) ?? [];
  return `${significant(seconds / unit)} ${name}`;
}

/**
 * The rule in a sentence, without its full stop. The price at which it turns is that of a row which is read at the next of the round
 * intervals (a minute, an hour, a day, …) above the one of the rule, and is now cheaper on the drive.
 *
 * @param sign Of the book's currency.
 */
export function rowRuleText(prices: RowRulePrices, rowBytes: number, sign: string): string {
  const { memory, drive, drivePrice } = prices, seconds = rowRuleSeconds(prices, rowBytes);
  const [interval, name] = TIMES.find(([time]) => time > seconds) ?? TIMES[TIMES.length - 1] as (typeof TIMES)[number];
  return `A row of ${bytesText(rowBytes)} that is read more often than every ${timeText(seconds)} belongs in DRAM ` +
    `(${significant(memory.value)} ${sign}/GB, ${dateText(memory)}), another on an NVMe drive ` +
    `(${significant(drivePrice)} ${sign}, ${dateText(drive)}; ${prefixed(DRIVE_READS)} reads/s assumed); one that is ` +
    `read once ${/^\d/.test(name) ? "in" : /^h/.test(name) ? "an" : "a"} ${name} belongs there below ${
      significant(memory.value * seconds / interval)
    } ${sign}/GB of DRAM`;
}
