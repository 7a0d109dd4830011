/**
 * How wrong a case may be: its speed with every medium at the slow and at the fast end of its own 90 % band. Both ends at
 * once are rarer than one, so the band is wide rather than narrow. It holds the error of the media models only: not that
 * of the workload, the stated times of computing, or of what the engine leaves out.
 *
 * @module
 */

import { bandFor, loadResiduals } from "../media/calibration/bands.ts";
import type { SimulatedCase } from "./cases.ts";
import { STORES, type Stretch, threadsAt } from "./native_options.ts";
import type { Band } from "./record.ts";
import type { CaseOutcome } from "./simulate_case.ts";

/**
 * The band of a case's speed, as factors on it.
 *
 * @param run The case with the times of its tiers' accesses stretched.
 */
export async function bandOf(
  { simulation, set }: SimulatedCase,
  outcome: CaseOutcome,
  run: (stretch: readonly Stretch[]) => Promise<CaseOutcome>,
): Promise<Band> {
  if (set.placement === "lines") return { why: "not calibrated, ratios only: Memory Mode has no verified raw data" };
  const residuals = await loadResiduals(set.tiers.map(({ media }) => media));
  const factors: { read: number; write: number }[] = [];
  const reasons: string[] = [];
  for (const [t, tier] of set.tiers.entries()) {
    const factor = { read: 1, write: 1 };
    for (const op of ["read", "write"] as const) {
      const traffic = outcome.simulated.traffic.find((part) => part.tier === t && part.op === op);
      if (traffic === undefined || traffic.accesses === 0) continue;
      // A disk's requests in flight are its threads; its rows are written in buffers, which no curve is about.
      const threads = threadsAt(simulation) * tier.depth;
      const bytes = traffic.bytes / traffic.accesses;
      const operation = op === "read" ? "load" : STORES[tier.store];
      const band = bandFor(residuals, tier.media, op, 1, { operation, bytes, threads, hops: tier.hops });
      if (band.calibrated) factor[op] = band.high;
      else reasons.push(`${tier.media}, ${op}s: ${band.outside}`);
    }
    factors.push(factor);
  }
  if (reasons.length > 0) return { why: `not calibrated: ${[...new Set(reasons)].join("; ")}` };
  const speed = outcome.samplesPerSecond;
  const slow = await run(factors);
  const fast = await run(factors.map(({ read, write }) => ({ read: 1 / read, write: 1 / write })));
  return { low: slow.samplesPerSecond / speed, high: fast.samplesPerSecond / speed };
}
