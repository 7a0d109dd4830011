/** The target of a run: which cases meet it, miss it, or cannot be told. */

import { runTargetSentence, type TargetCase } from "../../reports/summary/run_target.ts";
import { summarise } from "../../reports/summary/summary.ts";
import { checkRecord } from "../../scenarios/record_schema.ts";
import { assert, assertEquals, assertMatch, assertThrows } from "../assert.ts";
import { fixtureResult } from "../fixtures/result_fixture.ts";

function summaryFor(target: unknown, options: Parameters<typeof fixtureResult>[0] = {}) {
  const result = fixtureResult(options);
  const scenario = { ...result.run.scenario as object, target };
  return summarise({ ...result, run: { ...result.run, scenario: scenario as never } });
}

function sentenceOf(target: unknown, options: Parameters<typeof fixtureResult>[0] = {}): string {
  return summaryFor(target, options).verdict.sentences.find((text) => /the target of/i.test(text)) ?? "";
}

Deno.test("a run's verdict says with intervals who meets the target, and who misses it", () => {
  const { cases } = summarise(fixtureResult());
  const rate = (name: string) => cases.find((one) => one.name === name)?.throughput;
  const [slow, fast] = [rate("memory-mode"), rate("fsdax")];
  assert((slow?.high ?? NaN) < (fast?.low ?? NaN), "the fixture's cases are apart");
  const samplesPerSecond = ((slow?.high ?? 0) + (fast?.low ?? 0)) / 2;
  assertMatch(
    sentenceOf({ samplesPerSecond }),
    /^The target of [\d.]+ k samples\/s is met by dram \([\d.]+ k samples\/s, 95 %: [\d.]+ to [\d.]+ k\).* fsdax \(.*; missed by memory-mode \([\d.]+ k samples\/s, 95 %: /,
  );
  assertMatch(sentenceOf({ samplesPerSecond: fast?.value }), /cannot be told for fsdax \(/);
  assertMatch(sentenceOf({ samplesPerSecond: 1e12 }), /is met by no case; missed by dram \(/);
  const { p99 } = cases.find(({ name }) => name === "dram")?.step ?? {};
  const below = 1e3 * (p99?.low ?? NaN) / 2;
  assertMatch(
    sentenceOf({ p99Ms: below }),
    /^The target of a p99 step of at most .* ms is met by no case; missed by dram/,
  );
  assertMatch(
    sentenceOf({ samplesPerSecond: 1, p99Ms: 1e6 }),
    /is met by dram \(.*samples\/s.*; a p99 step of .* ms, 95 %/,
  );
  assertEquals(sentenceOf(undefined), "");
});

Deno.test("a run's budget is held against the machines that hold the tables", () => {
  const priced = summarise(fixtureResult()).cases.find(({ cost }) => cost !== undefined);
  const price = priced?.cost?.offer.pricePerHour ?? NaN;
  assert(sentenceOf({ dollarsPerHour: 1.01 * price }).split("missed by")[0]?.includes(`${priced?.name} (machines of `));
  assert(sentenceOf({ dollarsPerHour: 0.99 * price }).split("missed by")[1]?.includes(`${priced?.name} (machines of `));
});

Deno.test("one sample, a virtual medium or no price tell nothing of a target", () => {
  assertMatch(
    sentenceOf({ samplesPerSecond: 1 }, { samples: 1 }),
    /is met by no case; cannot be told for dram \(.*one sample, no interval\)/,
  );
  assertMatch(
    sentenceOf({ samplesPerSecond: 1 }, { virtual: ["fsdax"] }),
    /cannot be told for fsdax \(its speed on a virtual medium says nothing\)$/,
  );
  const bare: TargetCase = {
    name: "a",
    virtual: false,
    throughput: undefined,
    step: undefined,
    cost: undefined,
    costMissing: "no price",
  };
  assertMatch(runTargetSentence({ perHour: 5 }, [bare], "$"), /cannot be told for a \(it has no price\)$/);
});

Deno.test("with a matrix every point has its sentence", () => {
  const said = summaryFor({ samplesPerSecond: 1 }, { batches: [512, 2048] }).verdict.sentences
    .filter((text) => text.includes("the target of"));
  assertEquals(said.length, 2);
  assertMatch(said[0] ?? "", /^At workload\.batch=512: the target of 1\.00 samples\/s is met by dram \(/);
});

Deno.test("a result with a target of another form is refused", () => {
  const { run } = fixtureResult();
  const scenario = { ...run.scenario as object, target: { speed: 1 } };
  assertThrows(() => checkRecord({ ...run, scenario }), TypeError, "target");
});
