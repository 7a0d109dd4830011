/** The miss-ratio curve that a run records. */

import "../native_library.ts";
import { curveRecord } from "../../scenarios/run/miss_curve.ts";
import { parseResultText, resultOf } from "../../scenarios/result.ts";
import { checkResult } from "../../reports/summary/check_result.ts";
import { renderReport } from "../../reports/report.ts";
import { summarise } from "../../reports/summary/summary.ts";
import { assert, assertEquals, assertStringIncludes, assertThrows } from "../assert.ts";
import { fixtureResult, toJsonLines } from "../fixtures/result_fixture.ts";

const CARDINALITIES = [
  ...[37, 15, 253281, 55065, 8, 3, 313, 16, 3, 2329, 142, 208790, 80],
  ...[3, 375, 136533, 3, 141, 54, 3, 176164, 3, 3, 7155, 3, 3564],
];

function record(data: Record<string, unknown>) {
  const [sample] = fixtureResult({ configurations: ["fsdax"], work: true, quality: false }).samples;
  assert(sample !== undefined);
  return curveRecord({ ...sample, batch: 512 }, { workload: { data } as never }, CARDINALITIES);
}

Deno.test("curveRecord(): misses fall with size, the bound is below, everything held misses nothing", () => {
  const found = record({ synthetic: "criteo-kaggle", skew: { s: 1.15, q: 2.7, rows: 0 } });
  assert(found !== undefined);
  const { misses, bounds, sizes, rows } = found;
  assertEquals(rows, CARDINALITIES.reduce((a, b) => a + b));
  assertEquals(sizes.at(-1), rows);
  misses.forEach((miss, i) => {
    assert(i === 0 || miss <= (misses[i - 1] as number));
    assert((bounds[i] as number) <= miss + 1e-9);
  });
  assert((misses[0] as number) > 0.5 && (misses.at(-1) as number) < 1e-6);
  const even = record({ synthetic: "criteo-kaggle", skew: { s: 0, q: 0, rows: 0 } });
  assert((even?.misses[3] as number) > (misses[3] as number), "a law without skew must miss more");
});

Deno.test("curveRecord() says nothing of data that is no law", () => {
  assertEquals(record({ file: "train.txt" }), undefined);
});

Deno.test("results with a curve are read, checked, and shown; those without stay as they are", () => {
  const result = fixtureResult({ work: true, curve: true });
  const read = resultOf(parseResultText(toJsonLines(result), "r.jsonl").records);
  assertEquals(read.curves, result.curves);
  assertEquals("curves" in resultOf(parseResultText(toJsonLines(fixtureResult()), "r.jsonl").records), false);
  const page = renderReport(result);
  assertStringIncludes(page, 'id="chart-miss-curve"');
  assertStringIncludes(page, "What more memory for rows would buy");
  assert(!renderReport(fixtureResult({ work: true })).includes('id="chart-miss-curve"'));
  assertEquals(summarise(result).cases.map(({ cacheCurve }) => cacheCurve !== undefined), [false, false, true, true]);
  const [curve] = result.curves ?? [];
  assert(curve !== undefined);
  const broken = { ...result, curves: [{ ...curve, misses: [2, ...curve.misses.slice(1)] }] };
  assertThrows(() => checkResult(broken), RangeError, "misses[0]: expected a share from 0 to 1, found 2");
});
