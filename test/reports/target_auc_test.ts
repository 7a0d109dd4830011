import { targetText } from "../../reports/summary/quality_words.ts";
import { renderReport, summarise } from "../../reports/report.ts";
import { targetAuc } from "../../reports/summary/target_auc.ts";
import { fixtureResult } from "../fixtures/result_fixture.ts";
import { fastResult, targeted } from "./edge_cases.ts";
import { assert, assertAlmostEquals, assertEquals, assertMatch, assertStringIncludes } from "../assert.ts";

const CURVE = [
  { samples: 1000, seconds: 12, trainSeconds: 10, logloss: 0.5, auc: 0.6 },
  { samples: 2000, seconds: 26, trainSeconds: 20, logloss: 0.45, auc: 0.7 },
  { samples: 3000, seconds: 40, trainSeconds: 34, logloss: 0.44, auc: 0.69 },
];

Deno.test("targetAuc() takes the first crossing, on a straight line between its points, in seconds of training", () => {
  const found = targetAuc(CURVE, 0.675);
  assert(found.reached === "interpolated");
  assertAlmostEquals(found.samples, 1750);
  assertAlmostEquals(found.seconds, 17.5);
  assertEquals(found.between, [1000, 2000]);
  assertMatch(
    targetText(found),
    /^AUC 0\.675 is reached after 1\.75 k samples, 17\.5 s of training \(by a straight line/,
  );
});

Deno.test("targetAuc() gives a limit before the first point, and none where it is never reached", () => {
  assertEquals(targetAuc(CURVE, 0.55), { auc: 0.55, reached: "before the first point", samples: 1000, seconds: 10 });
  assertEquals(targetAuc(CURVE, 0.71), { auc: 0.71, reached: "not", best: 0.7, samples: 3000 });
  assertMatch(targetText(targetAuc(CURVE, 0.71)), /not reached in 3\.00 k samples: the best is 0\.7000$/);
  const exact = targetAuc(CURVE, 0.7);
  assert(exact.reached === "interpolated" && exact.samples === 2000 && exact.seconds === 20);
});

Deno.test("a target AUC is a result: said, tabled, and computed for every case with the same rows", () => {
  const result = targeted(fixtureResult(), 0.77);
  const { quality, cases, verdict } = summarise(result);
  const target = quality?.target;
  assert(target?.reached === "interpolated");
  assertEquals(quality?.targetElsewhere.map((one) => one.case), cases.map((one) => one.name));
  const rate = cases[0]?.throughput?.value ?? NaN;
  assertAlmostEquals(quality?.targetElsewhere[0]?.seconds.value ?? NaN, target.samples / rate);
  assertStringIncludes(verdict.sentences.join("\n"), "AUC 0.77 is reached after");
  assertStringIncludes(renderReport(result), "<caption>Time to AUC 0.77</caption>");
  assertEquals(summarise(fixtureResult()).quality?.target, undefined);
});

Deno.test("cases with other rows get no time to the AUC", () => {
  const result = targeted(fixtureResult(), 0.77);
  const samples = result.samples.map((one) => one.configuration === "fsdax" ? { ...one, digest: "ff" } : one);
  const others = summarise({ ...result, samples }).quality?.targetElsewhere.map((one) => one.case);
  assertEquals(others, ["dram", "memory-mode", "kmem-dax"]);
});

Deno.test("the fast mode is compared with its twin in deterministic mode", () => {
  const { quality, verdict } = summarise(fastResult());
  assertAlmostEquals(quality?.fastMode?.aucChange ?? NaN, -0.0004);
  assertEquals(quality?.fastMode?.sameRows, false);
  assertMatch(verdict.sentences.join("\n"), /The fast mode changes results: AUC −0\.0004, logloss \+0\.0002 against/);
});
