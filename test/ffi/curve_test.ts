import "../native_library.ts";
import { marginalBytes, missRatioCurve, popularityLaw } from "../../ffi/curve.ts";
import { TierstoreError } from "../../ffi/errors.ts";
import { replayCache } from "../../ffi/replay.ts";
import { assert, assertAlmostEquals, assertEquals, assertThrows } from "../assert.ts";

/** A stream with a skew, the same every time. */
const STREAM = Array.from({ length: 4000 }, (_, i) => Math.floor(((i * 7919 % 4001) / 4001) ** 3 * 300));
const SIZES = [1, 5, 20, 80, 299, 300, 1000];

Deno.test("missRatioCurve() of keys is what caches miss that are replayed one by one", () => {
  for (const policy of ["lru", "clock", "opt"] as const) {
    const curve = missRatioCurve({ keys: STREAM, sizes: SIZES, policy });
    for (const [i, size] of SIZES.entries()) {
      assertAlmostEquals(curve.missRatios[i] ?? NaN, 1 - replayCache(policy, size, STREAM) / STREAM.length, 1e-12);
    }
    assertEquals([curve.lookups, curve.batch, curve.rate, curve.method], [STREAM.length, 1, 1, "exact"]);
    assertEquals(curve.firstLookups, policy === "lru" ? new Set(STREAM).size : undefined);
  }
});

Deno.test("missRatioCurve() counts a row once a batch", () => {
  const curve = missRatioCurve({ keys: [1, 1, 2, 1, 2, 2, 3, 1], sizes: [2], batch: 4 });
  // The batches are {1, 2} and {2, 3, 1}: 1 and 2 hit the second time.
  assertEquals([curve.lookups, curve.missRatios], [5, [3 / 5]]);
});

Deno.test("missRatioCurve() of a law: the formula and a model of it agree", () => {
  const law = popularityLaw({ rows: 1e12, s: 1.05, heavyHitters: [0.02, 0.01] });
  const sizes = [1e6, 1e9];
  const analytic = missRatioCurve({ law, sizes }), sampled = missRatioCurve({ law, sizes, method: "sampled", seed: 3 });
  assertEquals(analytic.distinct, 1e12);
  for (const i of [0, 1]) {
    assertAlmostEquals(analytic.missRatios[i] ?? NaN, sampled.missRatios[i] ?? NaN, 0.01);
  }
  assert(sampled.rate < 1e-4 && sampled.replayed > 1e5);
});

Deno.test("marginalBytes() is the difference of the curve, and the optimum is better", () => {
  const law = { rows: 1e9, s: 1.1 };
  const more = marginalBytes({ law, rowBytes: 128, bytes: 2 ** 30, added: 2 ** 31 });
  const { missRatios } = missRatioCurve({ law, sizes: [2 ** 23, 3 * 2 ** 23] });
  assertEquals([more.missRatio, more.missRatioWithMore], missRatios as [number, number]);
  assertAlmostEquals(more.savedPerGiB, more.saved / 2, 1e-15);
  assert(more.saved > 0 && more.optimum < more.missRatio && more.optimumPolicy === "popular");
  const keys = marginalBytes({ keys: STREAM, rowBytes: 2 ** 25, bytes: 0 });
  assertEquals([keys.rows, keys.rowsWithMore, keys.missRatio, keys.optimumPolicy], [0, 32, 1, "opt"]);
});

Deno.test("missRatioCurve() names what it cannot use", () => {
  assertThrows(() => missRatioCurve({ sizes: [1] }), TypeError, "give keys or a law");
  assertThrows(() => missRatioCurve({ keys: [1], law: { rows: 5 }, sizes: [1] }), TypeError, "give keys or a law");
  assertThrows(() => missRatioCurve({ law: { rows: 5 }, sizes: [1], rate: 0.1 }), TypeError, '"rate"');
  assertThrows(() => missRatioCurve({ keys: [1], sizes: [1.5] }), RangeError, "a size is 1.5");
  assertThrows(() => missRatioCurve({ keys: [1], sizes: [3, 2] }), TierstoreError, "rising");
  assertThrows(() => missRatioCurve({ keys: [1], sizes: [3], policy: "fifo" }), TierstoreError, "fifo");
  assertThrows(() => missRatioCurve({ law: { rows: 0 }, sizes: [3] }), RangeError, "rows is 0");
  assertThrows(() => marginalBytes({ keys: [1], rowBytes: 0, bytes: 5 }), RangeError, "rowBytes is 0");
});
