import "../../native_library.ts";
import { assert, assertEquals } from "../../assert.ts";
import { measureSoftware, runSteps, zipfBatches } from "../../../models/host/software.ts";

const DRAM = {
  medium: "dram",
  read_latency_ns: "100",
  read_bandwidth: "1e11",
  write_nt_latency_ns: "100",
  write_nt_bandwidth: "1e11",
  write_cached_latency_ns: "100",
  write_cached_bandwidth: "1e11",
};

Deno.test("zipfBatches() are keys of the table, the same for a seed, the more alike the more skewed", () => {
  const of = (s: number, seed = 1) => zipfBatches({ rows: 1024, keys: 256, steps: 4, s, seed });
  assertEquals(of(1.1), of(1.1));
  assert(of(1.1).every((keys) => keys.length === 256 && keys.every((key) => key >= 0n && key < 1024n)));
  const distinct = (batches: BigInt64Array[]) => new Set(batches.flatMap((keys) => [...keys])).size;
  assert(distinct(of(1.3)) < distinct(of(0.8)) && distinct(of(0.8)) < distinct(of(0)));
});

Deno.test("measureSoftware() gives prices of zero or more, with intervals that have a width", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const runs = { rows: 4096, dim: 16, keys: 512, steps: 12, rounds: 2 };
    const prices = measureSoftware(DRAM, folder, runs);
    assertEquals(Object.keys(prices), ["perKey", "perRow", "perUpdate", "perMiss"]);
    for (const [name, { value, low, high }] of Object.entries(prices)) {
      assert(value >= 0 && low >= 0 && low <= value && value <= high && low < high, `${name}: ${low} ${value} ${high}`);
      assert(high < 1e-3, `${name}: ${high} s`);
    }
    const batches = zipfBatches({ ...runs, s: 1, seed: 3 });
    const { lookup, update } = runSteps({ ...runs, batches, warmup: 2 });
    assert(lookup > 0 && update > 0);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
