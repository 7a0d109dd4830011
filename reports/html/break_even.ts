/**
 * The break-even map of a page: which tier a row belongs to, by its heat and the price of memory.
 *
 * @module
 */

import { breakEvenMap, PRICE_RATIOS } from "../summary/break_even_map.ts";
import { DRIVE_READS } from "../../models/costs/row_rule.ts";
import { bytesText } from "../../base/bytes.ts";
import { prefixed, significant } from "../../base/numbers.ts";
import type { Summary } from "../summary/summary_types.ts";
import { dateText, MARK_WORDS } from "../../models/costs/price_book.ts";
import type { Markup } from "../text/markup.ts";
import { figure, more, table } from "./parts.ts";

/** The figure; undefined where the book lacks a price. */
export function breakEven({ cases, pricing }: Summary): Markup | undefined {
  const map = pricing === undefined ? undefined : breakEvenMap(cases, pricing);
  if (map === undefined) return undefined;
  const { memory, drive, drivePrice, lines } = map;
  return more(
    "DRAM or drive, by the heat of a row",
    figure(
      "break-even",
      {
        title: "DRAM or drive, by the heat of a row",
        text:
          "Rows looked up more often than the line (below it) are cheaper in DRAM, the others on an NVMe drive: the five-minute " +
          `rule for rows. DRAM: ${significant(memory.value)} ${pricing?.sign}/GB (${memory.item}, ${
            dateText(memory)
          }, ${MARK_WORDS[memory.mark]}). Drive: ${significant(drivePrice)} ${pricing?.sign} (${drive.item}, ${
            dateText(drive)
          }, ${MARK_WORDS[drive.mark]}), ${prefixed(DRIVE_READS)} rows/s, an assumption.`,
        unit: "seconds, multiples of the price of DRAM",
        kinds: "Computed from prices; only the bytes of a row are the run's",
      },
      table(
        "Seconds between two lookups at which DRAM and drive cost the same",
        [{ title: "price of DRAM" }, ...lines.map(({ rowBytes }) => ({ title: `rows of ${bytesText(rowBytes)}` }))],
        PRICE_RATIOS.map((ratio, i) => [
          `× ${ratio}`,
          ...lines.map(({ seconds }) => significant(seconds[i] as number)),
        ]),
      ),
    ),
  );
}
