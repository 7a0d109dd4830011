/** Rows in a GPU's memory and behind its link: what was published, and what the terms for it do. */

import "../../native_library.ts";
import { parseSimulation, runSimulation, ScenarioError, type Simulation } from "../../../mod.ts";
import { nullCases } from "../../../models/simulation/null_models.ts";
import { simulatedCases } from "../../../models/simulation/cases.ts";
import { publishedDeviations } from "../../../models/simulation/deviations.ts";
import { loadSimulation } from "../../../models/simulation/load.ts";
import { assert, assertAlmostEquals, assertEquals, assertRejects } from "../../assert.ts";

const shipped = (name: string) => loadSimulation(new URL(`../../../scenarios/${name}.jsonc`, import.meta.url));

Deno.test("ratios of HierarchicalKV and dynamicemb are within 20 %, and half of them and more set no parameter", async () => {
  for (const [name, figures, free] of [["paper-hierarchicalkv", 4, 3], ["hbm-cache", 5, 3]] as const) {
    const simulation = await shipped(name);
    const found = publishedDeviations(await runSimulation({ ...simulation, explain: [] })).map(([, one]) => one);
    assertEquals(found.length, figures, name);
    for (const one of found) {
      assert(Math.abs(one.simulated / one.published - 1) < 0.2, `${name}, ${one.figure}: ${one.simulated}`);
    }
    assertEquals(found.filter(({ calibrates }) => calibrates === undefined).length, free, name);
  }
});

function simulation(more: Partial<Simulation> = {}): Simulation {
  return {
    kind: "simulation",
    name: "gpu",
    steps: 4,
    workload: { batch: 1000, tables: [{ name: "ids", rows: 1e6, dim: 64, slots: 0, lookups: 3, law: { s: 1 } }] },
    compute: { dense: 0, source: "a test" },
    cluster: { cores: 132 },
    configurations: { hbm: { mode: "hbm", tiers: [{ media: "hbm3-h100", size: "1 GB", store: "nt" }] } },
    ...more,
  };
}

Deno.test("activations in the first tier are written and read there, a row a key", async () => {
  const bytes = async (activations: "caches" | "first-tier") => {
    const { cases: [one] } = await runSimulation(simulation({ compute: { dense: 0, activations, source: "a test" } }));
    const [tier] = one?.tiers ?? [];
    return [tier?.readBytes ?? NaN, tier?.writeBytes ?? NaN, one?.step.mean ?? NaN] as const;
  };
  const [read, written, step] = await bytes("caches"), [more, out, longer] = await bytes("first-tier");
  const batch = 1000 * 3 * 64 * 4;
  assertAlmostEquals((out - written) / batch, 1, 1e-6);
  assertAlmostEquals((more - read) / batch, 1, 1e-6);
  assert(longer > step);
  const servers = simulation({
    compute: { dense: 0, activations: "first-tier", source: "a test" },
    cluster: { workers: 2, servers: 2, network: { bandwidth: "10 Gbit/s" } },
  });
  await assertRejects(() => runSimulation(servers), ScenarioError, 'expected "caches" with servers');
});

Deno.test("batches that repeat are for one tier or two whose rows the store places, and ways for sets alone", async () => {
  const parsed = (written: Simulation) => parseSimulation(JSON.stringify(written), { file: "x.jsonc", directory: "." });
  const cached = (more: Partial<Simulation["configurations"][string]>) =>
    simulation({
      workload: { ...simulation().workload, cycle: 10 },
      configurations: {
        cache: {
          mode: "hbm",
          tiers: [{ media: "hbm3-h100", size: "100 MB" }, { media: "ddr5-over-pcie5" }],
          ...more,
        },
      },
    });
  const misses = async (size: string, cycle: number) => {
    const { cases: [one] } = await runSimulation({
      ...cached({ tiers: [{ media: "hbm3-h100", size, store: "nt" }, { media: "ddr5-over-pcie5", store: "nt" }] }),
      workload: { ...simulation().workload, cycle },
    });
    return one?.misses.ofRows ?? NaN;
  };
  // Ten batches of 3000 keys: less than 30 thousand rows of 272 bytes.
  assertEquals(await misses("10 MB", 10), 0);
  assert(await misses("10 MB", 0) > 0.05 && await misses("2 MB", 10) > 0.05);
  assertAlmostEquals(await misses("2 MB", 10), await misses("2 MB", 0), 1e-3);
  await assertRejects(
    () => parsed(cached({ placement: "pages" })),
    ScenarioError,
    'expected no such field with the configuration "cache"',
  );
  await assertRejects(
    () => parsed(cached({ ways: 128 })),
    ScenarioError,
    'without policy "set-associative", found 128',
  );
});

Deno.test("a hundredth of the cache changes nothing where weights and no sizes say what is in a tier", async () => {
  const cases = await simulatedCases(await shipped("hbm-cache"));
  const small = nullCases(await shipped("hbm-cache"), cases).filter(({ model }) => model === "small-cache");
  const names = new Set(small.map(({ one }) => one.configuration));
  assert(names.has("cache-0.8") && !names.has("host") && !names.has("host-90"), [...names].join());
});
