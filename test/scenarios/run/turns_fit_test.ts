/** How many steps a turn has. */

import "../../native_library.ts";
import { turnSteps } from "../../../scenarios/run/turns_fit.ts";
import { assertEquals } from "../../assert.ts";

Deno.test("turnSteps() fills a fiftieth of a second, with four steps at least where those take no longer than a tenth, and leaves every sample eight turns", () => {
  assertEquals(turnSteps(1000, 0.001), 20);
  assertEquals(turnSteps(1000, 0.0027), 7);
  assertEquals(turnSteps(1000, 0.01), 4);
  assertEquals(turnSteps(1000, 0.04), 3);
  assertEquals(turnSteps(1000, 0.07), 1);
  assertEquals(turnSteps(1000, 0.5), 1);
  assertEquals(turnSteps(80, 0.001), 10);
  assertEquals(turnSteps(10, 0.02), 1);
  assertEquals(turnSteps(240, undefined), 10);
});
