import fc from "fast-check";
import {
  LEAST_STEPS,
  MOST_STEPS,
  type Pilot,
  pointSeconds,
  qualitySeconds,
  stepsFor,
} from "../../../scenarios/run/budget.ts";
import { assert, assertAlmostEquals, assertEquals } from "../../assert.ts";

const pilots = fc.array(
  fc.record<Pilot>({
    setupSeconds: fc.double({ min: 0, max: 5, noNaN: true }),
    stepSeconds: fc.double({ min: 1e-4, max: 1, noNaN: true }),
  }),
  { minLength: 1, maxLength: 6 },
);

Deno.test("stepsFor() fills the budget and does not exceed it, within its bounds", () => {
  fc.assert(
    fc.property(pilots, fc.integer({ min: 3, max: 9 }), fc.integer({ min: 1, max: 1000 }), (all, n, seconds) => {
      const steps = stepsFor(all, n, 10, seconds);
      assert(steps >= LEAST_STEPS && steps <= MOST_STEPS);
      if (steps > LEAST_STEPS) assert(pointSeconds(all, n, 10, steps) <= seconds * (1 + 1e-9));
      if (steps < MOST_STEPS) assert(pointSeconds(all, n, 10, steps + 1) > seconds * (1 - 1e-9));
    }),
  );
});

Deno.test("qualitySeconds() counts training and a third of a step's time for each scored batch", () => {
  const pilot = { setupSeconds: 1, stepSeconds: 0.5 };
  assertEquals(qualitySeconds(pilot, { steps: 10, evaluations: 2, testRows: 0, batch: 100 }), 6);
  assertAlmostEquals(qualitySeconds(pilot, { steps: 10, evaluations: 2, testRows: 300, batch: 100 }), 7);
});
