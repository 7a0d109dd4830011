import "../native_library.ts";
/** The bench of the harness counts what its simulated runs hold, and what becomes of runs that are killed. */

import { countTests } from "../../bench/harness/crimes.ts";
import { killRuns } from "../../bench/harness/kills.ts";
import { NOISES, simulatedRun } from "../../bench/harness/noise.ts";
import { callsOf, judgedRatio, simulatedRows } from "../../bench/harness/trials.ts";
import { difference } from "../../reports/statistics/noise.ts";
import { rateOf } from "../../reports/statistics/pairing.ts";
import { seededRandom } from "../../reports/statistics/random.ts";
import { assert, assertAlmostEquals, assertEquals } from "../assert.ts";

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
