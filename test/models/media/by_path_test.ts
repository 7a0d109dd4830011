import "../../native_library.ts";
import { assert, assertEquals, assertRejects } from "../../assert.ts";
import { loadMedia, MediaError } from "../../../models/media/media.ts";
import { bandFor, loadResiduals } from "../../../models/media/calibration/bands.ts";
import {
  loadPlan,
  loadScenario,
  loadSimulation,
  planTables,
  runSimulation,
  ScenarioError,
  type Simulation,
} from "../../../mod.ts";
import { planInputs } from "../../../models/planning/inputs.ts";
import { pathsOf } from "../../../scenarios/rerun.ts";
import { scenarioFor } from "../../../scenarios/run/run.ts";

const MEDIUM = {
  name: "mine",
  about: "A shipped medium, half as fast.",
  extends: "ddr4-2666-6ch",
  parameters: { read_bandwidth: { value: 5e9, low: 4.9e9, high: 5.1e9, from: [] } },
  measured: {
    host: "lab7",
    date: "2026-11-22",
    machine: { cpu: "one" },
    virtual: false,
    commands: ["tierbench calibrate"],
    figures: {
      read: {
        points: 9,
        curves: 2,
        factor: 1.2,
        accesses: ["load"],
        bytes: [64, 4096],
        threads: [1, 8],
        readShare: [1, 1],
        hops: [0, 0],
      },
    },
  },
};

const SIMULATION: Simulation = {
  kind: "simulation",
  name: "tiny",
  steps: 4,
  workload: {
    batch: 256,
    trains: false,
    tables: [{ name: "ids", rows: 1e6, dim: 16, lookups: 1, law: { s: 1.05 } }],
  },
  compute: { dense: "10 us", source: "an example" },
  cluster: { cores: 2 },
  configurations: { mine: { mode: "dram", tiers: [{ media: "media/mine.jsonc" }] } },
};

