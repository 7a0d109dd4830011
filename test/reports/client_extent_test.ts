import { extentOf } from "../../reports/html/client/extent.ts";
import { assertEquals } from "../assert.ts";

Deno.test("extentOf() goes from the least to the most, and around a single value", () => {
  assertEquals(extentOf([2, 1, 4], false), { min: 1, max: 4 });
  assertEquals(extentOf([2, 2], false), { min: 0, max: 4 });
  assertEquals(extentOf([2], true), { min: 1, max: 4 });
  assertEquals(extentOf([0], false), { min: 0, max: 1 });
  assertEquals(extentOf([-3], false), { min: -6, max: 1 });
});
