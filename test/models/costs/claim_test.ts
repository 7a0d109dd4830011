import fc from "fast-check";
import {
  type Cause,
  CAUSES,
  type Claim,
  claimedSaving,
  savingWith,
  takeApart,
} from "../../../models/costs/claim/claim.ts";
import { PUBLISHED_CLAIMS } from "../../../models/costs/claim/published.ts";
import { claimInputs, flips, tornado } from "../../../models/costs/claim/sensitivity.ts";
import { shapley } from "../../../base/shapley.ts";
import { assert, assertAlmostEquals, assertEquals, assertThrows } from "../../assert.ts";

function published(name: string): Claim {
  const found = PUBLISHED_CLAIMS[name];
  assert(found !== undefined);
  return found.claim;
}

/** What each cause adds to the saving in an order. */
function waterfall(claim: Claim, order: readonly Cause[]): { readonly cause: Cause; readonly adds: number }[] {
  const upTo = (n: number): number => savingWith(claim, new Set(order.slice(0, n)));
  return order.map((cause, n) => ({ cause, adds: upTo(n + 1) - upTo(n) }));
}

const OE = published("openembedding");
const amount = fc.double({ min: 0.01, max: 100, noNaN: true });
const side = fc.record({
  name: fc.constant("A"),
  machine: fc.constant("m"),
  price: amount,
  machines: fc.integer({ min: 1, max: 50 }),
  overBuy: fc.double({ min: 1, max: 20, noNaN: true }),
  time: amount,
});
const anyClaim: fc.Arbitrary<Claim> = fc.record({
  name: fc.constant("B against A"),
  a: side,
  b: side,
  inside: fc.oneof(fc.constant(0), amount),
  outside: fc.oneof(fc.constant(0), amount),
  timeRatio: fc.constant(undefined),
});

Deno.test.each(Object.keys(PUBLISHED_CLAIMS))("the published claim %s gives its figure", (name) => {
  const { claim, published } = PUBLISHED_CLAIMS[name] as NonNullable<typeof PUBLISHED_CLAIMS[string]>;
  assertAlmostEquals(claimedSaving(claim), published, 0.005);
});

Deno.test("OpenEmbedding's 42 % is 11 % of hardware and time and 31 points of DRAM sizes", () => {
  const rest = CAUSES.filter((cause) => cause !== "sizes of A");
  const terms = waterfall(OE, [...rest, "sizes of A"]);
  const sizes = terms.at(-1)?.adds ?? 0;
  assertAlmostEquals(terms.slice(0, -1).reduce((sum, { adds }) => sum + adds, 0), 0.11, 0.005);
  assertAlmostEquals(sizes, 0.31, 0.005);
  assertAlmostEquals(claimedSaving(OE), 0.42, 0.005);
  assertAlmostEquals(takeApart(OE).find(({ cause }) => cause === "sizes of A")?.without ?? 0, 0.11, 0.005);
});

Deno.test("OpenEmbedding with a worker of 5, 10, 20 $/h in the bill saves 26, 20, 15 %", () => {
  for (const [worker, percent] of [[5, 26], [10, 20], [20, 15]] as const) {
    const claim = { ...OE, outside: worker };
    assertAlmostEquals(100 * savingWith(claim, new Set(CAUSES.filter((cause) => cause !== "boundary"))), percent, 0.5);
    assertAlmostEquals(100 * claimedSaving({ ...OE, inside: worker, outside: 0 }), percent, 0.5);
  }
});

Deno.test("terms of every order, and Shapley values, add up to the saving", () => {
  fc.assert(
    fc.property(anyClaim, fc.shuffledSubarray([...CAUSES], { minLength: CAUSES.length }), (claim, order) => {
      const total = claimedSaving(claim);
      const terms = waterfall(claim, order).map(({ adds }) => adds);
      // Rounding is that of the largest saving of any subset: values of hundred thousands cancel.
      const subsets = Array.from(
        { length: 2 ** CAUSES.length },
        (_, bits) => CAUSES.filter((_, i) => (bits >> i & 1) === 1),
      );
      const near = 1e-12 * (1 + Math.max(...subsets.map((subset) => Math.abs(savingWith(claim, new Set(subset))))));
      const sum = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0);
      assertAlmostEquals(savingWith(claim, new Set()), 0, 1e-12);
      assertAlmostEquals(sum(terms), total, near);
      assertAlmostEquals(sum(takeApart(claim).map(({ points }) => points)), total, near);
    }),
    { numRuns: 2000 },
  );
});

