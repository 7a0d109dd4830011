import { extentOf, sideBySide } from "../../reports/html/client/extent.ts";
import { assert, assertEquals } from "../assert.ts";

Deno.test("extentOf() goes from the least to the most, and around a single value", () => {
  assertEquals(extentOf([2, 1, 4], false), { min: 1, max: 4 });
  assertEquals(extentOf([2, 2], false), { min: 0, max: 4 });
  assertEquals(extentOf([2], true), { min: 1, max: 4 });
  assertEquals(extentOf([0], false), { min: 0, max: 1 });
  assertEquals(extentOf([-3], false), { min: -6, max: 1 });
});

Deno.test("sideBySide() has each count once, and room for every line around it", () => {
  const { ticks, factor, min, max } = sideBySide([4, 1, 2, 4, 1], 3);
  assertEquals(ticks, [1, 2, 4]);
  const places = [0, 1, 2].map(factor);
  assertEquals([places[1], places.toSorted((a, b) => a - b)], [1, places]);
  assert((places[0] ?? 0) > min && 4 * (places[2] ?? 0) < max && (places[2] ?? 0) < 2 * (places[0] ?? 0));
});
