import "../../native_library.ts";
import { assert, assertEquals, assertRejects } from "../../assert.ts";
import { ScenarioError } from "../../../base/diagnostics.ts";
import { calibrate } from "../../../models/host/calibrate.ts";
import { CalibrationError } from "../../../models/host/targets.ts";
import { calibrateSoftware } from "../../../models/host/calibrate_software.ts";
import { softwareText } from "../../../models/host/software_text.ts";
import { loadSoftware, type SoftwareFile } from "../../../models/simulation/software_file.ts";
import { runSimulation } from "../../../models/simulation/run.ts";
import { resolveSimulation } from "../../../models/simulation/load.ts";
import type { Simulation } from "../../../models/simulation/simulation.ts";

const price = (value: number) => ({ value, low: value / 2, high: value * 1.5 });
const FILE: SoftwareFile = {
  kind: "software",
  about: "An example",
  memory: "node0",
  prices: {
    perKey: price(1e-8),
    perRow: { value: 0, low: 0, high: 1e-9 },
    perUpdate: price(2e-8),
    track: price(4e-8),
    upkeep: price(3e-8),
    perMiss: price(5e-7),
  },
  runs: { rows: 1024, dim: 16, keys: 512, steps: 12, rounds: 3 },
  measured: { host: "lab7", date: "2026-11-22", machine: { cpu: "none" }, virtual: false, commands: ["by hand"] },
};

const SIMULATION: Simulation = {
  kind: "simulation",
  name: "own",
  workload: { batch: 512, tables: [{ name: "ids", rows: 1e6, dim: 32, lookups: 1, law: { s: 0.8 } }] },
  compute: { dense: 0, perUpdate: "1 us", source: "an example" },
  software: "software.jsonc",
  configurations: {
    dram: { mode: "dram", tiers: [{ media: "ddr4-2666-6ch" }] },
    tiers: {
      mode: "fsdax",
      tiers: [{ media: "ddr4-2666-6ch", size: "64 MiB" }, { media: "optane-100-6x256", size: "64 GiB" }],
    },
    stated: {
      mode: "fsdax",
      software: { upkeep: "7 us", miss: "2 us" },
      tiers: [{ media: "ddr4-2666-6ch", size: "64 MiB" }, { media: "optane-100-6x256", size: "64 GiB" }],
    },
  },
};

async function inFolder(run: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    await run(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("a simulation takes prices by path where it states none, with their ranges and where they are from", async () => {
  await inFolder(async (folder) => {
    await Deno.writeTextFile(`${folder}/software.jsonc`, softwareText(FILE));
    assertEquals((await loadSoftware("software.jsonc", folder)).prices.perMiss, FILE.prices.perMiss);
    const { compute, ranges, configurations } = await resolveSimulation(SIMULATION, folder);
    assertEquals([compute.perKey, compute.perRow, compute.perUpdate], [1e-8, 0, 1e-6]);
    assertEquals(compute.source, "an example; our store measured on lab7 on 2026-11-22");
    assertEquals(ranges["compute.perKey"], 2);
    assertEquals(ranges["compute.perRow"], undefined);
    const { tiers, stated } = configurations;
    assertEquals([tiers?.software.upkeep, stated?.software.upkeep], [3e-8, 7e-6]);
    assertEquals([tiers?.software.track, stated?.software.track], [4e-8, 4e-8]);
    assertEquals([tiers?.software.miss, stated?.software.miss], [5e-7, 2e-6]);
  });
});

Deno.test("what is no file of prices is refused, with the field that names it", async () => {
  await inFolder(async (folder) => {
    const refused = async (text: string | undefined, message: string) => {
      if (text !== undefined) await Deno.writeTextFile(`${folder}/software.jsonc`, text);
      const error = await assertRejects(() => resolveSimulation(SIMULATION, folder), ScenarioError);
      assert(error.message.includes("software") && error.message.includes(message), error.message);
    };
    await refused(undefined, "does not exist");
    await refused("{}", "prices");
    const exact = { ...FILE.prices, perKey: { value: 1e-8, low: 1e-8, high: 1e-8 } };
    await refused(JSON.stringify({ ...FILE, prices: exact }), "no price is exact");
    await Deno.writeTextFile(`${folder}/software.jsonc`, softwareText(FILE));
    const studies = [{ name: "all", vary: { software: ["software.jsonc"] } }];
    const error = await assertRejects(() => resolveSimulation({ ...SIMULATION, studies }, folder), ScenarioError);
    assert(error.message.includes("before any study"), error.message);
  });
});

Deno.test("calibrateSoftware(): a quick one writes a file that a simulation takes, and is not written over", async () => {
  await inFolder(async (out) => {
    const [memory] = await calibrate({ out, quick: true, bytes: 2 ** 24, nodes: [0] });
    assert(memory?.kind === "dram");
    const options = { out, memory: memory.path, folder: out, quick: true };
    const { path, prices } = await calibrateSoftware(options);
    const { measured, memory: of } = await loadSoftware(path);
    assertEquals([of, measured.host, measured.date.length], ["node0", Deno.hostname(), 10]);
    for (const [name, { value, low, high }] of Object.entries(prices)) {
      assert(value >= 0 && low <= value && value <= high && low < high, `${name}: ${low} ${value} ${high}`);
    }
    const { cases } = await runSimulation({ ...SIMULATION, software: path });
    assert(cases.every(({ samplesPerSecond }) => samplesPerSecond > 0));
    await assertRejects(() => calibrateSoftware(options), CalibrationError, "it is there, with an earlier calibration");
    await assertRejects(
      () => calibrateSoftware({ ...options, force: true, folder: `${out}/none` }),
      CalibrationError,
      "no folder can be made",
    );
  });
});
