/**
 * Two results side by side: what got faster, what slower, and how sure that is.
 *
 * @module
 */

import { kindOf, kindText } from "../summary/kind.ts";
import type { Result, SampleRecord } from "../../scenarios/record.ts";
import { type Group, groupSamples } from "../summary/case_summary.ts";
import { checkResult } from "../summary/check_result.ts";
import { changeWords, countText, listText, roughPercentText } from "../text/format.ts";
import { type Estimate, estimate, estimateRatio, mapEstimate } from "../statistics/bootstrap.ts";
import { FALSE_ALARMS } from "../statistics/noise.ts";
import { rateOf } from "../statistics/pairing.ts";
import { noiseFloors } from "../summary/told.ts";
import { benjaminiHochberg, floorBetween, welchTest } from "../statistics/tests.ts";
import { checksOf } from "./checks.ts";
import { gateOf } from "./gate.ts";
import {
  type CaseVerdict,
  type ComparedCase,
  type ComparedResult,
  type ResultComparison,
  type Unlike,
  UnlikeResultsError,
} from "./comparison.ts";
import { kindOf as scenarioKindOf, unlikeOf } from "./unlike.ts";

/** Options of {@linkcode compareResults}. */
export interface CompareOptions {
  /** What the results are called. @default ["the first", "the second"] */
  readonly names?: readonly [string, string];
  /** Compares other machines and scenarios, too, and says so. */
  readonly unlike?: boolean;
  /** The smallest change that matters to the gate, a share above 0 and below 1. @default 0.05 */
  readonly tolerance?: number;
}

/**
 * Compares two results case by case. Samples of two runs never ran in the same rounds, so the groups are independent:
 * the interval is a bootstrap of the log ratio. A case is called faster or slower only if its interval leaves 1 out, its
 * p-value, adjusted for the number of cases, is below 0.05, and the difference is above the noise floor of both runs.
 *
 * @param a The baseline.
 * @param b What is compared with it.
 * @throws {UnlikeResultsError} if they are of other machines or scenarios, unless that is asked for.
 * @throws {RangeError} if a number of a result cannot be reported, or the two are of other kinds of scenario.
 *
 * @example
 * ```ts ignore
 * import { compareResults, readPage, renderComparison } from "../../mod.ts";
 *
 * const [before, after] = [await readPage("before.html"), await readPage("after.html")];
 * console.log(renderComparison(compareResults(before.result, after.result)));
 * ```
 */
export function compareResults(a: Result, b: Result, options: CompareOptions = {}): ResultComparison {
  const { names = ["the first", "the second"], unlike: allowed = false, tolerance } = options;
  if (scenarioKindOf(a) !== scenarioKindOf(b)) {
    throw new RangeError(
      `Cannot compare a ${scenarioKindOf(a)} with a ${scenarioKindOf(b)}: they have no figure in common`,
    );
  }
  checkResult(a);
  checkResult(b);
  const unlike = unlikeOf(a, b);
  if (!allowed && unlike.some(({ weight }) => weight === "refused")) throw new UnlikeResultsError(names, unlike);
  const [left, right] = [groupSamples(a), groupSamples(b)];
  const pairs = left.flatMap((one) => {
    const other = right.find(({ name }) => name === one.name);
    return other === undefined ? [] : [[one, other] as const];
  });
  const cases = judged(pairs, { a, b, floor: floorsOf([a, b], [left, right]) });
  const verdict = overall(cases);
  const onlyA = left.filter(({ name }) => !right.some((one) => one.name === name)).map(({ name }) => name);
  const samplesOf = (groups: readonly Group[], name: string): number =>
    groups.find((one) => one.name === name)?.samples.length ?? 0;
  return {
    a: told(a, names[0]),
    b: told(b, names[1]),
    unlike,
    cases,
    onlyA,
    onlyB: right.filter(({ name }) => !left.some((one) => one.name === name)).map(({ name }) => name),
    checks: checksOf(a, b),
    verdict,
    headline: headline(cases, verdict),
    gate: gateOf(cases, (name) => [samplesOf(left, name), samplesOf(right, name)], onlyA, tolerance),
    cautions: cautions(cases, unlike),
  };
}

function told({ run }: Result, name: string): ComparedResult {
  const { scenario, started, machine, versions } = run;
  return { name, scenario: scenario.name, started, cpu: machine.cpu, version: versions["tierbench"] ?? "unknown" };
}

const ratesOf = (samples: readonly SampleRecord[]): number[] => samples.map(rateOf);

/** The noise floor of two means: the largest of those within each run, A/A included, and of that between them. */
function floorsOf(
  results: readonly Result[],
  runs: readonly (readonly Group[])[],
): (counts: readonly [number, number]) => number | undefined {
  const shown = runs.map((groups) => groups.filter(({ samples }) => !samples.some(({ virtual }) => virtual)));
  const within = results.flatMap((result, i) => noiseFloors(result, shown[i] ?? []).map(({ factor }) => factor));
  return (counts) => {
    const between = floorBetween(shown.flat().map(({ samples }) => ratesOf(samples)), counts);
    const floors = [...within, ...(between === undefined ? [] : [between])];
    return floors.length === 0 ? undefined : Math.max(...floors);
  };
}

interface Context {
  readonly a: Result;
  readonly b: Result;
  readonly floor: ReturnType<typeof floorsOf>;
}

function judged(pairs: readonly (readonly [Group, Group])[], context: Context): ComparedCase[] {
  const cases = pairs.map((pair) => measured(pair, context));
  const tested = cases.filter(({ p }) => p !== undefined);
  const adjusted = benjaminiHochberg(tested.map(({ p }) => p as number));
  return cases.map((one) => {
    const at = tested.indexOf(one);
    const q = at < 0 ? undefined : adjusted[at];
    return one.verdict === "not compared" ? one : { ...one, q, ...verdictOf({ ...one, q }) };
  });
}

