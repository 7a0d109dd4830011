/**
 * What speaks against a run's figures: conditions under which a benchmark measures something else than it says. Each rule
 * looks at records alone, so that a result of another machine is judged alike.
 *
 * @module
 */

import type { Result, SampleRecord } from "../../scenarios/record.ts";
import { groupSamples } from "./case_summary.ts";
import { RULES } from "./finding_rules.ts";
import type { NoiseFloor } from "./summary_types.ts";
import { noiseFloors } from "./told.ts";

/**
 * What a finding does to the figures. `invalid`: they are not what they are called. `open`: they may be, and somebody has
 * to look. `note`: worth knowing beside them.
 */
export type Severity = "invalid" | "open" | "note";

/** Something that speaks against figures. */
export interface Finding {
  /** Which rule: `tier-unused`, `other-load`, … (docs/how-numbers-are-made.md has them all). */
  readonly code: string;
  /** What it does to the figures. */
  readonly severity: Severity;
  /** Names of the cases; empty where it is the whole run's. */
  readonly cases: readonly string[];
  /** What was seen, with figures: a sentence. */
  readonly seen: string;
  /** What to do: a sentence. */
  readonly advice: string;
}

/**
 * `CLOSED`: nothing speaks against the figures. `OPEN`: something does, and is named. `INVALID`: some are not what they are
 * called.
 */
export type Grade = "CLOSED" | "OPEN" | "INVALID";

/** The samples of one case, in their order. */
export interface CaseSamples {
  readonly name: string;
  readonly samples: readonly [SampleRecord, ...SampleRecord[]];
}

/**
 * What speaks against the figures of a result, the worst first. Pure.
 *
 * @param floors Noise floors of the result, where they are known already.
 *
 * @example
 * ```ts ignore
 * import { findingsOf, gradeOf, readResult } from "../../mod.ts";
 *
 * const findings = findingsOf(await readResult("reports/out/pmem-modes/result.jsonl"));
 * console.log(gradeOf(findings), findings.map(({ code }) => code));
 * ```
 */
export function findingsOf(
  result: Result,
  floors: readonly NoiseFloor[] = noiseFloors(result, groupSamples(result)),
): Finding[] {
  const cases = Map.groupBy(result.samples, (sample) => sample.case);
  const grouped = [...cases].flatMap(([name, [first, ...rest]]): CaseSamples[] =>
    first === undefined ? [] : [{ name, samples: [first, ...rest] }]
  );
  const order: readonly Severity[] = ["invalid", "open", "note"];
  return RULES.flatMap((rule) => rule(result, grouped, floors))
    .sort((a, b) => order.indexOf(a.severity) - order.indexOf(b.severity));
}

/** What findings make of a run. */
export function gradeOf(findings: readonly Finding[]): Grade {
  if (findings.some(({ severity }) => severity === "invalid")) return "INVALID";
  return findings.some(({ severity }) => severity === "open") ? "OPEN" : "CLOSED";
}
