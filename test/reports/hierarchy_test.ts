/** Steps in processes in rounds: the interval covers, is never narrower than steps alone say, and pairs cancel drift. */

import { estimateNestedRatio, type Round } from "../../reports/statistics/hierarchy.ts";
import { estimatePairedRatio } from "../../reports/statistics/bootstrap.ts";
import { difference } from "../../reports/statistics/noise.ts";
import { mean } from "../../base/statistics.ts";
import { type Random, seededRandom } from "../../reports/statistics/random.ts";
import { assert, assertAlmostEquals, assertEquals, assertThrows } from "../assert.ts";

/** Box–Muller. */
function normal(random: Random): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}

/** Standard deviations of the logarithms at each level. */
interface Noise {
  readonly rounds: number;
  readonly processes: number;
  readonly steps: number;
}

/** Rounds of two cases, the second a factor slower. */
function drawn(random: Random, count: number, factor: number, noise: Noise, again = 1): Round[] {
  return Array.from({ length: count }, () => {
    const round = noise.rounds * normal(random);
    const side = (slower: number) => (): number[] => {
      const level = round + noise.processes * normal(random);
      return Array.from({ length: 40 }, () => slower * Math.exp(level + noise.steps * normal(random)));
    };
    return { one: [side(factor)()], other: Array.from({ length: again }, side(1)) };
  });
}

const NOISES: readonly (readonly [string, Noise])[] = [
  ["noise of processes", { rounds: 0.1, processes: 0.01, steps: 0.01 }],
  ["noise of steps alone", { rounds: 0.1, processes: 0, steps: 0.06 }],
  ["both alike", { rounds: 0, processes: 0.01, steps: 0.06 }],
];

Deno.test.each(NOISES)("estimateNestedRatio() covers the true ratio in about 95 % of runs: %s", (name, noise) => {
  const random = seededRandom(name);
  const runs = 150;
  for (const [rounds, again] of [[4, 1], [4, 2], [10, 1]] as const) {
    let covered = 0;
    for (let run = 0; run < runs; run++) {
      const { low = NaN, high = NaN } = estimateNestedRatio(drawn(random, rounds, 1.05, noise, again), `${run}`);
      if (low <= 1 / 1.05 && 1 / 1.05 <= high) covered++;
    }
    // Never too narrow; where steps alone vary, Student's t for the rounds makes it wide.
    assert(covered / runs > 0.92, `${rounds} rounds, ${again} processes: ${covered / runs}`);
  }
});

Deno.test("estimateNestedRatio() gives the geometric mean of the rounds' ratios, as pairs of processes do", () => {
  const rounds = drawn(seededRandom("value"), 5, 1.2, { rounds: 0.1, processes: 0.02, steps: 0.02 });
  const rate = (steps: readonly number[] | undefined): number => 1 / mean(steps ?? []);
  const pairs = estimatePairedRatio(
    rounds.map(({ one }) => rate(one[0])),
    rounds.map(({ other }) => rate(other[0])),
    "",
  );
  const nested = estimateNestedRatio(rounds, "");
  assertAlmostEquals(nested.value, pairs.value, 1e-12);
  // Processes vary more than their steps explain, so the interval is that of the rounds but for chance in the draws.
  assertAlmostEquals(
    (nested.high as number) / (nested.low as number),
    (pairs.high as number) / (pairs.low as number),
    0.02,
  );
  assertEquals(nested.samples, 5);
});

Deno.test("rounds that agree by luck do not hide the noise of their steps", () => {
  const noise = { rounds: 0, processes: 0, steps: 0.05 };
  const [one] = drawn(seededRandom("luck"), 1, 1, noise) as [Round];
  const { low = NaN, high = NaN } = estimateNestedRatio([one, one, one, one], "luck");
  assert(Math.log(high / low) > 0.03, `from ${low} to ${high}, though steps differ by 5 %`);
  const paired = estimatePairedRatio([1, 1, 1, 1], [1, 1, 1, 1], "luck");
  assertEquals([paired.low, paired.high], [1, 1]);
});

Deno.test("two processes of the baseline in a round make the interval narrower", () => {
  const random = seededRandom("twice");
  const noise = { rounds: 0.1, processes: 0.02, steps: 0.01 };
  const width = (again: number): number =>
    mean(Array.from({ length: 60 }, (_, run) => {
      const { low = NaN, high = NaN } = estimateNestedRatio(drawn(random, 6, 1, noise, again), `${run}`);
      return Math.log(high / low);
    }));
  const [once, twice] = [width(1), width(2)];
  assert(twice < 0.95 * once, `${twice} against ${once}`);
});

Deno.test("estimateNestedRatio() takes one round, equal steps and steps of one, and refuses none", () => {
  assertEquals(estimateNestedRatio([{ one: [[2]], other: [[1]] }], "").low, undefined);
  const equal = estimateNestedRatio(Array.from({ length: 3 }, () => ({ one: [[2, 2]], other: [[1]] })), "");
  assertEquals([equal.value, equal.low, equal.high, difference(equal)], [0.5, 0.5, 0.5, "below"]);
  assertThrows(() => estimateNestedRatio([], ""), RangeError, "at least 1 round");
  assertThrows(() => estimateNestedRatio([{ one: [], other: [[1]] }], ""), RangeError, "a process of both");
});

/** Rounds whose samples trained in turns: a neighbour that comes and goes is in the same steps of all of them. */
function inTurns(random: Random, count: number, factor: number, apart = false): Round[] {
  const neighbour = () => {
    let here = random() < 0.5;
    return Array.from({ length: 48 }, () => {
      if (random() < 0.15) here = !here;
      return here ? 0.4 : 0;
    });
  };
  return Array.from({ length: count }, () => {
    const common = neighbour();
    const side = (slower: number): number[] => {
      const level = 0.005 * normal(random);
      return (apart ? neighbour() : common).map((load) => slower * Math.exp(level + load + 0.03 * normal(random)));
    };
    return { one: [side(factor)], other: [side(1), side(1)] };
  });
}

Deno.test("estimateNestedRatio() leaves out what samples in turns met together, and covers the true ratio", () => {
  const random = seededRandom("turns");
  const runs = 250;
  let covered = 0, widths = 0;
  for (let run = 0; run < runs; run++) {
    const { low = NaN, high = NaN } = estimateNestedRatio(inTurns(random, 4, 1.05), `${run}`);
    if (low <= 1 / 1.05 && 1 / 1.05 <= high) covered++;
    widths += Math.log(high / low) / runs;
  }
  assert(covered / runs > 0.92, `${covered / runs}`);
  // The null: the same neighbour, met by each sample in another minute.
  let apart = 0, alarms = 0;
  for (let run = 0; run < runs; run++) {
    const { low = NaN, high = NaN } = estimateNestedRatio(inTurns(random, 4, 1, true), `${run}`);
    if (low > 1 || high < 1) alarms++;
    apart += Math.log(high / low) / runs;
  }
  assert(alarms / runs < 0.08, `${alarms / runs}`);
  assert(widths < apart / 4, `${widths} in turns, ${apart} one after the other`);
});
