/**
 * What it takes to own machines, in words.
 *
 * @module
 */

import { significant } from "../../base/numbers.ts";
import type { Offer } from "../../models/costs/cost_model.ts";
import { dateText } from "../../models/costs/price_book.ts";
import type { CaseCost } from "./summary_types.ts";

/** `2 × AWS r7i.24xlarge (2025-01)`: machines for rent and the date of their price. */
export function rentWords({ machines, instance }: Offer): string {
  return `${machines} × ${instance.provider} ${instance.name} (${dateText(instance)})`;
}

/** `; 47,200 $ to buy, 5.71 months of renting …; 576 W`; empty where nothing is stated. */
export function owningWords(owning: CaseCost["owning"], sign: string): string {
  if (owning === undefined) return "";
  const { purchase, watts, payback } = owning;
  return [
    ...(purchase === undefined ? [] : [`${significant(purchase)} ${sign} to buy`]),
    ...(payback === undefined
      ? []
      : [`paid by ${significant(payback.months)} months of renting ${rentWords(payback.against)}`]),
    ...(watts === undefined ? [] : [`${significant(watts)} W`]),
  ].map((text) => `; ${text}`).join("");
}
