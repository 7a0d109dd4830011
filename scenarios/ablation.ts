/**
 * What each optimisation is worth: the variants of an ablation. An ablation is written as switches; its variants have
 * none of them on, each alone, all, and all but each. A variant is a point like one of a matrix, whose only field is
 * `ablation`, so everything that compares cases within a point also does so within a variant.
 *
 * @module
 */

import type { AblationCase, MatrixValue, ResolvedScenario, Switches } from "./scenario.ts";
import { NO_OPTIMISATIONS } from "../models/workloads/training.ts";

/** Kinds of cases beside "none", in the order in which they run and are shown. */
export const ABLATION_CASES: readonly AblationCase[] = ["alone", "all", "all-but-one"];

/** Name of a switch: an optimisation, or `deterministic`. */
export type SwitchName = keyof Switches;

/** The field of a point that says which variant it is. */
export const ABLATION_FIELD = "ablation";

/** What a switch is when it is off. */
export function offValue(name: SwitchName): MatrixValue {
  return name === "deterministic" ? true : NO_OPTIMISATIONS[name];
}

/** Where a switch stands in a scenario. */
function switchField(name: SwitchName): string {
  return name === "deterministic" ? "workload.deterministic" : `workload.optimisations.${name}`;
}

/** One variant. */
export interface Variant {
  /** `none`, `stage`, `all`, `all-but-stage`: unique in its ablation, the value of the field `ablation` of its points. */
  readonly name: string;
  /** Which of the kinds it is. */
  readonly kind: "none" | AblationCase;
  /** The switch that is on alone, or off alone. */
  readonly switch?: SwitchName;
  /** Every switch that is on, in the order of the ablation. */
  readonly on: readonly SwitchName[];
}

/** Switches that only work with another one. */
const NEEDS: Partial<Readonly<Record<SwitchName, SwitchName>>> = { smartStage: "stage", workQueue: "stage" };

/** What a switch needs to be on beside it. */
export function neededBy(name: SwitchName): SwitchName | undefined {
  return NEEDS[name];
}

/** The variants of an ablation, "none" first. A switch that needs another takes it along; without that it stays off. */
export function ablationVariants({ switches, cases }: NonNullable<ResolvedScenario["ablation"]>): Variant[] {
  const names = Object.keys(switches) as SwitchName[];
  const alone = (name: SwitchName) => names.filter((other) => other === name || other === NEEDS[name]);
  const without = (name: SwitchName) => names.filter((other) => other !== name && NEEDS[other] !== name);
  return [
    { name: "none", kind: "none", on: [] },
    ...(cases.includes("alone")
      ? names.map((name) => ({ name, kind: "alone", switch: name, on: alone(name) } as const))
      : []),
    ...(cases.includes("all") ? [{ name: "all", kind: "all", on: names } as const] : []),
    ...(cases.includes("all-but-one")
      ? names.map((
        name,
      ) => ({ name: `all-but-${name}`, kind: "all-but-one", switch: name, on: without(name) } as const))
      : []),
  ];
}

/** The fields that make a scenario a variant: every switch of the ablation, on or off. */
export function variantFields(variant: Variant, switches: Switches): Record<string, MatrixValue> {
  const names = Object.keys(switches) as SwitchName[];
  return Object.fromEntries(names.map((name) => [
    switchField(name),
    variant.on.includes(name) ? switches[name] as MatrixValue : offValue(name),
  ]));
}

/** An ablation without some of its switches; undefined if none would be left. */
export function withoutSwitches(
  ablation: NonNullable<ResolvedScenario["ablation"]>,
  names: readonly SwitchName[],
): ResolvedScenario["ablation"] {
  const kept = Object.entries(ablation.switches).filter(([name]) => !names.includes(name as SwitchName));
  return kept.length === 0 ? undefined : { ...ablation, switches: Object.fromEntries(kept) };
}
