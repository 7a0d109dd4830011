import { checkScenario } from "../../scenarios/check.ts";
import { listMedia } from "../../scenarios/media.ts";
import { parsePlan } from "../../scenarios/planning/load.ts";
import { checkSimulation } from "../../scenarios/simulation/check.ts";
import { assert, assertEquals, assertStringIncludes, assertThrows } from "../assert.ts";

const MEDIA = await listMedia();
const named = (n: number, value: unknown) => Object.fromEntries(Array.from({ length: n }, (_, i) => [`n${i}`, value]));

Deno.test("a scenario of more samples than an hour has is refused with the count", () => {
  const scenario = (n: number, repetitions: number) => ({
    name: "many",
    repetitions,
    configurations: named(n, { storage: "DRAM" }),
  });
  assertEquals(checkScenario(scenario(1000, 10), MEDIA), []);
  for (const [n, repetitions] of [[50_000, 3], [1001, 10], [101, 100]] as const) {
    const [problem, ...more] = checkScenario(scenario(n, repetitions), MEDIA);
    assertEquals(more, []);
    assertStringIncludes(problem?.message ?? "", `expected at most 10000 samples, found about ${n * repetitions}`);
  }
});

const SIMULATION = {
  kind: "simulation",
  name: "long",
  workload: { batch: 10, tables: [{ name: "ids", rows: 100, dim: 4, lookups: 1, law: { s: 1 } }] },
  compute: { dense: "1 ms", source: "a test" },
  configurations: { dram: { mode: "dram", tiers: [{ media: "ddr4-2666-6ch" }] } },
};

Deno.test("a simulation of more work than a minute has is refused before it starts, also by what a study varies", () => {
  const network = { bandwidth: "10 GB/s" };
  const fine = [{}, { steps: 100_000, warmup: 0 }, { steps: 1000, cluster: { workers: 64, servers: 8, network } }];
  for (const more of fine) assertEquals(checkSimulation({ ...SIMULATION, ...more }, MEDIA), []);
  const wrong = [
    { steps: 100_000, cluster: { workers: 1024, servers: 256, network } },
    {
      steps: 10_000,
      cluster: { servers: 2, network },
      studies: [{ name: "s", vary: { "cluster.workers": [4, 1024] } }],
    },
    { studies: [{ name: "s", vary: { steps: [100_000, 90_000], "overlap.microBatches": [64] } }] },
  ];
  for (const more of wrong) {
    const [problem] = checkSimulation({ ...SIMULATION, ...more }, MEDIA);
    assert(problem !== undefined, JSON.stringify(more));
    assertStringIncludes(problem.message, "expected work of at most 2000000");
  }
});

Deno.test("a plan of more tables or machines than can be tried is refused", () => {
  const plan = (tables: number, machines: number) =>
    JSON.stringify({
      kind: "plan",
      name: "many",
      tables: named(tables, { rows: 1, dim: 1, profile: { s: 1 } }),
      machines: named(machines, {
        pricePerHour: 1,
        date: "2026-11",
        tiers: [{ name: "DRAM", medium: "ddr4-2666-6ch", size: "1 GB" }],
      }),
      target: { p99Ms: 1 },
    });
  const place = { file: "many.jsonc", directory: "/" };
  parsePlan(plan(500, 500), place);
  assertThrows(() => parsePlan(plan(501, 1), place), Error, "expected at most 500 kinds of tables");
  assertThrows(() => parsePlan(plan(1, 501), place), Error, "expected at most 500 machines");
});
