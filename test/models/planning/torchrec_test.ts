// What TorchRec's planner is told of tables, against curves of the same tables, and in TorchRec itself where it is installed.

import "../../native_library.ts";
import { missRatioCurve } from "../../../ffi/curve.ts";
import { parsePlan } from "../../../models/planning/load.ts";
import { cacheSize } from "../../../models/workloads/cache_size.ts";
import { torchRecModule, type TorchRecTable, torchRecTables, torchRecYaml } from "../../../models/planning/torchrec.ts";
import { assert, assertEquals, assertRejects, assertStringIncludes } from "../../assert.ts";
import { inFolder, runCommand } from "../../cli/command.ts";
import { pythonSays, pythonWith } from "../../python_with.ts";

const TABLES = {
  skewed: { rows: 5_000_000, dim: 64, profile: { s: 1.2 }, lookups: 20 },
  flat: { rows: 200_000, dim: 64, profile: { s: 0.5 }, lookups: 2, count: 2 },
  small: { rows: 500, dim: 64, profile: { s: 1 }, lookups: 1 },
};
const TEXT = JSON.stringify({
  kind: "plan",
  name: "torch",
  batch: 2048,
  workers: 4,
  target: { samplesPerSecond: 1 },
  tables: TABLES,
});
const PLAN = parsePlan(TEXT, { file: "torch.jsonc", directory: "." });
const GLOBAL = 4 * 2048;

/** What `EmbeddingOffloadStats.expected_miss_rate` answers (TorchRec 1.9): a cache of k rows is in the bin of k - 1, and has all of it. */
function expectedMissRate({ histogram, height }: TorchRecTable, loadFactor: number): number {
  const bin = Math.floor((loadFactor * height - 1) / (height / histogram.length));
  if (bin < 0) return 1;
  const all = histogram.reduce((sum, one) => sum + one, 0);
  return 1 - histogram.slice(0, bin + 1).reduce((sum, one) => sum + one, 0) / all;
}

Deno.test("statistics say what a cache of a size misses, within a hundredth from where they say so on", async () => {
  const tables = await torchRecTables(PLAN);
  assertEquals(tables.map(({ name }) => name), ["skewed", "flat_0", "flat_1", "small"]);
  for (const table of tables) {
    const { name, height, hits, loadFactor, poolingFactor, exactFrom, expectedLookups } = table;
    const { profile, lookups } = TABLES[name.replace(/_.*/, "") as keyof typeof TABLES];
    const batch = GLOBAL * lookups, law = { rows: height, ...profile };
    const missed = (rows: number): number => missRatioCurve({ law, batch, sizes: [rows] }).missRatios[0] ?? NaN;
    assertEquals([poolingFactor, expectedLookups], [lookups, missRatioCurve({ law, batch, sizes: [] }).lookups]);
    assert(
      hits >= 0.9 && Math.abs(1 - missed(Math.round(loadFactor * height)) - hits) < 1e-6,
      `${name}: ${loadFactor}, ${hits}`,
    );
    // Where bins are fine enough, caches of two batches' different rows.
    assertEquals(exactFrom, Math.min(1, 2 * expectedLookups / height), name);
    for (
      const at of [1e-4, 1e-3, 0.004, 0.01, 0.03, 0.1, 0.2, 0.4, 0.6, 0.85, 0.999].filter((one) =>
        one >= exactFrom && one * height >= 2
      )
    ) {
      const [said, is] = [expectedMissRate(table, at), missed(Math.round(at * height))];
      assert(Math.abs(said - is) < 0.006, `${name}, load factor ${at}: ${said}, ${is}`);
    }
    assertEquals(expectedMissRate(table, 1), 0);
  }
  await assertRejects(() => torchRecTables(PLAN, { hits: 1 }), RangeError, "Cannot size a cache");
  await assertRejects(() => torchRecTables(PLAN, { error: 0 }), RangeError, "Cannot make statistics");
});

