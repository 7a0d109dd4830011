/** Runs whose samples train in turns: one works at a time, failures and interruptions are each sample's or the run's own. */

import "../native_library.ts";
import { UnavailableError } from "../../base/unavailable.ts";
import type { RunEvent } from "../../scenarios/run/events.ts";
import { readResult } from "../../scenarios/result.ts";
import { type RunInterrupted, type RunScenarioOptions, runWith } from "../../scenarios/run/run.ts";
import type { Scenario } from "../../scenarios/scenario.ts";
import { assert, assertEquals, assertRejects, assertStringIncludes } from "../assert.ts";
import { ALL_PMEM, fakes, FOUR } from "./fakes.ts";

const SCENARIO: Scenario = {
  ...FOUR,
  aa: true,
  workload: { ...FOUR.workload, steps: 24 },
  quality: { samples: 0 },
};

async function withRun(
  body: (
    run: (options?: RunScenarioOptions, scenario?: Scenario) => ReturnType<typeof runWith>,
    directory: string,
    events: RunEvent[],
  ) => Promise<void>,
  behaviours: Record<number, string> = {},
  { memory = 2 ** 40, here }: { readonly memory?: number; readonly here?: typeof ALL_PMEM } = {},
): Promise<void> {
  const directory = await Deno.makeTempDir();
  const events: RunEvent[] = [];
  try {
    const made = fakes(directory, behaviours, here);
    const dependencies = { ...made.dependencies, availableMemory: () => memory };
    const run = (options: RunScenarioOptions = {}, scenario = SCENARIO) =>
      runWith(dependencies, scenario, { out: directory, ...options, onProgress: (event) => void events.push(event) });
    await body(run, directory, events);
    assertEquals([...made.scratch], [], "a pool directory was left");
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

Deno.test("samples of a round train in turns, one at a time, and each record says so", async () => {
  await withRun(async (run, directory, events) => {
    const { samples, again = [], failed } = await run();
    assertEquals([samples.length, again.length, failed.length], [12, 3, 0]);
    const all = [...samples, ...again];
    assert(
      all.every(({ turns }) => turns !== undefined && turns.steps > 0 && turns.seconds > 0),
      JSON.stringify(all.map(({ turns }) => turns)),
    );
    assertEquals(
      all.map(({ position }) => position).sort((a, b) => a - b),
      Array.from({ length: 15 }, (_, i) => i + 1),
    );
    // The machine's counters are of a round, so all of its samples have the same.
    for (const round of Map.groupBy(all, ({ sample }) => sample).values()) {
      assertEquals(new Set(round.map(({ conditions }) => JSON.stringify(conditions))).size, 1);
    }
    const lines = (await Deno.readTextFile(`${directory}/starts.jsonl.turns`)).trimEnd().split("\n");
    let holder: string | undefined;
    for (const line of lines) {
      const [pid, what] = line.split(" ");
      if (what === "trains") {
        assertEquals(holder, undefined, "two train at once");
        holder = pid;
      } else if (holder === pid) holder = undefined;
    }
    // Fake steps take equally long, so no way is better, and the first round says so.
    const notices = events.flatMap((event) => event.type === "notice" ? [event.message] : []);
    assert(
      notices.some((message) => message.includes("the samples of a round train in turns: the first shows 0.0 %")),
      notices.join(),
    );
  });
});

Deno.test("a sample that fails in its turns is a failed sample, and the others of its round go on", async () => {
  await withRun(async (run) => {
    const { samples, failed } = await run();
    assertEquals([samples.length, failed.length], [10, 2]);
    assertStringIncludes(failed.map(({ error }) => error).join(), "exit code 7");
  }, { 2: "crash-later", 6: "crash" });
});

Deno.test("a run that is interrupted in a round in turns ends all its workers and resumes to the same samples", async () => {
  await withRun(async (run, directory) => {
    const stop = new AbortController();
    const running = run({ signal: stop.signal });
    const hangs = async () => {
      while (!(await Deno.readTextFile(`${directory}/starts.jsonl.turns`).catch(() => "")).includes("trains")) {
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      setTimeout(() => stop.abort(), 300);
    };
    void hangs();
    const error = await assertRejects(() => running) as RunInterrupted;
    assertEquals([error.name, error.planned], ["RunInterrupted", 15]);
    assertEquals((await readResult(`${directory}/result.jsonl`)).samples.length, 0);
    const { samples, again = [], failed } = await run({ resume: true });
    assertEquals([samples.length, again.length, failed.length], [12, 3, 0]);
    assertEquals(new Set([...samples, ...again].map(({ id }) => id)).size, 15);
  }, { 3: "hang-later" });
});

Deno.test("samples run one after the other where memory has no room for all, and a scenario that insists is told why", async () => {
  await withRun(
    async (run) => {
      assert((await run()).samples.every(({ turns }) => turns === undefined));
      const error = await assertRejects(() => run({}, { ...SCENARIO, name: "x", sampling: "turns" }), UnavailableError);
      assertStringIncludes(error.message, "Cannot train in turns: together they need ");
      assertStringIncludes(error.message, 'write "sampling": "auto" or "processes"');
    },
    {},
    { memory: 2 ** 20 },
  );
  await withRun(async (run) => {
    assert((await run({}, { ...SCENARIO, sampling: "processes" })).samples.every(({ turns }) => turns === undefined));
  });
  await withRun(
    async (run) => {
      const error = await assertRejects(() => run({}, { ...SCENARIO, sampling: "turns" }), UnavailableError);
      assertStringIncludes(error.message, "has a medium of its own");
    },
    {},
    { here: ALL_PMEM },
  );
});
