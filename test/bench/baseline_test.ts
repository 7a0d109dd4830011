/** What the bench says of two builds of the library: of rounds that are made up, since no test asserts speed. */
import { baselineVerdict, roundMeans } from "../../bench/baseline.ts";
import { type BenchRow, ratioRow } from "../../bench/rows.ts";
import { seededRandom } from "../../reports/statistics/random.ts";
import { assert, assertAlmostEquals, assertEquals, assertStringIncludes, assertThrows } from "../assert.ts";

const ROUNDS = 31;

/** A draw of the normal distribution (Box and Muller). */
function normal(random: () => number): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}

/** Rows of a run whose library has so many times the baseline's speed, with noise of 4 % a round and rare large hits. */
function rowsOf(history: number, speed: number): BenchRow[] {
  const random = seededRandom(`history ${history}`);
  const rounds = (centre: number): number[] =>
    Array.from({ length: ROUNDS }, () => {
      const hit = random() < 0.05 ? 1 - 0.3 * random() : 1;
      return centre * hit * Math.exp(0.04 * normal(random));
    });
  return ["lookup", "update"].flatMap((word) => [
    ratioRow(`${word}/baseline`, rounds(speed)),
    ratioRow(`${word}/same`, rounds(1)),
  ]);
}

function slowerIn(speed: number, histories: number): number {
  return Array.from({ length: histories }, (_, i) => baselineVerdict(rowsOf(i, speed)).slower).filter(Boolean).length;
}

Deno.test("a change that makes the store 5 % slower is flagged, one that changes nothing is not", () => {
  const histories = 40;
  assert(slowerIn(0.95, histories) >= 36, `found ${slowerIn(0.95, histories)} of ${histories}`);
  assert(slowerIn(1, histories) <= 2, `${slowerIn(1, histories)} false of ${histories}`);
  assertEquals(slowerIn(1.05, histories), 0);
});

Deno.test("baselineVerdict() says how far apart they are and what the noise of the run is", () => {
  const row = (name: string, value: number, low: number, high: number): BenchRow => ({
    name,
    value,
    low,
    high,
    unit: "ratio",
  });
  const same = [row("lookup/same", 1, 0.995, 1.004), row("update/same", 1, 0.97, 1.01)];
  const { slower, text } = baselineVerdict([
    row("lookup/baseline", 0.95, 0.94, 0.96),
    row("update/baseline", 0.98, 0.97, 0.99),
    ...same,
  ]);
  assert(slower);
  assertStringIncludes(
    text,
    "lookup is 5.0 % slower than the baseline's (ratio 0.950, 95 %: 0.940 to 0.960; noise of this run 1.0 %)",
  );
  assertStringIncludes(text, "update differs from the baseline's by no more than noise");
  assertThrows(() => baselineVerdict(same), RangeError, "lookup/baseline");
});

Deno.test("roundMeans() are geometric, over the cells of a round", () => {
  const [first, second] = roundMeans([[1, 4], [1, 9]]);
  assertAlmostEquals(first ?? NaN, 1);
  assertAlmostEquals(second ?? NaN, 6);
});
