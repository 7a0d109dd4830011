/**
 * What rules are made of.
 *
 * @module
 */

import type { ConditionsRecord, Result, SampleRecord } from "../../scenarios/record.ts";
import type { CaseSamples, Finding, Severity } from "./findings.ts";
import type { NoiseFloor } from "./summary_types.ts";

/** Finds what it is about, in no case, some, or the run as a whole. */
export type Rule = (
  result: Result,
  cases: readonly CaseSamples[],
  floors: readonly NoiseFloor[],
) => readonly Finding[];

/** A share in words: `9.1 %`. */
export const percent = (share: number): string => `${(100 * share).toPrecision(2)} %`;

/** A finding about cases that have something in common; none where no case has. */
export function about(
  code: string,
  severity: Severity,
  found: readonly (readonly [name: string, seen: string])[],
  advice: string,
): Finding[] {
  if (found.length === 0) return [];
  return [{
    code,
    severity,
    cases: found.map(([name]) => name),
    seen: found.map(([name, seen]) => `${name}: ${seen}`).join("; "),
    advice,
  }];
}

/** A rule that looks at one case after the other. */
export function perCase(
  code: string,
  severity: Severity,
  advice: string,
  seen: (one: CaseSamples, result: Result) => string | undefined,
): Rule {
  return (result, cases) => {
    const found = cases.flatMap((one) => {
      const text = seen(one, result);
      return text === undefined ? [] : [[one.name, text] as const];
    });
    return about(code, severity, found, advice);
  };
}

/** Counted in a sample's steps: rows found in a tier, or written to it. */
export function touched(
  { statistics }: SampleRecord,
  tier: number,
): { readonly read: number; readonly written: number } {
  return { read: statistics[`tier${tier}_hits`] ?? 0, written: statistics[`tier${tier}_written`] ?? 0 };
}

/** The largest of one of the conditions, where any sample has it above a bound. */
export function worst(
  { samples }: CaseSamples,
  of: (conditions: ConditionsRecord) => number | undefined,
  most: number,
): number | undefined {
  const all = samples.flatMap(({ conditions }) => (conditions === undefined ? [] : of(conditions) ?? []));
  const found = Math.max(-Infinity, ...all);
  return found > most ? found : undefined;
}
