/** Live gauges: against exact replay of the same keys, against a store with more memory, on every storage type, beside training. */

import "../native_library.ts";
import { openMetricsText } from "../../base/open_metrics.ts";
import { missRatioCurve } from "../../ffi/curve.ts";
import { generateData } from "../../ffi/data.ts";
import { storeMetrics } from "../../ffi/metrics.ts";
import { EmbeddingStore, type StoreOptions } from "../../ffi/store.ts";
import { WdlTrainer } from "../../ffi/trainer.ts";
import { seededRandom } from "../../reports/statistics/random.ts";
import { assert, assertEquals, assertThrows } from "../assert.ts";

const ROWS = 60_000, LOOKUPS = 400_000, BATCH = 1_000;

function zipf(s: number): (u: number) => number {
  let sum = 0;
  const up = Float64Array.from({ length: ROWS }, (_, i) => sum += (i + 1) ** -s);
  return (u) => {
    let low = 0, high = ROWS - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((up[middle] ?? 0) < u * sum) low = middle + 1;
      else high = middle;
    }
    return low;
  };
}

/** Keys of a stream: row numbers, told apart in all their bits. */
function keysOf(rowAt: (i: number, random: () => number) => number, seed: string): BigInt64Array<ArrayBuffer> {
  const random = seededRandom(seed);
  return BigInt64Array.from({ length: LOOKUPS }, (_, i) => {
    return BigInt.asIntN(64, BigInt(rowAt(i, random)) * 0x9e3779b97f4a7c15n);
  });
}

const [gentle, middle, steep] = [zipf(0.9), zipf(1.05), zipf(1.2)];
const STREAMS: Readonly<Record<string, (i: number, random: () => number) => number>> = {
  "Zipf 0.9": (_, random) => gentle(random()),
  "Zipf 1.05": (_, random) => middle(random()),
  "Zipf 1.2": (_, random) => steep(random()),
  uniform: (_, random) => Math.floor(random() * ROWS),
  loop: (i) => i % 20_000,
  drift: (i, random) => (middle(random()) + Math.floor(i / 10)) % ROWS,
};

function lookUp(store: EmbeddingStore, keys: BigInt64Array<ArrayBuffer>, name = "rows"): void {
  const table = store.table({ name, dim: 4 });
  const out = new Float32Array(BATCH * table.dim);
  for (let i = 0; i < keys.length; i += BATCH) table.lookupInto(keys.subarray(i, i + BATCH), out);
}

for (const [name, rowAt] of Object.entries(STREAMS)) {
  Deno.test(`gauges() of half the rows are within 0.01 of exact LRU: ${name}`, () => {
    const keys = keysOf(rowAt, name);
    using store = EmbeddingStore.open({ storage: "DRAM", gauges: { rate: 0.5 }, sizeCounts: "rows", shards: 1 });
    lookUp(store, keys);
    const rows = [1_000, 2_000, 5_000, 10_000, 15_000, 30_000, 60_000];
    const { missRatios, lookups } = missRatioCurve({ keys, sizes: rows, batch: BATCH });
    const gauges = store.gauges({ sizes: rows.map((count) => count * 16) });
    assertEquals(gauges.lookups, LOOKUPS);
    const errors = gauges.curve.map(({ hits }, i) => Math.abs(hits - (1 - (missRatios[i] ?? 0) * lookups / LOOKUPS)));
    const mean = errors.reduce((sum, error) => sum + error, 0) / errors.length;
    assert(mean < 0.01, `mean error ${mean}: ${errors.map((error) => error.toFixed(4)).join(" ")}`);
    assert(gauges.sample.rows <= 16_384, "the sample is bounded");
  });
}

/** Storage types, each with 12 MiB of what pays for the sampler, so that all have the same sample. */
async function withTypes(run: (options: StoreOptions) => void): Promise<void> {
  const path = await Deno.makeTempDir();
  const types: StoreOptions[] = [
    { storage: "DRAM", size: ["12 MiB"] },
    { storage: "SSDHASH", path, size: ["12 MiB"] },
    { storage: "DRAM_SSDHASH", path, size: ["12 MiB", "64 MiB"] },
    { storage: "DRAM_LEVELDB", path, size: ["12 MiB", "64 MiB"] },
    { storage: "DRAM_PMEM", pmem: "libpmem", path, size: ["12 MiB", "64 MiB"] },
    { storage: "PMEM_LIBPMEM", path, size: ["12 MiB"] },
    { storage: "HBM", hbm: "opencl", size: ["12 MiB"] },
    { storage: "HBM_DRAM_SSDHASH", hbm: "opencl", path, size: ["64 KiB", "12 MiB", "64 MiB"] },
    { storage: "NULL", size: ["12 MiB"] },
  ];
  try {
    let tried = 0;
    for (const options of types) {
      if (!EmbeddingStore.probe(options).available) continue;
      tried++;
      run(options);
    }
    assert(tried >= 4, "memory, files and none of them open everywhere");
  } finally {
    await Deno.remove(path, { recursive: true });
  }
}

