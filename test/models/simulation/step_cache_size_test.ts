/** The smallest first tier with which a step is short enough: against simulations of that size and of a little less. */

import "../../native_library.ts";
import { loadSimulation, resolveSimulation } from "../../../models/simulation/load.ts";
import { runSimulation } from "../../../models/simulation/run.ts";
import type { Simulation } from "../../../models/simulation/simulation.ts";
import { stepCacheSizes } from "../../../models/simulation/step_cache_size.ts";
import { assert, assertEquals, assertRejects, assertStringIncludes } from "../../assert.ts";
import { runCommand } from "../../cli/command.ts";

const written = (size: number): Simulation => ({
  kind: "simulation",
  name: "sized",
  workload: { batch: 4096, tables: [{ name: "ids", rows: 2e8, dim: 64, slots: 1, lookups: 20, law: { s: 1.1 } }] },
  compute: { dense: "1 ms", source: "of a test" },
  configurations: {
    ssd: {
      mode: "ssd",
      tiers: [{ media: "ddr5-4800-8ch", size: `${size} B` }, { media: "nvme-tlc" }],
    },
    dram: { mode: "dram", tiers: [{ media: "ddr5-4800-8ch", size: "1 TB" }] },
  },
});

async function stepSeconds(bytes: number): Promise<number> {
  const { cases } = await runSimulation(written(bytes));
  return cases.find(({ configuration }) => configuration === "ssd")?.step.mean ?? NaN;
}

Deno.test("stepCacheSizes() finds the smallest first tier whose step is short enough, and says what one GiB more gives", async () => {
  const simulation = await resolveSimulation(written(1e9), Deno.cwd());
  const large = await stepSeconds(50e9), small = await stepSeconds(1e9);
  assert(small > 1.5 * large, `${small}, ${large}`);
  const wanted = (small + large) / 2;
  const [size, ...others] = await stepCacheSizes(simulation, { seconds: wanted });
  assertEquals([size?.configuration, others], ["ssd", []]); // DRAM alone has nothing below
  const bytes = size?.bytes ?? NaN;
  assert(await stepSeconds(bytes) <= wanted && await stepSeconds(Math.round(bytes * 0.98)) > wanted, `${bytes}`);
  assert((size?.stepSecondsOneGiBMore ?? NaN) < (size?.stepSeconds ?? NaN), JSON.stringify(size));
  // A band makes it larger, never smaller.
  if (size?.why === undefined) assert((size?.cautiousBytes ?? Infinity) >= bytes, JSON.stringify(size));
  const [none] = await stepCacheSizes(simulation, { seconds: 1e-6 });
  assertEquals([none?.bytes, (none?.stepSeconds ?? 0) > 1e-3], [undefined, true]);
  await assertRejects(() => stepCacheSizes(simulation, { seconds: 0 }), RangeError, "expected a positive time");
  await assertRejects(
    () => stepCacheSizes(simulation, { seconds: 1, configurations: ["dram"] }),
    RangeError,
    'Cannot size the first tier of "dram": expected some of ssd',
  );
});

Deno.test("tierbench cache --step sizes the first tier of a simulation's configuration", async () => {
  const words = ["cache", "scenarios/terabyte.jsonc", "--step", "23ms", "--configuration", "ssd"];
  const { code, out } = await runCommand(words, 200);
  assertEquals(code, 0, out);
  assert(/^ssd +[\d.]+ [GM]iB +[\d.]+ % +[\d.]+ ms/m.test(out), out);
  const [size] = await stepCacheSizes(await loadSimulation("scenarios/terabyte.jsonc"), {
    seconds: 0.023,
    configurations: ["ssd"],
  });
  assertStringIncludes(out, `${(1e3 * (size?.stepSeconds ?? NaN)).toPrecision(4)} ms`);
  assertEquals((await runCommand(["cache", "x.csv"], 200)).code, 2);
  assertEquals((await runCommand(["cache", "x.csv", "--hit", "0.9", "--step", "20ms"], 200)).code, 2);
  assertEquals((await runCommand(["cache", "x.jsonc", "--step", "20"], 200)).code, 2);
});
