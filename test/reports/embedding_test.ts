import type { Result, SampleRecord } from "../../scenarios/record.ts";
import { type CaseSummary, renderReport, summarise, type Summary } from "../../reports/report.ts";
import { fixtureResult } from "../fixtures/result_fixture.ts";
import { assert, assertAlmostEquals, assertEquals, assertStringIncludes } from "../assert.ts";
import { EDGE_CASES } from "./edge_cases.ts";

function caseOf(summary: Summary, name: string): CaseSummary {
  const found = summary.cases.find((one) => one.name === name);
  assert(found !== undefined, `no case "${name}"`);
  return found;
}

/** Samples of a case by round, each as milliseconds a step, recomputed without the report's code. */
function steps(result: Result, name: string): { work: number; dense: number; all: number }[] {
  const samples = result.samples.filter((one) => one.case === name).sort((a, b) => a.sample - b.sample);
  const each = (one: SampleRecord, ns: number): number => ns / one.stepNs.length / 1e6;
  return samples.map((one) => ({
    work: each(one, one.phaseNs.lookup + one.phaseNs.update + one.phaseNs.eviction),
    dense: each(one, one.phaseNs.dense),
    all: each(one, one.stepNs.reduce((a, b) => a + b)),
  }));
}

function mean(values: number[]): number {
  return values.reduce((a, b) => a + b, 0) / values.length;
}

Deno.test("embedding time is lookup, update and eviction of a step, its ratio that of the rounds", () => {
  const result = fixtureResult();
  const summary = summarise(result);
  const [dram, fsdax] = [steps(result, "dram"), steps(result, "fsdax")];
  const of = caseOf(summary, "fsdax").embedding;
  assert(of?.relative !== undefined);
  assertAlmostEquals(of.seconds.value * 1e3, mean(fsdax.map(({ work }) => work)), 1e-9);
  assertAlmostEquals(of.share.value, mean(fsdax.map(({ work, all }) => work / all)), 1e-9);
  const logs = fsdax.map(({ work }, i) => Math.log(work / (dram[i]?.work ?? NaN)));
  assertAlmostEquals(of.relative.value, Math.exp(mean(logs)), 1e-9);
  assertEquals(caseOf(summary, "dram").embedding?.relative, undefined);
});

Deno.test("speed with less dense work is the step without that part of the dense phase, and is labelled as computed", () => {
  const result = fixtureResult();
  const [dram, fsdax] = [steps(result, "dram"), steps(result, "fsdax")];
  const lessDense = caseOf(summarise(result), "fsdax").embedding?.lessDense ?? [];
  assertEquals(lessDense.map(({ part }) => part), [0.5, 0.1, 0]);
  for (const { part, relative } of lessDense) {
    const time = (one: { dense: number; all: number } | undefined): number =>
      one === undefined ? NaN : one.all - (1 - part) * one.dense;
    assertAlmostEquals(
      relative.value,
      Math.exp(mean(dram.map((one, i) => Math.log(time(one) / time(fsdax[i]))))),
      1e-9,
    );
  }
  const page = renderReport(result);
  assertStringIncludes(page, "More: computed, a model with less dense work");
  assertStringIncludes(page, "computed from it");
});

Deno.test("verdict: says that dense layers hide embeddings where they fill the step, and only there", () => {
  const dense = (share: number): Result => {
    const result = fixtureResult();
    const shift = (one: SampleRecord): SampleRecord => {
      const total = one.stepNs.reduce((a, b) => a + b);
      const rest = (1 - share) * total / 3;
      return {
        ...one,
        phaseNs: { input: 0, lookup: rest, dense: share * total, update: rest, eviction: rest },
      };
    };
    return { ...result, samples: result.samples.map(shift) };
  };
  const cautions = (share: number): string => summarise(dense(share)).verdict.cautions.join("\n");
  assertStringIncludes(cautions(0.95), "Dense layers fill 95 % of a step of dram here");
  assert(!cautions(0.6).includes("Dense layers fill"));
});

Deno.test("verdict: cases that cost the same are named, cases that do not are not", () => {
  const said = (result: Result): string => summarise(result).verdict.sentences.join("\n");
  const equal = EDGE_CASES["equal samples"];
  assert(equal !== undefined);
  assertStringIncludes(said(equal()), "fsdax and kmem-dax cannot be told apart from memory-mode by cost");
  assert(!said(fixtureResult()).includes("cannot be told apart"));
});
