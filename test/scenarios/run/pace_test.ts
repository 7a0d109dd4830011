import "../../native_library.ts";
import type { RunEvent } from "../../../scenarios/run/events.ts";
import { Pace } from "../../../scenarios/run/pace.ts";
import { planSamples } from "../../../scenarios/plan.ts";
import type { PreparedCase } from "../../../scenarios/run/prepare.ts";
import { fillDefaults } from "../../../scenarios/resolve.ts";
import type { Scenario } from "../../../scenarios/scenario.ts";
import { assert, assertAlmostEquals, assertEquals, assertMatch } from "../../assert.ts";
import { casesOf, FOUR } from "../fakes.ts";

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
  const record = { trainRows: 500 * 64, testRows: 0 };
  const cases = casesOf(scenario).map((one) => ({ ...one, data: { record } })) as unknown as PreparedCase[];
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
  return { steps, events, now, pace, cases };
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

Deno.test("Pace gives an auto quality run what is left of the budget, and never less than one step", () => {
  const quality = (seconds: number, scenario?: Scenario) => {
    const { pace, cases, now } = play(() => seconds, scenario);
    return { now, ...pace.quality(cases[0] as PreparedCase) };
  };
  const { now, steps, seconds } = quality(0.2);
  assertAlmostEquals(seconds ?? NaN, 97 - now);
  assertEquals(steps, Math.floor((97 - now) / 0.2));
  assertEquals(quality(0.001).steps, 500); // all rows
  assertEquals([quality(9).steps, quality(9).seconds], [1, 0]);
  const said = quality(9, { ...SCENARIO, quality: { samples: 1000 } });
  assertEquals([said.steps, said.seconds], [500, undefined]);
});
