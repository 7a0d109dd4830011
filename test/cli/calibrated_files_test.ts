// Files that `tierbench calibrate` wrote (test/fixtures/calibration, by the command that each of them names), taken by path
// wherever a medium or prices are: relative to the file that names them, whatever folder the command is called from.

import "../native_library.ts";
import { fileURLToPath } from "node:url";
import { assert, assertEquals } from "../assert.ts";
import { readResult, readSimulation } from "../../mod.ts";
import { loadMedia } from "../../models/media/media.ts";
import { loadSoftware } from "../../models/simulation/software_file.ts";
import { inFolder, runCommand, type Said } from "./command.ts";

const FIXTURE = fileURLToPath(new URL("../fixtures/calibration/", import.meta.url));
const MEDIA = ["node0", "file-dev-shm", "drive-var-tmp"] as const;

const TABLE = { name: "ids", rows: 1e6, dim: 32, lookups: 1, law: { s: 0.9 } };
const TIER = { media: "mine/node0.jsonc", size: "32 MiB" };
const SIMULATION = {
  kind: "simulation",
  name: "own",
  steps: 4,
  workload: { batch: 256, tables: [TABLE] },
  compute: { dense: "1 ms", source: "an example" },
  software: "mine/software.jsonc",
  cluster: { cores: 1 },
  configurations: {
    dram: { mode: "dram", tiers: [{ media: "mine/node0.jsonc" }] },
    fsdax: { mode: "fsdax", tiers: [TIER, { media: "mine/file-dev-shm.jsonc" }] },
    ssd: { mode: "ssd", tiers: [TIER, { media: "./mine/drive-var-tmp.jsonc" }] },
  },
  studies: [
    { name: "all" },
    {
      name: "below",
      configurations: ["fsdax"],
      vary: { "configurations.fsdax.tiers.1.media": ["optane-100-6x256", "mine/file-dev-shm.jsonc"] },
    },
  ],
};
const PLAN = {
  kind: "plan",
  name: "own",
  tables: { ids: { rows: 1e6, dim: 32, profile: { s: 0.9 } } },
  target: { samplesPerSecond: 1000 },
  providers: [],
  software: "mine/software.jsonc",
  media: { dram: "mine/node0.jsonc", nvme: "mine/drive-var-tmp.jsonc" },
  machines: {
    lab: {
      pricePerHour: 1,
      date: "2026-11",
      threads: 2,
      tiers: [
        { name: "DRAM", medium: "mine/node0.jsonc", size: "1 GiB" },
        { name: "SSD", medium: "mine/drive-var-tmp.jsonc", size: "8 GiB", records: true },
      ],
    },
  },
};
const SCENARIO = {
  name: "own",
  workload: {
    data: { synthetic: "criteo-kaggle", scale: 0.01, rows: 2048, testRows: 256 },
    batch: 128,
    steps: 3,
    warmup: 1,
    hidden: [8],
  },
  configurations: { fsdax: { storage: "DRAM_PMEM", pmem: "libpmem", media: "mine/file-dev-shm.jsonc" } },
  repetitions: 3,
  quality: { samples: 0 },
};

/** A folder with the calibration in `mine`, and files beside it that name what is in it. */
async function withFiles(body: (folder: string) => Promise<void>): Promise<void> {
  await inFolder(async (folder) => {
    await Deno.mkdir(`${folder}/mine`);
    for (const { name } of Deno.readDirSync(FIXTURE)) await Deno.copyFile(FIXTURE + name, `${folder}/mine/${name}`);
    for (const [name, value] of Object.entries({ simulation: SIMULATION, plan: PLAN, scenario: SCENARIO })) {
      await Deno.writeTextFile(`${folder}/${name}.jsonc`, JSON.stringify(value, undefined, 2));
    }
    await body(folder);
  });
}

async function well(...args: readonly string[]): Promise<Said> {
  const said = await runCommand(args, 200);
  assertEquals(said.code, 0, `${args.join(" ")}: ${said.err}`);
  return said;
}

Deno.test("the checked-in calibration: a node, mapped memory, a drive and prices, made by the command that they name", async () => {
  for (const name of MEDIA) {
    const { kind, measured, parameters } = await loadMedia(`${FIXTURE}${name}.jsonc`);
    assertEquals(kind, { "node0": "dram", "file-dev-shm": "pmem", "drive-var-tmp": "ssd" }[name]);
    assert(
      measured?.commands.every((command) => /^tierbench calibrate --node 0 /.test(command)),
      `${measured?.commands}`,
    );
    assert((parameters["capacity"]?.value ?? 0) > 2 ** 30 && (measured?.points?.length ?? 0) > 20);
  }
  assertEquals((await loadSoftware(`${FIXTURE}software.jsonc`)).memory, "node0");
});

