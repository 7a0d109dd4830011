// A plan's tables for FBGEMM: its JSON read back, its benchmark's words against the options of fbgemm-gpu 1.9, and against its own
// loaders and its own draws where it is installed.

import "../../native_library.ts";
import { missRatioCurve } from "../../../ffi/curve.ts";
import { planEeg, tbeCommands, tbeScript } from "../../../models/planning/fbgemm.ts";
import { parsePlan } from "../../../models/planning/load.ts";
import { importEeg } from "../../../models/workloads/eeg.ts";
import { loadProfile } from "../../../models/workloads/profile.ts";
import { assert, assertEquals, assertRejects, assertStringIncludes } from "../../assert.ts";
import { inFolder, runCommand } from "../../cli/command.ts";
import { pythonSays, pythonWith } from "../../python_with.ts";

const TABLES = {
  skewed: { rows: 50_000, dim: 64, optimizer: "rowwiseAdagrad", profile: { s: 1.2, q: 3 }, lookups: 20 },
  flat: { rows: 200, dim: 32, optimizer: "rowwiseAdagrad", profile: { s: 0.5 }, lookups: 2, count: 2 },
  full: { rows: 1000, dim: 16, dtype: "bf16", optimizer: "adagrad", profile: { s: 0 }, lookups: 1 },
};
const plan = (tables: object) =>
  JSON.stringify({ kind: "plan", name: 'a "plan"\nof $HOME', batch: 64, workers: 4, target: { p99Ms: 9 }, tables });
const parsed = (tables: object) => parsePlan(plan(tables), { file: "p.jsonc", directory: "." });

/** Options of `tbe_training_benchmark.py` of fbgemm-gpu 1.9 that take a word, and that take none. */
const TAKES = [
  "tbe-config",
  ...["tbe-num-tables", "tbe-num-embeddings", "tbe-embedding-dim", "tbe-batch-size", "tbe-pooling-size"],
  ...["tbe-indices-hitters", "emb-location", "emb-weights-dtype", "emb-output-dtype", "cache-load-factor"],
  ...["bench-iterations", "bench-warmup-iterations", "bench-num-requests"],
];
const FLAGS = ["row-wise", "no-row-wise"];

Deno.test("planEeg() has a feature for each table, with the batch of all workers", async () => {
  const { text, lost } = await planEeg(parsed(TABLES)), document = JSON.parse(text);
  assertEquals(
    [document.T, document.Es, document.Ds, document.batch_params.B, document.pooling_params.Ls],
    [4, [50_000, 200, 200, 1000], [64, 32, 32, 16], 256, [20, 2, 2, 1]],
  );
  assertEquals(importEeg(text, "p").tables.map(({ rows, popularity: { zipf } }) => [rows, zipf?.s, zipf?.q]), [
    [50_000, 1.2, 3],
    [200, 0.5, 0],
    [200, 0.5, 0],
    [1000, 1e-8, 0],
  ]);
  assertEquals(lost.length, 1);
});

Deno.test("planEeg() keeps the curve of a profile that has another number of rows", async () => {
  const [shape] = (await loadProfile("oe-retail")).tables, rows = 21_000_000;
  const { text, lost } = await planEeg(parsed({ t: { rows, dim: 4, profile: "oe-retail" } }));
  assertEquals(lost.length, 1);
  const [read] = importEeg(text, "p").tables;
  const curveOf = (height: number, law: { s: number; q: number } | undefined): readonly number[] =>
    missRatioCurve({
      law: { rows: height, s: law?.s ?? NaN, q: law?.q ?? NaN },
      sizes: [0.0005, 0.005, 0.05, 0.5].map((share) => Math.round(share * height)),
    }).missRatios;
  const [is, was] = [curveOf(rows, read?.popularity.zipf), curveOf(shape?.rows ?? 0, shape?.popularity.zipf)];
  is.forEach((miss, i) => assert(Math.abs(miss - (was[i] ?? NaN)) < 0.002, `${miss}, ${was[i]}`));
});

Deno.test("what FBGEMM cannot draw, or its benchmark cannot do, is refused by the table's name", async () => {
  const one = (changes: object) => parsed({ x: { ...TABLES.flat, count: 1, ...changes } });
  for (
    const [changes, message] of [
      [{ profile: "criteo-kaggle" }, 'table "x" for FBGEMM: its profile "criteo-kaggle" mixes 26 tables'],
      [{ profile: "meta-2021" }, "is no such law"],
      [{ profile: "torchrec-zipf-1.1" }, "is no such law"],
    ] as const
  ) await assertRejects(() => planEeg(one(changes)), Error, message);
  await assertRejects(
    () => tbeCommands(one({ optimizer: "adam" })),
    RangeError,
    'table "x": it has the optimizer "adam"',
  );
  await assertRejects(() => tbeCommands(one({ lookups: 0.5 })), RangeError, 'table "x": it has 0.5 lookups a sample');
});

