/**
 * scenario -> cases -> samples. A case is a configuration at a point of the matrix, and in a variant of the ablation if
 * there is one. Samples run in rounds: each round
 * holds every case once, in an order drawn from the seed, so that slow changes of the machine (heat, neighbours) meet
 * every case alike.
 *
 * @module
 */

import { ABLATION_FIELD, ablationVariants, variantFields } from "./ablation.ts";
import { atPoint, matrixPoints, pointText } from "../base/matrix.ts";
import { randomNumbers, shuffled } from "../base/random.ts";
import { fillDefaults } from "./resolve.ts";
import type { MatrixPoint, ResolvedScenario } from "./scenario.ts";

/** A configuration at a point of the matrix. */
export interface Case {
  /** `fsdax`, or `fsdax workload.batch=512`. */
  readonly name: string;
  /** Name of the configuration. */
  readonly configuration: string;
  /** Its point of the matrix; empty without one. */
  readonly point: MatrixPoint;
  /** The scenario at this point, without a matrix. */
  readonly scenario: ResolvedScenario;
  /** Name of the case that this one repeats in every round (A/A); absent of all others. */
  readonly again?: string;
}

/** One sample to take. */
export interface PlannedSample<C extends Case = Case> {
  /** `<configuration>[<matrix point>]#<n>`. */
  readonly id: string;
  readonly case: C;
  /** Number in the case, from 1. */
  readonly sample: number;
  /** Position in the run, from 1. */
  readonly position: number;
}

/** Bytes by which the environment of a sample's process is longer, at most: a page, beyond which layouts repeat. */
const MOST_PADDING = 4096;

/** Bytes by which the environment of a sample's process is longer, so that no case has one layout in all of its samples. */
export function paddingOf({ position }: PlannedSample, seed: number): number {
  return Math.floor(randomNumbers(seed + position)() * MOST_PADDING);
}

/**
 * The cases of a scenario: every configuration at every point of its matrix.
 *
 * @example
 * ```ts ignore
 * import { loadScenario, planCases } from "../mod.ts";
 *
 * const scenario = await loadScenario("scenarios/pmem-modes.jsonc");
 * console.log(planCases(scenario).map(({ name }) => name)); // [ "dram", "memory-mode", "fsdax", "kmem-dax" ]
 * ```
 */
export function planCases(scenario: ResolvedScenario): Case[] {
  return matrixPoints(scenario.matrix).flatMap((varied) => variantsAt(scenario, varied)).flatMap(({ point, at }) => {
    const text = pointText(point);
    return Object.keys(scenario.configurations).map((configuration) => ({
      name: text === "" ? configuration : `${configuration} ${text}`,
      configuration,
      point,
      scenario: at,
    }));
  });
}

/** The variants of the scenario's ablation at a point of its matrix; the point alone without one. */
function variantsAt(
  scenario: ResolvedScenario,
  point: MatrixPoint,
): { readonly point: MatrixPoint; readonly at: ResolvedScenario }[] {
  const { ablation, ...plain } = scenario;
  if (ablation === undefined) return [{ point, at: fillDefaults(atPoint(plain, point), "/") }];
  return ablationVariants(ablation).map((variant) => ({
    point: { ...point, [ABLATION_FIELD]: variant.name },
    at: fillDefaults(atPoint(plain, { ...point, ...variantFields(variant, ablation.switches) }), "/"),
  }));
}

/** Name of a sample, unique in its run. */
function sampleId({ configuration, point, again }: Case, sample: number): string {
  const text = pointText(point);
  return `${configuration}${text === "" ? "" : `[${text}]`}${again === undefined ? "" : "[again]"}#${sample}`;
}

/**
 * The repeated contenders of a run: at every point of the matrix where there is something to compare, one case once more,
 * whose samples differ from those of its original by the run's noise alone (A/A). In an ablation it is the variant with
 * nothing on, which all others are compared with.
 *
 * @param cases The cases that run.
 * @param baseline Picks the case that others are compared with.
 */
export function repeatedCases<C extends Case>(cases: readonly C[], baseline: (at: readonly C[]) => C): C[] {
  const points = Map.groupBy(cases, ({ point: { [ABLATION_FIELD]: _, ...point } }) => pointText(point));
  return [...points.values()].flatMap((all) => {
    if (all.length < 2) return [];
    const plain = all.filter(({ point }) => (point[ABLATION_FIELD] ?? "none") === "none");
    const original = baseline(plain.length === 0 ? all : plain);
    return original.scenario.aa === false
      ? []
      : [{ ...original, name: `${original.name} (again)`, again: original.name }];
  });
}

/**
 * The samples of a run in their order.
 *
 * @param cases The cases.
 * @param repetitions Samples of each case.
 * @param seed Draws the order.
 */
export function planSamples<C extends Case>(
  cases: readonly C[],
  repetitions: number,
  seed: number,
): PlannedSample<C>[] {
  const random = randomNumbers(seed);
  const samples: PlannedSample<C>[] = [];
  for (let round = 1; round <= repetitions; round++) {
    for (const one of shuffled(cases, random)) {
      samples.push({ id: sampleId(one, round), case: one, sample: round, position: samples.length + 1 });
    }
  }
  return samples;
}
