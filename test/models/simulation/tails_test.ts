/** Percentiles of a step: those of the dense time's spread and of the rows that a step draws, in every shipped simulation. */

import "../../native_library.ts";
import { loadSimulation } from "../../../models/simulation/load.ts";
import { runSimulation } from "../../../models/simulation/run.ts";
import type { Simulation } from "../../../models/simulation/simulation.ts";
import { summariseSimulation } from "../../../reports/simulation/summary.ts";
import { assert, assertAlmostEquals, assertEquals } from "../../assert.ts";

const SCENARIOS = new URL("../../../scenarios/", import.meta.url);

Deno.test("in no line of a shipped simulation is the 99th percentile the mean, or a percentile below a lower one", async () => {
  let lines = 0;
  for await (const { name } of Deno.readDir(SCENARIOS)) {
    if (!name.endsWith(".jsonc")) continue;
    if (!/"kind": "simulation"/.test(await Deno.readTextFile(new URL(name, SCENARIOS)))) continue;
    const { cases } = await runSimulation({ ...await loadSimulation(new URL(name, SCENARIOS)), explain: [] });
    for (const { case: label, step: { mean, p50, p90, p99 } } of cases) {
      lines++;
      assert(p99 > mean * 1.001 && p50 < p90 && p90 < p99, `${name}, ${label}: ${mean}, ${p50}, ${p90}, ${p99}`);
    }
  }
  assert(lines > 40, `${lines} lines`);
});

/** Steps of little but a dense time of 10 ms. */
function dense(spread: number, workers: number): Simulation {
  return {
    kind: "simulation",
    name: "tails",
    steps: 4000,
    workload: { batch: 1, tables: [{ name: "a", rows: 100, dim: 4, slots: 0, lookups: 1, law: { s: 0 } }] },
    compute: { dense: "10 ms", spread, on: "accelerator", source: "a test" },
    overlap: { ahead: 0 },
    cluster: workers === 1
      ? { cores: 1 }
      : { cores: 4, servers: 1, workers, network: { bandwidth: "100 Gbit/s", latency: "0 us" } },
    configurations: { dram: { mode: "dram", tiers: [{ media: "ddr4-2666-6ch", size: "1 GB" }] } },
  };
}

Deno.test("the dense time's percentiles are those of a log-normal, and of many workers those of the slowest", async () => {
  const step = async (spread: number, workers: number) =>
    (await runSimulation(dense(spread, workers))).cases[0]?.step ?? { mean: NaN, p50: NaN, p90: NaN, p99: NaN };
  const still = await step(0, 1);
  assertAlmostEquals(still.p99 / still.mean, 1, 1e-3);
  // Quantiles of the standard normal distribution: 1.2816 and 2.3263.
  for (const spread of [0.05, 0.2]) {
    const sigma = Math.sqrt(Math.log(1 + spread ** 2)), one = await step(spread, 1);
    assertAlmostEquals(one.mean / still.mean, 1, 0.01);
    assertAlmostEquals(one.p90 / one.mean, Math.exp(1.2816 * sigma - sigma ** 2 / 2), 0.01 + spread / 20);
    assertAlmostEquals(one.p99 / one.mean, Math.exp(2.3263 * sigma - sigma ** 2 / 2), 0.015 + spread / 10);
    // The largest of sixteen normal numbers is 1.766 standard deviations above the mean, on average.
    const all = await step(spread, 16), alone = await step(0, 16);
    assertAlmostEquals(all.mean / alone.mean, Math.exp(1.766 * sigma - sigma ** 2 / 2), 0.01 + spread / 10);
  }
});

Deno.test("a report says what its percentiles are made of, and that nothing varies where nobody said so", async () => {
  const told = async (spread: number) =>
    new Map(summariseSimulation(await runSimulation({ ...dense(spread, 1), steps: 8 })).assumptions).get("tails");
  assertEquals(
    await told(0.05),
    "the dense time varies by 5 % from step to step and worker to worker, a step's rows as their law draws them; media " +
      "have no stalls",
  );
  assertEquals(
    await told(0),
    "a step's rows vary as their law draws them; the dense time does not (compute.spread), and media have no stalls",
  );
});
