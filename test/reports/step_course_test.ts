/** Distributions of step times, the steps that stand out, and from where on a run is steady. */

import fc from "fast-check";
import { pageData } from "../../reports/html/page_data.ts";
import { renderReport, summarise } from "../../reports/report.ts";
import { seededRandom } from "../../reports/statistics/random.ts";
import { steadyFrom } from "../../reports/statistics/steady.ts";
import { BINS_A_DOUBLING, stepCourse } from "../../reports/summary/step_course.ts";
import type { Result, SampleRecord } from "../../scenarios/record.ts";
import { assert, assertAlmostEquals, assertEquals, assertStringIncludes } from "../assert.ts";
import { fixtureResult } from "../fixtures/result_fixture.ts";

/** Noise around 100, after so many slower values that fall off. */
function warming(cold: number, length: number, seed: string): number[] {
  const random = seededRandom(seed);
  return Array.from({ length }, (_, i) => 100 + 4 * (random() - 0.5) + (i < cold ? 80 * (1 - i / cold) : 0));
}

/** The rule by its definition, group by group. */
function byDefinition(values: readonly number[]): number | undefined {
  const size = values.length >= 50 ? 5 : 1;
  const means = Array.from(
    { length: Math.floor(values.length / size) },
    (_, i) => values.slice(i * size, (i + 1) * size).reduce((a, b) => a + b) / size,
  );
  const half = Math.floor(means.length / 2);
  const errors = Array.from({ length: half + 1 }, (_, d) => {
    const kept = means.slice(d);
    const mean = kept.reduce((a, b) => a + b) / kept.length;
    return kept.reduce((sum, v) => sum + (v - mean) ** 2, 0) / kept.length ** 2;
  });
  const best = errors.indexOf(Math.min(...errors));
  return best >= half ? undefined : best * size;
}

Deno.test("steadyFrom() leaves out a cold start and nothing of a steady run", () => {
  for (let i = 0; i < 20; i++) {
    const cold = steadyFrom(warming(60, 300, `cold ${i}`));
    assert(cold !== undefined && cold >= 40 && cold <= 120, `${cold}`);
    const none = steadyFrom(warming(0, 300, `none ${i}`));
    assert(none !== undefined && none <= 100, `${none}`);
  }
});

Deno.test("steadyFrom() is the rule's definition", () => {
  fc.assert(fc.property(fc.array(fc.double({ min: 1, max: 2, noNaN: true }), { minLength: 20, maxLength: 90 }), (v) => {
    assertEquals(steadyFrom(v), byDefinition(v));
  }));
});

Deno.test("steadyFrom() cannot tell of a run that only falls, nor of a short one", () => {
  assertEquals(steadyFrom(Array.from({ length: 100 }, (_, i) => 1000 - 10 * i)), undefined);
  assertEquals(steadyFrom([3, 2, 1]), undefined);
});

function sampleOf(stepNs: readonly number[], more: Partial<SampleRecord> = {}): SampleRecord {
  return { ...fixtureResult().samples[0] as SampleRecord, stepNs: [...stepNs], ...more };
}

Deno.test("stepCourse() counts every step once, in bins that hold it", () => {
  const steps = fc.array(fc.integer({ min: 1000, max: 1e9 }), { minLength: 1, maxLength: 200 });
  fc.assert(fc.property(fc.array(steps, { minLength: 1, maxLength: 3 }), (all) => {
    const { histogram } = stepCourse(all.map((stepNs) => sampleOf(stepNs)));
    assertEquals(histogram.reduce((sum, { count }) => sum + count, 0), all.flat().length);
    for (const { bin, count } of histogram) {
      const [from, to] = [2 ** (bin / BINS_A_DOUBLING), 2 ** ((bin + 1) / BINS_A_DOUBLING)];
      const inside = all.flat().filter((ns) => ns / 1e9 >= from * (1 - 1e-12) && ns / 1e9 < to * (1 + 1e-12)).length;
      assert(inside >= count, `${inside} steps lie in a bin that counts ${count}`);
    }
  }));
});

Deno.test("stepCourse() names the steps that stand out, warm-up counted, the slowest first", () => {
  const plain = Array.from({ length: 100 }, (_, i) => 1e6 + (i % 10) * 1e4);
  const slow = plain.with(7, 5e6).with(50, 9e6);
  const { outliers } = stepCourse([
    sampleOf(plain, { id: "a#1", warmupSteps: 3 }),
    sampleOf(slow, { id: "a#2", warmupSteps: 3 }),
  ]);
  assertEquals(outliers.count, 2);
  assertEquals(outliers.slowest.map(({ sample, step }) => [sample, step]), [["a#2", 54], ["a#2", 11]]);
  assertAlmostEquals(outliers.slowest[0]?.seconds ?? 0, 9e-3, 1e-12);
  assertEquals(stepCourse([sampleOf(plain)]).outliers.count, 0);
});

Deno.test("the course of two processes is the median of both, in 60 places at most, and marks the steady state", () => {
  const cold = warming(60, 300, "a").map((v) => Math.round(v * 1e4));
  const { course, steadyFrom: from } = stepCourse([
    sampleOf(cold, { warmupSteps: 10 }),
    sampleOf(cold, { warmupSteps: 10 }),
  ]);
  assertEquals([course.length, course[0]?.step, course.at(-1)?.step], [60, 13, 308]);
  assert(from !== undefined && from > 45 && from < 90, `${from}`);
});

function withSteps(steps: number): Result {
  return fixtureResult({ steps });
}

Deno.test("a report has p99.9 where each process has a thousand steps, and says why it has none where not", () => {
  const many = withSteps(1000), few = withSteps(999);
  const step = summarise(many).cases[0]?.step;
  assert(step?.p999 !== undefined && step.p999.value >= step.p99.value);
  assertStringIncludes(renderReport(many), ">p99.9</th>");
  assertEquals(summarise(few).cases[0]?.step?.p999, undefined);
  assertStringIncludes(renderReport(few), "p99.9 needs 1,000 steps a process.");
});

Deno.test("the charts have a distribution and a course of every case with speed", () => {
  const result = fixtureResult({ steps: 60, virtual: ["fsdax"] });
  const { steps, more } = pageData(summarise(result));
  assertEquals(steps?.map(({ name }) => name), ["dram", "memory-mode", "kmem-dax"]);
  assertEquals(more.lines["course"]?.lines.map(({ name }) => name), ["dram", "memory-mode", "kmem-dax"]);
  for (const { bins, quantiles } of steps ?? []) {
    assert(bins.every(({ from, to, count }) => from < to && count > 0));
    const [low, high] = [bins[0]?.from ?? 0, bins.at(-1)?.to ?? 0];
    assert(quantiles.every(({ point }) => point.value >= low && point.value <= high));
  }
});