/** A case's figures, before it is judged. */
function measured([left, right]: readonly [Group, Group], { a, b, floor }: Context): ComparedCase {
  const [one, other] = [left.samples, right.samples];
  const [kind, otherKind] = [kindOf(one[0] as SampleRecord), kindOf(other[0] as SampleRecord)];
  const unlike = kindText(kind) !== kindText(otherKind);
  const name = left.name;
  const nothing = (why: string): ComparedCase => ({
    case: name,
    ...(unlike ? { evidence: undefined } : kind),
    a: undefined,
    b: undefined,
    ratio: undefined,
    p: undefined,
    q: undefined,
    floor: undefined,
    verdict: "not compared",
    why,
  });
  if (unlike) return nothing(`${kindText(kind)} in the first, ${kindText(otherKind)} in the second`);
  if ([...one, ...other].some(({ virtual }) => virtual)) return nothing("its medium is virtual: no speed is shown");
  const [rates, others] = [ratesOf(one), ratesOf(other)];
  const seed = `${a.run.scenarioDigest} ${a.run.started} ${b.run.started} ${name}`;
  const many = rates.length > 1 && others.length > 1;
  return {
    case: name,
    ...kind,
    a: estimate(rates, "rate", `${seed} a`),
    b: estimate(others, "rate", `${seed} b`),
    ratio: estimateRatio(others, rates, "rate", `${seed} ratio`),
    p: many ? welchTest(rates, others) : undefined,
    q: undefined,
    floor: floor([rates.length, others.length]),
    verdict: "cannot tell",
    why: undefined,
  };
}

function verdictOf({ ratio, q, floor, evidence }: ComparedCase): { verdict: CaseVerdict; why: string | undefined } {
  if (ratio === undefined) return { verdict: "cannot tell", why: undefined };
  const faster: CaseVerdict = ratio.value > 1 ? "faster" : "slower";
  if (evidence === "simulated" && (ratio.low === undefined || ratio.low === ratio.high)) {
    // Virtual time has no noise: what differs at all differs.
    return { verdict: ratio.value === 1 ? "no difference" : faster, why: undefined };
  }
  const { low, high } = ratio;
  if (low === undefined || high === undefined || q === undefined) {
    return { verdict: "cannot tell", why: "one sample on a side: its noise is not known" };
  }
  const clear = (low > 1 || high < 1) && q < FALSE_ALARMS;
  const beyond = Math.abs(Math.log(ratio.value)) > Math.log(floor ?? 1);
  return { verdict: clear && beyond ? faster : "no difference", why: undefined };
}

function overall(cases: readonly ComparedCase[]): ResultComparison["verdict"] {
  const has = (verdict: CaseVerdict): boolean => cases.some((one) => one.verdict === verdict);
  if (has("slower")) return has("faster") ? "mixed" : "worse";
  if (has("faster")) return "better";
  return has("no difference") ? "no difference" : "cannot tell";
}

/** `fsdax is 13 % slower (95 %: 11 to 15)`, for up to three cases a verdict. */
function headline(cases: readonly ComparedCase[], verdict: ResultComparison["verdict"]): string {
  if (verdict === "cannot tell") return "Nothing can be said: no case has two samples or more in both results";
  const compared = cases.filter((one) => one.verdict !== "not compared");
  if (verdict === "no difference") {
    return `No difference beyond the noise in ${countText(compared.length, "case")}${floorText(compared)}`;
  }
  const parts = (["slower", "faster"] as const).flatMap((word) => {
    const found = cases.filter((one) => one.verdict === word)
      .sort((x, y) => Math.abs(Math.log(y.ratio?.value ?? 1)) - Math.abs(Math.log(x.ratio?.value ?? 1)));
    if (found.length === 0) return [];
    const named = found.slice(0, 3).map((one) => `${one.case} is ${changeOf(one.ratio as Estimate)}`);
    const more = found.length > 3 ? [`${found.length - 3} more are ${word}`] : [];
    return [listText([...named, ...more])];
  });
  return parts.join("; ");
}

/** A ratio as a change: `13 % slower (95 %: 11 to 15)`. */
function changeOf(ratio: Estimate): string {
  const { amount, interval } = changeWords(mapEstimate(ratio, (value) => value - 1), "faster", "slower");
  return `${amount} (${interval})`;
}

/** ` (noise floor 2.1 %)`: that of the case with the highest. */
function floorText(cases: readonly ComparedCase[]): string {
  const floors = cases.flatMap(({ floor }) => floor ?? []);
  return floors.length === 0 ? "" : ` (noise floor ${roughPercentText(Math.max(...floors) - 1)})`;
}

function cautions(cases: readonly ComparedCase[], unlike: readonly Unlike[]): string[] {
  const refused = unlike.filter(({ weight }) => weight === "refused");
  const compared = cases.filter(({ ratio }) => ratio !== undefined);
  const fewest = Math.min(...compared.map(({ ratio }) => ratio?.samples ?? 0));
  const moved = compared.filter(({ verdict }) => verdict === "faster" || verdict === "slower");
  const together = compared.length > 1 && moved.length === compared.length &&
    new Set(moved.map(({ verdict }) => verdict)).size === 1;
  return [
    ...(refused.length === 0
      ? []
      : [`The results are unlike in ${listText(refused.map(({ what }) => what))}: a difference may come from that`]),
    ...(together
      ? [
        `Every case is ${moved[0]?.verdict}: that is also what a change of the machine between the two runs looks like`,
      ]
      : []),
    ...(compared.length > 0 && fewest < 5
      ? [`Few samples (${fewest} a case on one side): small differences cannot be seen`]
      : []),
  ];
}