Deno.test("a simulation takes them in tiers, studies and prices: validate, run and run again", async () => {
  await withFiles(async (folder) => {
    await well("validate", `${folder}/simulation.jsonc`);
    await well("run", `${folder}/simulation.jsonc`, "--out", `${folder}/out`);
    const { run, cases } = await readSimulation(`${folder}/out/result.jsonl`);
    assertEquals(cases.map(({ tiers }) => tiers.at(-1)?.media), [
      "node0",
      "file-dev-shm",
      "drive-var-tmp",
      "optane-100-6x256",
      "file-dev-shm",
    ]);
    assertEquals(cases[4]?.samplesPerSecond, cases[1]?.samplesPerSecond);
    const { prices } = await loadSoftware(`${FIXTURE}software.jsonc`);
    assertEquals(run.scenario.compute.perKey, prices.perKey.value);
    assertEquals(run.scenario.configurations["ssd"]?.software.miss, prices.perMiss.value);
    // The same with the medium set from outside, by a path from the working directory.
    const set = ["--set", `configurations.dram.tiers.0.media=${folder}/mine/file-dev-shm.jsonc`];
    await well("run", `${folder}/simulation.jsonc`, "--out", `${folder}/set`, ...set);
    const again = await readSimulation(`${folder}/set/result.jsonl`);
    assertEquals(again.cases[0]?.tiers[0]?.media, "file-dev-shm");
  });
});

Deno.test("a plan takes them in media, machines and prices: validate, plan, size, ask", async () => {
  await withFiles(async (folder) => {
    const plan = `${folder}/plan.jsonc`;
    await well("validate", plan);
    await well("size", plan);
    const { out } = await well("plan", plan);
    assert(out.includes("1 × lab") && out.includes("mine/node0.jsonc"), out);
    const asked = await well("ask", plan, "--out", `${folder}/answer`);
    assert(asked.out.includes("lab"), asked.out);
    // A plan that is written anew, elsewhere: its media and prices are named from there.
    const own = `optane-100-6x256=${folder}/mine/file-dev-shm.jsonc`;
    await well("ask", plan, "--medium", own, "--out", `${folder}/other/answer`);
    const written = JSON.parse(
      (await Deno.readTextFile(`${folder}/other/answer/plan.jsonc`)).replaceAll(/^\/\/.*$/gm, ""),
    );
    assertEquals([written.software, written.media.dram, written.media.pmem], [
      "../../mine/software.jsonc",
      "../../mine/node0.jsonc",
      "../../mine/file-dev-shm.jsonc",
    ]);
    await well("plan", `${folder}/other/answer/plan.jsonc`);
  });
});

Deno.test("ask --medium puts one in the place of a shipped model, and its plan names it from where the plan lies", async () => {
  await withFiles(async (folder) => {
    const words = ["--rows", "20GB", "--dim", "64", "--target", "10k/s", "--among", "dram", "--as-of", "2026-11"];
    const own = `ddr5-4800-8ch=${folder}/mine/node0.jsonc`;
    await well("ask", ...words, "--medium", own, "--out", `${folder}/answer`);
    const plan = JSON.parse((await Deno.readTextFile(`${folder}/answer/plan.jsonc`)).replaceAll(/^\/\/.*$/gm, ""));
    assertEquals(plan.media.dram, "../mine/node0.jsonc");
    await well("plan", `${folder}/answer/plan.jsonc`);
  });
});

Deno.test("a scenario's emulation takes them, in the file and by --set", async () => {
  await withFiles(async (folder) => {
    await well("validate", `${folder}/scenario.jsonc`);
    for (
      const [words, medium] of [
        [[], "file-dev-shm"],
        [["--set", `configurations.fsdax.media=${folder}/mine/node0.jsonc`], "node0"],
      ] as const
    ) {
      await well("run", `${folder}/scenario.jsonc`, "--out", `${folder}/${medium}`, "--no-install", ...words);
      const { run, samples, failed } = await readResult(`${folder}/${medium}/result.jsonl`);
      assertEquals([failed.length, samples.length > 0], [0, true]);
      assertEquals(run.scenario.configurations["fsdax"]?.media, `${folder}/mine/${medium}.jsonc`);
    }
    // A drive is written in blocks: rows in place cannot be slowed to one.
    const drive = `${folder}/mine/drive-var-tmp.jsonc`;
    const words = ["--set", `configurations.fsdax.media=${drive}`, "--out", `${folder}/drive`];
    const { code, err } = await runCommand(["run", `${folder}/scenario.jsonc`, ...words], 200);
    assertEquals(code, 2, err);
    assert(err.includes(drive) && err.includes("has no figure write_nt_bandwidth, which emulation asks for"), err);
    const ssd = { ssd: { storage: "DRAM_SSDHASH", ssd: { media: "mine/drive-var-tmp.jsonc" } } };
    await Deno.writeTextFile(`${folder}/ssd.jsonc`, JSON.stringify({ ...SCENARIO, configurations: ssd }));
    await well("run", `${folder}/ssd.jsonc`, "--out", `${folder}/ssd`, "--no-install");
    assertEquals((await readResult(`${folder}/ssd/result.jsonl`)).failed, []);
  });
});

