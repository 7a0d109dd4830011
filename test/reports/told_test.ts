/** A repeated contender gives the run a noise floor, and words follow from verdicts that were adjusted together. */

import { summarise } from "../../reports/summary/summary.ts";
import { heldBackText } from "../../reports/summary/held_back.ts";
import { difference, heldBack } from "../../reports/statistics/noise.ts";
import { benjaminiHochberg } from "../../reports/statistics/tests.ts";
import { compareResults } from "../../reports/compare/compare.ts";
import { renderReport } from "../../reports/html/render.ts";
import { renderTerminal } from "../../reports/export/terminal.ts";
import { toMarkdown } from "../../reports/export/markdown.ts";
import { parsePage } from "../../reports/capsule/read.ts";
import type { CaseSummary } from "../../reports/summary/summary_types.ts";
import type { Result, SampleRecord } from "../../scenarios/record.ts";
import { assert, assertAlmostEquals, assertEquals, assertMatch, assertStringIncludes } from "../assert.ts";
import { fixtureResult } from "../fixtures/result_fixture.ts";

/** A result whose DRAM ran twice in every round, the second time a factor slower. */
function repeated(slower: number, result: Result = fixtureResult({ samples: 4 })): Result {
  const dram = result.samples.filter(({ configuration }) => configuration === "dram");
  const again = dram.map((one, i): SampleRecord => ({
    ...one,
    id: `dram[again]#${one.sample}`,
    case: "dram (again)",
    again: true,
    position: result.samples.length + i + 1,
    stepNs: one.stepNs.map((ns) => Math.round(ns * slower)),
  }));
  return { ...result, again };
}

/** The fixture with a configuration a factor slower than DRAM, noise and all. */
function slowed(configuration: string, factor: number): Result {
  const result = fixtureResult({ samples: 4 });
  const dram = result.samples.filter((one) => one.configuration === "dram");
  return {
    ...result,
    samples: result.samples.map((one) => {
      if (one.configuration !== configuration) return one;
      const plain = dram.find(({ sample }) => sample === one.sample) as SampleRecord;
      return {
        ...one,
        stepNs: plain.stepNs.map((ns, i) => Math.round(ns * (factor + (i % 2 === 0 ? 0.001 : -0.001)))),
      };
    }),
  };
}

const sentences = (result: Result): string => {
  const { verdict: { headline, sentences } } = summarise(result);
  return [headline, ...sentences].join("\n");
};
const caseOf = (result: Result, name: string): CaseSummary =>
  summarise(result).cases.find((one) => one.name === name) as CaseSummary;

Deno.test("a repeated contender is no case, and every form of the report says what it differs from itself", () => {
  const result = repeated(1.02);
  const summary = summarise(result);
  assertEquals(summary.cases.map(({ name }) => name), ["dram", "memory-mode", "fsdax", "kmem-dax"]);
  const [floor] = summary.floors;
  assertEquals([floor?.repeated?.case, floor?.rounds], ["dram", 4]);
  assertAlmostEquals(floor?.repeated?.ratio.value ?? NaN, 1 / 1.02, 1e-6);
  assert((floor?.factor ?? 0) >= 1.02 - 1e-6, `${floor?.factor}`);
  const said = "dram, run twice in every round, was 1.96 % slower the second time";
  assertStringIncludes(sentences(result), said);
  assertStringIncludes(toMarkdown(summary), said);
  assertStringIncludes(renderTerminal(summary, 400), said);
  const page = renderReport(result);
  assert(/differences in speed below 2\.0.% are not called real/.test(page), "the page does not say the floor");
  assertEquals(parsePage(page, "page").result, result);
});

Deno.test("no difference below what a case differs from itself is called real", () => {
  const [quiet, noisy] = [repeated(1, slowed("fsdax", 1.03)), repeated(1.06, slowed("fsdax", 1.03))];
  const [real, held] = [caseOf(quiet, "fsdax").relative, caseOf(noisy, "fsdax").relative];
  assertEquals([real && difference(real), real && heldBack(real)], ["below", undefined]);
  assertStringIncludes(sentences(quiet), "fsdax (emulated) is 2.91 % slower than dram");
  assert(held?.high !== undefined);
  assertEquals([difference(held), heldBack(held)], ["none", "floor"]);
  assertEquals(compareResults(noisy, noisy).cases.every(({ floor = 1 }) => floor > 1.05), true);
});

Deno.test("a run without a repeated contender says so", () => {
  assertMatch(sentences(fixtureResult({ samples: 4 })), /No case was repeated; by the noise between processes, /);
});

Deno.test("all ratios of times of a report are adjusted together, those of money apart", () => {
  const { cases } = summarise(repeated(1.01));
  const times = cases.flatMap(({ relative, embedding }) =>
    [relative, embedding?.relative].flatMap((one) => one?.test ?? [])
  );
  assertEquals(times.length, 6);
  assertEquals(times.map(({ q }) => q), benjaminiHochberg(times.map(({ p }) => p)));
  const money = cases.flatMap(({ cost }) =>
    cost === undefined
      ? []
      : [cost.saved, ...cost.savedWithin.map(({ saved }) => saved)].flatMap((one) => one?.test ?? [])
  );
  assert(money.length >= 3);
  assertEquals(money.map(({ q }) => q), benjaminiHochberg(money.map(({ p }) => p)));
});

Deno.test("an interval that leaves 1 out among many others is no difference by itself", () => {
  const of = { value: 0.97, low: 0.95, high: 0.99, samples: 4 };
  assertEquals(difference(of), "below");
  assertEquals(difference({ ...of, test: { error: 0.01, freedom: 3, p: 0.04, q: 0.04, floor: 1.01 } }), "below");
  assertEquals(difference({ ...of, test: { error: 0.01, freedom: 3, p: 0.04, q: 0.3, floor: 1.01 } }), "none");
  assertEquals(heldBack({ ...of, test: { error: 0.01, freedom: 3, p: 0.04, q: 0.3 } }), "chance");
  assertEquals(heldBack({ ...of, test: { error: 0.01, freedom: 3, p: 0.04, q: 0.01, floor: 1.05 } }), "floor");
});

Deno.test("heldBackText() says why an interval that leaves 1 out is no difference, and nothing else", () => {
  const of = { value: 0.97, low: 0.95, high: 0.99, samples: 4 };
  const test = { error: 0.01, freedom: 3, p: 0.04 };
  assertMatch(
    heldBackText({ ...of, test: { ...test, q: 0.04, floor: 1.05 } }) ?? "",
    /^less than this run's noise of 5/,
  );
  assertEquals(
    heldBackText({ ...of, test: { ...test, q: 0.2, floor: 1.01 } }),
    "which chance may show among all that is compared here",
  );
  assertEquals(heldBackText({ ...of, test: { ...test, q: 0.04, floor: 1.01 } }), undefined);
  assertEquals(heldBackText({ ...of, high: 1.02, test: { ...test, q: 0.2, floor: 1.05 } }), undefined);
  assertEquals(heldBackText(of), undefined);
});
