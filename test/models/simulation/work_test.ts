import { checkScenario } from "../../../scenarios/check.ts";
import { mediaStores } from "../../../models/media/media.ts";
import { parsePlan } from "../../../models/planning/load.ts";
import { ScenarioError } from "../../../base/diagnostics.ts";
import { checkSimulation } from "../../../models/simulation/check.ts";
import { loadSimulation } from "../../../models/simulation/load.ts";
import { runSimulation } from "../../../models/simulation/run.ts";
import type { Simulation } from "../../../models/simulation/simulation.ts";
import { estimatedSeconds } from "../../../models/simulation/work.ts";
import { assert, assertEquals, assertRejects, assertStringIncludes, assertThrows } from "../../assert.ts";
import { inFolder, runCommand } from "../../cli/command.ts";
import "../../native_library.ts";

const MEDIA = await mediaStores();
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

Deno.test("a simulation of more work than two minutes have is refused before it starts, also by what a study varies", () => {
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
    assertStringIncludes(problem.message, "expected work of at most 120 s of one core, found about ");
    assertStringIncludes(problem.hint ?? "", "--no-limit");
    assertEquals(checkSimulation({ ...SIMULATION, ...more }, MEDIA, false), []);
  }
});

/** Memory Mode over so many rows, and hits replayed by a policy, at each of these numbers of rows. */
const sampled = (rows: readonly number[]) => ({
  ...SIMULATION,
  steps: 1,
  warmup: 0,
  configurations: {
    lines: { mode: "memory-mode", tiers: [{ media: "ddr4-2666-6ch", size: "1 GB" }, { media: "optane-100-6x256" }] },
    replay: {
      mode: "fsdax",
      policy: "s3fifo",
      tiers: [{ media: "ddr4-2666-6ch", size: "1 GB" }, { media: "optane-100-6x256" }],
    },
  },
  studies: [{ name: "s", vary: { "workload.tables.0.rows": rows } }],
});

Deno.test("what samples Memory Mode and replays hits is in the work of a simulation, once for the cases that share it", () => {
  const alone = (rows: readonly number[], name: "lines" | "replay") => {
    const { [name]: one } = sampled(rows).configurations;
    return estimatedSeconds({ ...sampled(rows), configurations: { [name]: one } } as unknown as Simulation);
  };
  // 10^12 rows share each place with 256 others or more: 4.4 s; 10^6 rows have their places alone.
  const large = alone([1e12], "lines"), small = alone([1e6], "lines");
  assert(large > 4 && large < 5, `${large}`);
  assert(small < 0.1, `${small}`);
  assertEquals(Math.round(alone([1e12, 2e12], "lines") / large), 2);
  assert(Math.abs(alone([1e12], "replay") - 0.5) < 0.01);
  const again = sampled([1e12]);
  const seeds = { ...again, studies: [{ name: "s", vary: { "compute.perRow": ["1 ns", "2 ns", "3 ns"] } }] };
  const once = { ...again, studies: [{ name: "s", vary: { "compute.perRow": ["1 ns"] } }] };
  const [three, one] = [seeds, once].map((written) => estimatedSeconds(written as unknown as Simulation));
  assert((three ?? 0) - (one ?? 0) < 0.01, `${three} ${one}`);
  const many = Array.from({ length: 30 }, (_, i) => 1e12 + i);
  const [problem] = checkSimulation(sampled(many), MEDIA);
  assertStringIncludes(problem?.message ?? "", "expected work of at most 120 s of one core, found about ");
  assertEquals(checkSimulation(sampled(many.slice(0, 10)), MEDIA), []);
});

Deno.test("shipped simulations are far below the bound", async () => {
  for (
    const name of ["terabyte", "cxl-expander", "paper-openembedding", "mlperf-dlrmv2", "mlperf-dlrmv3", "mlperf-dlrmv4"]
  ) {
    const seconds = estimatedSeconds(await loadSimulation(`scenarios/${name}.jsonc`) as unknown as Simulation);
    assert(seconds > 0 && seconds < 60, `${name}: ${seconds}`);
  }
});

