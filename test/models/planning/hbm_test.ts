/** HBM in sizes and plans: bytes for a hit ratio, GPUs that hold them, what goes over the link, and a price that nobody states. */

import "../../native_library.ts";
import { missRatioCurve } from "../../../ffi/curve.ts";
import { assert, assertAlmostEquals, assertEquals, assertRejects } from "../../assert.ts";
import { defaultPriceBook } from "../../../models/costs/default_prices.ts";
import { hitSizes } from "../../../models/planning/hit_sizes.ts";
import { planWinText } from "../../../models/planning/bill.ts";
import { planInputs } from "../../../models/planning/inputs.ts";
import { loadPlan, parsePlan } from "../../../models/planning/load.ts";
import { plan } from "../../../models/planning/planner.ts";
import { planRequest } from "../../../models/planning/request.ts";
import { planText } from "../../../models/planning/text.ts";
import { resolveSimulation, runSimulation, ScenarioError } from "../../../mod.ts";

function planOf(tables: object, more: object = {}) {
  const file = { kind: "plan", name: "hbm", target: { samplesPerSecond: 1e5 }, tables, batch: 4096, ...more };
  return parsePlan(JSON.stringify(file), { file: "hbm.jsonc", directory: Deno.cwd() });
}

Deno.test("hitSizes(): a cache of so many rows hits so often, by its curve and as a simulated tier", async () => {
  const [rows, s, lookups] = [5e6, 0.9, 10];
  const file = planOf({ ids: { rows, dim: 64, optimizer: "adam", profile: { s }, lookups } });
  for (const one of await hitSizes(file, [0.5, 0.8, 0.95])) {
    const { missRatios: [misses = NaN] } = missRatioCurve({
      law: { rows, s },
      sizes: [Math.round(one.rows)],
      batch: 4096 * lookups,
    });
    assertAlmostEquals(misses, 1 - one.hits, 0.005, `${one.rows} rows`);
    assertAlmostEquals(one.bytes, one.rows * 768, 1);
    assertAlmostEquals(one.linkBytes, one.missed * 768, 1);
    assertAlmostEquals(one.linkBytesPerSecond ?? NaN, one.linkBytes * 1e5 / 4096, 1);
    const simulation = await resolveSimulation({
      kind: "simulation",
      name: "cache",
      steps: 8,
      workload: { batch: 4096, tables: [{ name: "ids", rows, dim: 64, slots: 2, overhead: 0, lookups, law: { s } }] },
      compute: { dense: 0, source: "a test" },
      configurations: {
        cache: {
          mode: "hbm",
          tiers: [{ media: "hbm3-h100", size: Math.round(one.bytes) }, { media: "ddr5-over-pcie5" }],
        },
      },
    });
    const { cases: [found] } = await runSimulation(simulation);
    assertAlmostEquals(found?.misses.ofRows ?? NaN, 1 - one.hits, 0.01);
  }
});

Deno.test("hitSizes(): tables share the tier, more hits take more bytes, all rows are every byte and nothing goes over the link", async () => {
  const file = planOf({
    small: { rows: 1e5, dim: 16, optimizer: "sgd", profile: { s: 1.1 }, count: 3 },
    large: { rows: 2e9, dim: 128, optimizer: "adagrad", profile: "oe-retail", lookups: 26 },
  }, { workers: 4 });
  const found = await hitSizes(file, [0.5, 0.9, 0.99, 1]);
  for (const [i, one] of found.entries()) {
    const before = found[i - 1];
    if (before === undefined) continue;
    assert(one.bytes > before.bytes && one.linkBytes < before.linkBytes);
  }
  const all = found.at(-1);
  assertEquals([all?.bytes, all?.share, all?.linkBytes], [3 * 1e5 * 64 + 2e9 * 1024, 1, 0]);
  // Of an H100's 80 GB rows have nine tenths.
  assertEquals(all?.devices, Math.ceil((3 * 1e5 * 64 + 2e9 * 1024) / 72e9));
  assertEquals(
    (await hitSizes(file, [1], "hbm2e-xeon-max"))[0]?.devices,
    Math.ceil((all?.bytes ?? 0) / 68719476736 / 0.9),
  );
  for (const ratio of [0, 1.01, NaN]) {
    await assertRejects(() => hitSizes(file, [ratio]), RangeError, "above 0 and at most 1 is needed");
  }
});

Deno.test("plans know HBM: rows are cached in it, the answer has what goes over the link, a GPU's limit, and that HBM has no price", async () => {
  const file = await loadPlan(new URL("../../../scenarios/plans/hbm.jsonc", import.meta.url).pathname);
  const request = planRequest(await planInputs(file), defaultPriceBook()), answer = plan(request);
  const { best } = answer;
  assert(best !== undefined);
  assertEquals(best.placements[0]?.kind, "cached");
  const { tierBytes } = best.step;
  assertEquals(tierBytes.length, 2);
  // What misses comes up, and as much goes down.
  const [, below] = tierBytes;
  assert(below !== undefined && below.read > 0);
  assertAlmostEquals(below.written / below.read, 1, 0.01);
  assert(/traffic .* in HBM, .* written in \w+ a step/.test(planText(answer)), planText(answer));
  const own = request.unpriced.find(({ name }) => name === "own with HBM in parts");
  assert(own !== undefined && own.why.startsWith("no price of 80 GB HBM"), own?.why);
  const most = planWinText(own, request, answer);
  assert(most?.includes("$ an hour"), most);
  const full = planOf({ ids: { rows: 1e8, dim: 64, profile: { s: 1 } } }, {
    machines: { gpus: { tiers: [{ name: "HBM", medium: "hbm3-h100", size: "200 GB", devices: 2 }] } },
  });
  await assertRejects(() => planInputs(full), ScenarioError, '2 devices hold of "hbm3-h100"');
});
