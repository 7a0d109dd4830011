/**
 * What a gate makes of a comparison: whether a change may pass. "No difference was found" is not "they are the same": that
 * is said only where the interval leaves no room for a change that matters, else how many samples would tell.
 *
 * @module
 */

import type { ComparedCase, Gate, GatedCase, GateVerdict } from "./comparison.ts";
import { countText, listText, roughPercentText } from "../text/format.ts";
import type { RatioTest } from "../statistics/bootstrap.ts";
import { studentQuantile } from "../statistics/student.ts";

/** The smallest change that matters, unless something else is asked for. */
export const TOLERANCE = 0.05;
/** Samples a case that a scenario may ask for; more are not named. */
const MOST = 1000;

/** Samples in the results of a case. */
type Counts = readonly [a: number, b: number];

/**
 * Samples of each side that would tell, if ratio and noise stay as they are: the interval then leaves 1 out, or is within
 * the tolerance, whichever takes fewer. Undefined if a scenario cannot ask for so many.
 *
 * @param ratio What was found, its standard error, and the noise floor.
 * @param counts Samples of each side so far, which do not tell.
 * @param tolerance The smallest change that matters, a share above 0.
 */
export function samplesToTell(
  { value, error, floor = 1 }: Pick<RatioTest, "error" | "floor"> & { readonly value: number },
  [a, b]: Counts,
  tolerance: number,
): number | undefined {
  const off = Math.abs(Math.log(value));
  const width = Math.max(Math.log1p(tolerance) - off, off);
  // The spread of one sample, if both sides vary alike; the standard error of n on both sides is its part.
  const spread = error * Math.sqrt(a * b / (a + b));
  const enough = (n: number): boolean =>
    studentQuantile(0.975, 2 * n - 2) * spread * Math.sqrt(2 / n) <= width &&
    Math.log(floor) * Math.sqrt(Math.min(a, b) / n) <= width;
  for (let n = Math.max(2, Math.min(a, b) + 1); n <= MOST; n++) if (enough(n)) return n;
  return undefined;
}

/** What a gate says of one case. */
function gated(one: ComparedCase, counts: Counts, tolerance: number): GatedCase {
  const { case: name, verdict, ratio, floor = 1 } = one;
  if (verdict === "not compared" || ratio === undefined) {
    return { case: name, verdict: "cannot tell", samples: counts, wanted: undefined };
  }
  const { low, high, test } = ratio;
  const known = low !== undefined && high !== undefined;
  const within = known && low >= 1 / (1 + tolerance) && high <= 1 + tolerance && floor <= 1 + tolerance;
  if (within || (verdict === "no difference" && one.evidence === "simulated")) {
    return { case: name, verdict: "same", samples: counts, wanted: undefined };
  }
  if (verdict === "slower" || verdict === "faster") {
    return { case: name, verdict: verdict === "slower" ? "worse" : "better", samples: counts, wanted: undefined };
  }
  const wanted = test === undefined ? undefined : samplesToTell(
    { value: ratio.value, error: test.error, floor },
    counts,
    tolerance,
  );
  return { case: name, verdict: "cannot tell", samples: counts, wanted };
}

/** The worst that is said of any case, in this order; a better case makes up for none that is worse. */
const ORDER: readonly GateVerdict[] = ["worse", "cannot tell", "better", "same"];

/**
 * What a gate makes of compared cases.
 *
 * @param countsOf Samples that the two results have of a case.
 * @param missing Cases of the baseline that the other result lacks: of them nothing can be told.
 * @param tolerance The smallest change that matters, a share: 0.05 is 5 %.
 * @throws {RangeError} if the tolerance is not above 0 and below 1.
 */
export function gateOf(
  cases: readonly ComparedCase[],
  countsOf: (name: string) => Counts,
  missing: readonly string[],
  tolerance: number = TOLERANCE,
): Gate {
  if (!(tolerance > 0 && tolerance < 1)) {
    throw new RangeError(`Cannot gate with a tolerance of ${tolerance}: a share above 0 and below 1 is needed`);
  }
  const found = [
    ...cases.map((one) => gated(one, countsOf(one.case), tolerance)),
    ...missing.map((name): GatedCase => ({
      case: name,
      verdict: "cannot tell",
      samples: countsOf(name),
      wanted: undefined,
    })),
  ];
  const verdict = ORDER.find((word) => found.some((one) => one.verdict === word)) ?? "cannot tell";
  return { verdict, tolerance, cases: found, sentence: sentence(found, verdict, tolerance) };
}

function sentence(cases: readonly GatedCase[], verdict: GateVerdict, tolerance: number): string {
  const named = (word: GateVerdict): string =>
    listText(cases.filter((one) => one.verdict === word).map((one) => one.case));
  const change = `a change of ${roughPercentText(tolerance)}`;
  if (cases.length === 0) return "Cannot tell: the results have no case in common";
  if (verdict === "worse") return `Worse: ${named("worse")}`;
  if (verdict === "better") return `Better: ${named("better")}; nothing is worse`;
  if (verdict === "same") return `The same: no case can have changed by more than ${roughPercentText(tolerance)}`;
  const unclear = cases.filter((one) => one.verdict === "cannot tell");
  const told = unclear.filter(({ wanted }) => wanted !== undefined);
  const most = told.toSorted((a, b) => (b.wanted as number) - (a.wanted as number))[0];
  const hidden = `Cannot tell: ${change} may hide in ${named("cannot tell")}`;
  if (most === undefined || told.length < unclear.length) {
    const lost = unclear.filter(({ wanted }) => wanted === undefined).map((one) => one.case);
    return `${hidden}; no number of samples to ${MOST} is known to tell for ${listText(lost)}`;
  }
  const [a, b] = most.samples;
  const more = Math.max((most.wanted as number) - a, (most.wanted as number) - b);
  return `${hidden}; about ${countText(more, "more sample")} a case would tell (repetitions: ${most.wanted} in both ` +
    `results, now ${a === b ? a : `${a} and ${b}`})`;
}
