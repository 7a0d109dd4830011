// What keeping rows in order and telling the policy of keys cost on one machine.

import "../../native_library.ts";
import { assert, assertEquals } from "../../assert.ts";
import { runSimulation } from "../../../models/simulation/run.ts";
import type { SimulatedTier } from "../../../models/simulation/simulation.ts";

const DRAM: SimulatedTier = { media: "ddr4-2666-6ch", size: "64 MiB" };
const PMEM: SimulatedTier = { media: "optane-100-6x256", size: "64 GiB" };

interface Step {
  readonly seconds: number;
  readonly rows: number;
  readonly keys: number;
}

async function stepOf(tiers: readonly SimulatedTier[], upkeep: number, track: number = 0): Promise<Step> {
  const { cases: [one] } = await runSimulation({
    kind: "simulation",
    name: "upkeep",
    workload: { batch: 512, tables: [{ name: "ids", rows: 1e6, dim: 32, lookups: 1, law: { s: 1 } }] },
    compute: { dense: 0, source: "an example" },
    overlap: { ahead: 0 },
    cluster: { cores: 1, backgroundThreads: 0 },
    configurations: { one: { mode: tiers.length === 1 ? "dram" : "fsdax", software: { upkeep, track }, tiers } },
  });
  assert(one !== undefined);
  return { seconds: one.step.mean, rows: one.rows.worker, keys: one.rows.keys };
}

Deno.test("on one machine of two tiers each row of a step costs its upkeep once, of one tier nothing", async () => {
  const upkeep = 1e-6;
  const [none, kept] = [await stepOf([DRAM, PMEM], 0), await stepOf([DRAM, PMEM], upkeep)];
  const more = kept.seconds - none.seconds;
  assert(Math.abs(more / (kept.rows * upkeep) - 1) < 0.02, `${more} s for ${kept.rows} rows`);
  const alone = { ...DRAM, size: "4 GiB" };
  assertEquals(await stepOf([alone], upkeep), await stepOf([alone], 0));
});

Deno.test("each key of a lookup, repeated ones too, costs what telling the policy costs, of one tier nothing", async () => {
  const track = 1e-6;
  const [none, told] = [await stepOf([DRAM, PMEM], 0), await stepOf([DRAM, PMEM], 0, track)];
  const more = told.seconds - none.seconds;
  assert(told.rows < 0.95 * told.keys, `${told.rows} rows of ${told.keys} keys`);
  assert(Math.abs(more / (told.keys * track) - 1) < 0.02, `${more} s for ${told.keys} keys`);
  const alone = { ...DRAM, size: "4 GiB" };
  assertEquals(await stepOf([alone], 0, track), await stepOf([alone], 0));
});