Deno.test("all 120 orders of OpenEmbedding add up, and their mean is the Shapley value", () => {
  const orders = (left: readonly Cause[]): Cause[][] =>
    left.length === 0
      ? [[]]
      : left.flatMap((first) => orders(left.filter((one) => one !== first)).map((rest) => [first, ...rest]));
  const all = orders(CAUSES);
  assertEquals(all.length, 120);
  const mean = new Map<Cause, number>(CAUSES.map((cause) => [cause, 0]));
  for (const order of all) {
    const terms = waterfall(OE, order);
    assertAlmostEquals(terms.reduce((sum, { adds }) => sum + adds, 0), claimedSaving(OE), 1e-12);
    for (const { cause, adds } of terms) mean.set(cause, (mean.get(cause) ?? 0) + adds / all.length);
  }
  for (const { cause, points } of takeApart(OE)) assertAlmostEquals(points, mean.get(cause) ?? NaN, 1e-12);
});

Deno.test("shapley(): a cause that changes nothing gets nothing, equal causes get the same", () => {
  const value = (present: ReadonlySet<"x" | "y" | "idle">): number => present.has("x") && present.has("y") ? 6 : 0;
  assertEquals(shapley(["x", "y", "idle"], value), { x: 3, y: 3, idle: 0 });
  assertThrows(() => shapley(Array.from({ length: 17 }, (_, i) => `${i}`), () => 0), RangeError, "17 causes");
});

Deno.test("flips(): PMem of OpenEmbedding stops saving at 6.55 $/h, at 1.72 machines, at 1.6 times the time", () => {
  const at = (name: string): number | undefined => flips(OE).find(({ input }) => input.name === name)?.value;
  assertEquals(at("price of a PMem machine")?.toFixed(2), "6.55");
  assertEquals(at("PMem machines")?.toFixed(2), "1.72");
  assertAlmostEquals(at("time of PMem ÷ time of DRAM") ?? 0, 6.07 / 3.80, 1e-12);
  assertAlmostEquals(at("price of a DRAM machine") ?? 0, 3.80 * 5.33 / 5.75 / 2, 1e-12);
  assertEquals(at("what both sides pay beside these machines"), undefined);
});

Deno.test("flips(): at a flip value both sides cost the same, on its two sides they do not", () => {
  fc.assert(
    fc.property(anyClaim, (claim) => {
      for (const { input, value, cheaperAbove } of flips(claim)) {
        if (value === undefined || value < 1e-6 || value > 1e6) continue;
        assertAlmostEquals(claimedSaving(input.change(value)), 0, 1e-6);
        const above = claimedSaving(input.change(value * 1.5));
        const below = claimedSaving(input.change(value * 0.5));
        if (Math.abs(above) < 1e-9 || Math.abs(below) < 1e-9) continue; // both sides pay nearly nothing of it
        assertEquals([above > 0, below > 0], [cheaperAbove, !cheaperAbove]);
      }
    }),
    { numRuns: 500 },
  );
});

Deno.test("flips() have the interval of the samples", () => {
  const flip = (timeRatio: Claim["timeRatio"]) =>
    flips({ ...OE, timeRatio }).find(({ input }) => input.name === "price of a PMem machine");
  assertEquals(flip(undefined)?.interval, undefined);
  const interval = flip({ low: 0.9, high: 0.95 })?.interval;
  assertAlmostEquals(interval?.low ?? 0, 6.07 / 0.95, 1e-9);
  assertAlmostEquals(interval?.high ?? 0, 6.07 / 0.9, 1e-9);
});

Deno.test("tornado(): bars are the savings at the ends of the ranges, the widest first", () => {
  const ranges = { "price of a PMem machine": { low: 3, high: 5 } };
  const bars = tornado(claimInputs({ ...OE, timeRatio: { low: 0.92, high: 0.93 } }, ranges));
  const bar = (name: string) => bars.find(({ input }) => input.name === name);
  assertAlmostEquals(bar("price of a PMem machine")?.atHigh ?? 0, 1 - 5 * 5.33 / (6.07 * 5.75), 1e-12);
  assertEquals(bar("price of a PMem machine")?.input.why, "stated range");
  assertEquals(bar("time of PMem ÷ time of DRAM")?.input.why, "95 % interval of the samples");
  assertAlmostEquals(bar("PMem machines")?.atHigh ?? 0, -0.16, 0.005);
  bars.slice(1).forEach(({ width }, i) => assert(width <= (bars[i]?.width ?? 0)));
});
