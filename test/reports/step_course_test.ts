/** Distributions of step times, the steps that stand out, and from where on a run is steady. */

import fc from "fast-check";
import { pageData } from "../../reports/html/page_data.ts";
import { renderReport, summarise } from "../../reports/report.ts";
import { seededRandom } from "../../reports/statistics/random.ts";
import { steadyState } from "../../reports/statistics/steady.ts";
import { BINS_A_DOUBLING, stepCourse } from "../../reports/summary/step_course.ts";
import type { Result, SampleRecord } from "../../scenarios/record.ts";
import { assert, assertAlmostEquals, assertEquals, assertStringIncludes } from "../assert.ts";
import { fixtureResult } from "../fixtures/result_fixture.ts";

/** Noise around 100, after so many slower values that fall off. */
function warming(cold: number, length: number, seed: string): number[] {
  const random = seededRandom(seed);
  return Array.from({ length }, (_, i) => 100 + 4 * (random() - 0.5) + (i < cold ? 80 * (1 - i / cold) : 0));
}

/** Noise around levels, each for so many values. */
function levels(parts: readonly (readonly [level: number, count: number])[], seed: string, spread = 4): number[] {
  const random = seededRandom(seed);
  return parts.flatMap(([level, count]) => Array.from({ length: count }, () => level + spread * (random() - 0.5)));
}

Deno.test("steadyState() says of known sequences how they went and from where on they are steady", () => {
  const near = (found: number | undefined, wanted: number) =>
    assert(found !== undefined && Math.abs(found - wanted) <= 10, `${found}, not ${wanted}`);
  for (let i = 0; i < 10; i++) {
    const state = (parts: Parameters<typeof levels>[0]) => steadyState(levels(parts, `${i}`), `${i}`);
    const warmup = state([[150, 60], [100, 240]]);
    assertEquals(warmup?.kind, "warmup");
    near(warmup?.from, 60);
    const steps = state([[200, 40], [150, 60], [100, 200]]);
    assertEquals(steps?.kind, "warmup");
    near(steps?.from, 100);
    const slowdown = state([[100, 150], [120, 150]]);
    assertEquals(slowdown?.kind, "slowdown");
    near(slowdown?.from, 150);
    assertEquals(state([[100, 260], [130, 40]]), { kind: "no steady state", from: undefined });
    assertEquals(state([[101, 150], [100, 150]]), { kind: "flat", from: 0 }, "one level within 3 %");
  }
  assertEquals(steadyState(Array.from({ length: 100 }, (_, i) => 1000 - 9 * i), "falls")?.kind, "no steady state");
  assertEquals(steadyState(levels([[100, 19]], "short"), "short"), undefined);
});

Deno.test("steadyState() calls processes without a change flat, also those with slow steps or of a few turns", () => {
  let changed = 0;
  for (let i = 0; i < 150; i++) {
    const random = seededRandom(`flat ${i}`);
    const slow = levels([[100, 200]], `slow ${i}`).map((ns) => random() < 0.05 ? ns * (2 + 8 * random()) : ns);
    const turns = levels([[100, 200]], `turns ${i}`).map((ns, k) => k % 7 === 0 ? 1.3 * ns : ns);
    for (const times of [slow, turns]) if (steadyState(times, `${i}`)?.kind !== "flat") changed++;
  }
  assert(changed <= 6, `${changed} of 300`);
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

Deno.test("processes are labelled each by itself, and none of their steps is left out", () => {
  const like = (level: number, from: number) =>
    levels([[1e6, from], [level, 100 - from]], `${from}`, 1e4).map(Math.round);
  const course = stepCourse([
    sampleOf(like(1e6, 50), { id: "a#1", warmupSteps: 3 }),
    sampleOf(like(2e6, 90), { id: "a#2", warmupSteps: 3 }),
    sampleOf(like(5e5, 50), { id: "a#3", warmupSteps: 3 }),
  ]);
  assertEquals(course.processes, [
    { sample: "a#1", kind: "flat", from: 4 },
    { sample: "a#2", kind: "no steady state", from: undefined },
    { sample: "a#3", kind: "warmup", from: 54 },
  ]);
  assertEquals(course.histogram.reduce((sum, { count }) => sum + count, 0), 300);
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
