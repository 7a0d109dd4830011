import fc from "fast-check";
import { type Estimate, estimatePairedRatio, estimateRatio } from "../../reports/statistics/bootstrap.ts";
import { difference } from "../../reports/statistics/noise.ts";
import { compared, sameRounds } from "../../reports/statistics/pairing.ts";
import { type Random, seededRandom } from "../../reports/statistics/random.ts";
import { assert, assertAlmostEquals, assertEquals, assertThrows } from "../assert.ts";

/** Box–Muller. */
function normal(random: Random): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}

/** Two cases on a machine whose speed wanders from round to round by a tenth, with 1 % of noise between processes. */
function drifting(n: number, ratio: number, random: Random): [number[], number[]] {
  let level = Math.log(100);
  const [some, others]: [number[], number[]] = [[], []];
  for (let round = 0; round < n; round++) {
    level += 0.1 * normal(random);
    some.push(ratio * Math.exp(level + 0.01 * normal(random)));
    others.push(Math.exp(level + 0.01 * normal(random)));
  }
  return [some, others];
}

function width({ low, high }: Estimate): number {
  return Math.log(high as number) - Math.log(low as number);
}

Deno.test("estimatePairedRatio() covers the true ratio on a drifting machine, far narrower than independent groups", () => {
  const random = seededRandom("drift");
  const runs = 600;
  for (const n of [3, 5, 10]) {
    let [covered, paired, independent] = [0, 0, 0];
    for (let run = 0; run < runs; run++) {
      const [some, others] = drifting(n, 0.9, random);
      const of = estimatePairedRatio(some, others, `${run}`);
      if ((of.low as number) <= 0.9 && 0.9 <= (of.high as number)) covered++;
      if (run >= 100) continue; // enough for widths
      paired += width(of);
      independent += width(estimateRatio(some, others, "rate", `${run}`));
    }
    assert(covered / runs > 0.92 && covered / runs < 0.985, `coverage with ${n} rounds is ${covered / runs}`);
    assert(paired < independent / 3, `with ${n} rounds: ${paired} by round, ${independent} independent`);
  }
});

Deno.test("estimatePairedRatio() tells equal cases apart in about 5 % of simulated runs, with and without drift", () => {
  const random = seededRandom("paired alarms");
  const runs = 600;
  const steady = (n: number): number[] => Array.from({ length: n }, () => 100 + 3 * normal(random));
  for (const n of [3, 6]) {
    for (
      const [name, draw] of [["drift", () => drifting(n, 1, random)], ["steady", () => [steady(n), steady(n)]]] as const
    ) {
      let alarms = 0;
      for (let run = 0; run < runs; run++) {
        const [some, others] = draw() as [number[], number[]];
        if (difference(estimatePairedRatio(some, others, `${run}`)) !== "none") alarms++;
      }
      assert(alarms / runs < 0.075, `false alarms with ${n} rounds, ${name}: ${alarms / runs}`);
    }
  }
});

Deno.test("estimatePairedRatio() is free of what a round does to both sides", () => {
  const rounds = fc.array(
    fc.record({ a: fc.double({ min: 1, max: 2, noNaN: true }), level: fc.double({ min: 0.1, max: 10, noNaN: true }) }),
    {
      minLength: 2,
      maxLength: 6,
    },
  );
  fc.assert(
    fc.property(rounds, (all) => {
      const plain = estimatePairedRatio(all.map(({ a }) => a), all.map(() => 1), "s");
      const moved = estimatePairedRatio(all.map(({ a, level }) => a * level), all.map(({ level }) => level), "s");
      for (const end of ["value", "low", "high"] as const) {
        assertAlmostEquals(moved[end] as number, plain[end] as number, 1e-9);
      }
    }),
    { numRuns: 20 },
  );
});

Deno.test("estimatePairedRatio() is the geometric mean of the rounds' ratios, without interval for one round", () => {
  assertAlmostEquals(estimatePairedRatio([2, 8], [1, 1], "s").value, 4, 1e-12);
  const one = estimatePairedRatio([3], [2], "s");
  assertAlmostEquals(one.value, 1.5, 1e-12);
  assertEquals([one.low, one.high, one.samples], [undefined, undefined, 1]);
  assertThrows(() => estimatePairedRatio([1, 2], [1], "s"), RangeError, "found 2 and 1 values");
  assertThrows(() => estimatePairedRatio([1, 0], [1, 1], "s"), RangeError, "found the value 0");
});

Deno.test("sameRounds() needs the same rounds, each once", () => {
  const rounds = (...numbers: number[]): { sample: number }[] => numbers.map((sample) => ({ sample }));
  assert(sameRounds(rounds(1, 2, 3), rounds(3, 1, 2)));
  assert(!sameRounds(rounds(1, 2), rounds(1, 2, 3)));
  assert(!sameRounds(rounds(1, 2, 4), rounds(1, 2, 3)));
  assert(!sameRounds(rounds(1, 2, 2), rounds(1, 2, 2)));
});

Deno.test("compared() pairs by round whatever the order of samples, and falls back to independent groups", () => {
  const of = (...values: [number, number][]): { sample: number; value: number }[] =>
    values.map(([sample, value]) => ({ sample, value }));
  const value = (one: { value: number }): number => one.value;
  const [some, others] = [of([1, 10], [2, 21], [3, 40]), of([3, 20], [1, 5], [2, 10])];
  assertEquals(compared(some, others, value, "rate", "s"), estimatePairedRatio([10, 21, 40], [5, 10, 20], "s"));
  assertEquals(compared(some, others.slice(1), value, "rate", "s"), estimateRatio([10, 21, 40], [5, 10], "rate", "s"));
});