const damaged = (name: string, change: (document: Record<string, unknown>) => unknown) => {
  const text = Deno.readTextFileSync(`${FIXTURE}${name}.jsonc`).replaceAll(/^\/\/.*$/gm, "");
  return JSON.stringify(change(JSON.parse(text)));
};
/** A document with a field, named by dots, put to another value; undefined takes it away. */
const put = (field: string, value: unknown) => (document: Record<string, unknown>) => {
  const keys = field.split("."), last = keys.pop() ?? "";
  const at = keys.reduce((one, key) => one[key] as Record<string, unknown>, document);
  at[last] = value;
  return document;
};

Deno.test("damaged and old files: one error each, with the file, the field and what was expected", async () => {
  await withFiles(async (folder) => {
    const rate = (value: unknown) => put("parameters.read_bandwidth", value);
    const cases: readonly (readonly [string, string, string])[] = [
      ["node0", "", "found an empty file"],
      ["node0", damaged("node0", (all) => all).slice(0, 900), "found the end of the file"],
      ["node0", damaged("software", (all) => all), 'expected a medium, found "software"'],
      ["software", damaged("node0", (all) => all), "expected prices of software, found a medium"],
      ["node0", damaged("node0", rate({ value: 5, low: 6, high: 7, from: [] })), "low, value and high in this order"],
      ["node0", damaged("node0", rate({ value: 5, low: 5, high: 5, from: [] })), "an interval with a width"],
      ["node0", damaged("node0", rate({ value: 5, low: 4, from: [] })), "both ends"],
      ["node0", damaged("node0", rate({ value: 0, from: [] })), 'read_bandwidth" must be a number from 1'],
      ["node0", damaged("node0", rate({ value: -1, from: [] })), "expected 0 or more, found -1"],
      ["node0", damaged("node0", rate({ value: "5", from: [] })), 'expected a number, found "5"'],
      ["node0", damaged("node0", put("parameters.read_bandwith", { value: 5, from: [] })), "read_bandwith"],
      ["node0", damaged("node0", put("parameters", {})), "expected read_latency_ns and read_bandwidth, found none"],
      ["node0", damaged("node0", put("name", "a\u001b[31m")), "name: expected a name"],
      ["node0", damaged("node0", put("kind", "tape")), 'found "tape"'],
      ["node0", damaged("node0", put("measured.date", "2026-99-99")), "expected a date"],
      ["node0", damaged("node0", put("measured.figures.read.factor", 1)), "no figure is exact"],
      ["node0", damaged("node0", put("measured.figures.read.bytes", [4096, 64])), "the smaller end first"],
      ["node0", damaged("node0", put("measured.figures.read.accesses", undefined)), 'expected a field "accesses"'],
      ["node0", damaged("node0", put("measured.points.0.value", undefined)), 'expected a field "value"'],
      ["software", damaged("software", put("prices.track", undefined)), "tierbench calibrate writes all of them"],
      ["software", damaged("software", put("prices.track.low", 1)), "no price is exact"],
      ["software", damaged("software", put("prices.track.high", 1e300)), "at most 1 second of a core"],
      ["software", damaged("software", put("prices.lock", 1)), 'unknown field "lock"'],
    ];
    for (const [name, text, message] of cases) {
      const path = `${folder}/mine/${name}.jsonc`, whole = await Deno.readTextFile(path);
      await Deno.writeTextFile(path, text);
      for (const verb of ["validate", "run"]) {
        const out = verb === "run" ? ["--out", `${folder}/none`] : [];
        const said = await runCommand([verb, `${folder}/simulation.jsonc`, ...out], 400);
        assertEquals(said.code, 2, `${message}: ${said.err}`);
        assert(said.err.includes(message) && said.err.includes(`${name}.jsonc`), `${message}: ${said.err}`);
      }
      assertEquals((await runCommand(["plan", `${folder}/plan.jsonc`], 400)).code, 2, message);
      await Deno.writeTextFile(path, whole);
    }
    assertEquals((await Deno.stat(`${folder}/none`).catch(() => undefined))?.isDirectory, undefined);
  });
});