Deno.test("gauges() takes the same sample on every storage type, whatever its tables are, and its memory is accounted", async () => {
  const keys = keysOf(STREAMS["Zipf 1.05"]!, "types").subarray(0, 60_000);
  const seen = new Map<string, string>();
  await withTypes((options) => {
    const bytes: number[] = [];
    for (const gauges of [false, true]) {
      using store = EmbeddingStore.open({ ...options, gauges: gauges ? { rate: 0.25 } : false });
      const { tiers } = store.memory();
      bytes.push(tiers.reduce((sum, { purposes }) => sum + (purposes["buffers"] ?? 0), 0));
      if (!gauges) {
        assertThrows(() => store.gauges(), Error, "without gauges=1");
        continue;
      }
      const tables = [
        store.table({ name: "plain", dim: 4 }),
        store.table({ name: "counted", dim: 4, admission: { counter: { frequency: 2 } }, recordFrequency: true }),
        store.table({ name: "filtered", dim: 4, admission: { bloom: { frequency: 2, keys: 1e4 } } }),
        store.table({ name: "expiring", dim: 4, expire: { steps: 50 } }),
      ];
      for (let i = 0; i < keys.length; i += BATCH) {
        const batch = keys.subarray(i, i + BATCH);
        store.setStep(i / BATCH);
        for (const table of tables) table.lookup(batch);
        tables[0]!.lookupBags(batch, [0, BATCH]);
      }
      const read = store.gauges({ sizes: ["64 KiB", "512 KiB", "4 MiB"] });
      assertEquals(read.lookups, 5 * keys.length);
      const answered = read.tiers.reduce((sum, share) => sum + share, 0) + read.created + read.notAdmitted;
      assert(Math.abs(answered - 1) < 0.2, `shares ${answered}: repeats of keys without a row count once a call`);
      assert(
        read.curve.every(({ hits }, i) => i === 0 || hits >= (read.curve[i - 1]?.hits ?? 1) - 1e-9),
        "curves rise",
      );
      seen.set(options.storage, JSON.stringify([read.sample, read.lookups]));
    }
    assert((bytes[1] ?? 0) - (bytes[0] ?? 0) > 100_000, `${options.storage}: the sampler counts: ${bytes.join(", ")}`);
  });
  assertEquals(new Set(seen.values()).size, 1, JSON.stringify([...seen]));
});

Deno.test("gauges() says what more memory gives: as a store that has it", async () => {
  const path = await Deno.makeTempDir();
  try {
    const keys = keysOf(STREAMS["Zipf 0.9"]!, "more");
    const open = (bytes: number) =>
      EmbeddingStore.open({
        ...{ storage: "DRAM_SSDHASH", path, size: [bytes, "64 MiB"], sizeCounts: "rows", policy: "lru" },
        ...{ gauges: { rate: 0.5 }, shards: 1, evictionThreads: 0 },
      });
    const hits: number[] = [];
    let more = { hits: NaN, error: NaN };
    for (const bytes of [160_000, 320_000]) {
      using store = open(bytes);
      lookUp(store, keys);
      const gauges = store.gauges({ step: 160_000 });
      hits.push(gauges.tiers[0] ?? NaN);
      assert(Math.abs(gauges.now.hits - (gauges.tiers[0] ?? NaN)) < 0.02 + gauges.now.error, JSON.stringify(gauges));
      if (bytes === 160_000) more = gauges.more;
    }
    const real = (hits[1] ?? NaN) - (hits[0] ?? NaN);
    assert(
      real > 0.05 && Math.abs(more.hits - real) < 0.01 + more.error,
      `${more.hits} ± ${more.error}, really ${real}`,
    );
  } finally {
    await Deno.remove(path, { recursive: true });
  }
});

Deno.test("gauges({ since }) tells what came after, and refuses what it cannot", () => {
  using store = EmbeddingStore.open({ storage: "DRAM", gauges: { rate: 0.5 } });
  using other = EmbeddingStore.open({ storage: "DRAM", gauges: true });
  const table = store.table({ name: "rows", dim: 4 });
  const keys = Array.from({ length: 5_000 }, (_, i) => i);
  table.lookup(keys);
  const first = store.gauges();
  assertEquals([first.created, first.now.hits < 0.05], [1, true]);
  table.lookup(keys);
  const second = store.gauges({ since: first });
  assertEquals([second.lookups, second.tiers, second.created, second.now.hits], [5_000, [1], 0, 1]);
  assertThrows(() => other.gauges({ since: first }), RangeError, "none of this store");
  store.resetStatistics();
  assertThrows(() => store.gauges({ since: first }), RangeError, "set to 0");
  assertEquals(store.gauges().lookups, 0);
  assertThrows(() => EmbeddingStore.open({ storage: "DRAM", gauges: { rate: 0.7 } }), Error, "gauges.rate");
});

Deno.test("gauges are read while a trainer trains, which they do not change", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const data = `${folder}/train.bin`;
    await generateData({ out: data, rows: 4096, scale: 0.0005, seed: 1 });
    const digests: string[] = [];
    for (const gauges of [false, true]) {
      using store = EmbeddingStore.open({ storage: "DRAM", gauges });
      using trainer = WdlTrainer.open(store, { batch: 64, hidden: [8], data });
      const seen: number[] = [];
      const training = trainer.train(60);
      if (gauges) {
        for (let read = 0; read < 20; read++) {
          seen.push(store.gauges().lookups);
          await new Promise((resolve) => setTimeout(resolve, 1));
        }
      }
      await training;
      assert(seen.every((lookups, i) => i === 0 || lookups >= (seen[i - 1] ?? 0)), "they only grow");
      if (gauges) {
        assertEquals(store.gauges().lookups, 60 * 26 * 64);
        const text = openMetricsText(storeMetrics(store));
        assert(/^tierstore_lru_hits_ratio\{first_tier_bytes="\d+"\} [\d.e-]+$/m.test(text), text);
      }
      digests.push(await trainer.digest());
    }
    assertEquals(digests[0], digests[1]);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
