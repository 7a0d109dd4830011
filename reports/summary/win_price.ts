/**
 * What memory without a price may cost at most: where a case on it would cost as much as its baseline.
 *
 * @module
 */

import { significant } from "../../base/numbers.ts";
import { billWords, type Boundary, HOURS_PER_MONTH } from "../../models/costs/bill.ts";
import type { Offer } from "../../models/costs/cost_model.ts";
import { intervalText } from "../text/format.ts";
import { type Estimate, mapEstimate } from "../statistics/bootstrap.ts";

/** A case whose memory has no price, beside its baseline. */
export interface Unpriced {
  /** Speed of the case ÷ that of the baseline. */
  readonly relative: Estimate;
  /** The machines of the baseline, and its name. */
  readonly baseline: { readonly name: string; readonly offer: Offer };
  /** Machines that hold what must be in DRAM beside the memory. */
  readonly host: Offer;
  /** An hour of what both sides pay. */
  readonly common: number;
  /** Bytes of that memory that are bought. */
  readonly bytes: number;
}

/** The price of a GB-month at which both cost the same; at most 0: it would lose as a gift. */
export function winPrice({ relative, baseline, host, common, bytes }: Unpriced): Estimate {
  return mapEstimate(relative, (ratio) => {
    const spare = (baseline.offer.pricePerHour + common) * ratio - common - host.pricePerHour;
    return spare * HOURS_PER_MONTH / (bytes / 1e9);
  });
}

/** That price in words: `at most 2.3 $/GB-month (95 %: 2.1 to 2.4) for it to win against dram`. */
export function winText(of: Unpriced, boundary: Boundary, sign: string): string {
  const most = winPrice(of);
  const beside = `${billWords(boundary)}, beside ${of.host.machines} × ${of.host.instance.name} for index and policy`;
  if (most.value <= 0) return `as a gift it would not win against ${of.baseline.name} ${beside}`;
  const ends = intervalText(most);
  return `at most ${significant(most.value)} ${sign}/GB-month${
    ends === undefined ? "" : ` (95 %: ${ends})`
  } for it to win ` +
    `against ${of.baseline.name} ${beside}`;
}
