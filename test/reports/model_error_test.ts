/** The error of the emulation stands in the interval of what was emulated. */

import { summarise } from "../../reports/report.ts";
import { modelError, savingWithin, speedWithin } from "../../reports/summary/model_error.ts";
import type { CaseSummary, Summary } from "../../reports/summary/summary_types.ts";
import type { Result } from "../../scenarios/record.ts";
import { assert, assertAlmostEquals, assertEquals, assertMatch } from "../assert.ts";
import { fixtureResult } from "../fixtures/result_fixture.ts";

/** A fixture whose media have a name each, and one band of this factor. */
function banded(factor: number): Result {
  const result = fixtureResult({ models: true, work: true });
  const bands = Object.fromEntries(
    Object.entries(result.run.modelBands ?? {}).map(([name, all]) => [name, all.map((one) => ({ ...one, factor }))]),
  );
  const [model = ""] = Object.keys(bands);
  const samples = result.samples.map((one) => ({
    ...one,
    tiers: one.tiers.map((tier) => tier.emulates === undefined ? tier : { ...tier, emulates: model }),
  }));
  return { ...result, run: { ...result.run, modelBands: bands }, samples };
}

function caseOf({ cases }: Summary, name: string): CaseSummary {
  const found = cases.find((one) => one.name === name);
  assert(found !== undefined, name);
  return found;
}

function errorOf(summary: Summary, name: string) {
  return modelError(caseOf(summary, name), caseOf(summary, "dram"), summary.models);
}

Deno.test("modelError() is what rows take longer than in DRAM, by the widest band", () => {
  const summary = summarise(banded(1.5));
  const [fsdax, dram] = [caseOf(summary, "fsdax"), caseOf(summary, "dram")];
  const step = (one: CaseSummary) => (one.embedding?.seconds.value ?? 0) / (one.embedding?.share.value ?? NaN);
  const part = ((fsdax.embedding?.seconds.value ?? 0) - (dram.embedding?.seconds.value ?? 0)) / step(fsdax);
  assert(part > 0.01, `${part}`);
  const error = errorOf(summary, "fsdax");
  assert(typeof error === "object");
  assertAlmostEquals(error.slowest, 1 + part / 2, 1e-12);
  assertAlmostEquals(error.fastest, 1 - part / 3, 1e-12);
  assertEquals(errorOf(summary, "dram"), undefined);
  assertEquals(errorOf(summary, "memory-mode"), "unknown");
  assertEquals(errorOf(summarise(fixtureResult()), "fsdax"), "unknown");
});

Deno.test("a model without error changes no interval; a larger one widens both, never the value", () => {
  const ratio = { value: 0.8, low: 0.7, high: 0.9, samples: 4 };
  const none = { fastest: 1, slowest: 1 }, some = { fastest: 0.9, slowest: 1.2 };
  assertEquals(speedWithin(ratio, none), ratio);
  const speed = speedWithin(ratio, some), saved = savingWithin({ ...ratio, value: 0.2, low: 0.1, high: 0.3 }, some);
  for (const [got, wanted] of [[speed.low, 0.7 / 1.2], [speed.value, 0.8], [speed.high, 1]] as const) {
    assertAlmostEquals(got ?? NaN, wanted, 1e-12);
  }
  for (const [got, wanted] of [[saved.low, 1 - 0.9 * 1.2], [saved.value, 0.2], [saved.high, 1 - 0.7 * 0.9]] as const) {
    assertAlmostEquals(got ?? NaN, wanted, 1e-12);
  }
});

Deno.test("the verdict has both intervals, says where the error is not known, and what it could undo", () => {
  const say = (factor: number): string => {
    const { headline, sentences } = summarise(banded(factor)).verdict;
    return [headline, ...sentences].join("\n");
  };
  assertMatch(say(1.25), /fsdax \(emulated\) is .*\(95 %: [^)]*; with the error of its media model [^)]*\)/);
  assertMatch(say(1.25), /memory-mode \(emulated\) .*the error of the emulation is not known/);
  assert(!say(1.01).includes("could undo"), say(1.01));
  assertMatch(say(50), /than dram[^\n]*, which the error of the model could undo,/);
});

Deno.test("the headline has a year and a currency", () => {
  for (const result of [fixtureResult(), banded(1.25)]) {
    assertMatch(summarise(result).verdict.headline, /; [\d.]+ \$ a million samples .*prices of (\d{4} to )?\d{4}/);
  }
});
