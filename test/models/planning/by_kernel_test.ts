/** Pages that the kernel places: what the planner says of them, held against the same as a simulation. */

import "../../native_library.ts";
import { defaultPriceBook } from "../../../models/costs/default_prices.ts";
import { weightsOf } from "../../../models/planning/by_kernel.ts";
import { planInputs } from "../../../models/planning/inputs.ts";
import { parsePlan } from "../../../models/planning/load.ts";
import type { PlacedKind, Plan } from "../../../models/planning/plan_types.ts";
import { placementsOn, plan } from "../../../models/planning/planner.ts";
import { planRequest } from "../../../models/planning/request.ts";
import { planText } from "../../../models/planning/text.ts";
import { fillSimulation } from "../../../models/simulation/resolve.ts";
import { simulateCase } from "../../../models/simulation/simulate_case.ts";
import { assert, assertAlmostEquals, assertEquals, assertStringIncludes } from "../../assert.ts";

const ROWS = 2e9;
const [BATCH, WORKERS, LOOKUPS, CORES] = [4096, 8, 26, 32];
const MACHINE = {
  pricePerHour: 3,
  date: "2026-11",
  threads: CORES,
  network: "25 GB",
  tiers: [
    { name: "DRAM", medium: "ddr5-4800-8ch", size: "512 GiB" },
    { name: "CXL", medium: "cxl-type3-ddr4", size: "1 TiB", devices: 1 },
  ],
};

async function requestOf(s: number, machine: object = MACHINE) {
  const file = parsePlan(
    JSON.stringify({
      kind: "plan",
      name: "t",
      tables: { ids: { rows: ROWS, dim: 64, profile: { s }, lookups: LOOKUPS } },
      batch: BATCH,
      workers: WORKERS,
      computeMs: 1,
      target: { samplesPerSecond: 1000 },
      providers: [],
      machines: { m: machine },
    }),
    { file: "t.jsonc", directory: "." },
  );
  const inputs = await planInputs({ ...file, directory: "." });
  return { inputs, request: planRequest(inputs, defaultPriceBook()) };
}

async function placed(s: number, machine: object = MACHINE): Promise<ReadonlyMap<PlacedKind, Plan>> {
  const { request } = await requestOf(s, machine);
  const [only] = request.machines;
  assert(only !== undefined);
  return new Map(placementsOn(only, 1, request).map((one) => [one.placed[0]?.kind ?? "in place", one]));
}

/** The same as a simulation that somebody would write. */
async function simulated(found: Plan, s: number): Promise<number> {
  const interleaved = found.placed[0]?.kind === "interleaved";
  const tiers = found.machine.tiers.map(({ medium }, k) => ({
    media: medium,
    size: Math.ceil(found.usedBytes[k] ?? 0),
  }));
  const simulation = fillSimulation({
    kind: "simulation",
    name: "t",
    workload: {
      batch: BATCH,
      tables: [{ name: "ids", rows: ROWS, dim: 64, slots: 1, overhead: 35, lookups: LOOKUPS, law: { s } }],
    },
    compute: { dense: "1 ms", on: "accelerator", perRow: "60 ns", perUpdate: "60 ns", source: "a test" },
    cluster: {
      workers: WORKERS,
      servers: 1,
      cores: CORES,
      backgroundThreads: 8,
      network: { bandwidth: "25 GB/s", latency: "10 us" },
    },
    configurations: {
      it: {
        mode: "cxl",
        tiers,
        ...(interleaved
          ? { placement: "interleave", weights: weightsOf(found.placed[0]?.answered ?? []) }
          : { placement: "pages", migration: { scan: "256 MB/s", perPage: "2 us" } }),
      },
    },
  }, ".");
  const set = simulation.configurations["it"];
  assert(set !== undefined);
  return (await simulateCase(simulation, set, 1e-3)).samplesPerSecond;
}

for (const s of [0, 0.9]) {
  Deno.test(`planner and simulator say the same of pages that the kernel places, at a skew of ${s}`, async () => {
    const plans = await placed(s);
    for (const kind of ["interleaved", "kernel tiering"] as const) {
      const found = plans.get(kind);
      assert(found !== undefined, kind);
      const apart = found.samplesPerSecond.value / await simulated(found, s) - 1;
      assert(Math.abs(apart) < 0.03, `${kind}: ${apart}`);
    }
  });
}

Deno.test("a plan rests on interleaved pages where rows are used alike, on the store where they are not, never on kernel tiering", async () => {
  const kinds = async (s: number) => {
    const { request } = await requestOf(s);
    const { best, otherwise } = plan(request);
    return [best?.placed[0]?.kind, otherwise.map(({ placed }) => placed[0]?.kind).sort()];
  };
  assertEquals(await kinds(0), ["interleaved", ["cached", "kernel tiering"]]);
  assertEquals(await kinds(1.1), ["cached", ["interleaved", "kernel tiering"]]);
});

Deno.test("pages are dealt out so that each memory has room for its part, index and policy with the rows", async () => {
  const found = (await placed(0)).get("interleaved");
  assert(found !== undefined);
  const all = found.usedBytes.reduce((sum, bytes) => sum + bytes, 0);
  assert(all > ROWS * (512 + 30), "index and policy are in it");
  found.machine.tiers.forEach(({ bytes }, k) => assert((found.usedBytes[k] ?? 0) <= bytes, `tier ${k} has room`));
  const { shares = [], answered = [] } = found.placements[0] ?? {};
  shares.forEach((share, k) => assertAlmostEquals(share, answered[k] ?? NaN, 1e-12));
  // A GiB of CXL memory less than what DRAM leaves: nothing fits, in whatever shares.
  const [dram, cxl] = MACHINE.tiers;
  const needs = Math.ceil(all / 2 ** 30 / 0.9);
  const tight = { ...MACHINE, tiers: [dram, { ...cxl, size: `${needs - 512 - 1} GiB` }] };
  assertEquals([...(await placed(0, tight)).keys()], []);
});

Deno.test("the kernel places no rows on drives, nor where there is one memory, and moves none that DRAM holds alone", async () => {
  const [dram] = MACHINE.tiers;
  const drives = { name: "SSD", medium: "nvme-tlc", size: "3.84 TB", devices: 1, records: true };
  for (const tiers of [[{ ...dram, size: "3 TiB" }], [dram, drives]]) {
    const kinds = [...(await placed(0.9, { ...MACHINE, tiers })).keys()];
    assertEquals(kinds.filter((kind) => kind === "interleaved" || kind === "kernel tiering"), []);
  }
  const roomy = { ...MACHINE, tiers: [{ ...dram, size: "3 TiB" }, MACHINE.tiers[1]] };
  assertEquals([...(await placed(0.9, roomy)).keys()].includes("kernel tiering"), false);
});

Deno.test("a plan's text says what the other ways to place rows come to, and that kernel tiering is at best", async () => {
  const { request } = await requestOf(0.9);
  const text = planText(plan(request));
  assertStringIncludes(text, "rows placed otherwise, on the same machines");
  assertStringIncludes(text, "by the kernel's weighted interleave, 9 : 11: ");
  assertStringIncludes(text, "by the kernel's tiering, at best");
});

Deno.test("weightsOf() gives whole weights as small as they can be", () => {
  assertEquals(weightsOf([0.45, 0.55]), [9, 11]);
  assertEquals(weightsOf([0.75, 0.25]), [3, 1]);
  assertEquals(weightsOf([0.5, 0.5]), [1, 1]);
});
