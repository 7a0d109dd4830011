/**
 * The savings of a report as claims that are taken apart.
 *
 * @module
 */

import { kindOf } from "./kind.ts";
import type { CaseClaim, CaseSummary, Pricing } from "./summary_types.ts";
import { type Claim, type ClaimSide, type Range, takeApart } from "../../models/costs/claim/claim.ts";
import { claimInputs, flips, priceInput, tornado } from "../../models/costs/claim/sensitivity.ts";
import { ownedPriceRange } from "../../models/costs/owned_machines.ts";

/**
 * Causes, tornado and flip values of a claim.
 *
 * @param ranges Stated ranges of inputs by their name; others get one that the tornado names an assumption.
 */
export function analyseClaim(
  claim: Claim,
  ranges: Readonly<Record<string, Range>> = {},
): Pick<CaseClaim, "causes" | "tornado" | "flips"> {
  return {
    causes: takeApart(claim),
    tornado: tornado(claimInputs(claim, ranges)).map((bar) => ({ ...bar, input: plain(bar.input) })),
    flips: flips(claim).map((flip) => ({ ...flip, input: plain(flip.input) })),
  };
}

/** The claims of priced cases that are compared with DRAM. */
export function claimsOf(cases: readonly CaseSummary[], pricing: Pricing | undefined): CaseClaim[] {
  if (pricing === undefined) return [];
  const { bill, common } = pricing;
  const outside = bill.reduce((sum, { perHour }) => sum + (perHour ?? 0), 0) - common;
  return cases.flatMap((one) => {
    const baseline = cases.find(({ name }) => name === one.baseline);
    const { relative } = one;
    if (one.cost?.saved === undefined || baseline?.cost === undefined || relative === undefined) return [];
    const { low, high } = relative;
    const claim: Claim = {
      name: `${one.name} against ${baseline.name}`,
      a: side(baseline, 1),
      b: side(one, 1 / relative.value),
      inside: common,
      outside,
      sign: pricing.sign,
      timeRatio: low === undefined || high === undefined ? undefined : { low: 1 / high, high: 1 / low },
    };
    const analysis = analyseClaim(claim, pricing.model === "owned" ? ownedRanges(claim, pricing) : {});
    return [{ case: one.name, ...kindOf(one), claim, saved: one.cost.saved, ...analysis }];
  });
}

/** Prices of owned servers over the stated ranges of what they are computed from. */
function ownedRanges({ a, b }: Claim, { instances, items }: Pricing): Record<string, Range> {
  return Object.fromEntries([a, b].flatMap((side) => {
    const range = ownedPriceRange({ instances, items }, side.machine);
    return range === undefined ? [] : [[priceInput(side), range]];
  }));
}

function side({ name, cost }: CaseSummary, time: number): ClaimSide {
  const { instance, machines, overBuy } = (cost as NonNullable<CaseSummary["cost"]>).offer;
  return { name, machine: instance.name, price: instance.pricePerHour, machines, overBuy, time };
}

function plain<T extends { readonly change: unknown }>({ change: _, ...rest }: T): Omit<T, "change"> {
  return rest;
}
