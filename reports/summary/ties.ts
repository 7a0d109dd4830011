/**
 * Which cases cannot be told apart from the cheapest by cost: naming a winner among them would say more than was seen.
 *
 * @module
 */

import type { CaseSummary } from "./summary_types.ts";
import { mapEstimate } from "../statistics/bootstrap.ts";
import { difference } from "../statistics/noise.ts";
import { compared } from "../statistics/pairing.ts";

/**
 * Names of the other cases whose cost per sample does not differ from that of one case, with 95 % intervals of the
 * ratio of costs. Cases of another kind of evidence are left out: an emulated figure has the error of its model, too.
 *
 * @param best The case.
 * @param others Priced cases at the same matrix point.
 * @param seed Text that seeds the resampling.
 */
export function tiedInCost(best: CaseSummary, others: readonly CaseSummary[], seed: string): string[] {
  const price = best.cost?.offer.pricePerHour;
  return others.filter((one) => {
    const other = one.cost?.offer.pricePerHour;
    if (one === best || one.evidence !== best.evidence || price === undefined || other === undefined) return false;
    const speed = compared(one.perProcess, best.perProcess, ({ rate }) => rate, "rate", `${seed} tie ${one.name}`);
    return difference(mapEstimate(speed, (ratio) => other / price / ratio)) === "none";
  }).map((one) => one.name);
}