Deno.test("tbeCommands() says the case in the words of the benchmark, groups by optimizer and type", async () => {
  const { commands } = await tbeCommands(parsed(TABLES), { hits: 0.8 });
  const [fast, other, skewed, flat, full] = commands;
  assertEquals([commands.length, other?.words.slice(0, 4)], [5, [
    "device-with-speclist",
    "--no-row-wise",
    "--emb-weights-dtype",
    "bf16",
  ]]);
  assertEquals(JSON.parse(fast?.config ?? "").Es, [50_000, 200, 200]);
  assertEquals(JSON.parse(other?.config ?? "").Es, [1000]);
  for (const { words: [command, ...words] } of commands) {
    assert(command === "device" || command === "device-with-speclist");
    for (let i = 0; i < words.length; i++) {
      const option = (words[i] ?? "").slice(2);
      if (FLAGS.includes(option)) continue;
      const after = option === "tbe-indices-zipf" ? 2 : 1;
      assert(option === "tbe-indices-zipf" || TAKES.includes(option), option);
      for (let k = 0; k < after; k++) assert(/^[a-z0-9_.,-]+$/.test(words[++i] ?? ""), words[i]);
    }
  }
  const valueOf = (words: readonly string[] | undefined, option: string) => words?.[words.indexOf(option) + 1];
  assertEquals(
    [skewed, flat, full].map((one) => [
      valueOf(one?.words, "--tbe-num-tables"),
      valueOf(one?.words, "--tbe-num-embeddings"),
      valueOf(one?.words, "--tbe-embedding-dim"),
      valueOf(one?.words, "--tbe-pooling-size"),
    ]),
    [["1", "50000", "64", "20"], ["2", "200", "32", "2"], ["1", "1000", "16", "1"]],
  );
  const rows = Math.round(50_000 * Number(valueOf(skewed?.words, "--cache-load-factor")));
  const law = { rows: 50_000, s: 1.2, q: 3 }, batch = 256 * 20;
  const [above, below] = missRatioCurve({ law, batch, sizes: [Math.round(0.98 * rows), rows] }).missRatios;
  assert((below ?? 1) <= 0.2 + 1e-6 && (above ?? 0) > 0.2, `${above}, ${below}`);
});

Deno.test("the script runs each line with its config, whatever a plan is called", async () => {
  await inFolder(async (folder) => {
    const python = `${folder}/python`;
    await Deno.writeTextFile(
      python,
      '#!/bin/sh\necho "$@" >> "$SAID"\n[ "$3" != --tbe-config ] || cat "$4" >> "$SAID"\n',
    );
    await Deno.chmod(python, 0o755);
    const { commands } = await tbeCommands(parsed(TABLES));
    await Deno.writeTextFile(`${folder}/run.sh`, tbeScript(plan(TABLES).slice(0, 60), commands));
    const env = { PYTHON: python, SAID: `${folder}/said`, FBGEMM: "/somewhere" };
    const run = (more: Record<string, string>) =>
      new Deno.Command("sh", { args: [`${folder}/run.sh`], clearEnv: true, env: { PATH: "/usr/bin:/bin", ...more } })
        .output();
    assertEquals((await run(env)).code, 0);
    const said = await Deno.readTextFile(`${folder}/said`);
    assertEquals(said.split("\n").filter((line) => line.startsWith("/somewhere/tbe_training_benchmark.py")).length, 5);
    assert(said.includes(commands[0]?.config ?? "none"));
    assertStringIncludes(new TextDecoder().decode((await run({})).stderr), "fbgemm_gpu/bench/tbe");
  });
});

