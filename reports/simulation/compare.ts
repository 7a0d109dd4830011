/**
 * Two simulations side by side. They are deterministic: a difference is exact, and needs no statistics.
 *
 * @module
 */

import type { SimulatedRecord, SimulationResult } from "../../models/simulation/record.ts";
import { shownLines } from "../../base/shown.ts";
import { prefixed } from "../../base/numbers.ts";

/** A case in both. */
export interface SimulatedDifference {
  /** Name of the case: configuration and point. */
  readonly case: string;
  /** Samples a second in the first simulation. */
  readonly before: number;
  /** Samples a second in the second. */
  readonly after: number;
  /** Fields of the record that are not the same, dotted. */
  readonly fields: readonly string[];
}

/** What two simulations differ in. */
export interface SimulationComparison {
  /** Names of the two scenarios. */
  readonly names: readonly [string, string];
  /** Whether they ran the same scenario. */
  readonly sameScenario: boolean;
  /** Versions that differ: what, before, after. */
  readonly versions: readonly (readonly [string, string, string])[];
  /** Cases that both have. */
  readonly cases: readonly SimulatedDifference[];
  /** Cases of the first that the second lacks. */
  readonly missing: readonly string[];
  /** Cases of the second that the first lacks. */
  readonly added: readonly string[];
  /** Whether every case of both is in the other, to the byte. */
  readonly same: boolean;
}

/** Fields that differ; lists are one field. */
function fieldsOf(before: unknown, after: unknown, at: string): string[] {
  if (JSON.stringify(before) === JSON.stringify(after)) return [];
  const plain = (value: unknown): value is Record<string, unknown> =>
    typeof value === "object" && value !== null && !Array.isArray(value);
  if (!plain(before) || !plain(after)) return [at];
  return [...new Set([...Object.keys(before), ...Object.keys(after)])]
    .flatMap((key) => fieldsOf(before[key], after[key], at === "" ? key : `${at}.${key}`));
}

/**
 * Compares two simulations by the names of their cases.
 *
 * @param names What the output calls them.
 */
export function compareSimulations(
  before: SimulationResult,
  after: SimulationResult,
  names: readonly [string, string],
): SimulationComparison {
  const by = ({ cases }: SimulationResult) => new Map(cases.map((one) => [one.case, one]));
  const [old, made] = [by(before), by(after)];
  const cases = [...old].flatMap(([name, one]) => {
    const other: SimulatedRecord | undefined = made.get(name);
    if (other === undefined) return [];
    return [{
      case: name,
      before: one.samplesPerSecond,
      after: other.samplesPerSecond,
      fields: fieldsOf(one, other, ""),
    }];
  });
  const missing = [...old.keys()].filter((name) => !made.has(name));
  const added = [...made.keys()].filter((name) => !old.has(name));
  const [a, b] = [before.run.versions, after.run.versions];
  const versions = [...new Set([...Object.keys(a), ...Object.keys(b)])]
    .map((what) => [what, a[what] ?? "none", b[what] ?? "none"] as const)
    .filter(([, one, other]) => one !== other);
  return {
    names,
    sameScenario: before.run.scenarioDigest === after.run.scenarioDigest,
    versions,
    cases,
    missing,
    added,
    same: missing.length + added.length === 0 && cases.every(({ fields }) => fields.length === 0),
  };
}

/** The comparison for a terminal: every case that differs, and what else is not alike. */
export function renderSimulationComparison(comparison: SimulationComparison): string {
  const { names: [before, after], sameScenario, versions, cases, missing, added, same } = shownLines(comparison);
  const changed = cases.filter(({ fields }) => fields.length > 0);
  return [
    `${before} against ${after}: simulated, so differences are exact`,
    ...(sameScenario ? [] : ["scenario  is another"]),
    ...versions.map(([what, one, other]) => `version   ${what} ${one}, then ${other}`),
    ...changed.map(({ case: name, before: one, after: other, fields }) => {
      const change = one === other ? "as fast" : `${((other / one - 1) * 100).toPrecision(3)} %`;
      return `differs   ${name}: ${prefixed(one)} samples/s, then ${prefixed(other)} (${change}); in ${
        fields.join(", ")
      }`;
    }),
    ...missing.map((name) => `missing   ${name}`),
    ...added.map((name) => `added     ${name}`),
    same
      ? `same      every byte of ${cases.length} case${cases.length === 1 ? "" : "s"}`
      : `same      ${cases.length - changed.length} cases`,
  ].join("\n") + "\n";
}
