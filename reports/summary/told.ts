/**
 * Which differences of a report are real: the noise floor of every matrix point, and the p-values of all verdicts adjusted
 * together. Words such as "faster" and "cheaper" follow from what is noted here on each ratio.
 *
 * @module
 */

import type { Result, SampleRecord } from "../../scenarios/record.ts";
import type { Group } from "./case_summary.ts";
import { embeddingSeconds } from "./embedding_time.ts";
import type { AblationSummary, CaseSummary, NoiseFloor } from "./summary_types.ts";
import { type Estimate, type RatioTest, ratioTest } from "../statistics/bootstrap.ts";
import { benjaminiHochberg } from "../statistics/tests.ts";
import { noiseFloor } from "../statistics/noise.ts";
import { speedFloor } from "../statistics/floor.ts";
import { sameRounds } from "../statistics/pairing.ts";

/** The point of a sample as a key. */
function keyOf({ point }: Pick<SampleRecord, "point">): string {
  return JSON.stringify(point);
}

const first = ({ samples }: Group): SampleRecord => samples[0] as SampleRecord;

/**
 * The noise floor of every matrix point whose cases ran in the same rounds: what noise between processes would show by
 * itself, and never less than what a repeated contender differs from itself.
 */
export function noiseFloors(result: Result, groups: readonly Group[]): NoiseFloor[] {
  const shown = groups.filter(({ samples }) => samples.length > 0 && !samples.some(({ virtual }) => virtual));
  return [...Map.groupBy(shown, (group) => keyOf(first(group))).values()].flatMap((at) => {
    const [one] = at;
    if (one === undefined || at.some(({ samples }) => !sameRounds(samples, one.samples))) return [];
    const twin = at.find(({ samples, again }) => again.length > 0 && sameRounds(again, samples));
    const rows = [...at.map(({ samples }) => samples), ...(twin === undefined ? [] : [twin.again])]
      .map((samples) => samples.toSorted((a, b) => a.sample - b.sample));
    const comparisons = Math.max(1, at.length - 1);
    const seed = `${result.run.scenarioDigest} ${one.name} again`;
    const speed = speedFloor(at.map(({ samples }) => samples), twin, seed);
    if (speed === undefined) return [];
    const times = rows.map((samples) => samples.map(embeddingSeconds));
    return [{
      point: first(one).point,
      factor: speed.factor,
      embedding: times.flat().every((seconds) => seconds > 0) ? noiseFloor(times, comparisons) : undefined,
      repeated: twin === undefined || speed.again === undefined ? undefined : { case: twin.name, ratio: speed.again },
      rounds: one.samples.length,
    }];
  });
}

/** The test of a saving, which is none where both sides are as fast by definition: 1 − k ÷ ratio has the ratio's error. */
function savedTest(relative: Estimate | undefined, saved: Estimate): RatioTest | undefined {
  if (relative?.test === undefined || saved.low === undefined || saved.low === saved.high) return undefined;
  return ratioTest(Math.log(1 - saved.value), relative.test.error, relative.test.freedom);
}

/** Verdicts that are adjusted together: those of times and those of money, since other prices must not move the first. */
type Family = "time" | "money";

/** What is done with every ratio of which a report says something in words. */
type Visit = (ratio: Estimate, of: { test: RatioTest; floor: number | undefined; family: Family }) => Estimate;

function visited(
  ratio: Estimate,
  of: { test: RatioTest | undefined; floor: number | undefined; family: Family },
  visit: Visit,
): Estimate {
  const { test } = of;
  return test === undefined ? ratio : visit(ratio, { ...of, test });
}

/** A case whose ratios were visited: speed, cost within every boundary of the bill, embedding work. */
function walkCase(one: CaseSummary, floors: readonly NoiseFloor[], visit: Visit): CaseSummary {
  const floor = floors.find(({ point }) => keyOf({ point }) === keyOf(one));
  const { relative, cost, embedding } = one;
  const time = (of: Estimate, floor: number | undefined): Estimate =>
    visited(of, { test: of.test, floor, family: "time" }, visit);
  const saved = (of: Estimate): Estimate =>
    visited(of, { test: savedTest(relative, of), floor: floor?.factor, family: "money" }, visit);
  return {
    ...one,
    relative: relative && time(relative, floor?.factor),
    cost: cost && {
      ...cost,
      saved: cost.saved && saved(cost.saved),
      savedWithin: cost.savedWithin.map(({ boundary, saved: of }) => ({ boundary, saved: of && saved(of) })),
    },
    embedding: embedding && {
      ...embedding,
      relative: embedding.relative && time(embedding.relative, floor?.embedding),
    },
  };
}

function walkAblation(of: AblationSummary, floors: readonly NoiseFloor[], visit: Visit): AblationSummary {
  // Each configuration's variants have "none" of their own; what was repeated is one of them.
  const floor = floors.length === 0 ? undefined : Math.max(...floors.map(({ factor }) => factor));
  return {
    ...of,
    groups: of.groups.map((group) => ({
      ...group,
      rows: group.rows.map((row) => ({
        ...row,
        relative: row.relative && visited(row.relative, { test: row.relative.test, floor, family: "time" }, visit),
      })),
    })),
  };
}

/**
 * Cases and ablation with the adjusted p-value and the noise floor on every ratio of which words are made. Those of
 * times are one family, those of money another (Benjamini and Hochberg): of the differences that a report names in each, at
 * most 5 % are expected to be none.
 */
export function judged(
  cases: readonly CaseSummary[],
  ablation: AblationSummary | undefined,
  floors: readonly NoiseFloor[],
): { readonly cases: readonly CaseSummary[]; readonly ablation: AblationSummary | undefined } {
  const walk = (visit: Visit) => ({
    cases: cases.map((one) => walkCase(one, floors, visit)),
    ablation: ablation && walkAblation(ablation, floors, visit),
  });
  const values: Record<Family, number[]> = { time: [], money: [] };
  walk((ratio, { test: { p }, family }) => {
    values[family].push(p);
    return ratio;
  });
  const adjusted = {
    time: benjaminiHochberg(values.time).values(),
    money: benjaminiHochberg(values.money).values(),
  };
  return walk((ratio, { test, floor, family }) => ({
    ...ratio,
    test: { ...test, q: adjusted[family].next().value as number, ...(floor === undefined ? {} : { floor }) },
  }));
}
