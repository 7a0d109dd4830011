/** Pages dealt out over tiers by weights: shares, limits, and times between those of the tiers alone. */

import "../../native_library.ts";
import { resolveSimulation } from "../../../models/simulation/load.ts";
import { fillSimulation } from "../../../models/simulation/resolve.ts";
import { runSimulation } from "../../../models/simulation/run.ts";
import type { SimulatedConfiguration, Simulation } from "../../../models/simulation/simulation.ts";
import { needsOf } from "../../../reports/simulation/money.ts";
import { assert, assertAlmostEquals, assertEquals, assertRejects, assertStringIncludes } from "../../assert.ts";

const [DRAM, CXL] = [{ media: "ddr5-4800-8ch", size: "64 GB" }, { media: "cxl-type3-ddr4" }] as const;
const over = (weights: readonly number[]): SimulatedConfiguration => ({
  mode: "cxl",
  placement: "interleave",
  weights,
  tiers: [DRAM, CXL],
});

function simulation(configurations: Simulation["configurations"], s = 1.05): Simulation {
  return {
    kind: "simulation",
    name: "interleave",
    workload: {
      batch: 8192,
      tables: [{ name: "ids", rows: 1e8, dim: 64, slots: 1, overhead: 0, lookups: 16, law: { s } }],
    },
    compute: { dense: 0, source: "an example" },
    cluster: { cores: 16, backgroundThreads: 4 },
    configurations,
  };
}

Deno.test("of a step's rows each tier has its share of the pages, popular or not, and the time lies between the tiers'", async () => {
  for (const s of [0, 1.2]) {
    const { cases } = await runSimulation(simulation({
      dram: { mode: "dram", tiers: [{ media: "ddr5-4800-8ch", size: "64 GB" }] },
      cxl: { mode: "cxl", tiers: [CXL] },
      three: over([3, 1]),
      one: over([1, 3]),
      cached: { mode: "cxl", tiers: [{ ...DRAM, size: "40 GB" }, CXL] },
    }, s));
    const of = (name: string) => {
      const found = cases.find(({ configuration }) => configuration === name);
      assert(found !== undefined);
      return found;
    };
    assertEquals(of("three").tiers.map(({ rowsShare }) => rowsShare), [0.75, 0.25]);
    assertAlmostEquals(of("three").misses.ofRows, 0.25, 1e-12);
    assert(of("three").hits === undefined, "nothing is cached");
    const [dram, three, one, cxl] = ["dram", "three", "one", "cxl"].map((name) => of(name).step.mean);
    assert(
      (dram ?? 0) < (three ?? 0) && (three ?? 0) < (one ?? 0) && (one ?? 0) < (cxl ?? 0),
      `s = ${s}: ${dram}, ${three}, ${one}, ${cxl}`,
    );
    // A row of a step is read and written where it is: bytes of each tier are its share of what one tier alone moves.
    const bytes = (name: string, t: number) =>
      (of(name).tiers[t]?.readBytes ?? 0) + (of(name).tiers[t]?.writeBytes ?? 0);
    assertAlmostEquals(bytes("three", 1) / bytes("cxl", 0), 0.25, 0.01);
    // Where some rows are popular, a cache of three quarters has more of a step's rows in DRAM than pages dealt out.
    if (s > 1) assert((of("cached").misses.ofRows) < 0.2 * of("three").misses.ofRows);
  }
});

Deno.test("each tier must hold its share, and is bought for it", async () => {
  const small = { ...over([3, 1]), tiers: [{ ...DRAM, size: "30 GB" }, CXL] };
  const error = await assertRejects(() => resolveSimulation(simulation({ small })));
  assertStringIncludes(`${error}`, "has 27.9 GiB");
  const filled = fillSimulation(simulation({ three: over([3, 1]) }), ".");
  const needs = needsOf(filled, "three");
  assertAlmostEquals(needs.dram ?? 0, 1e8 * 512 * 0.75, 1);
  assertAlmostEquals(needs.cxl ?? 0, 1e8 * 512 * 0.25, 1);
  // What is filled in stays what it is when it is filled in again.
  assertEquals(fillSimulation(filled, ".").configurations["three"]?.weights, [3, 1]);
  assertEquals(
    fillSimulation(simulation({ plain: { mode: "cxl", placement: "interleave", tiers: [DRAM, CXL] } }), ".")
      .configurations["plain"]?.weights,
    [1, 1],
  );
});

Deno.test("weights that are no weights, of one tier, of a disk, or without interleaving are refused", async () => {
  const cases: [SimulatedConfiguration, string][] = [
    [over([1]), "expected a weight"],
    [over([1, 2, 3]), "expected a weight for each of the 2 tiers, found 3"],
    [over([0, 1]), "weights"],
    [{ mode: "cxl", tiers: [DRAM, CXL], weights: [1, 1] }, 'without placement "interleave"'],
    [{ mode: "cxl", placement: "interleave", tiers: [CXL] }, "expected two tiers of memory or more"],
    [{ mode: "ssd", placement: "interleave", tiers: [DRAM, { media: "nvme-tlc" }] }, "found a disk"],
  ];
  for (const [one, expected] of cases) {
    const error = await assertRejects(() => resolveSimulation(simulation({ one })));
    assertStringIncludes(`${error}`, expected);
  }
});
