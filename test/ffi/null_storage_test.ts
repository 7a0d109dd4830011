/** The storage type that keeps no rows, as programs see it. */

import "../native_library.ts";
import { EmbeddingStore } from "../../ffi/store.ts";
import { generateData } from "../../ffi/data.ts";
import { WdlTrainer } from "../../ffi/trainer.ts";
import { assert, assertEquals } from "../assert.ts";

Deno.test('storage "NULL": lookups give first values, updates change nothing, nothing is kept', () => {
  using dram = EmbeddingStore.open({ storage: "DRAM", seed: 3 });
  using none = EmbeddingStore.open({ storage: "NULL", seed: 3 });
  const keys = [1, -5, 1, 2 ** 40];
  const first = dram.table({ name: "t" }).lookup(keys);
  const table = none.table({ name: "t" });
  assertEquals(table.lookup(keys), first);
  table.update(keys, first);
  assertEquals(table.lookup(keys), first);
  assertEquals(table.rows(), [0]);
  assertEquals([...table.find(keys).found], [0, 0, 0, 0]);
  assertEquals(none.memory().tiers[0]?.purposes["rows"], 0);
  assertEquals(none.describe().map(({ type }) => type), ["NULL"]);
});

Deno.test('storage "NULL": a trainer steps over it and leaves no row', async () => {
  const folder = await Deno.makeTempDir();
  try {
    const data = `${folder}/train`;
    await generateData({ out: data, rows: 2000, scale: 0.0005, seed: 1 });
    using store = EmbeddingStore.open({ storage: "NULL", size: ["64 MiB"], seed: 1 });
    using trainer = WdlTrainer.open(store, { data, batch: 200, hidden: [16], dim: 4, seed: 1 });
    const { loss } = await trainer.train(5);
    assert(Number.isFinite(loss) && loss > 0, `${loss}`);
    assertEquals(trainer.table("C1").rows(), [0]);
    const { unseenShare } = await trainer.evaluate(data);
    assertEquals(unseenShare, 1);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