Deno.test("torchRecTables() sizes two caches above SSDs, in the units of KeyValueParams, and writes them as Python and YAML", async () => {
  const tables = await torchRecTables(PLAN, { hits: 0.8, bothHits: 0.99 });
  for (const { name, keyValue, loadFactor, height, dim } of tables) {
    const law = { rows: height, ...TABLES[name.replace(/_.*/, "") as keyof typeof TABLES].profile };
    const batch = GLOBAL * TABLES[name.replace(/_.*/, "") as keyof typeof TABLES].lookups;
    const { rows = height } = cacheSize({ law, hits: 0.99, batch });
    assertEquals(keyValue, {
      l1MiB: Math.ceil(loadFactor * height * 4 * dim / 2 ** 20),
      l2GiB: Math.ceil(rows * 4 * dim / 2 ** 30),
    });
  }
  const [{ keyValue } = { keyValue: undefined }] = tables;
  const words = [`max_l1_cache_size=${keyValue?.l1MiB}`, `l2_cache_size=${keyValue?.l2GiB}`];
  assertStringIncludes(torchRecModule("m", tables), `KeyValueParams(${words.join(", ")})),`);
  const yaml = torchRecYaml(PLAN, tables);
  assertStringIncludes(
    yaml,
    `compute_kernels: [key_value], key_value_params: {${words.join(", ").replaceAll("=", ": ")}}}`,
  );
  assertStringIncludes(
    yaml,
    '{name: "small", num_embeddings: 500, embedding_dim: 64, feature_names: ["small"], data_type: FP32}',
  );
  assertStringIncludes(torchRecYaml(PLAN, await torchRecTables(PLAN)), "compute_kernels: [fused_uvm_caching]}");
  await assertRejects(() => torchRecTables(PLAN, { hits: 0.9, bothHits: 0.8 }), RangeError, "Cannot size two caches");
});

Deno.test("TorchRec loads the module and answers as it is written, where it is installed", async () => {
  const tables = await torchRecTables(PLAN), module = torchRecModule(`odd "name" é`, tables);
  assertStringIncludes(module, 'odd \\"name\\" \\u00e9');
  const python = await pythonWith("torchrec.distributed.planner.shard_estimators");
  if (python === undefined) return;
  await inFolder(async (folder) => {
    await Deno.writeTextFile(`${folder}/made.py`, module);
    const script = "import json, made; print(json.dumps({n: [c.pooling_factors[0], c.cache_params.load_factor, " +
      "[c.cache_params.stats.expected_miss_rate(f) for f in (0.001, 0.03, 0.5, 1.0)]] for n, c in made.constraints.items()}))";
    const said = await pythonSays(python, script, [], folder) as Record<string, [number, number, number[]]>;
    for (const table of tables) {
      const [pooling, factor, misses] = said[table.name] ?? [NaN, NaN, []];
      assertEquals([pooling, factor], [table.poolingFactor, table.loadFactor]);
      [0.001, 0.03, 0.5, 1].forEach((at, i) => {
        assert(Math.abs((misses[i] ?? NaN) - expectedMissRate(table, at)) < 1e-6, `${table.name}, ${at}: ${misses[i]}`);
      });
    }
  });
});

Deno.test("tierbench export writes the module and says of each table how large and how exact", async () => {
  await inFolder(async (folder) => {
    await Deno.writeTextFile(`${folder}/torch.jsonc`, TEXT);
    const { code, out, err } = await runCommand([
      "export",
      "torchrec",
      `${folder}/torch.jsonc`,
      "--hit",
      "80%",
      "--out",
      `${folder}/made.py`,
    ], 120);
    assertEquals([code, err], [0, ""]);
    assert(/^skewed +5000000 +0\.\d+ +80\.\d\d % /m.test(out) && out.includes("from a load factor of 0.0094 on"), out);
    assert(/^small .* of all rows alone/m.test(out), out);
    assertStringIncludes(await Deno.readTextFile(`${folder}/made.py`), "constraints = {");
    assertEquals((await runCommand(["export", "fbgemm", `${folder}/torch.jsonc`], 120)).code, 2);
    assertEquals((await runCommand(["export", "tbe", `${folder}/torch.jsonc`, "--both-hit", "99%"], 120)).code, 2);
  });
});
