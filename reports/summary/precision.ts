/**
 * How precisely a run knows what it compares, for runs that go on until that is enough.
 *
 * @module
 */

import { ABLATION_FIELD } from "../../scenarios/ablation.ts";
import { pointText } from "../../base/matrix.ts";
import type { Result, SampleRecord } from "../../scenarios/record.ts";
import type { Enough } from "../../scenarios/run/until.ts";
import { estimate } from "../statistics/bootstrap.ts";
import { comparedRates, rateOf } from "../statistics/pairing.ts";

const percentText = (share: number): string => `${(100 * share).toFixed(1)} %`;

/** Half of an interval's width, as a share: 0.03 where it is from value ÷ 1.03 to value × 1.03. */
function halfWidth({ low, high }: { readonly low: number | undefined; readonly high: number | undefined }): number {
  return low === undefined || high === undefined ? Infinity : Math.sqrt(high / low) - 1;
}

function pointOf({ point: { [ABLATION_FIELD]: _, ...point } }: SampleRecord): string {
  return pointText(point);
}

/**
 * The widest interval of a run, as half its width: of the speeds of cases against the one that runs twice in every round
 * (A/A) at their point; of the speeds themselves where none does.
 *
 * @returns A share: 0.03 is ±3 %. Infinity where some case has no interval.
 */
export function precisionOf({ samples, again = [] }: Pick<Result, "samples" | "again">): number {
  const widths = [...Map.groupBy(samples, pointOf)].flatMap(([point, all]) => {
    const twins = again.filter((one) => pointOf(one) === point);
    const [twin] = twins;
    const cases = Map.groupBy(all, (one) => one.case);
    const own = twin === undefined
      ? undefined
      : all.filter((one) => one.configuration === twin.configuration && pointText(one.point) === pointText(twin.point));
    return [...cases].flatMap(([name, of]) => {
      if (own === undefined) return [halfWidth(estimate(of.map(rateOf), "rate", name))];
      return of[0]?.case === own[0]?.case ? [] : [halfWidth(comparedRates(of, own, twins, name))];
    });
  });
  return Math.max(0, ...widths);
}

/**
 * Ends a run when its widest interval is narrow enough: for the option `until` of `runScenario`.
 *
 * @param share Half of the width that is asked for: 0.03 is ±3 %.
 * @throws {RangeError} if it is not between 0 and 1.
 *
 * @example
 * ```ts ignore
 * import { preciseTo, runScenario } from "../../mod.ts";
 *
 * const result = await runScenario("scenarios/pmem-modes.jsonc", { until: preciseTo(0.03), set: { budget: "10 min" } });
 * console.log(result.end?.words); // "the widest interval is ±2.7 %, asked for is ±3.0 %"
 * ```
 */
export function preciseTo(share: number): (result: Result) => Enough {
  if (!(share > 0 && share < 1)) {
    throw new RangeError(`Cannot be precise to ${share}: expected a share between 0 and 1`);
  }
  return (result) => {
    const found = precisionOf(result);
    const is = Number.isFinite(found) ? `±${percentText(found)}` : "not known";
    return { enough: found <= share, words: `the widest interval is ${is}, asked for is ±${percentText(share)}` };
  };
}
