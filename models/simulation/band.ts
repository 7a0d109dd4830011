/**
 * How wrong a case may be: everything that is not known exactly drawn together (`uncertainty.ts`), each draw priced by what
 * a step costs. An operation that no published figure is about gives no band, but the reason.
 *
 * @module
 */

import { bandFor, loadResiduals } from "../media/calibration/bands.ts";
import { driveQuestion } from "../media/calibration/drive.ts";
import { loadMedia } from "../media/media.ts";
import type { SimulatedCase } from "./cases.ts";
import { STORES, threadsAt } from "./native_options.ts";
import type { Band } from "./record.ts";
import { type CaseOutcome, formulaSpeed } from "./simulate_case.ts";
import { bandOfDraws, drawSpeeds, type TierRange, uncertainOf, withFactors } from "./uncertainty.ts";

/** Of one case: the ranges of its tiers' accesses, or why there are none. */
async function tierRanges(
  { simulation, set }: SimulatedCase,
  outcome: CaseOutcome,
): Promise<TierRange[] | { readonly why: string }> {
  if (set.placement === "lines") return { why: "not calibrated, ratios only: Memory Mode has no verified raw data" };
  const residuals = await loadResiduals(set.tiers.map(({ media }) => media));
  const ranges: TierRange[] = [];
  const reasons: string[] = [];
  for (const [t, tier] of set.tiers.entries()) {
    const factor = { media: tier.media, read: 1, write: 1 };
    for (const op of ["read", "write"] as const) {
      const traffic = outcome.simulated.traffic.find((part) => part.tier === t && part.op === op);
      if (traffic === undefined || traffic.accesses === 0) continue;
      const threads = threadsAt(simulation);
      const bytes = traffic.bytes / traffic.accesses;
      // Caches and their prefetchers are before memory, and not before a drive.
      const asked = tier.depth > 1
        ? driveQuestion(await loadMedia(tier.media), { op, bytes, inFlight: threads * tier.depth })
        : { operation: op === "read" ? "load" as const : STORES[tier.store], bytes, threads, prefetch: true };
      const band = bandFor(residuals, tier.media, op, 1, { hops: tier.hops, ...asked });
      if (band.calibrated) factor[op] = Math.max(band.high, 1 / band.low);
      else reasons.push(`${tier.media}, ${op}s: ${band.outside}`);
    }
    ranges.push(factor);
  }
  return reasons.length > 0 ? { why: `not calibrated: ${[...new Set(reasons)].join("; ")}` } : ranges;
}

const short = (value: number): number => Number(value.toPrecision(5));

/** The band of a case's speed, as factors on it. */
export async function bandOf(one: SimulatedCase, outcome: CaseOutcome, denseSeconds: number): Promise<Band> {
  const tiers = await tierRanges(one, outcome);
  if ("why" in tiers) return tiers;
  const { simulation, set } = one;
  const media = await Promise.all(set.tiers.map(({ media }) => loadMedia(media)));
  const { draws, doubts } = drawSpeeds(uncertainOf(simulation, set, tiers), one, (factors) => {
    const varied = withFactors(simulation, set, factors);
    return formulaSpeed(media, varied.simulation, varied.set, denseSeconds * varied.dense, outcome, varied.stretch);
  });
  const { low, high } = bandOfDraws(draws);
  return {
    low: short(low),
    high: short(high),
    draws: draws.map(short),
    doubts: doubts.map(({ of, factor, slower, faster }) => ({
      of,
      factor: short(factor),
      slower: short(slower),
      faster: short(faster),
    })),
  };
}
