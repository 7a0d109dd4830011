// What does not fit is refused: simulations and plans over their capacity.

import "../../native_library.ts";
import { assert, assertEquals, assertRejects } from "../../assert.ts";
import { ScenarioError } from "../../../base/diagnostics.ts";
import { readJsonc } from "../../../base/jsonc.ts";
import { defaultPriceBook } from "../../../models/costs/default_prices.ts";
import { loadMedia } from "../../../models/media/media.ts";
import { planInputs } from "../../../models/planning/inputs.ts";
import { loadPlan } from "../../../models/planning/load.ts";
import { plan } from "../../../models/planning/planner.ts";
import { planRequest } from "../../../models/planning/request.ts";
import { capacityProblems, tierNeeds } from "../../../models/simulation/capacity.ts";
import { simulatedCases } from "../../../models/simulation/cases.ts";
import { isSimulationText, loadSimulation, resolveSimulation } from "../../../models/simulation/load.ts";
import type { Simulation } from "../../../models/simulation/simulation.ts";

const SCENARIOS = new URL("../../../scenarios/", import.meta.url);

async function shipped(): Promise<{ file: URL; written: Simulation }[]> {
  const found = [];
  for await (const { name } of Deno.readDir(SCENARIOS)) {
    if (!name.endsWith(".jsonc")) continue;
    const file = new URL(name, SCENARIOS);
    const text = await Deno.readTextFile(file);
    if (isSimulationText(text)) found.push({ file, written: readJsonc(text).value as unknown as Simulation });
  }
  return found;
}

Deno.test("every shipped simulation fits; with its last tier cut to a hundredth each case is refused", async () => {
  const all = await shipped();
  assert(all.length >= 3);
  for (const { file } of all) {
    for (const { simulation, configuration, set } of await simulatedCases(await loadSimulation(file))) {
      const media = await Promise.all(set.tiers.map((tier) => loadMedia(tier.media)));
      const need = tierNeeds(simulation, set, media.map(({ kind }) => kind)).at(-1);
      assert(need !== undefined && need.needs > 0, configuration);
      const size = Math.ceil((need.needs - need.beside) / 100);
      const tiers = [...set.tiers.slice(0, -1), { ...set.tiers.at(-1), size }] as typeof set.tiers;
      const problems = await capacityProblems(simulation, configuration, { ...set, tiers });
      assert(problems.some(({ message }) => message.includes("needs ")), `${file} ${configuration}`);
      assert(problems.some(({ hint = "" }) => hint.includes("would be enough")), `${file} ${configuration}`);
    }
  }
});

Deno.test("a medium that does not say what it holds is taken at the size of its tier, index and policy beside it", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const path = `${folder}/own.jsonc`;
    const { capacity: _, ...parameters } = (await loadMedia("ddr4-2666-6ch")).parameters;
    await Deno.writeTextFile(path, JSON.stringify({ name: "own", about: "", kind: "dram", parameters }));
    const simulation = await resolveSimulation({
      ...SMALL,
      workload: { batch: 16, tables: [{ name: "t", rows: 1_000_000, dim: 80, lookups: 1, law: { s: 1 } }] },
      configurations: {
        one: { mode: "fsdax", tiers: [{ media: path, size: "64 MiB" }, { media: "optane-100-6x256", size: "1 GiB" }] },
      },
    });
    assertEquals(simulation.configurations["one"]?.tiers[0]?.size, 64 * 2 ** 20);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

const SMALL: Simulation = {
  kind: "simulation",
  name: "small",
  workload: { batch: 16, tables: [{ name: "t", rows: 8_000_000_000, dim: 80, lookups: 1, law: { s: 1 } }] },
  compute: { dense: 0, source: "none" },
  configurations: { one: { mode: "dram", tiers: [{ media: "ddr4-2666-6ch", size: "1 GiB" }] } },
};

Deno.test("5 TB in a tier of 1 GiB is an error that says the bytes and how many servers are enough", async () => {
  const error = await assertRejects(() => resolveSimulation(SMALL), ScenarioError);
  assert(error.message.includes("4.66 TiB") && error.message.includes("has 1.00 GiB"), error.message);
  const cluster = { servers: 4, workers: 1, network: { bandwidth: "100 Gbit/s" } };
  const served = await assertRejects(() => resolveSimulation({ ...SMALL, cluster }), ScenarioError);
  assert(/\d+ servers would be enough/.test(served.message), served.message);
});

Deno.test("rows beyond a module's capacity need devices; DRAM of an unknown size, and of none a socket takes, is refused", async () => {
  const on = (tiers: Simulation["configurations"][string]["tiers"]) =>
    resolveSimulation({ ...SMALL, configurations: { one: { mode: "fsdax", tiers } } });
  const error = await assertRejects(() => on([{ media: "optane-100-1x256" }]), ScenarioError);
  assert(/\d+ devices would be enough/.test(error.message), error.message);
  const unsized = await assertRejects(() => on([{ media: "ddr4-2933-6ch" }]), ScenarioError);
  assert(unsized.message.includes('expected a field "size"'), unsized.message);
  await assertRejects(
    () => on([{ media: "ddr4-2666-6ch", size: "1000 TB" }]),
    ScenarioError,
    "expected a size of at most",
  );
});

Deno.test("the index of rows that are elsewhere lies in the first tier, and counts", async () => {
  const rows = (n: number): Simulation => ({
    ...SMALL,
    workload: { batch: 16, tables: [{ name: "t", rows: n, dim: 4, slots: 0, lookups: 1, law: { s: 1 } }] },
    configurations: {
      one: { mode: "ssd", tiers: [{ media: "ddr4-2666-6ch", size: "1 GiB" }, { media: "nvme-tlc", devices: 8 }] },
    },
  });
  await resolveSimulation(rows(10_000_000_000)); // 160 GB of index in 206 GB of DRAM
  const error = await assertRejects(() => resolveSimulation(rows(14_000_000_000)), ScenarioError);
  assert(error.message.includes("of index and policy") && error.message.includes("ddr4-2666-6ch"), error.message);
});

Deno.test("the shipped plan fits; with its machines' memory cut to a hundredth no machine is left", async () => {
  const inputs = await planInputs(await loadPlan(new URL("plans/retail.jsonc", SCENARIOS)));
  assert(plan(planRequest(inputs, defaultPriceBook())).best !== undefined);
  const { best, losers } = plan(planRequest({ ...inputs, usableShare: 0.009, maxHosts: 8 }, defaultPriceBook()));
  assertEquals(best, undefined);
  assert(losers.every(({ why }) => /rows take [\d.]+ GiB, index and policy at least/.test(why)), losers[0]?.why);
});
