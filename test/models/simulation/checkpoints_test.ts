/** What checkpoints come to by formulas: the simulator's own law, sums by hand, recovery at the medium's rate. */

import { buildLibrary } from "../../../base/native_build.ts";
import { evaluateMedia } from "../../../ffi/media.ts";
import { simulateDemand } from "../../../ffi/simulate.ts";
import { runSimulation, type SimulatedConfiguration } from "../../../mod.ts";
import { loadMedia, mediaOptions } from "../../../models/media/media.ts";
import { distinctRows, forecastCheckpoints } from "../../../models/simulation/checkpoint_forecast.ts";
import { threadsAt } from "../../../models/simulation/native_options.ts";
import { resolveSimulation } from "../../../models/simulation/load.ts";
import "../../native_library.ts";
import { assert, assertAlmostEquals, assertEquals } from "../../assert.ts";

await buildLibrary();

/** As exact as a sum over every row is. */
function summed(rows: number, s: number, q: number, lookups: number): number {
  const weights = Array.from({ length: rows }, (_, r) => (r + 1 + q) ** -s);
  const all = weights.reduce((sum, weight) => sum + weight, 0);
  return weights.reduce((sum, weight) => sum + 1 - (1 - weight / all) ** lookups, 0);
}

Deno.test("distinctRows() is the sum over all rows, and what the simulator has", () => {
  for (const [rows, s, q] of [[2, 1, 0], [300, 0, 0], [50_000, 1.05, 0], [50_000, 0.8, 700], [50_000, 2, 3]] as const) {
    let before = 0;
    for (const lookups of [1, 100, 10_000, 1_000_000]) {
      const found = distinctRows({ rows, s, q }, lookups);
      assertAlmostEquals(found / summed(rows, s, q, lookups), 1, 1e-5);
      assert(found >= before && found <= rows && found <= lookups * (1 + 1e-9));
      before = found;
      const { tables: [table] } = simulateDemand({
        tables: "1",
        workers: "1",
        policy: "lru",
        seen: "1",
        capacity: "",
        "table0.lookups": String(lookups),
        "table0.row_bytes": "128",
        "table0.rows": String(rows),
        "table0.s": String(s),
        "table0.q": String(q),
      });
      assertAlmostEquals(found / (table?.seen[0] ?? NaN), 1, 0.01);
    }
  }
  assertEquals(distinctRows({ rows: 1, s: 1, q: 0 }, 5), 1);
});

Deno.test("forecastCheckpoints() adds up by hand: dumps, deltas on a first dump, points of what is held", () => {
  const work = { count: 3, rows: 1000, rowBytes: 92, changed: 200, held: 150, denseBytes: 500 };
  const [dump, delta] = [100 * 1000 + 500, 100 * 200 + 500];
  assertEquals(forecastCheckpoints({ ...work, kind: "full" }), { bytes: 3 * dump, middle: dump, restored: dump });
  assertEquals(forecastCheckpoints({ ...work, kind: "delta" }), {
    bytes: dump + 2 * delta,
    middle: delta,
    restored: dump + 2 * delta,
  });
  const point = 92 * 150 + 500;
  assertEquals(forecastCheckpoints({ ...work, kind: "in-place" }), {
    bytes: 3 * point,
    middle: point,
    restored: 92 * 1000 + 500,
    rowsAgain: 150,
  });
  assertEquals(forecastCheckpoints({ ...work, kind: "in-place", held: 2000 }).rowsAgain, 200);
  assertEquals(forecastCheckpoints({ ...work, kind: "delta", changed: 2000 }).middle, dump);
});

Deno.test("simulations read every row to go on: files as fast as they are written, versions as fast as their medium reads", async () => {
  const pmem = "optane-100-6x256", dense = 1e6, bandwidth = 5e8, rows = 1e6;
  const set = (checkpoint: SimulatedConfiguration["checkpoint"] & object): SimulatedConfiguration => ({
    mode: "fsdax",
    tiers: [{ media: "ddr4-2666-6ch", size: "20 MB" }, { media: pmem }],
    checkpoint: { every: "1 min", bandwidth: "500 MB/s", dense: "1 MB", ...checkpoint },
  });
  const simulation = await resolveSimulation({
    kind: "simulation",
    name: "recovery",
    steps: 4,
    warmup: 1,
    workload: { batch: 256, tables: [{ name: "a", rows, dim: 32, lookups: 1, law: { s: 1.05 } }] },
    compute: { dense: "200 us", source: "a test", perRow: "50 ns", perUpdate: "50 ns" },
    cluster: { cores: 8, servers: 2, network: { bandwidth: "10 GB/s", latency: "10 us" } },
    configurations: {
      none: set({ kind: "none" }),
      files: set({ kind: "incremental" }),
      versions: set({ kind: "version" }),
    },
  });
  const { cases } = await runSimulation(simulation);
  const [none, files, versions] = cases.map(({ checkpoint }) => checkpoint);
  assertEquals(none, undefined);
  const rowBytes = 2 * 32 * 4; // Adagrad
  assertEquals(files?.recovery?.bytes, rows * (rowBytes + 8) + dense);
  assertAlmostEquals(files?.recovery?.seconds ?? 0, (rows * (rowBytes + 8) + dense) / bandwidth, 1e-12);
  const [rate = NaN] = evaluateMedia(mediaOptions(await loadMedia(pmem)), [
    { ask: "bandwidth", operation: "load", bytes: 4096, sequential: true, threads: threadsAt(simulation) },
  ]);
  assertEquals(versions?.recovery?.bytes, rows * rowBytes + dense);
  assertAlmostEquals(versions?.recovery?.seconds ?? 0, rows * rowBytes / (2 * rate) + dense / bandwidth, 1e-9);
});
