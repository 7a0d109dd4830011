/** A gate tells "the same" from "cannot tell", and how many samples would tell holds. */

import { compareResults } from "../../../reports/compare/compare.ts";
import { samplesToTell } from "../../../reports/compare/gate.ts";
import type { GateVerdict, ResultComparison } from "../../../reports/compare/comparison.ts";
import { comparisonMarkdown, renderComparison } from "../../../reports/compare/text.ts";
import { seededRandom } from "../../../reports/statistics/random.ts";
import type { Result } from "../../../scenarios/record.ts";
import { fixtureResult } from "../../fixtures/result_fixture.ts";
import { assert, assertEquals, assertMatch, assertStringIncludes, assertThrows } from "../../assert.ts";

/** A result of two cases with noise of a standard deviation, the second case a factor slower. */
function noisy(seed: string, spread: number, factor = 1, samples = 6): Result {
  const random = seededRandom(seed);
  const gauss = (): number => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  const result = fixtureResult({ samples, steps: 4, configurations: ["dram", "fsdax"], quality: false });
  return {
    ...result,
    samples: result.samples.map((one) => {
      const time = 3.35e7 * (one.case === "fsdax" ? factor : 1) * Math.exp(spread * gauss());
      return { ...one, stepNs: one.stepNs.map(() => Math.round(time)) };
    }),
  };
}

const verdictOf = ({ gate: { verdict } }: ResultComparison): GateVerdict => verdict;
const found = (spread: number, factor: number, tolerance: number, samples = 6): GateVerdict =>
  verdictOf(compareResults(noisy("a", spread, 1, samples), noisy("b", spread, factor, samples), { tolerance }));

Deno.test("a gate says worse, better, same, or that it cannot tell", () => {
  assertEquals(found(0.005, 1.1, 0.05), "worse");
  assertEquals(found(0.005, 0.9, 0.05), "better");
  assertEquals(found(0.005, 1, 0.05), "same");
  assertEquals(found(0.005, 1.01, 0.05), "same", "a change below the tolerance may pass");
  assertEquals(found(0.05, 1, 0.05), "cannot tell");
  const mixed = compareResults(noisy("a", 0.005), noisy("b", 0.005, 1.1), { tolerance: 0.05 });
  assertEquals(mixed.gate.cases.map(({ case: name, verdict }) => [name, verdict]), [["dram", "same"], [
    "fsdax",
    "worse",
  ]]);
});

Deno.test("a gate that cannot tell says how many samples would, in every form", () => {
  const comparison = compareResults(noisy("a", 0.05), noisy("b", 0.05));
  const { gate } = comparison;
  const said =
    /Cannot tell: a change of 5(\.0)?.% may hide in .*; about \d+ more samples a case would tell \(repetitions: \d+ in both results, now 6\)/;
  assertMatch(gate.sentence, said);
  assertMatch(renderComparison(comparison, 1000), said);
  assertMatch(comparisonMarkdown(comparison).replaceAll("\\", ""), said);
  const wild = noisy("a", 0.5);
  const hopeless = compareResults(wild, wild, { tolerance: 0.01 });
  assertStringIncludes(hopeless.gate.sentence, "no number of samples to 1000 is known to tell");
});

Deno.test("with the samples that would tell, most comparisons are told", () => {
  let [asked, told] = [0, 0];
  for (let run = 0; run < 40; run++) {
    const pair = (n: number) => compareResults(noisy(`a ${run} ${n}`, 0.05, 1, n), noisy(`b ${run} ${n}`, 0.05, 1, n));
    const { gate } = pair(6);
    if (gate.verdict !== "cannot tell") continue;
    asked++;
    const wanted = Math.max(...gate.cases.map((one) => one.wanted ?? 0));
    assert(wanted > 6, `${wanted}`);
    // The noise that is guessed from six samples may be too small.
    if (pair(Math.ceil(1.5 * wanted)).gate.verdict !== "cannot tell") told++;
  }
  assert(asked > 20 && told > 0.5 * asked, `${told} of ${asked}`);
});

Deno.test("samplesToTell() falls with the tolerance, rises with the noise, and is always more than there are", () => {
  const of = (error: number, tolerance: number, value = 1) =>
    samplesToTell({ value, error }, [6, 6], tolerance) ?? Infinity;
  assert(of(0.02, 0.02) > of(0.02, 0.05) && of(0.04, 0.05) > of(0.02, 0.05));
  assertEquals(of(0.0001, 0.05), 7);
  assert(of(0.03, 0.05, 1.025) > of(0.03, 0.05, 1), "half way is the hardest to tell");
  assertEquals(samplesToTell({ value: 1, error: 5 }, [6, 6], 0.01), undefined);
  assert((samplesToTell({ value: 1, error: 0.001, floor: 1.2 }, [6, 6], 0.05) ?? 0) > 60, "a floor takes samples, too");
});

Deno.test("a case that the second result lacks cannot be told, and never passes as the same", () => {
  const [a, b] = [noisy("a", 0.005), noisy("b", 0.005)];
  const { gate } = compareResults(a, { ...b, samples: b.samples.filter((one) => one.case === "dram") });
  assertEquals([gate.verdict, gate.cases.map(({ verdict }) => verdict)], ["cannot tell", ["same", "cannot tell"]]);
  assertStringIncludes(gate.sentence, "fsdax");
});

Deno.test("a gate refuses a tolerance that is none", () => {
  for (const tolerance of [0, -1, 1, NaN]) {
    assertThrows(() => compareResults(noisy("a", 0.01), noisy("b", 0.01), { tolerance }), RangeError, "tolerance");
  }
});
