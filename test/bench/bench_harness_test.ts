import "../native_library.ts";
/** The bench of the harness counts what its simulated runs hold, and what becomes of runs that are killed. */

import { countTests } from "../../bench/harness/crimes.ts";
import { killRuns } from "../../bench/harness/kills.ts";
import { NOISES, simulatedRun } from "../../bench/harness/noise.ts";
import { DELAYS, judged, readRuns, type TakenRun, takeRuns } from "../../bench/harness/real.ts";
import { realRows } from "../../bench/harness/real_rows.ts";
import { callsOf, judgedRatio, simulatedRows } from "../../bench/harness/trials.ts";
import { difference } from "../../reports/statistics/noise.ts";
import { rateOf } from "../../reports/statistics/pairing.ts";
import { seededRandom } from "../../reports/statistics/random.ts";
import { assert, assertAlmostEquals, assertEquals, assertThrows } from "../assert.ts";

Deno.test.each(NOISES.map((noise) => [noise]))(
  "simulatedRun(%s) has the effect that is asked for, and no other",
  (noise) => {
    const { baseline, again, other } = simulatedRun(noise, 400, 0.2, seededRandom(noise));
    const rate = (samples: typeof baseline): number =>
      samples.reduce((sum, one) => sum + Math.log(rateOf(one)), 0) / samples.length;
    assertAlmostEquals(rate(baseline) - rate(other), Math.log(1.2), 0.03);
    assertAlmostEquals(rate(baseline) - rate(again), 0, 0.03);
  },
);

Deno.test("a large effect is called in its direction, its absence rarely, and both are counted", () => {
  assertEquals(callsOf("steady", 6, 0.2, 10), { called: 10, of: 10 });
  assert(callsOf("steady", 4, 0, 40).called <= 6);
  const faster = judgedRatio(simulatedRun("steady", 8, -0.2, seededRandom("faster")), "faster");
  assertEquals(difference(faster), "above");
  assert((faster.test?.floor ?? 0) > 1, "the run has a floor of its own");
});

Deno.test("simulatedRows() has the rows with bars, and one of each for every kind of noise", () => {
  const rows = simulatedRows(2, () => {});
  assertEquals(rows.slice(0, 2).map(({ name, atMost, atLeast }) => [name, atMost, atLeast]), [
    ["aa/false-alarms", 0.05, undefined],
    ["power/3-percent", undefined, 0.8],
  ]);
  assertEquals(rows.length, 2 + 3 * NOISES.length);
});

/** A run whose steps vary by some percent, the other case slower by a share. */
function takenRun(seed: number, more: Partial<TakenRun> = {}, spread = 0.02): TakenRun {
  const random = seededRandom(`${seed}`);
  const steps = () => Array.from({ length: 48 }, () => Math.round(3000 * (1 + spread * (random() - 0.5))));
  const rounds = Array.from({ length: 6 }, () => [steps(), steps(), steps()] as const);
  const how = { sampling: "turns", seconds: 24, repetitions: 6, seed, ended: "", took: 20, others: 0.5 } as const;
  return { ...how, rounds, ...more };
}

Deno.test("judged() calls a delay that is larger than a real run's noise, and nothing without one", () => {
  const { called, width } = judged(takenRun(1));
  assertEquals(called, ["none", ...DELAYS.slice(1).map(() => "below" as const)]);
  assert(width > 0 && width < 0.02, `${width}`);
  assertEquals(judged(takenRun(1, {}, 1)).called[1], "none");
});

Deno.test("realRows() counts false alarms of all runs in turns, and what was found by those that ended by their width in time", () => {
  const long = { width: 0.015, seconds: 600 };
  const runs = [
    ...[1, 2, 3].map((seed) => takenRun(seed)),
    ...[4, 5].map((seed) => takenRun(seed, { sampling: "processes" }, 0.2)),
    takenRun(6, long),
    takenRun(7, { ...long, took: 601 }),
  ].map(judged);
  const rows = realRows(runs);
  const row = (name: string) => rows.find((one) => one.name === name);
  assertEquals([row("aa/real false alarms")?.value, row("aa/real false alarms")?.atMost], [0, 0.05]);
  assert(row("aa/real false alarms")?.note?.startsWith("real runs: 3 of 24 s, 6 rounds; 2 of at most 600 s, until"));
  assertEquals([row("power/real 3-percent")?.value, row("power/real 3-percent")?.atLeast], [0.5, 0.8]);
  const width = row("width/before")?.value ?? NaN;
  assert(width > 0.05 && width < 0.3, `${width}`);
  assertEquals(realRows(runs.slice(0, 3)).find(({ name }) => name === "width/before")?.value, null);
});

Deno.test("real runs add up in their file, one that is interrupted is gone on with, and a broken file is told", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const path = `${folder}/runs.jsonl`, told: string[] = [];
    assertEquals(readRuns(path), []);
    const plan = { runs: 1, seconds: 6, repetitions: 3, sampling: "turns" } as const;
    await takeRuns(plan, path, (what) => told.push(what), AbortSignal.timeout(2500));
    assertEquals(told, ["run 1 is interrupted; the same call goes on with it"]);
    const [left] = [...Deno.readDirSync(folder)].map(({ name }) => name);
    assert(Number(await Deno.readTextFile(`${folder}/${left}/took`)) >= 2);
    await takeRuns(plan, path, (what) => told.push(what));
    const [run] = readRuns(path);
    assertEquals([run?.rounds.length, run?.sampling, run?.seed, run?.width], [3, "turns", 100, undefined]);
    assert((run?.took ?? 0) > 2.5);
    // Also when a run of another length has come into the file meanwhile.
    await takeRuns(plan, path, (what) => told.push(what), AbortSignal.timeout(2500));
    await takeRuns({ ...plan, seconds: 4 }, path, (what) => told.push(what));
    await takeRuns(plan, path, (what) => told.push(what));
    assertEquals(readRuns(path).map(({ seed, seconds }) => [seed, seconds]), [[100, 6], [101, 4], [101, 6]]);
    assertEquals([...Deno.readDirSync(folder)].map(({ name }) => name), ["runs.jsonl"]);
    await Deno.writeTextFile(path, "{\n", { append: true });
    assertThrows(() => readRuns(path), Error, "Cannot read the runs");
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("countTests() tells tests that passed from those that failed", () => {
  const report = `<testsuite><testcase name="a broken run is flagged: x (&quot;y&quot;)" time="1"></testcase>
<testcase name="a broken run is flagged: z" time="1"><failure message="no">at</failure></testcase>
<testcase name="a sound run stays silent" time="1"/></testsuite>`;
  assertEquals(countTests(report, "a broken run"), { passed: 1, all: 2 });
  assertEquals(countTests(report, "a sound run"), { passed: 1, all: 1 });
});

Deno.test("runs and workers that are killed at random moments go on to the samples of a run that nobody killed", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const { kills, runs, wrong } = await killRuns(3, Date.now() % 1000, folder);
    assertEquals(wrong, []);
    assert(kills >= 3 && runs >= 1, `${kills} kills, ${runs} runs`);
    assertEquals([...Deno.readDirSync(folder)].map(({ name }) => name), ["alone"]);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