Deno.test("whoever means so much work says so", async () => {
  await inFolder(async (folder) => {
    const simulation = `${folder}/simulation.jsonc`;
    const scenario = `${folder}/scenario.jsonc`;
    const steps = { ...SIMULATION, steps: 100_000, overlap: { microBatches: 64 } };
    await Deno.writeTextFile(simulation, JSON.stringify(steps));
    const samples = { name: "many", repetitions: 1000, configurations: named(11, { storage: "DRAM" }) };
    await Deno.writeTextFile(scenario, JSON.stringify(samples));
    for (const file of [simulation, scenario]) {
      for (const words of [["validate", file], ["run", file]]) {
        const { code, err } = await runCommand(words, 200);
        assertEquals(code, 2);
        assertStringIncludes(err, "--no-limit");
      }
      const { code, err } = await runCommand(["validate", file, "--no-limit"], 200);
      assertEquals(code, 0, err);
    }
    const tables = named(501, { rows: 10, dim: 1, profile: { s: 1 } });
    const plan = `${folder}/plan.jsonc`;
    await Deno.writeTextFile(plan, JSON.stringify({ kind: "plan", name: "many", tables, target: { p99Ms: 1 } }));
    assertStringIncludes((await runCommand(["size", plan], 200)).err, "--no-limit");
    assertStringIncludes((await runCommand(["plan", plan], 200)).err, "--no-limit");
    const sized = await runCommand(["size", plan, "--no-limit"], 200);
    assertEquals(sized.code, 0, sized.err);
    await assertRejects(() => runSimulation(steps as unknown as Simulation), ScenarioError, "--no-limit");
  });
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
  assertThrows(() => parsePlan(plan(501, 1), place), Error, "expected at most 500 kinds of tables, found 501");
  assertThrows(() => parsePlan(plan(1, 501), place), Error, "expected at most 500 machines, found 501");
  assertThrows(() => parsePlan(plan(1, 501), place), Error, "say --no-limit");
  assertEquals(Object.keys(parsePlan(plan(501, 501), { ...place, limit: false }).tables).length, 501);
});

Deno.test("a trace that is replayed exactly is work, by the bytes of its file", async () => {
  await inFolder(async (folder) => {
    const trace = await Deno.create(`${folder}/keys.raw`);
    await trace.truncate(2 ** 36); // a sparse file
    trace.close();
    const exact = {
      ...SIMULATION,
      workload: { ...SIMULATION.workload, trace: "keys.raw" },
      configurations: {
        two: {
          mode: "fsdax",
          hits: "exact",
          tiers: [{ media: "ddr4-2666-6ch", size: "1 KB" }, { media: "optane-100-6x128" }],
        },
      },
    };
    await Deno.writeTextFile(`${folder}/long.jsonc`, JSON.stringify(exact));
    const { message } = await assertRejects(() => loadSimulation(`${folder}/long.jsonc`), ScenarioError);
    assertStringIncludes(message, "expected work of at most 120 s of one core, found about ");
    assertStringIncludes(message, "--no-limit");
    assertEquals((await loadSimulation(`${folder}/long.jsonc`, { limit: false })).name, "long");
  });
});

Deno.test("a matrix of more than 1000 combinations runs where no limit is asked for", () => {
  const batches = Array.from({ length: 1001 }, (_, i) => i + 1);
  const many = {
    name: "many",
    repetitions: 3,
    configurations: { dram: { storage: "DRAM" } },
    matrix: { "workload.batch": batches },
  };
  const [problem] = checkScenario(many, MEDIA);
  assertStringIncludes(problem?.message ?? "", "expected at most 1000 combinations, found 1001");
  assertStringIncludes(problem?.hint ?? "", "--no-limit");
  assertEquals(checkScenario(many, MEDIA, false), []);
});