/** FBGEMM's loaders behind a command of the benchmark's own options; draws of each law of the config, and their hottest shares. */
const SCRIPT = `
import collections, json, sys, click, torch
from fbgemm_gpu.tbe.bench import EmbeddingOpsCommonConfigLoader, TBEBenchmarkingConfigLoader, TBEDataConfigLoader
from fbgemm_gpu.split_embedding_configs import SparseType
said = []
@click.command()
@click.option("--row-wise/--no-row-wise", default=True)
@click.option("--cache-load-factor", default=0.2)
@TBEBenchmarkingConfigLoader.options
@TBEDataConfigLoader.options
@EmbeddingOpsCommonConfigLoader.options
@click.pass_context
def take(context, **_):
    data = TBEDataConfigLoader.load(context)
    TBEBenchmarkingConfigLoader.load(context)
    EmbeddingOpsCommonConfigLoader.load(context)
    laws = data.indices_params_list or [data.indices_params]
    hottest = []
    for law, rows in zip(laws, data.Es or [data.E]):
        drawn = torch.ops.fbgemm.tbe_generate_indices_from_distribution(law.heavy_hitters, law.zipf_q, law.zipf_s, rows, 200000)
        hottest.append(max(collections.Counter(drawn.tolist()).values()) / 200000)
    said.append([data.T, data.Es or data.E, data.batch_params.B, data.pooling_params.Ls or data.pooling_params.L, hottest])
for words in json.load(open(sys.argv[1])):
    take(words, standalone_mode=False)
print()
print(json.dumps(said))
`;

Deno.test("FBGEMM's own loaders take every line and config, and draw the plan's laws, where it is installed", async () => {
  const python = await pythonWith("fbgemm_gpu", "click", "yaml");
  if (python === undefined) return;
  await inFolder(async (folder) => {
    const { commands } = await tbeCommands(parsed(TABLES));
    const lines = await Promise.all(commands.map(async ({ words: [, ...words], config }, i) => {
      if (config === undefined) return words;
      await Deno.writeTextFile(`${folder}/${i}.json`, config);
      return [...words, "--tbe-config", `${folder}/${i}.json`];
    }));
    await Deno.writeTextFile(`${folder}/lines.json`, JSON.stringify(lines));
    const said = await pythonSays(python, SCRIPT, [`${folder}/lines.json`], folder) as [
      number,
      number | number[],
      number,
      number | number[],
      number[],
    ][];
    assertEquals(said.map(([T, E, B, L]) => [T, E, B, L]), [
      [3, [50_000, 200, 200], 256, [20, 2, 2]],
      [1, [1000], 256, [1]],
      [1, 50_000, 256, 20],
      [2, 200, 256, 2],
      [1, 1000, 256, 1],
    ]);
    const shareOf = (rows: number, s: number, q: number): number =>
      (1 + q) ** -s / Array.from({ length: rows }, (_, i) => (i + 1 + q) ** -s).reduce((sum, one) => sum + one, 0);
    const shares = [shareOf(50_000, 1.2, 3), shareOf(200, 0.5, 0), shareOf(200, 0.5, 0), shareOf(1000, 0, 0)];
    // 200,000 draws: the largest of some hundred rows' counts lies within 25 % of the hottest row's share.
    const wanted = [shares.slice(0, 3), shares.slice(3), shares.slice(0, 1), shares.slice(1, 2), shares.slice(3)];
    for (const [i, [, , , , hottest]] of said.entries()) {
      hottest.forEach((share, k) => {
        const law = wanted[i]?.[k] ?? NaN;
        assert(Math.abs(share / law - 1) < 0.3, `${i}, ${k}: ${share}, expected ${law}`);
      });
    }
  });
});

Deno.test("tierbench export writes both, and says what --hit has nothing to do with", async () => {
  await inFolder(async (folder) => {
    const file = `${folder}/p.jsonc`;
    await Deno.writeTextFile(file, plan(TABLES));
    const eeg = await runCommand(["export", "eeg", file, "--out", `${folder}/eeg.json`], 120);
    assertEquals([eeg.code, eeg.err], [0, ""]);
    assertStringIncludes(eeg.out, "stands for uniform");
    const read = await runCommand(["profile", "--from-eeg", `${folder}/eeg.json`, "--out", `${folder}/p.json`], 120);
    assertEquals(read.code, 0, read.err);
    const tbe = await runCommand(["export", "tbe", file, "--hit", "80%"], 120);
    assertEquals([tbe.code, tbe.out.startsWith("#!/bin/sh\n")], [0, true]);
    for (const tool of ["eeg", "tbe"]) assertEquals((await runCommand(["export", tool, file, "--json"], 120)).code, 0);
    const wrong = await runCommand(["export", "eeg", file, "--hit", "80%"], 120);
    assertEquals([wrong.code, wrong.err.includes('Cannot use --hit with "eeg"')], [2, true]);
  });
});
