import fc from "fast-check";
import { difference, noiseFloor, noiseStatement } from "../../reports/statistics/noise.ts";
import { estimate, estimateRatio, mapEstimate } from "../../reports/statistics/bootstrap.ts";
import { type Random, seededRandom } from "../../reports/statistics/random.ts";
import { studentCdf, studentQuantile } from "../../reports/statistics/student.ts";
import { assert, assertAlmostEquals, assertEquals, assertStringIncludes, assertThrows } from "../assert.ts";

const positives = fc.array(fc.double({ min: 1e-3, max: 1e9, noNaN: true }), { minLength: 2, maxLength: 12 });

/** Box–Muller. */
function normal(random: Random): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}

Deno.test("studentQuantile() gives the printed table's values", () => {
  for (const [df, t] of [[1, 12.7062], [2, 4.3027], [3, 3.1824], [5, 2.5706], [10, 2.2281], [30, 2.0423]] as const) {
    assertAlmostEquals(studentQuantile(0.975, df), t, 5e-5);
    assertAlmostEquals(studentQuantile(0.025, df), -t, 5e-5);
  }
  assertAlmostEquals(studentQuantile(0.975, 1e7), 1.959964, 1e-5);
  assertAlmostEquals(studentCdf(0, 4), 0.5, 1e-12);
});

Deno.test("estimate() averages rates by the harmonic mean", () => {
  assertAlmostEquals(estimate([60, 30], "rate", "s").value, 40, 1e-9);
  assertAlmostEquals(estimate([60, 30], "positive", "s").value, 45, 1e-9);
});

Deno.test("estimate() depends on values and seed alone, and its interval holds the value", () => {
  fc.assert(
    fc.property(positives, (values) => {
      for (const scale of ["rate", "positive", "linear"] as const) {
        const first = estimate(values, scale, "seed");
        assertEquals(first, estimate(values, scale, "seed"));
        assert(first.low !== undefined && first.high !== undefined);
        assert(first.low <= first.value * (1 + 1e-9) && first.value <= first.high * (1 + 1e-9));
        if (scale !== "linear") assert(first.low >= 0);
      }
    }),
    { numRuns: 25 },
  );
});

Deno.test("estimate() scales with its unit", () => {
  const values = [51.2, 48.7, 50.9, 53];
  const [one, thousand] = [estimate(values, "rate", "x"), estimate(values.map((v) => v * 1000), "rate", "x")];
  assertAlmostEquals(thousand.value, one.value * 1000, 1e-6);
  assertAlmostEquals(thousand.low as number, (one.low as number) * 1000, 1e-6);
  assertAlmostEquals(thousand.high as number, (one.high as number) * 1000, 1e-6);
});

Deno.test("estimate() gives no interval for one sample and a point for equal samples", () => {
  assertEquals(estimate([5], "rate", "s"), { value: 5, low: undefined, high: undefined, samples: 1 });
  const equal = estimate([5, 5, 5], "linear", "s");
  assertEquals([equal.low, equal.high], [5, 5]);
});

Deno.test("estimate() refuses what is not a number", () => {
  assertThrows(() => estimate([], "rate", "s"), RangeError, "no samples");
  assertThrows(() => estimate([1, NaN], "linear", "s"), RangeError, "found the value NaN");
  assertThrows(() => estimate([1, 0], "rate", "s"), RangeError, "found the value 0");
  assertThrows(() => estimateRatio([1], [Infinity], "rate", "s"), RangeError, "found the value Infinity");
});

Deno.test("estimate() covers the true mean in about 95 % of simulated runs, also with 3 samples", () => {
  const random = seededRandom("coverage");
  for (const n of [3, 5, 10]) {
    let covered = 0;
    const runs = 600;
    for (let run = 0; run < runs; run++) {
      const { low, high } = estimate(Array.from({ length: n }, () => 100 + 5 * normal(random)), "linear", `${run}`);
      if ((low as number) <= 100 && 100 <= (high as number)) covered++;
    }
    assert(covered / runs > 0.92 && covered / runs < 0.985, `coverage with ${n} samples is ${covered / runs}`);
  }
});

Deno.test("estimateRatio() tells equal cases apart in about 5 % of simulated runs", () => {
  const random = seededRandom("alarms");
  const runs = 600;
  for (const n of [3, 6]) {
    let alarms = 0;
    for (let run = 0; run < runs; run++) {
      const draw = (): number[] => Array.from({ length: n }, () => 100 + 3 * normal(random));
      const verdict = difference(estimateRatio(draw(), draw(), "rate", `${run}`));
      if (verdict !== "none") alarms++;
    }
    assert(alarms / runs < 0.075, `false alarms with ${n} samples: ${alarms / runs}`);
  }
});

Deno.test("estimateRatio() finds a difference that is there, and is 1/ratio the other way round", () => {
  const [a, b] = [[80, 81, 79, 80.5], [100, 101, 99, 100.2]];
  const ratio = estimateRatio(a, b, "rate", "s");
  assertAlmostEquals(ratio.value, 0.8, 0.002);
  assertEquals(difference(ratio), "below");
  assertEquals(difference(estimateRatio(b, a, "rate", "s")), "above");
  assertAlmostEquals(estimateRatio(b, a, "rate", "s").value, 1 / ratio.value, 1e-9);
  assertEquals(difference(estimateRatio([1], b, "rate", "s")), "unknown");
});

Deno.test("mapEstimate() keeps the ends in order", () => {
  const of = { value: 2, low: 1, high: 4, samples: 3 };
  assertEquals(mapEstimate(of, (v) => 1 / v), { value: 0.5, low: 0.25, high: 1, samples: 3 });
  assertEquals(mapEstimate(of, (v) => -v), { value: -2, low: -4, high: -1, samples: 3 });
});

Deno.test("noiseStatement() speaks when samples are few", () => {
  assertEquals(noiseStatement([]), undefined);
  assertEquals(noiseStatement([10, 12]), undefined);
  assertStringIncludes(noiseStatement([3, 3]) as string, "Few samples (3 a case)");
  assertStringIncludes(noiseStatement([1, 4]) as string, "1 to 4");
  assertStringIncludes(noiseStatement([1, 1]) as string, "no interval");
});

Deno.test("noiseFloor() lets one run in 20 call a difference where there is none, and sees real ones", () => {
  const runs = 2000;
  let alarms = 0;
  let seen = 0;
  for (let run = 0; run < runs; run++) {
    const random = seededRandom(`floor ${run}`);
    const drift = Array.from({ length: 4 }, () => 0.05 * normal(random));
    const rates = Array.from(
      { length: 4 },
      (_, one) => drift.map((round) => Math.exp(round + 0.01 * normal(random) - (one === 3 ? 0.06 : 0))),
    );
    const floor = noiseFloor(rates) as number;
    const mean = (of: readonly number[]): number => of.reduce((sum, rate) => sum + Math.log(rate), 0) / of.length;
    const off = rates.slice(1).map((of) => Math.abs(mean(of) - mean(rates[0] as number[])) > Math.log(floor));
    if (off[0] === true || off[1] === true) alarms++;
    if (off[2] === true) seen++;
  }
  assert(alarms / runs < 0.05, `${alarms} false alarms in ${runs} runs`);
  assert(seen / runs > 0.95, `${seen} of ${runs} real differences of 6 % seen at 1 % noise`);
  assertEquals(noiseFloor([[1, 2], [1]]), undefined);
  assertEquals(noiseFloor([[1, 2]]), undefined);
});
