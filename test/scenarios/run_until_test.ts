/** Runs whose rounds are open: enough, out of budget, interrupted and resumed. */

import "../native_library.ts";
import type { RunEvent } from "../../scenarios/run/events.ts";
import { readResult } from "../../scenarios/result.ts";
import { type RunScenarioOptions, runWith } from "../../scenarios/run/run.ts";
import { stepsOfManyRounds, type Until } from "../../scenarios/run/until.ts";
import type { Result } from "../../scenarios/record.ts";
import type { Scenario } from "../../scenarios/scenario.ts";
import { preciseTo, precisionOf } from "../../reports/summary/precision.ts";
import { summarise } from "../../reports/summary/summary.ts";
import { assert, assertAlmostEquals, assertEquals, assertRejects, assertThrows } from "../assert.ts";
import { fakes, FOUR } from "./fakes.ts";

const { dram, fsdax } = FOUR.configurations;
const SCENARIO = { ...FOUR, aa: true, quality: { samples: 0 }, configurations: { dram, fsdax } } as Scenario;

async function withRun(
  body: (
    run: (options: RunScenarioOptions, scenario?: Scenario) => Promise<Result>,
    path: string,
    events: RunEvent[],
  ) => Promise<void>,
): Promise<void> {
  const directory = await Deno.makeTempDir();
  const events: RunEvent[] = [];
  try {
    const { dependencies } = fakes(directory);
    const run = (options: RunScenarioOptions, scenario = SCENARIO) =>
      runWith(dependencies, scenario, { out: directory, ...options, onProgress: (event) => void events.push(event) });
    await body(run, `${directory}/result.jsonl`, events);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

/** Enough after so many rounds. */
function after(rounds: number): Until {
  return ({ samples }) => ({
    enough: samples.some(({ sample }) => sample >= rounds),
    words: `asked of ${samples.length}`,
  });
}

Deno.test("a run takes rounds until they are enough, the scenario's number at least, and says so", async () => {
  await withRun(async (run, path, events) => {
    const result = await run({ until: after(5) });
    assertEquals([result.samples.length, result.again?.length], [10, 5]);
    assertEquals(result.end, { type: "end", rounds: 5, why: "enough", words: "asked of 10" });
    assertEquals((await readResult(path)).end, result.end);
    assert(
      summarise(result).verdict.cautions.some((one) => one.startsWith("5 rounds were precise enough: asked of 10")),
    );
    const counts = events.flatMap((event) => event.type === "sample" ? [event.samples] : []);
    assertEquals([counts[0], counts.at(-1)], [9, 15]);
    assertEquals((await run({ until: after(1), resume: true })).samples.length, 10, "what has ended goes on");
  });
  await withRun(async (run) => assertEquals((await run({ until: after(1) })).end?.rounds, 3));
});

Deno.test("a run that is never precise enough ends with its budget, after the scenario's rounds at least", async () => {
  await withRun(async (run) => {
    const { samples, end } = await run({ until: after(Infinity) }, { ...SCENARIO, budget: 3 });
    assertEquals(end?.why, "budget");
    assert(samples.length >= 6 && samples.length === 2 * (end?.rounds ?? 0), `${samples.length} samples`);
    assertEquals(end?.words, `asked of ${samples.length}`);
  });
  await withRun(async (run) => {
    const { samples, end } = await run({ until: after(Infinity) }, { ...SCENARIO, budget: 1 });
    assertEquals(end?.why, "budget");
    assert(samples.length >= 6 && samples.length === 2 * (end?.rounds ?? 0), `${samples.length} samples`);
    assertEquals(end?.words, `asked of ${samples.length}`);
  });
});

Deno.test("a share has no open rounds", async () => {
  await withRun(async (run) => {
    await assertRejects(() => run({ until: after(5), shard: { index: 1, of: 2 } }), RangeError, "shard or until");
  });
});

Deno.test("precisionOf() is the widest interval of a ratio to what runs twice, or of a speed; preciseTo() asks for it", async () => {
  await withRun(async (run) => {
    const result = await run({ until: preciseTo(0.05) });
    assertEquals(precisionOf(result), 0); // fake steps take equally long
    assertEquals(result.end?.words, "the widest interval is ±0.0 %, asked for is ±5.0 %");
    const factors = [1, 1.1, 0.9];
    const noisy = (one: Result["samples"][number]) => ({
      ...one,
      stepNs: one.stepNs.map((ns) => ns * (one.configuration === "fsdax" ? factors[one.sample - 1] ?? 1 : 1)),
    });
    const spread = { ...result, samples: result.samples.map(noisy) };
    const relative = summarise(spread).cases.find(({ name }) => name === "fsdax")?.relative;
    assertAlmostEquals(precisionOf(spread), Math.sqrt((relative?.high ?? 0) / (relative?.low ?? 1)) - 1, 0.02);
    assert(precisionOf(spread) > 0.2);
    assert(!preciseTo(0.1)(spread).enough && preciseTo(0.9)(spread).enough);
    const { again: _, ...alone } = spread;
    assert(precisionOf(alone) > 0.2, "without A/A the speeds count");
    assertEquals(preciseTo(0.1)({ ...result, samples: result.samples.slice(0, 1) }).enough, true);
    assertEquals(precisionOf({ samples: result.samples.slice(0, 1) }), Infinity);
  });
  for (const wrong of [0, 1, -0.1, NaN]) assertThrows(() => preciseTo(wrong), RangeError, "between 0 and 1");
});

Deno.test("stepsOfManyRounds() gives a sample's steps the time of what is beside them", () => {
  assertEquals(stepsOfManyRounds([{ setupSeconds: 2, stepSeconds: 0.1 }], 10, 1000), 20);
  assertEquals(
    stepsOfManyRounds([{ setupSeconds: 2, stepSeconds: 0.1 }, { setupSeconds: 4, stepSeconds: 0.1 }], 10, 1000),
    30,
  );
  assertEquals(stepsOfManyRounds([{ setupSeconds: 2, stepSeconds: 0.1 }], 10, 12), 12);
  assertEquals(stepsOfManyRounds([{ setupSeconds: 0.01, stepSeconds: 1 }], 10, 50), 10);
  // More rounds than there may be cannot use the budget: longer samples do.
  assertEquals(stepsOfManyRounds([{ setupSeconds: 2, stepSeconds: 0.1 }], 300, 1000), 300);
});
