// Plans whose software is priced by what was measured of our store.

import "../../native_library.ts";
import { assert, assertEquals, assertRejects } from "../../assert.ts";
import { ScenarioError } from "../../../base/diagnostics.ts";
import { defaultPriceBook } from "../../../models/costs/default_prices.ts";
import { planInputs } from "../../../models/planning/inputs.ts";
import { loadPlan } from "../../../models/planning/load.ts";
import { plan } from "../../../models/planning/planner.ts";
import { planRequest } from "../../../models/planning/request.ts";

const PLAN = {
  kind: "plan",
  name: "own",
  tables: { ids: { rows: 20_000_000, dim: 64, profile: { s: 1.05 } } },
  providers: [],
  target: { dollarsPerHour: 1 },
  machines: {
    pmem: {
      pricePerHour: 1,
      date: "2026-11",
      tiers: [
        { name: "DRAM", medium: "ddr4-2666-6ch", size: "4 GiB" },
        { name: "PMEM", medium: "optane-100-6x256", size: "512 GiB" },
      ],
    },
  },
};
const price = (value: number) => ({ value, low: value / 2, high: value * 2 });

async function stepSeconds(folder: string, perMiss?: number): Promise<number> {
  const software = perMiss === undefined ? {} : { software: "software.jsonc" };
  if (perMiss !== undefined) {
    const [cheap, none] = [price(6e-8), { value: 0, low: 0, high: 1e-9 }];
    const prices = {
      perKey: none,
      perRow: cheap,
      perUpdate: cheap,
      track: none,
      upkeep: none,
      perMiss: price(perMiss),
    };
    await Deno.writeTextFile(
      `${folder}/software.jsonc`,
      JSON.stringify({
        kind: "software",
        about: "",
        memory: "node0",
        prices,
        runs: { rows: 1, dim: 1, keys: 1, steps: 1, rounds: 1 },
        measured: { host: "lab7", date: "2026-11-22", machine: {}, virtual: false, commands: [] },
      }),
    );
  }
  await Deno.writeTextFile(`${folder}/plan.jsonc`, JSON.stringify({ ...PLAN, ...software }));
  const inputs = await planInputs(await loadPlan(`${folder}/plan.jsonc`));
  const { best } = plan(planRequest(inputs, await defaultPriceBook()));
  assert(best !== undefined);
  return best.stepSeconds.value;
}

Deno.test("a plan takes the prices of our store by path: a row that is brought up costs what was measured", async () => {
  const folder = await Deno.makeTempDir();
  try {
    // The default of 60 ns a row, and the same as a file with misses that cost next to nothing.
    const [plain, free] = [await stepSeconds(folder), await stepSeconds(folder, 1e-12)];
    assert(Math.abs(free / plain - 1) < 1e-3, `${free} ${plain}`);
    const more = await stepSeconds(folder, 1e-5) - free;
    assert(Math.abs((await stepSeconds(folder, 2e-5) - free) / more / 2 - 1) < 0.1 && more > 1e-5, `${more}`);
    await Deno.remove(`${folder}/software.jsonc`);
    const written = await loadPlan(`${folder}/plan.jsonc`);
    assertEquals(written.software, "software.jsonc");
    const error = await assertRejects(() => planInputs(written), ScenarioError);
    assert(error.message.includes("software") && error.message.includes("does not exist"), error.message);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