/** A folder with a medium in a folder below, and whatever a test puts beside it. */
async function withFolder(work: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    await Deno.mkdir(`${folder}/media`);
    await Deno.writeTextFile(`${folder}/media/mine.jsonc`, JSON.stringify(MEDIUM));
    await work(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("loadMedia() takes a path: relative to the folder given, extending a shipped model or its neighbour", async () => {
  await withFolder(async (folder) => {
    const mine = await loadMedia("media/mine.jsonc", folder);
    const base = await loadMedia("ddr4-2666-6ch");
    assertEquals(mine.parameters["read_bandwidth"]?.value, 5e9);
    assertEquals(mine.parameters["read_latency_ns"], base.parameters["read_latency_ns"]);
    assertEquals([mine.kind, mine.measured?.host], ["dram", "lab7"]);
    const next = { name: "next", about: "", extends: "./mine.jsonc", parameters: {} };
    await Deno.writeTextFile(`${folder}/media/next.jsonc`, JSON.stringify(next));
    assertEquals((await loadMedia("media/next.jsonc", folder)).parameters, mine.parameters);
    await Deno.writeTextFile(`${folder}/self.jsonc`, JSON.stringify({ ...next, extends: "./self.jsonc" }));
    await assertRejects(() => loadMedia("self.jsonc", folder), MediaError, "expected another model, found itself");
    await assertRejects(() => loadMedia("none.jsonc", folder), Deno.errors.NotFound, 'none.jsonc" does not exist');
    await Deno.writeTextFile(`${folder}/exact.jsonc`, JSON.stringify(MEDIUM).replace('"factor":1.2', '"factor":1'));
    await assertRejects(() => loadMedia("exact.jsonc", folder), MediaError, "no figure is exact");
  });
});

Deno.test("bandFor() of a medium by path: its own intervals, where and when they were measured", async () => {
  await withFolder(async (folder) => {
    const path = `${folder}/media/mine.jsonc`;
    const residuals = await loadResiduals(["optane-100-6x256", path]);
    assertEquals(bandFor(residuals, path, "read", 12, { operation: "load", bytes: 64, threads: 2 }), {
      calibrated: true,
      low: 10,
      high: 12 * 1.2,
      basis: "measured",
      measured: "measured on lab7 on 2026-11-22",
    });
    const far = bandFor(residuals, path, "read", 12, { operation: "load", threads: 16 });
    const range = "threads: 16, measured on lab7 on 2026-11-22 from 1 to 8 (2 times above)";
    assertEquals(far, { calibrated: false, outside: range });
    const write = bandFor(residuals, path, "write", 12);
    assertEquals(write, { calibrated: false, outside: `no measured write figure of ${path}` });
  });
});

Deno.test("a simulation names a medium by path, relative to its file; the record has its name and its own band", async () => {
  await withFolder(async (folder) => {
    const file = `${folder}/tiny.jsonc`;
    await Deno.writeTextFile(file, JSON.stringify(SIMULATION));
    const { run, cases: [one] } = await runSimulation(file);
    assertEquals(one?.tiers[0]?.media, "mine");
    assert(one?.tiers[0]?.busy ?? 0 > 0);
    const { samplesPerSecond = NaN, band } = one ?? {};
    assert(band !== undefined && "low" in band && band.low < 1 && band.high > 1, JSON.stringify(band));
    assertEquals(run.scenario.configurations["mine"]?.tiers[0]?.media, `${folder}/media/mine.jsonc`);
    assertEquals(pathsOf(run.scenario).length, 1);
    const shipped = { ...SIMULATION, configurations: { mine: { mode: "dram", tiers: [{ media: "ddr4-2666-6ch" }] } } };
    const vary = { "configurations.mine.tiers.0.media": ["ddr4-2666-6ch", "./media/mine.jsonc"] };
    await Deno.writeTextFile(file, JSON.stringify({ ...shipped, studies: [{ name: "both", vary }] }));
    const { cases: [fast, slow] } = await runSimulation(file);
    assertEquals(slow?.samplesPerSecond, samplesPerSecond);
    assert((fast?.samplesPerSecond ?? 0) > (slow?.samplesPerSecond ?? 0));
  });
});

Deno.test("a medium by path that is not there, or is none, is told with the place that names it", async () => {
  await withFolder(async (folder) => {
    const file = `${folder}/tiny.jsonc`;
    await Deno.writeTextFile(file, JSON.stringify(SIMULATION, undefined, 1).replace("mine.jsonc", "nine.jsonc"));
    await assertRejects(() => loadSimulation(file), ScenarioError, "tiny.jsonc:32:");
    await assertRejects(() => loadSimulation(file), ScenarioError, 'nine.jsonc" does not exist');
    await Deno.writeTextFile(`${folder}/media/nine.jsonc`, '{ "name": "nine" }');
    await assertRejects(() => loadSimulation(file), ScenarioError, 'nine.jsonc:1:1  expected a field "about"');
  });
});

Deno.test("scenarios, --set and plans take a medium by path", async () => {
  await withFolder(async (folder) => {
    const file = `${folder}/run.jsonc`;
    const configurations = { fsdax: { storage: "DRAM_PMEM", pmem: "libpmem", media: "media/mine.jsonc" } };
    await Deno.writeTextFile(file, JSON.stringify({ name: "run", configurations }));
    const path = `${folder}/media/mine.jsonc`;
    assertEquals((await loadScenario(file)).configurations["fsdax"]?.media, path);
    const set = await scenarioFor("scenarios/pmem-modes.jsonc", { set: { "configurations.fsdax.media": path } });
    assertEquals(set.configurations["fsdax"]?.media, path);
    await assertRejects(
      () => scenarioFor("scenarios/pmem-modes.jsonc", { set: { "configurations.fsdax.media": "./none.jsonc" } }),
      ScenarioError,
      'none.jsonc" does not exist',
    );

    const tiers = [{ name: "DRAM", medium: "media/mine.jsonc", size: "64 GiB" }];
    const plan = {
      kind: "plan",
      name: "p",
      tables: { ids: { rows: 1e6, dim: 16, profile: { s: 1.05 } } },
      target: { samplesPerSecond: 1 },
      machines: { own: { pricePerHour: 1, date: "2026-11", tiers, threads: 4 } },
    };
    await Deno.writeTextFile(`${folder}/plan.jsonc`, JSON.stringify(plan));
    const loaded = await loadPlan(`${folder}/plan.jsonc`);
    assertEquals(planTables(loaded).length, 1);
    const { rowTimes } = await planInputs(loaded);
    const [own, base] = [rowTimes(path, 4, 128), rowTimes("ddr4-2666-6ch", 4, 128)];
    assert(own.readSeconds > base.readSeconds);
    await Deno.writeTextFile(`${folder}/plan.jsonc`, JSON.stringify(plan).replace("mine.jsonc", "none.jsonc"));
    await assertRejects(() => loadPlan(`${folder}/plan.jsonc`), ScenarioError, "plan.jsonc:1:");
  });
});
