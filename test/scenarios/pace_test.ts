import type { RunEvent } from "../../scenarios/events.ts";
import { Pace } from "../../scenarios/pace.ts";
import { planSamples } from "../../scenarios/plan.ts";
import type { PreparedCase } from "../../scenarios/prepare.ts";
import { fillDefaults } from "../../scenarios/resolve.ts";
import type { Scenario } from "../../scenarios/scenario.ts";
import { assert, assertAlmostEquals, assertEquals, assertMatch } from "../assert.ts";
import { casesOf, FOUR } from "./fakes.ts";

/** Four cases, 3 samples, 100 s, of which the quality run may take 50. */
const SCENARIO: Scenario = {
  ...FOUR,
  workload: { ...FOUR.workload, steps: "auto", warmup: 0 },
  budget: 100,
  quality: { samples: "auto" },
};

/**
 * Plays a run: every step takes `stepSeconds(round)`, nothing else takes time. 30 steps are planned, as if a step took
 * 0.1 s.
 */
function play(stepSeconds: (round: number) => number, scenario: Scenario = SCENARIO) {
  const cases = casesOf(scenario) as unknown as PreparedCase[];
  const events: RunEvent[] = [];
  const steps: number[][] = [];
  let now = 5;
  const sizing = { steps: () => 30, qualitySteps: 500, pilots: new Map(), qualitySeconds: 50 };
  const resolved = fillDefaults(scenario, "/");
  const emit = (event: RunEvent) => void events.push(event);
  const pace = new Pace({ scenario: resolved, cases, sizing, samples: [], elapsed: () => now, emit });
  for (const planned of planSamples(cases, 3, 1)) {
    const count = pace.steps(planned);
    (steps[planned.sample - 1] ??= []).push(count);
    const seconds = stepSeconds(planned.sample);
    now += count * seconds;
    const stepNs = Array.from({ length: count }, () => seconds * 1e9);
    pace.took({ case: planned.case.name, stepNs, warmupSteps: 0, processSeconds: count * seconds });
  }
  return { steps, events, now, pace };
}

Deno.test("Pace keeps the planned steps while samples take what was expected, or a little longer", () => {
  for (const seconds of [0.05, 0.1, 0.13]) {
    const { steps, events } = play(() => seconds);
    assertEquals(steps, [1, 2, 3].map(() => [30, 30, 30, 30]));
    assertEquals(events, []);
  }
});

Deno.test("Pace cuts steps equally for all cases of a round when samples take longer, and says so", () => {
  const { steps, events, now } = play(() => 0.3);
  assertEquals(steps.map((round) => new Set(round).size), [1, 1, 1]);
  assertEquals(steps[0]?.[0], 30);
  assert((steps[1]?.[0] ?? 0) < 30);
  assert((steps[2]?.[0] ?? 0) <= (steps[1]?.[0] ?? 0));
  assert(now <= 100 * 0.94 - 25, `half of the quality run's time must be left, ended at ${now}`);
  assertMatch(
    events.map((event) => event.type === "notice" ? event.message : event.type).join("\n"),
    /^samples take longer than planned: those left count \d+ steps instead of 30/,
  );
});

Deno.test("Pace never changes steps that the scenario says", () => {
  const said = { ...SCENARIO, workload: { ...SCENARIO.workload, steps: 30 } };
  assertEquals(new Set(play(() => 9, said).steps.flat()), new Set([30]));
});

Deno.test("Pace gives an auto quality run what is left of the budget, and never less than nothing", () => {
  const { pace, now } = play(() => 0.2);
  assertAlmostEquals(pace.qualitySeconds() ?? NaN, 97 - now);
  assertEquals(play(() => 9).pace.qualitySeconds(), 0);
  assertEquals(play(() => 9, { ...SCENARIO, quality: { samples: 1000 } }).pace.qualitySeconds(), undefined);
});
