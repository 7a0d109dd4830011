/**
 * Change points: against MongoDB's implementation of E-divisive and an exact search, whose answers
 * `test/fixtures/statistics/change_points.json` has (`make_change_points.py` beside it made them), and against made-up
 * histories with and without a change.
 */

import { bestCut, changePoints, FEWEST_FOR_CHANGE } from "../../reports/statistics/change_points.ts";
import { seededRandom } from "../../reports/statistics/random.ts";
import { assert, assertAlmostEquals, assertEquals } from "../assert.ts";

interface Recorded {
  readonly values: readonly number[];
  /** The clearest split by MongoDB's statistic, and that statistic. */
  readonly best: number;
  readonly clarity: number;
  readonly mongodb: readonly number[];
  /** Of an exact search that is told how many there are. */
  readonly exact: readonly number[];
  readonly true: readonly number[];
}

const recorded: readonly Recorded[] = JSON.parse(
  Deno.readTextFileSync(new URL("../fixtures/statistics/change_points.json", import.meta.url)),
);

Deno.test("the clearest cut is MongoDB's, and as clear", () => {
  for (const { values, best, clarity } of recorded) {
    const found = bestCut(Float64Array.from(values), 0, values.length);
    assertEquals(found?.at, best);
    assertAlmostEquals(found?.clarity ?? 0, clarity, clarity * 1e-9);
  }
});

Deno.test("change points are those of MongoDB's search and of an exact one", () => {
  let same = 0;
  for (const { values, mongodb, exact, true: wanted } of recorded) {
    const found = changePoints(values, { seed: "recorded" }).map(({ at }) => at);
    if (mongodb.length === wanted.length) assertEquals(found.length, wanted.length, `${found} for ${wanted}`);
    found.forEach((at) => assert(exact.some((one) => Math.abs(one - at) <= 1), `${at} of ${exact}`));
    if (found.join() === mongodb.join()) same++;
  }
  assert(same >= recorded.length - 2, `${same} of ${recorded.length}`);
});

/** Logarithms of a history's speeds: noise of so much, heavier in its tails than the normal law, and a step of so much. */
function history(seed: string, runs: number, noise: number, step = 0, at = runs): number[] {
  const random = seededRandom(seed);
  const normal = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  return Array.from({ length: runs }, (_, i) => {
    const spread = Math.sqrt(5 / [0, 0, 0, 0, 0].reduce((sum) => sum + normal() ** 2, 0)); // Student's law, 5 degrees
    return noise * normal() * spread + (i < at ? 0 : step);
  });
}

Deno.test("of histories without a change few have one; fewer runs than it takes have none", () => {
  for (const runs of [10, 20, 60]) {
    const count = runs === 60 ? 100 : 500;
    let alarms = 0;
    for (let i = 0; i < count; i++) {
      alarms += changePoints(history(`null ${runs} ${i}`, runs, 0.015), { seed: `${i}`, permutations: 199 }).length > 0
        ? 1
        : 0;
    }
    // The level is 1 %; 500 draws of it are at most 12 but for one time in a thousand, 100 at most 5.
    assert(alarms <= (count === 500 ? 12 : 5), `${alarms} of ${count} with ${runs} runs`);
  }
  const few = [0, 0, 0, 0, 9, 9, 9, 9, 9];
  assertEquals(few.length, FEWEST_FOR_CHANGE - 1);
  assertEquals(changePoints(few, { seed: "few" }), []);
  assertEquals(changePoints([...few, 9], { seed: "few" }).map(({ at }) => at), [4]);
});

Deno.test("a step of so much is found, at its place", () => {
  const share = (step: number): { readonly found: number; readonly placed: number } => {
    let found = 0, placed = 0;
    for (let i = 0; i < 60; i++) {
      const points = changePoints(history(`step ${step} ${i}`, 24, 0.01, -step, 14), {
        seed: `${i}`,
        permutations: 199,
      });
      found += points.length > 0 ? 1 : 0;
      placed += points.some(({ at }) => Math.abs(at - 14) <= 1) ? 1 : 0;
    }
    return { found: found / 60, placed: placed / 60 };
  };
  const [three, five, ten] = [share(0.03), share(0.05), share(0.1)];
  assert(three.found >= 0.9 && three.placed >= 0.8, JSON.stringify(three));
  assert(five.found >= 0.98 && five.placed >= 0.95, JSON.stringify(five));
  assert(ten.found === 1 && ten.placed >= 0.98, JSON.stringify(ten));
});

Deno.test("one odd run is no change, however odd it is; the same seed gives the same answer", () => {
  for (const at of [0, 7, 19]) {
    const values = history(`odd ${at}`, 20, 0.01).map((value, i) => i === at ? value - 0.5 : value);
    assertEquals(changePoints(values, { seed: "odd" }), []);
  }
  const values = history("again", 30, 0.01, 0.03, 15);
  assertEquals(changePoints(values, { seed: "a" }), changePoints(values, { seed: "a" }));
});
