/** Metrics of a store and a trainer: what is counted, by tier, and also while they train. */

import "../native_library.ts";
import { openMetricsText } from "../../base/open_metrics.ts";
import { generateData } from "../../ffi/data.ts";
import { storeMetrics, trainerMetrics } from "../../ffi/metrics.ts";
import { EmbeddingStore } from "../../ffi/store.ts";
import { WdlTrainer } from "../../ffi/trainer.ts";
import { assert, assertEquals, assertMatch, assertStringIncludes, assertThrows } from "../assert.ts";

/** Values by name and labels. */
function valuesOf(text: string): Map<string, number> {
  return new Map(
    text.split("\n").filter((line) => line !== "" && !line.startsWith("#")).map((line) => {
      const at = line.lastIndexOf(" ");
      return [line.slice(0, at), Number(line.slice(at + 1))];
    }),
  );
}

Deno.test("storeMetrics() has the counters of the store, tier by tier, and its bytes", async () => {
  const path = await Deno.makeTempDir();
  try {
    using store = EmbeddingStore.open({
      storage: "DRAM_SSDHASH",
      path,
      size: ["64 KiB", "16 MiB"],
      sizeCounts: "rows",
    });
    const table = store.table({ name: "rows", dim: 16 });
    const keys = Array.from({ length: 5000 }, (_, i) => i);
    table.lookup(keys);
    store.settle();
    table.lookup(keys);
    store.settle();
    const counted = store.statistics();
    const text = openMetricsText(storeMetrics(store, { store: "a" }));
    const values = valuesOf(text);
    assertEquals(values.get('tierstore_created_total{store="a"}'), 5000);
    assertEquals(values.get('tierstore_lookup_keys_total{store="a"}'), 10_000);
    for (const tier of [0, 1]) {
      assertEquals(values.get(`tierstore_hits_total{store="a",tier="${tier}"}`), counted[`tier${tier}_hits`]);
    }
    assert((values.get('tierstore_hits_total{store="a",tier="1"}') ?? 0) > 1000, "rows were found below");
    assertEquals(values.get('tierstore_evicted_total{store="a",tier="0"}'), counted["evicted"]);
    assertEquals(values.get('tierstore_written_bytes_total{store="a",tier="1"}'), counted["tier1_written"]);
    assertEquals(values.get('tierstore_lock_wait_seconds_total{store="a"}'), (counted["lock_wait_ns"] ?? 0) * 1e-9);
    assert(![...values.keys()].some((name) => name.includes('tier="2"')), "there is no third tier");
    const memory = store.memory().tiers;
    assertEquals(values.get('tierstore_used_bytes{store="a",tier="1"}'), memory[1]?.usedBytes);
    assertEquals(values.get('tierstore_held_bytes{store="a",tier="0",purpose="rows"}'), memory[0]?.purposes["rows"]);
    assertMatch(text, /^tierstore_tier_info\{store="a",tier="1",type="SSDHASH",medium="[^"]*"\} 1$/m);
    store.close();
    assertThrows(() => storeMetrics(store), Error, "the store is closed");
  } finally {
    await Deno.remove(path, { recursive: true });
  }
});

Deno.test("metrics are there while a trainer trains, and its steps are those so far", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const data = `${folder}/train.bin`;
    await generateData({ out: data, rows: 4096, scale: 0.0005, seed: 1 });
    using store = EmbeddingStore.open({ storage: "DRAM" });
    using trainer = WdlTrainer.open(store, { batch: 64, hidden: [8], data });
    await trainer.train(3);
    const seen: number[] = [];
    const until = (done: number) => {
      const values = valuesOf(openMetricsText([...storeMetrics(store), ...trainerMetrics(trainer)]));
      seen.push((values.get("tierbench_steps_total") ?? 0) - done);
      assertEquals(values.get("tierstore_lookup_keys_total"), 26 * 64 * done);
      return Promise.resolve();
    };
    await trainer.train(8, { warmup: 2, pauses: { every: 2, until } });
    assertEquals(seen, [5, 5, 5, 5]);
    const digest = trainer.digest(); // another call than training is under way
    assertEquals(trainerMetrics(trainer)[0]?.samples, [{ labels: {}, value: 13 }]);
    await digest;
    assertStringIncludes(openMetricsText(trainerMetrics(trainer, { job: "x" })), 'tierbench_steps_total{job="x"} 13\n');
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
